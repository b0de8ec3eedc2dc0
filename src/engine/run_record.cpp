#include "engine/run_record.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "engine/machine.h"
#include "engine/run.h"
#include "io/atomic_file.h"

namespace aegir {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json warnings_json(const std::vector<RunWarning>& warnings) {
  ordered_json list = ordered_json::array();
  for (const RunWarning& w : warnings) {
    ordered_json j;
    if (w.frame) j["frame"] = *w.frame;
    j["text"] = w.text;
    list.push_back(std::move(j));
  }
  return list;
}

ordered_json session_json(const RunSession& s) {
  return {{"aegir", s.version},
          {"compiler", s.compiler},
          {"host", s.host},
          {"system", s.system},
          {"cpu", s.cpu},
          {"simd", s.simd},
          {"process", s.process},
          {"threads", s.threads},
          {"ranks", s.ranks},
          {"command", s.command},
          {"folder", s.folder},
          {"started", s.started},
          {"ended", s.ended},
          {"from", s.from},
          {"outcome", s.outcome},
          {"seconds", s.seconds},
          {"peak_memory", s.peak_memory},
          {"warnings", warnings_json(s.warnings)},
          {"more_warnings", s.more_warnings}};
}

RunSession session_of(const json& j) {
  RunSession s;
  s.version = j.value("aegir", "");
  s.compiler = j.value("compiler", "");
  s.host = j.value("host", "");
  s.system = j.value("system", "");
  s.cpu = j.value("cpu", "");
  s.simd = j.value("simd", "");
  s.process = j.value("process", 0L);
  s.threads = j.value("threads", 1);
  s.ranks = j.value("ranks", 1);
  s.command = j.value("command", std::vector<std::string>());
  s.folder = j.value("folder", "");
  s.started = j.value("started", "");
  s.ended = j.value("ended", "");
  s.from = j.value("from", "");
  s.outcome = j.value("outcome", "");
  s.seconds = j.value("seconds", 0.0);
  s.peak_memory = j.value("peak_memory", std::uint64_t{0});
  for (const json& w : j.value("warnings", json::array())) {
    RunWarning warning{{}, w.value("text", "")};
    if (w.contains("frame")) warning.frame = w["frame"].get<int>();
    s.warnings.push_back(std::move(warning));
  }
  s.more_warnings = j.value("more_warnings", std::int64_t{0});
  return s;
}

}  // namespace

std::optional<RunRecord> RunRecord::load(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return {};
  const json all = json::parse(std::string((std::istreambuf_iterator<char>(stream)), {}), nullptr, false);
  try {
    RunRecord record;
    const json& setup = all.at("setup");
    record.setup_file = setup.at("file").get<std::string>();
    record.setup_hash = setup.at("hash").get<std::string>();
    record.setup_text = setup.at("text").get<std::string>();
    if (const auto found = all.find("inputs"); found != all.end())
      if (auto inputs = inputs_of_text(found->dump())) record.inputs = std::move(*inputs);
    record.first_frame = all.at("frames").at(0).get<int>();
    record.last_frame = all.at("frames").at(1).get<int>();
    record.fps = all.at("fps").get<double>();
    for (const json& s : all.at("sessions")) record.sessions.push_back(session_of(s));
    return record;
  } catch (const json::exception&) {
    return {};
  }
}

Status RunRecord::save(const std::string& path) const {
  ordered_json all;
  all["aegir_run"] = 1;
  all["setup"] = {{"file", setup_file}, {"hash", setup_hash}, {"text", setup_text}};
  all["inputs"] = ordered_json::parse(inputs_text(inputs));
  all["frames"] = {first_frame, last_frame};
  all["fps"] = fps;
  all["sessions"] = ordered_json::array();
  for (const RunSession& s : sessions) all["sessions"].push_back(session_json(s));
  return write_text_atomically(path, all.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

void RunRecord::begin(const RunOptions& options, const Setup& setup, int threads, int ranks, const std::string& from) {
  setup_file = options.setup;
  setup_hash = setup.hash;
  setup_text = write_setup(setup);
  first_frame = setup.timeline.first();
  last_frame = options.frames ? options.frames->second : setup.timeline.last();
  fps = setup.timeline.fps;
  const MachineInfo machine = this_machine();
  std::error_code ignored;
  RunSession s;
  s.version = aegir_version();
  s.compiler = compiler_text();
  s.host = machine.host;
  s.system = machine.system;
  s.cpu = machine.cpu;
  s.simd = machine.simd;
  s.process = ::getpid();
  s.threads = threads;
  s.ranks = ranks;
  s.command = options.command;
  s.folder = std::filesystem::current_path(ignored).string();
  s.started = now_text();
  s.from = from;
  s.outcome = "running";
  sessions.push_back(std::move(s));
}

void RunRecord::end(const std::string& outcome, double seconds) {
  if (sessions.empty()) return;
  sessions.back().ended = now_text();
  sessions.back().seconds = seconds;
  sessions.back().outcome = outcome;
}

void RunRecord::saw_memory(std::uint64_t bytes) {
  if (!sessions.empty()) sessions.back().peak_memory = std::max(sessions.back().peak_memory, bytes);
}

void RunRecord::warn(std::optional<int> frame, const std::string& text) {
  constexpr std::size_t most = 500;
  if (sessions.empty()) return;
  RunSession& s = sessions.back();
  if (s.warnings.size() < most)
    s.warnings.push_back({frame, text});
  else
    ++s.more_warnings;
}

}  // namespace aegir
