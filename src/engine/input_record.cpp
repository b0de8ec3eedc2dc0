#include "engine/input_record.h"

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "io/content_hash.h"
#include "parallel/threads.h"
#include "phenomena/common/inputs.h"

namespace aegir {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// "flag.0012.ply", "flag.0012.ply and 3 more".
std::string some_of(const std::vector<std::string>& paths) {
  const std::string first = std::filesystem::path(paths.front()).filename().string();
  return paths.size() == 1 ? first : fmt::format("{} and {} more", first, paths.size() - 1);
}

}  // namespace

std::vector<InputRecord> record_inputs(const std::map<std::string, InputSettings>& inputs) {
  std::vector<InputRecord> records;
  std::vector<InputFile*> files;
  for (const auto& [name, settings] : inputs) {
    InputRecord record{name, {}};
    for (const std::string& path : input_files(settings)) record.files.push_back({path, ""});
    std::sort(record.files.begin(), record.files.end(),
              [](const InputFile& a, const InputFile& b) { return a.path < b.path; });
    records.push_back(std::move(record));
  }
  for (InputRecord& record : records)
    for (InputFile& file : record.files) files.push_back(&file);
  parallel_for(0, files.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      if (const Result<std::string> hash = content_hash(files[i]->path)) files[i]->hash = *hash;
  });
  return records;
}

std::string inputs_text(const std::vector<InputRecord>& inputs) {
  ordered_json all = ordered_json::object();
  for (const InputRecord& input : inputs) {
    ordered_json& files = all[input.name] = ordered_json::object();
    for (const InputFile& file : input.files) files[file.path] = file.hash;
  }
  return all.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::optional<std::vector<InputRecord>> inputs_of_text(const std::string& text) {
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object()) return {};
  std::vector<InputRecord> inputs;
  for (const auto& [name, files] : all.items()) {
    InputRecord input{name, {}};
    if (!files.is_object()) return {};
    for (const auto& [path, hash] : files.items()) {
      if (!hash.is_string()) return {};
      input.files.push_back({path, hash.get<std::string>()});
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::vector<std::string> input_changes(const std::vector<InputRecord>& before, const std::vector<InputRecord>& now) {
  // By name alone: a job that was moved to another folder has changed nothing.
  const auto hash_in = [](const InputRecord& input, const std::string& path) -> const std::string* {
    for (const InputFile& file : input.files)
      if (std::filesystem::path(file.path).filename() == std::filesystem::path(path).filename()) return &file.hash;
    return nullptr;
  };
  std::vector<std::string> lines;
  for (const InputRecord& input : now) {
    const auto old =
        std::find_if(before.begin(), before.end(), [&](const InputRecord& r) { return r.name == input.name; });
    if (old == before.end()) continue;
    std::vector<std::string> other, fresh, gone;
    for (const InputFile& file : input.files) {
      const std::string* hash = hash_in(*old, file.path);
      if (!hash)
        fresh.push_back(file.path);
      else if (*hash != file.hash)
        other.push_back(file.path);
    }
    for (const InputFile& file : old->files)
      if (!hash_in(input, file.path)) gone.push_back(file.path);
    std::string line;
    const auto add = [&](const char* what, const std::vector<std::string>& paths) {
      if (!paths.empty()) line += fmt::format("{}{}{}", line.empty() ? "" : "; ", what, some_of(paths));
    };
    add("", other);
    add("new: ", fresh);
    add("gone: ", gone);
    if (!line.empty()) lines.push_back(fmt::format("input '{}': {}", input.name, line));
  }
  return lines;
}

}  // namespace aegir
