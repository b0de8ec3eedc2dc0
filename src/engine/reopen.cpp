#include "engine/reopen.h"

#include <filesystem>

namespace aegir {

std::unique_ptr<Simulation> reopen(const RunRecord& record, const Catalog& catalog, Exec exec) {
  // Paths in the recorded text start at the setup file, whose name starts where the program was started.
  std::filesystem::path file(record.setup_file);
  if (file.is_relative() && !record.sessions.empty())
    file = std::filesystem::path(record.sessions.front().folder) / file;
  Messages messages;
  auto setup = parse_setup(record.setup_text, file.string(), {}, catalog, messages);
  if (!setup) return nullptr;
  auto simulation = Simulation::create(std::move(*setup), exec, messages);
  return simulation ? std::move(*simulation) : nullptr;
}

}  // namespace aegir
