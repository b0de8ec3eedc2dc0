#include "pipeline/setup/setup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "pipeline/setup/fake_catalog.h"
#include "pipeline/setup/yaml.h"

namespace aegir {
namespace {

using Files = std::map<std::string, std::string>;

struct Loaded {
  Messages messages;
  std::optional<Setup> setup;
  std::string all() const {
    std::string text;
    for (const Error& e : messages.errors) text += e.text() + "\n";
    return text;
  }
  std::string warnings() const {
    std::string text;
    for (const Error& e : messages.warnings) text += e.text() + "\n";
    return text;
  }
};

Loaded load(const std::string& text, std::vector<std::string> sets = {}, const Files& files = {}) {
  static const Catalog catalog = fake::fake_catalog();
  Loaded loaded;
  const ReadFile read = [&](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return usage_error({}, "there is no such file");
    return found->second;
  };
  Result<Setup> setup = parse_setup(text, "dam.yaml", {std::move(sets)}, catalog, loaded.messages, read);
  if (setup)
    loaded.setup = std::move(*setup);
  else
    EXPECT_EQ(setup.error().text(), loaded.messages.errors.front().text());
  return loaded;
}

template <class B>
const typename B::Settings& settings(const SetupNode& node) {
  return dynamic_cast<const B&>(*node.behavior).settings.base;
}

const char* dam = R"(aegir: 1
timeline: {fps: 25, frames: [1001, 1120], substeps: {cfl: 2, max: 6}, checkpoint: {every: 10 min, keep: 2}}
scene: {up: z, metres_per_unit: 1}
expose: {voxel: 1.5 cm, speed: 1.0}
inputs:
  statue: {file: geo/statue.glb, motion: rigid}
setup:
  - gravity: earth
  - group: bulk
    behaviors:
      - liquid: water
        voxel_size: ${voxel}
        viscosity: {keys: {1001: 1 mPa s, 1080: 0.9}, interpolation: smooth}
        flip_ratio: {attribute: wet, remap: [0.6, 0.1], default: 0.3}
        transfer: apic
        angle: 90 deg
        radius: [0.2 mm, 6 mm]
        fill: {min: [-2 m, 0, 0]}
        overrides: {statue: {transfer: pic, fill: {max: [3, 1, 1]}}}
      - emitter: rain
        rate: "${speed}"
        where: "@surface_distance > 2 * $voxel_size"
        enabled: false
        note: not today
outputs:
  - points: cache
    objects: [bulk/water]
)";

TEST(Setup, ReadsTheWholeLanguage) {
  const Loaded r = load(dam);
  ASSERT_TRUE(r.setup) << r.all();
  const aegir::Setup& s = *r.setup;
  EXPECT_EQ(s.timeline.fps, 25);
  EXPECT_EQ(s.timeline.first(), 1001);
  EXPECT_EQ(s.timeline.last(), 1120);
  EXPECT_EQ(s.timeline.substeps.cfl, 2);
  EXPECT_EQ(s.timeline.substeps.max, 6);
  EXPECT_EQ(s.timeline.checkpoint.every, (Interval{0, 600}));
  EXPECT_EQ(s.scene.up, UpAxis::z);
  EXPECT_EQ(s.inputs.at("statue").file.resolved, "geo/statue.glb");
  EXPECT_EQ(s.inputs.at("statue").motion, InputMotion::rigid);
  ASSERT_EQ(s.root.children.size(), 2u);
  EXPECT_EQ(s.root.children[0].path, "earth");
  const SetupNode& water = s.root.children[1].children[0];
  EXPECT_EQ(water.path, "bulk/water");
  EXPECT_EQ(water.type, "liquid");
  EXPECT_EQ(water.where, (Location{"dam.yaml", 11, 9}));
  ASSERT_EQ(water.overrides.size(), 1u);
  const auto& liquid = dynamic_cast<const fake::Liquid&>(*water.behavior).settings;
  EXPECT_DOUBLE_EQ(liquid.base.voxel_size, 0.015);
  EXPECT_DOUBLE_EQ(liquid.base.viscosity.at(1001), 0.001);
  EXPECT_DOUBLE_EQ(liquid.base.viscosity.at(1080), 0.9);
  EXPECT_EQ(liquid.base.viscosity.interpolation(), Interpolation::smooth);
  ASSERT_TRUE(liquid.base.flip_ratio.attribute());
  EXPECT_DOUBLE_EQ(liquid.base.flip_ratio.attribute()->map(0.5), 0.35);
  EXPECT_EQ(liquid.base.flip_ratio.at(5), 0.3);
  EXPECT_NEAR(liquid.base.angle, 1.5707963267948966, 1e-15);
  EXPECT_EQ(liquid.base.fill->min, (Vec3d{-2, 0, 0}));
  EXPECT_EQ(liquid.base.fill->max, (Vec3d{1, 1, 1}));
  EXPECT_EQ(liquid.of("solids/statue").transfer, fake::Transfer::pic);
  EXPECT_EQ(liquid.of("statue").fill->min, (Vec3d{-2, 0, 0}));
  EXPECT_EQ(liquid.of("statue").fill->max, (Vec3d{3, 1, 1}));
  EXPECT_EQ(liquid.of("bulk/water").transfer, fake::Transfer::apic);
  const SetupNode& rain = s.root.children[1].children[1];
  EXPECT_FALSE(rain.enabled);
  EXPECT_EQ(rain.note, "not today");
  EXPECT_EQ(settings<fake::Emitter>(rain).rate.at(0), 1);
  EXPECT_EQ(settings<fake::Emitter>(rain).where.where, (Location{"dam.yaml", 22, 16}));
  EXPECT_EQ(s.outputs[0].path, "cache");
  EXPECT_EQ(s.hash.size(), 16u);
}

TEST(Setup, WritesBackWhatItRead) {
  const Loaded first = load(dam);
  ASSERT_TRUE(first.setup) << first.all();
  const std::string written = write_setup(*first.setup);
  const Loaded second = load(written);
  ASSERT_TRUE(second.setup) << second.all() << written;
  EXPECT_EQ(first.setup->hash, second.setup->hash) << written;
  EXPECT_EQ(written, write_setup(*second.setup));
  EXPECT_TRUE(diff_setups(first.setup->document, second.setup->document).empty());
}

TEST(Setup, WritesAwkwardTextsBack) {
  const Loaded first = load(
      "aegir: 1\nsetup:\n"
      "  - emitter: a\n    rate: 1\n    where: |\n      line one;\n      line: two # no comment\n\n      three\n"
      "  - emitter: b\n    rate: 1\n    where: \"yes\"\n"
      "  - emitter: c\n    rate: 1\n    where: \"tab\\there 'and' \\\"there\\\" \\\\ ü [x, {y}] \"\n"
      "  - emitter: d\n    rate: 1\n    where: '12'\n    objects: [\"a b\", \"- x\"]\n"
      "  - emitter: e\n    rate: 1\n    where: |\n\n       indented\n");
  ASSERT_TRUE(first.setup) << first.all();
  const std::string written = write_setup(*first.setup);
  const Loaded second = load(written);
  ASSERT_TRUE(second.setup) << second.all() << written;
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_EQ(settings<fake::Emitter>(first.setup->root.children[i]).where.value,
              settings<fake::Emitter>(second.setup->root.children[i]).where.value);
  EXPECT_EQ(first.setup->hash, second.setup->hash) << written;
}

TEST(Setup, HashIsOfTheMeaningOnly) {
  const auto hash = [](const std::string& text) {
    const Loaded r = load(text);
    EXPECT_TRUE(r.setup) << r.all();
    return r.setup ? r.setup->hash : "";
  };
  const std::string base = hash("aegir: 1\nsetup:\n- liquid: w\n  voxel_size: 1.5 cm\n- gravity: g\n");
  EXPECT_EQ(
      base,
      hash("# hello\naegir: 1\nsetup:\n  - gravity: g\n  - {liquid: w, voxel_size: 0.015, sticky: false, note: x}\n"));
  EXPECT_EQ(base, hash(R"({"aegir": 1, "setup": [{"liquid": "w", "voxel_size": "15 mm"}, {"gravity": "g"}]})"));
  EXPECT_NE(base, hash("aegir: 1\nsetup:\n- liquid: w\n  voxel_size: 1.6 cm\n- gravity: g\n"));
  EXPECT_NE(base, hash("aegir: 1\nsetup:\n- liquid: w\n  voxel_size: 1.5 cm\n- gravity: h\n"));
  EXPECT_NE(base, hash("aegir: 1\nsetup:\n- liquid: w\n  voxel_size: 1.5 cm\n  enabled: false\n- gravity: g\n"));
}

TEST(Setup, AcceptsMarksAndLineEndsOfOtherSystems) {
  const Loaded r = load(
      "\xEF\xBB\xBF"
      "aegir: 1\r\nsetup:\r\n  - gravity: g\r\n  - emitter: e\r\n    rate: 1\r\n    where: |\r\n      a\r\n      "
      "b\r\n");
  ASSERT_TRUE(r.setup) << r.all();
  EXPECT_EQ(settings<fake::Emitter>(r.setup->root.children[1]).where.value, "a\nb\n");
}

TEST(Setup, AcceptsJsonWithTabs) {
  const Loaded r = load("{\n\t\"aegir\": 1,\n\t\"setup\": [\n\t\t{\"gravity\": \"g\"}\n\t]\n}\n");
  EXPECT_TRUE(r.setup) << r.all();
}

TEST(Setup, SubstepsAndCheckpointsHaveShortForms) {
  const Loaded r =
      load("aegir: 1\ntimeline: {substeps: 4, checkpoint: {every: 5 frames}}\ninputs: {cam: a.glb}\nsetup: []\n");
  ASSERT_TRUE(r.setup) << r.all();
  EXPECT_EQ(r.setup->timeline.substeps.fixed, 4);
  EXPECT_EQ(r.setup->timeline.checkpoint.every, (Interval{5, 0}));
  EXPECT_EQ(r.setup->inputs.at("cam").file.text, "a.glb");
}

TEST(Setup, CommandLineSetsExposedNamesAndParameters) {
  const Loaded r = load(dam, {"voxel=3cm", "bulk/rain.enabled=true", "setup/bulk/water.overrides.statue.sticky=true",
                              "timeline.substeps.max=9", "earth.acceleration=[0, 0, -1 m/s^2]", "outputs/cache.every=4",
                              "inputs/statue.file=other.glb", "bulk/water.flip_ratio={keys: {1: 0, 2: 1}}"});
  ASSERT_TRUE(r.setup) << r.all();
  const SetupNode& water = r.setup->root.children[1].children[0];
  EXPECT_DOUBLE_EQ(settings<fake::Liquid>(water).voxel_size, 0.03);
  EXPECT_TRUE(dynamic_cast<const fake::Liquid&>(*water.behavior).settings.of("statue").sticky);
  EXPECT_EQ(settings<fake::Liquid>(water).flip_ratio.at(1.5), 0.5);
  EXPECT_TRUE(r.setup->root.children[1].children[1].enabled);
  EXPECT_EQ(r.setup->timeline.substeps.max, 9);
  EXPECT_EQ(settings<fake::Gravity>(r.setup->root.children[0]).acceleration.at(0), (Vec3d{0, 0, -1}));
  EXPECT_EQ(settings<fake::Points>(r.setup->outputs[0]).every, 4);
  EXPECT_EQ(r.setup->inputs.at("statue").file.resolved, "other.glb");
}

TEST(Setup, CommandLineMistakesAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"voxl=3", "--set: 'voxl' is not exposed; did you mean 'voxel'?\n"},
      {"voxel", "--set: 'voxel' should be NAME=VALUE or PATH.PARAMETER=VALUE\n"},
      {"=3", "--set: '=3' should be NAME=VALUE or PATH.PARAMETER=VALUE\n"},
      {"voxel=", "--set: 'voxel=' should be NAME=VALUE or PATH.PARAMETER=VALUE\n"},
      {"voxel=[1",
       "--set: the value of 'voxel' cannot be read: a list cannot be a key; a closing bracket or brace is missing, or "
       "a text needs quotes\n"},
      {"voxel=3 kg", "--set: 'voxel_size': '3 kg' is a mass (kg), but a length (m) is expected\n"},
      {"earth=3", "--set: 'earth' is a node; name one of its parameters, as in earth.enabled\n"},
      {"bulk/watr.voxel_size=3", "--set: 'bulk/watr' names no node of the setup; did you mean 'bulk/water'?\n"},
      {"bulk/water.voxel_sise=3", "--set: 'voxel_sise' is not a parameter of 'liquid'; did you mean 'voxel_size'?\n"},
      {"bulk/water.liquid=x", "--set: 'bulk/water.liquid' cannot be set from the command line; only parameters can\n"},
      {"bulk.behaviors=[]", "--set: 'bulk.behaviors' cannot be set from the command line; only parameters can\n"},
      {"inputs/statu.file=x", "--set: 'statu' is not an input; did you mean 'statue'?\n"},
      {"timeline.fps.x=1", "--set: 'timeline.fps.x' cannot be set: the file has '25' where 'x' should be\n"},
      {"timeline.=1", "--set: 'timeline.' has an empty part\n"},
  };
  for (const auto& [set, message] : cases) EXPECT_EQ(load(dam, {set}).all(), message) << set;
}

TEST(Setup, ExposedValuesReferToEachOther) {
  const Loaded r = load(
      "aegir: 1\nexpose: {a: \"${b}\", b: 2, file: \"rain_${a}\", box: {min: [0, 0, \"${b}\"]}}\n"
      "setup:\n  - emitter: e\n    rate: ${a}0\n    where: \"x ${file} $y @z {q}\"\n  - liquid: l\n    fill: ${box}\n");
  ASSERT_TRUE(r.setup) << r.all();
  EXPECT_EQ(settings<fake::Emitter>(r.setup->root.children[0]).rate.at(0), 20);
  EXPECT_EQ(settings<fake::Emitter>(r.setup->root.children[0]).where.value, "x rain_2 $y @z {q}");
  EXPECT_EQ(settings<fake::Liquid>(r.setup->root.children[1]).fill->min, (Vec3d{0, 0, 2}));
}

TEST(Setup, IncludesFilesFromTheirOwnFolder) {
  const Files files = {
      {"lib/house.yaml",
       "aegir: 1\nexpose: {rate: 5, size: 2}\ninputs: {rock: {file: rock.ply}}\nsetup:\n"
       "  - include: deep/more.yaml\n  - emitter: rain\n    rate: ${rate}\n    mesh_file: ../geo/${size}.ply\n"},
      {"lib/deep/more.yaml", "aegir: 1\nsetup: [{gravity: moon}]\noutputs: []\n"}};
  const Loaded r =
      load("aegir: 1\nexpose: {rate: 7}\nsetup:\n  - group: g\n    behaviors:\n      - include: lib/house.yaml\n",
           {"size=3"}, files);
  ASSERT_TRUE(r.setup) << r.all();
  const SetupNode& g = r.setup->root.children[0];
  ASSERT_EQ(g.children.size(), 2u);
  EXPECT_EQ(g.children[0].path, "g/moon");
  EXPECT_EQ(settings<fake::Emitter>(g.children[1]).rate.at(0), 7);
  EXPECT_EQ(settings<fake::Emitter>(g.children[1]).mesh_file.resolved, "geo/3.ply");
  EXPECT_EQ(r.setup->inputs.at("rock").file.resolved, "lib/rock.ply");
  EXPECT_EQ(r.setup->files, (std::vector<std::string>{"dam.yaml", "lib/house.yaml", "lib/deep/more.yaml"}));
  EXPECT_EQ(r.warnings(), "lib/house.yaml:5:14: 'outputs' of the included lib/deep/more.yaml is not used\n");
  const Loaded again = load(write_setup(*r.setup));
  ASSERT_TRUE(again.setup) << again.all();
  EXPECT_EQ(again.setup->hash, r.setup->hash);
}

TEST(Setup, IncludeCyclesAndDepthNameTheChain) {
  const Files cycle = {{"a.yaml", "aegir: 1\nsetup: [{include: b.yaml}]\n"},
                       {"b.yaml", "aegir: 1\nsetup:\n  - include: ./a.yaml\n"}};
  EXPECT_EQ(load("aegir: 1\nsetup:\n  - include: a.yaml\n", {}, cycle).all(),
            "b.yaml:3:14: the files include each other: dam.yaml → a.yaml → b.yaml → a.yaml\n");
  EXPECT_EQ(load("aegir: 1\nsetup:\n  - include: dam.yaml\n", {}, {}).all(),
            "dam.yaml:3:14: the files include each other: dam.yaml → dam.yaml\n");
  Files deep, wide;
  for (int i = 0; i < 50; ++i) {
    const std::string next = fmt::format("f{}.yaml", i + 1);
    deep[fmt::format("f{}.yaml", i)] = "aegir: 1\nsetup:\n- include: " + next + "\n";
    if (i < 20)
      wide[fmt::format("f{}.yaml", i)] = "aegir: 1\nsetup:\n- include: " + next + "\n- include: " + next + "\n";
  }
  wide["f20.yaml"] = "aegir: 1\nsetup: []\n";
  const std::string start = "aegir: 1\nsetup:\n- include: f0.yaml\n";
  EXPECT_NE(load(start, {}, deep)
                .all()
                .find("f31.yaml:3:12: includes are nested more than 32 levels deep: dam.yaml → f0.yaml"),
            std::string::npos);
  EXPECT_NE(load(start, {}, wide).all().find("more than 1000 includes"), std::string::npos);
}

TEST(Setup, TellsWhatChanged) {
  const Loaded old =
      load("aegir: 1\nsetup:\n- group: rain\n  behaviors:\n  - {emitter: emitter, rate: 1000}\n  - {gravity: a}\n");
  const Loaded now = load(
      "aegir: 1\ntimeline: {substeps: 4}\nsetup:\n- group: rain\n  behaviors:\n  - {emitter: emitter, rate: 2000}\n  - "
      "{liquid: b, seed: 3}\n");
  ASSERT_TRUE(old.setup && now.setup);
  EXPECT_EQ(diff_setups(old.setup->document, now.setup->document),
            (std::vector<std::string>{"setup/rain/a: removed", "setup/rain/b: added",
                                      "setup/rain/emitter.rate: 1000 → 2000", "timeline.substeps.fixed: default → 4"}));
}

TEST(Setup, WarnsOfTrapsAndOfUnusedValues) {
  const Loaded r = load("aegir: 1\nexpose: {a: 1}\nsetup:\n- emitter: e\n  rate: 1\n  input: no\n");
  EXPECT_TRUE(r.setup);
  EXPECT_EQ(r.warnings(),
            "dam.yaml:2:10: 'a' is exposed, but nothing uses it\n"
            "dam.yaml:6:10: 'no' is true or false to some YAML readers; put it in quotes\n");
}

TEST(Setup, CollectsEveryMistake) {
  const Loaded r =
      load("aegir: 1\ntimelin: {}\nsetup:\n- gravty: g\n- liquid: w\n  seed: x\n  sticky: 1\n- liquid: w\n");
  EXPECT_EQ(r.all(),
            "dam.yaml:2:1: 'timelin' is not a part of a setup file; did you mean 'timeline'?\n"
            "dam.yaml:4:3: 'gravty' is not a type; did you mean 'gravity'?\n"
            "dam.yaml:6:9: 'seed' is 'x', but should be a whole number\n"
            "dam.yaml:7:11: 'sticky' is '1'; write true or false\n"
            "dam.yaml:8:11: there are two nodes 'w'; the other is at dam.yaml:5:11\n");
}

TEST(Setup, TypesThatComeLaterAreTheOnlyErrorsOfARichSetup) {
  const std::string text = R"(aegir: 1
timeline: {fps: 24, frames: [1001, 1120], substeps: {cfl: 3, max: 8}, checkpoint: {every: 10 min, keep: 3}}
scene: {up: y, metres_per_unit: 1}
expose: {voxel: 1.5 cm, spray: 1.0}
inputs:
  statue:  {file: geo/statue.glb, motion: rigid}
  shotcam: {file: geo/cam.glb}
setup:
  - gravity: earth
  - group: bulk
    behaviors:
      - hybrid: water
        voxel_size: ${voxel}
        fill: {below: 0 m, in: pool}
  - group: spray
    behaviors:
      - transition: breakaway
        from: bulk/water
        when: "@pressure_gradient < 0.15 * $density * $g && @neighbours < 12"
        split: {distribution: inverse_cubic, amount: "${spray}"}
  - expression: speed_limit
    objects: [bulk/water, spray/drops]
    code: |
      float s = length(v@v);
      if (s > 12.0f) v@v *= (12.0f + 0.2f * (s - 12.0f)) / s;
outputs:
  - points: cache
    objects: [bulk/water, spray/drops]
  - preview: quick
    camera: shotcam
)";
  Catalog catalog = fake::fake_catalog();
  for (const char* later : {"transition", "expression", "preview"}) catalog.announce(later, "later");
  Messages messages;
  EXPECT_FALSE(parse_setup(text, "dam.yaml", {}, catalog, messages));
  std::string all;
  for (const Error& e : messages.errors) all += e.text() + "\n";
  EXPECT_EQ(all,
            "dam.yaml:12:9: 'hybrid' (liquids) is not part of this version yet\n"
            "dam.yaml:17:9: 'transition' (later) is not part of this version yet\n"
            "dam.yaml:21:5: 'expression' (later) is not part of this version yet\n"
            "dam.yaml:29:5: 'preview' (later) is not part of this version yet\n");
}

TEST(Setup, LoadsFromDisk) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("aegir_setup_test_{}", ::getpid());
  fs::create_directories(folder / "lib");
  std::ofstream(folder / "main.yaml") << "aegir: 1\nsetup:\n- include: lib/part.yaml\n- include: missing.yaml\n";
  std::ofstream(folder / "lib/part.yaml") << "aegir: 1\nsetup: [{gravity: g}]\n";
  const Catalog catalog = fake::fake_catalog();
  Messages messages;
  const std::string main = (folder / "main.yaml").string();
  const auto setup = load_setup(main, {}, catalog, messages);
  ASSERT_FALSE(setup);
  EXPECT_EQ(setup.error().kind, Failure::usage);
  EXPECT_EQ(setup.error().text(), main + ":4:12: 'missing.yaml' cannot be included: No such file or directory");
  Messages others;
  const auto absent = load_setup((folder / "none.yaml").string(), {}, catalog, others);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, Failure::usage);
  EXPECT_EQ(absent.error().message, "the setup cannot be read: No such file or directory");
  Messages directory;
  EXPECT_FALSE(load_setup(folder.string(), {}, catalog, directory));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace aegir
