// Every kind of mistake, with its message and its exact place.
#include <gtest/gtest.h>

#include "pipeline/setup/fake_catalog.h"
#include "pipeline/setup/setup.h"

namespace aegir {
namespace {

struct Case {
  const char* name;
  std::string text;
  std::string message;  // with line and column, without the file
};

std::string first_error(const std::string& text, Messages& messages) {
  static const Catalog catalog = fake::fake_catalog();
  const auto setup = parse_setup(text, "x.yaml", {}, catalog, messages);
  if (setup) return "(no error)";
  EXPECT_EQ(setup.error().kind, Failure::usage);
  return setup.error().text().substr(std::string("x.yaml:").size());
}

/// A node list under a correct head; its first line is line 3.
std::string nodes(const std::string& text) { return "aegir: 1\nsetup:\n" + text; }
/// Parameters of a liquid; the first line is line 4, indented by two.
std::string liquid(const std::string& text) { return nodes("- liquid: w\n  " + text + "\n"); }

std::vector<Case> whole_files() {
  return {
      {"empty", "", "1:1: the file is empty"},
      {"spaces", "  \n\n", "1:1: the file is empty"},
      {"comment only", "# nothing\n", "1:1: the file is empty"},
      {"scalar", "hello\n", "1:1: a setup file is a mapping that starts with 'aegir: 1'; this is 'hello'"},
      {"list", "- a\n", "1:1: a setup file is a mapping that starts with 'aegir: 1'; this is a list"},
      {"null byte", std::string("aegir: 1\nse\0tup", 14),
       "2:3: this is binary data or a control character (byte 0x00)"},
      {"escape", "aegir: 1\nnote: \x1b[1m\n", "2:7: this is binary data or a control character (byte 0x1b)"},
      {"latin-1", "aegir: 1\nnote: gr\xfc\xdf\n", "2:9: this is not UTF-8 text (byte 0xfc)"},
      {"cut utf-8", "aegir: 1\nnote: \xe2\x82", "2:7: this is not UTF-8 text (byte 0xe2)"},
      {"utf-16",
       "\xff\xfe"
       "a",
       "1:1: the file is UTF-16; save it as UTF-8"},
      {"escaped control", "aegir: 1\nnote: \"\\x01\"\n", "2:7: this text contains a control character"},
      {"version missing", "setup: []\n",
       "1:1: the version of the setup language is missing; start the file with 'aegir: 1'"},
      {"version 2", "aegir: 2\nsetup: []\n",
       "1:8: the setup language is '2', but this Aegir reads version 1; write 'aegir: 1'"},
      {"no setup", "aegir: 1\n", "1:1: there is no 'setup'; it lists what is simulated"},
      {"unknown part", "aegir: 1\nsetups: []\nsetup: []\n",
       "2:1: 'setups' is not a part of a setup file; did you mean 'setup'?"},
      {"node at top", "aegir: 1\ngravity: g\nsetup: []\n",
       "2:1: 'gravity' is a type; it stands in the list under 'setup'"},
      {"setup is map", "aegir: 1\nsetup: {gravity: g}\n", "2:8: 'setup' is a mapping, but should be a list of nodes"},
      {"setup empty", "aegir: 1\nsetup:\n", "2:1: 'setup' is empty, but should be a list of nodes"},
      {"outputs is text", "aegir: 1\nsetup: []\noutputs: x\n",
       "3:10: 'outputs' is 'x', but should be a list of outputs"},
      {"duplicate key", "aegir: 1\nsetup: []\naegir: 1\n",
       "3:1: 'aegir' appears twice in this mapping; it is already in line 1"},
      {"two documents", "aegir: 1\nsetup: []\n---\naegir: 1\n",
       "3:1: a second document starts here; a setup file holds one"},
      {"tab", "aegir: 1\nsetup:\n\t- gravity: g\n", "3:1: a tab is used for indentation; use spaces"},
      {"merge key", "aegir: 1\nsetup:\n- <<: {gravity: g}\n",
       "3:3: merge keys ('<<') are not part of the setup language; use 'include', 'expose' or an alias for the whole "
       "value"},
      {"tag", "aegir: 1\nnote: !!str x\nsetup: []\n",
       "2:7: 'tag:yaml.org,2002:str': tags are not part of the setup language"},
      {"unclosed quote", "aegir: 1\nnote: \"abc\n", "2:7: a text in quotes is not closed"},
      {"unclosed single quote", "aegir: 1\nsetup: []\nnote: &a 'it''s\n", "3:7: a text in quotes is not closed"},
      {"unknown alias", "aegir: 1\nnote: *x\n", "2:7: this alias refers to nothing above it"},
      {"alias of itself", "aegir: 1\nsetup: &a [*a]\n", "2:12: this alias refers to a value that contains it"},
      {"bad indentation", "aegir: 1\nsetup:\n  - gravity: g\n - gravity: h\n",
       "4:2: this line fits neither the mapping above nor a new one; check the indentation"},
      {"key of a key", "aegir: 1\nnote: a: b\n",
       "2:8: a ':' stands where no value can be; check the indentation, or put the text in quotes"},
      {"list as key", "aegir: 1\n[1, 2]: x\n",
       "2:1: a list cannot be a key; a closing bracket or brace is missing, or a text needs quotes"},
      {"frames backwards", "aegir: 1\ntimeline: {frames: [10, 1]}\nsetup: []\n",
       "2:11: 'timeline': the last frame, 1, is before the first, 10"},
      {"frames of three", "aegir: 1\ntimeline: {frames: [1, 2, 3]}\nsetup: []\n",
       "2:20: 'frames' is a list of 3, but should be a list of 2"},
      {"fps zero", "aegir: 1\ntimeline: {fps: 0}\nsetup: []\n", "2:17: 'fps' is 0, but must be above 0"},
      {"fps typo", "aegir: 1\ntimeline: {fsp: 24}\nsetup: []\n",
       "2:12: 'fsp' is not a parameter of 'timeline'; did you mean 'fps'?"},
      {"substeps", "aegir: 1\ntimeline: {substeps: {mx: 3}}\nsetup: []\n",
       "2:23: 'mx' is not a parameter of 'timeline.substeps'; did you mean 'max'?"},
      {"checkpoint", "aegir: 1\ntimeline: {checkpoint: {every: 3 m}}\nsetup: []\n",
       "2:32: 'every' is '3 m', but should be a number of frames or a time, as in 10 or 10 min"},
      {"timeline empty", "aegir: 1\ntimeline:\nsetup: []\n",
       "2:1: 'timeline' is empty, but should be a mapping of parameters"},
      {"scene", "aegir: 1\nscene: {up: x}\nsetup: []\n", "2:13: 'up' is 'x', but should be one of y, z"},
      {"input without file", "aegir: 1\ninputs: {a: {motion: rigid}}\nsetup: []\n", "2:13: 'a' needs 'file'"},
      {"input name", "aegir: 1\ninputs: {a b: x.ply}\nsetup: []\n",
       "2:10: 'a b' cannot be the name of an input; use letters, digits, '_' and '-'"},
      {"inputs list", "aegir: 1\ninputs: [a]\nsetup: []\n", "2:9: 'inputs' is a list, but should map names to files"},
  };
}

std::vector<Case> node_cases() {
  return {
      {"node is text", nodes("- gravity\n"),
       "3:3: a node should be a mapping such as 'gravity: NAME', but this is 'gravity'"},
      {"node empty", nodes("- {}\n"), "3:3: this node is empty; one key must be a type, and its value the node's name"},
      {"no type", nodes("- acceleration: [0, 0, 0]\n"),
       "3:3: this node has no type: 'acceleration' is not a type; one key must be a type, and its value the node's "
       "name"},
      {"type typo", nodes("- seed: 3\n  liqiud: w\n"), "4:3: 'liqiud' is not a type; did you mean 'liquid'?"},
      {"two types", nodes("- gravity: g\n  liquid: w\n"),
       "4:3: this node has two types, 'gravity' and 'liquid'; a node has exactly one"},
      {"announced", nodes("- hybrid: w\n"), "3:3: 'hybrid' (liquids) is not part of this version yet"},
      {"wrong section", nodes("- points: p\n"), "3:3: 'points' belongs in 'outputs', not in 'setup'"},
      {"wrong section 2", "aegir: 1\nsetup: []\noutputs:\n- gravity: g\n",
       "4:3: 'gravity' belongs in 'setup', not in 'outputs'"},
      {"no name", nodes("- gravity:\n"), "3:3: 'gravity' needs a name, as in 'gravity: my_gravity'; this is empty"},
      {"name with slash", nodes("- gravity: a/b\n"),
       "3:12: 'a/b' cannot be the name of a node; use letters, digits, '_' and '-'"},
      {"name of a section", nodes("- group: outputs\n"),
       "3:10: a node cannot be called 'outputs', which is a part of the setup file"},
      {"same path", nodes("- gravity: g\n- liquid: g\n"), "4:11: there are two nodes 'g'; the other is at x.yaml:3:12"},
      {"group parameter", nodes("- group: g\n  behaviours: []\n"),
       "4:3: 'behaviours' is not a parameter of 'group'; did you mean 'behaviors'?"},
      {"behaviors is map", nodes("- group: g\n  behaviors: {gravity: a}\n"),
       "4:14: 'behaviors' is a mapping, but should be a list of nodes"},
      {"behaviors of a liquid", liquid("behaviors: []"), "4:3: only a group has 'behaviors'; 'liquid' does not"},
      {"enabled yes", liquid("enabled: yes"), "4:12: 'enabled' is 'yes'; write true or false"},
      {"required", nodes("- emitter: e\n"), "3:3: 'emitter' needs 'rate'"},
      {"overrides list", liquid("overrides: [a]"), "4:14: 'overrides' is a list, but should map objects to parameters"},
      {"overrides typo", liquid("overrides: {a: {sticki: true}}"),
       "4:19: 'sticki' is not a parameter of 'liquid'; did you mean 'sticky'?"},
      {"overrides value", liquid("overrides: {a: 3}"), "4:18: 'liquid' is '3', but should be a mapping of parameters"},
      {"include missing name", nodes("- include:\n"), "3:3: 'include' needs the name of a file"},
      {"include without files", nodes("- include: a.yaml\n"),
       "3:12: 'a.yaml' cannot be included: this setup does not come from a file"},
      {"include with more", nodes("- include: a.yaml\n  enabled: false\n"),
       "4:3: 'enabled' cannot stand beside 'include'; what switches or changes it belongs in a group around it"},
      {"include exposed", nodes("- include: ${x}.yaml\n"),
       "3:12: the name of an included file cannot use exposed values"},
      {"unexposed", "aegir: 1\nexpose: {voxel: 1}\nsetup:\n- liquid: w\n  voxel_size: ${voxl}\n",
       "5:15: '${voxl}' is not exposed; did you mean 'voxel'?"},
      {"unclosed", liquid("voxel_size: \"${voxel\""), "4:15: a '${' is not closed with '}'"},
      {"bad name", liquid("voxel_size: ${a.b}"), "4:15: '${a.b}' is not the name of an exposed value"},
      {"in braces", liquid("fill: {min: ${x}}"),
       "4:16: a mapping in braces is not closed; a '}' or a ',' is missing; inside braces or brackets '${…}' needs "
       "quotes"},
      {"circle", "aegir: 1\nexpose: {a: \"${b}\", b: \"${a}\"}\nsetup: [{liquid: w}]\n",
       "2:24: exposed values refer to each other in a circle: a → b → a"},
      {"list in text", "aegir: 1\nexpose: {a: [1]}\nsetup:\n- emitter: e\n  rate: 1${a}\n",
       "5:9: '${a}' is a list and cannot stand inside a text"},
      {"expose name", "aegir: 1\nexpose: {a-b: 1}\nsetup: [{gravity: g}]\n",
       "2:10: 'a-b' cannot be the name of an exposed value; use letters, digits and '_'"},
  };
}

std::vector<Case> parameter_cases() {
  return {
      {"unknown", liquid("viscosty: 1"), "4:3: 'viscosty' is not a parameter of 'liquid'; did you mean 'viscosity'?"},
      {"no value", liquid("voxel_size:"), "4:3: 'voxel_size' has no value; it should be a number"},
      {"text for number", liquid("voxel_size: big"), "4:15: 'voxel_size': 'big' is not a number"},
      {"nan", liquid("voxel_size: .nan"), "4:15: 'voxel_size': '.nan' is not a number"},
      {"inf", liquid("viscosity: inf"), "4:14: 'viscosity': 'inf' is not a number"},
      {"huge", liquid("viscosity: 1e999"), "4:14: 'viscosity': '1e999' is out of range"},
      {"dimension", liquid("voxel_size: 3 kg"),
       "4:15: 'voxel_size': '3 kg' is a mass (kg), but a length (m) is expected"},
      {"unit", liquid("voxel_size: 3 parsec"),
       "4:15: 'voxel_size': '3 parsec' is not a number with a unit: 'parsec' is not a unit"},
      {"comma", liquid("voxel_size: 1,5"),
       "4:15: 'voxel_size': '1,5' is not a number; decimals are written with a point"},
      {"sexagesimal", liquid("viscosity: 1:24"), "4:14: 'viscosity': '1:24' is not a number"},
      {"range", liquid("voxel_size: -1 cm"), "4:15: 'voxel_size' is -0.01 m, but must be above 0 m"},
      {"maximum", liquid("flip_ratio: 2"), "4:15: 'flip_ratio' is 2, but must be at most 1"},
      {"not animated", liquid("voxel_size: {keys: {1: 1}}"),
       "4:15: 'voxel_size' cannot be animated or bound to an attribute; give it one value"},
      {"not bound", liquid("transfer: {attribute: x}"),
       "4:13: 'transfer' cannot be animated or bound to an attribute; give it one value"},
      {"map for parameter", liquid("viscosity: {a: 1}"),
       "4:14: 'viscosity' is a mapping, but should be a value, {keys: …} or {attribute: …}"},
      {"keys list", liquid("viscosity: {keys: [1]}"),
       "4:21: the keys of 'viscosity' should be a mapping of frames to values, as in {1: 0, 24: 1}"},
      {"key no frame", liquid("viscosity: {keys: {start: 1}}"),
       "4:22: 'start' in the keys of 'viscosity' is not a frame number"},
      {"key value", liquid("viscosity: {keys: {1: 1, 2: -1}}"),
       "4:31: 'viscosity' is -1 Pa s, but must be at least 0 Pa s"},
      {"key twice", liquid("viscosity: {keys: {1: 1, 1.0: 2}}"),
       "4:28: frame 1 appears twice in the keys of 'viscosity'"},
      {"interpolation", liquid("viscosity: {keys: {1: 1}, interpolation: bezier}"),
       "4:44: 'viscosity.interpolation' is 'bezier', but should be one of linear, smooth, step"},
      {"interpolation typo", liquid("viscosity: {keys: {1: 1}, interpolate: step}"),
       "4:29: 'interpolate' does not belong beside 'keys' in 'viscosity'; did you mean 'interpolation'?"},
      {"attribute nobody reads", "aegir: 1\nsetup:\n  - gravity: g\n    acceleration: {attribute: x}\n",
       "4:19: 'acceleration' cannot come from an attribute; give a value or {keys: …}"},
      {"attribute name", liquid("viscosity: {attribute: 3x}"),
       "4:26: 'viscosity' binds to '3x', which is not the name of an attribute"},
      {"remap", liquid("viscosity: {attribute: x, remap: [1]}"),
       "4:36: 'viscosity' is a list of 1, but should be a list of 2"},
      {"remap boolean", liquid("active: {attribute: x, remap: [0, 1]}"),
       "4:33: 'active' is not a single number and cannot be remapped"},
      {"whole number", liquid("seed: 1.5"), "4:9: 'seed' is '1.5', but should be a whole number"},
      {"too large", liquid("seed: 3000000000"), "4:9: 'seed' is '3000000000', which is out of range"},
      {"boolean", liquid("sticky: on"), "4:11: 'sticky' is 'on'; write true or false"},
      {"quoted boolean", liquid("sticky: \"true\""), "4:11: 'sticky' is 'true'; write true or false"},
      {"choice", liquid("transfer: flop"),
       "4:13: 'transfer' is 'flop', but should be one of pic, flip, apic; did you mean 'flip'?"},
      {"vector length", liquid("bounds: {min: [1, 2]}"),
       "4:17: 'min' is a list of 2, but should be three numbers [x, y, z]"},
      {"vector text", liquid("bounds: {min: 3}"), "4:17: 'min' is '3', but should be three numbers [x, y, z]"},
      {"vector part", liquid("bounds: {min: [1, x, 2]}"), "4:21: 'min': 'x' is not a number"},
      {"rule", liquid("bounds: {min: [9, 0, 0]}"), "4:11: 'liquid.bounds': 'min' lies beyond 'max'"},
      {"pair", liquid("radius: 3 mm"), "4:11: 'radius' is '3 mm', but should be a list"},
      {"list element", liquid("holes: [{mix: 1}]"),
       "4:12: 'mix' is not a parameter of 'liquid.holes'; did you mean 'min'?"},
      {"map value", liquid("weights: {a: -1}"), "4:16: 'weights' is -1, but must be at least 0"},
      {"objects", nodes("- emitter: e\n  rate: 1\n  objects: {a: b}\n"),
       "5:12: 'objects' is a mapping, but should be a list of object names"},
      {"file", nodes("- emitter: e\n  rate: 1\n  mesh_file: \"\"\n"), "5:14: 'mesh_file' is an empty file name"},
      {"after umlauts", "aegir: 1\nsetup: [{note: üöä, gravty: g}]\n",
       "2:21: 'gravty' is not a type; did you mean 'gravity'?"},
  };
}

class Malformed : public testing::TestWithParam<Case> {};

TEST_P(Malformed, SaysWhatAndWhere) {
  Messages messages;
  EXPECT_EQ(first_error(GetParam().text, messages), GetParam().message) << GetParam().text;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, Malformed, testing::ValuesIn(whole_files()), case_name);
INSTANTIATE_TEST_SUITE_P(Nodes, Malformed, testing::ValuesIn(node_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Parameters, Malformed, testing::ValuesIn(parameter_cases()), case_name);

TEST(MalformedLimits, HostileTextsEndWithALocatedError) {
  std::string laughs = "aegir: 1\nexpose:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    laughs += fmt::format("  a{}: &a{} [", i, i);
    for (int k = 0; k < 10; ++k) laughs += fmt::format("{}*a{}", k ? ", " : "", i - 1);
    laughs += "]\n";
  }
  std::string exposed = "aegir: 1\nexpose:\n  a0: xxxxxxxxxxxxxxxxxxxx\n";
  for (int i = 1; i < 30; ++i) exposed += fmt::format("  a{}: \"${{a{}}}${{a{}}}\"\n", i, i - 1, i - 1);
  std::string lists = "aegir: 1\nexpose:\n  a0: x\n";
  for (int i = 1; i < 60; ++i) lists += fmt::format("  a{}: [\"${{a{}}}\", \"${{a{}}}\"]\n", i, i - 1, i - 1);
  std::string chain = "aegir: 1\nexpose:\n";
  for (int i = 0; i < 500; ++i) chain += fmt::format("  a{}: \"${{a{}}}\"\n", i, i + 1);
  std::string groups = "aegir: 1\nsetup:\n";
  for (int i = 0; i < 30; ++i) groups += fmt::format("{:{}}- group: g\n{:{}}  behaviors:\n", "", 2 * i, "", 2 * i);
  const std::string end = "setup: [{gravity: g}]\n";
  const std::pair<std::string, const char*> cases[] = {
      {laughs + end, "more than 100000 values"},
      {exposed + end, "exposed values make the setup too large"},
      {lists + end, "exposed values"},
      {chain + end, "more than 64 levels deep"},
      {groups + std::string(60, ' ') + "- gravity: g\n", "nested more than"},
      {"aegir: 1\nnote: " + std::string(100000, '['), ""},
      {"aegir: 1\nnote: " + std::string(100, '[') + std::string(100, ']'), "nested more than 64 levels deep"},
      {"aegir: 1\nnote: " + std::string(100000, '{'), ""},
      {std::string(100000, '-'), ""},
      {"aegir: 1\n" +
           [] {
             std::string s;
             for (int i = 0; i < 5000; ++i) s += "- ";
             return s;
           }(),
       ""},
      {"aegir: 1\nsetup: [" +
           [] {
             std::string s;
             for (int i = 0; i < 100001; ++i) s += "a,";
             return s;
           }() +
           "]\n",
       "more than 100000 values"},
      {"aegir: 1\n" + std::string(1000000, 'a') + ": 1\n", ""},
      {std::string((16u << 20) + 1, 'a'), "larger than"},
  };
  for (const auto& [text, message] : cases) {
    Messages messages;
    const std::string error = first_error(text, messages);
    EXPECT_NE(error.find(message), std::string::npos) << text.substr(0, 60) << ": " << error.substr(0, 300);
    EXPECT_NE(error, "(no error)") << text.substr(0, 60);
    EXPECT_GT(messages.errors.front().where.line, 0);
  }
}

}  // namespace
}  // namespace aegir
