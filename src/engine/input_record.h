// What the files of a run's inputs held: names and hashes, for run.json, and what has changed since a checkpoint.
//
//   const std::vector<InputRecord> now = record_inputs(setup.inputs);
//   for (const std::string& change : input_changes(before, now)) say(change);   // "input 'flag': flag.0012.ply"
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/schema/sections.h"

namespace aegir {

/// One file of an input; the hash is empty where it cannot be read.
struct InputFile {
  std::string path, hash;
};

/// One input of a setup with every file that it consists of, ordered by path.
struct InputRecord {
  std::string name;
  std::vector<InputFile> files;
};

/// Hashes the files of all inputs, by name; reads every one of them once.
std::vector<InputRecord> record_inputs(const std::map<std::string, InputSettings>& inputs);

/// As text (JSON), and back; nothing where the text is none of these.
std::string inputs_text(const std::vector<InputRecord>& inputs);
std::optional<std::vector<InputRecord>> inputs_of_text(const std::string& text);

/// One line for every input that is in both and whose files are not the same.
std::vector<std::string> input_changes(const std::vector<InputRecord>& before, const std::vector<InputRecord>& now);

}  // namespace aegir
