#include "phenomena/common/expression.h"

#include <algorithm>
#include <memory>

#include "expressions/apply.h"
#include "phenomena/common/expression_operator.h"
#include "phenomena/common/hybrid_object.h"
#include "pipeline/model/behavior.h"
#include "pipeline/model/in_order.h"
#include "pipeline/schema/catalog.h"
#include "pipeline/schema/suggest.h"

namespace aegir {
namespace {

using expression::CompileOptions;
using expression::Elements;
using expression::Program;

struct Settings : ExpressionSettings {
  Located<std::string> code;
  FilePath file;
  ObjectList objects;
  std::map<std::string, FilePath> fields;
};

/// A stage between sorting and moving: particles are found by their cells, and the grid is laid out for them.
bool sorted(Stage stage) { return stage == Stage::after_forces || stage == Stage::after_solve; }

/// What the language allows and this stage does not.
Status check_stage(const Program& program, const Snippet& snippet, Stage stage) {
  const auto wrong = [&](std::string_view word, std::string text) {
    return Error{Failure::usage, std::move(text), snippet.of_word(word)};
  };
  const expression::Attribute* p = program.find(particle::position.name);
  if (program.elements() == Elements::voxels) return {};
  if (sorted(stage) && p && p->written)
    return wrong("@P", fmt::format("@P cannot be changed at '{}', where particles are sorted by place; change @v here, "
                                   "or @P at 'after_move'",
                                   stage_name(stage)));
  if (sorted(stage) && program.uses().deletes)
    return wrong(
        "deletepoint",
        fmt::format("deletepoint() cannot be used at '{}', where particles are sorted by place; mark them with "
                    "an attribute here and delete them at 'after_move'",
                    stage_name(stage)));
  if (!program.uses().neighbours) return {};
  const bool counts = find_ax_word(snippet.text(), "neighbourcount") != std::string::npos;
  if (!sorted(stage))
    return wrong(
        counts ? "neighbourcount" : "neighbouraverage",
        fmt::format("neighbours are known at 'after_forces' and 'after_solve', not at '{}'; keep the result in "
                    "an attribute there, and use that here",
                    stage_name(stage)));
  for (const expression::Named& c : program.neighbour_channels())
    if (const expression::Attribute* a = program.find(c.name); a && a->written)
      return wrong("neighbouraverage",
                   fmt::format("'{}' is averaged over neighbours and written; write to another attribute, and copy it "
                               "in an expression that comes after",
                               c.name));
  return {};
}

CompileOptions options_for(const Settings& s, Object& object, const Snippet& snippet) {
  CompileOptions options = snippet_options(s);
  if (s.over == ExpressionOver::voxels) {
    options.channels = expression::channels_of(dynamic_cast<HybridObject&>(object).grid());
  } else {
    derive_named(object, snippet, s.stage);
    options.channels = expression::channels_of(*object.particles());
  }
  return options;
}

class Expression final : public Behavior, public InOrder {
 public:
  using Settings = aegir::Settings;
  static TypeInfo info() {
    return {"expression", Category::operator_, "Expression", "Runs a snippet of OpenVDB AX over particles or voxels.",
            "The language is OpenVDB AX; [expressions](../expressions.md) tells what Aegir adds and where it differs. "
            "The snippet runs once for every particle, or for every cell of a liquid's grid, on all threads.\n\n"
            "`@P` is the position in metres, `@v` the velocity in m/s, `@pscale` the radius, `@mass`, `@age` and `@id` "
            "what they say; on grids `v@vel` holds the velocities of the three lower faces of a cell. Other names are "
            "created, and are then known to outputs and checkpoints: `f@heat = 1`. `$time` (s), `$frame`, `$dt` (s) "
            "and `$substep` are those of the substep, `$name` and `v$name` are what `variables` and `vectors` hold.\n\n"
            "`distance(\"object\")` is the distance to a liquid's surface or to a collider, negative inside, and "
            "`sample(\"object\", \"channel\", position)` reads a liquid's grid (`vel`, `pressure`, `surface_distance`, "
            "…), a collider (`vel`, `surface_distance`) or a file of `fields` (`vel`) anywhere.\n\n"
            "Expressions at one stage run in the order in which they stand in the setup. The first frame, the state at "
            "t = 0, only passes `ingest`, `frame_begin`, `substep_begin`, `after_emission` and `frame_end`."};
  }
  static void describe(Schema<Settings>& s);
  explicit Expression(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override;

 private:
  Result<std::vector<Object*>> targets(Builder& build) const;
  Result<std::vector<SampleOffer>> offers(Builder& build) const;
  Status act_on(Builder& build, Object& object, const std::vector<SampleOffer>& offers) const;
  Scoped<Settings> settings_;
};

void Expression::describe(Schema<Settings>& s) {
  s.field("code", &Settings::code).doc("The snippet. A block after `|` keeps its lines.");
  s.field("file", &Settings::file).doc("A file that holds the snippet instead, usually `.ax`.");
  s.field("over", &Settings::over)
      .choices({{"particles", ExpressionOver::particles, "Particles of Objects."},
                {"voxels", ExpressionOver::voxels, "Cells of the grids of liquids and sand."}})
      .doc("What it runs over.");
  s.field("stage", &Settings::stage)
      .choices({{"ingest", Stage::ingest, "Once, before the first frame."},
                {"frame_begin", Stage::frame_begin, "When a frame starts."},
                {"substep_begin", Stage::substep_begin, "When a substep starts."},
                {"after_emission", Stage::after_emission, "When new particles are there."},
                {"after_forces", Stage::after_forces, "Velocities after forces, before solves."},
                {"after_solve", Stage::after_solve, "Velocities as they will move things."},
                {"after_move", Stage::after_move, "The state of the substep's end."},
                {"frame_end", Stage::frame_end, "The state that is written."}})
      .doc("The stage of the substep.");
  s.field("objects", &Settings::objects).doc("Objects it acts on; all in the group that it can act on if not given.");
  s.field("variables", &Settings::variables).doc("Numbers by name, read as `$name`; they may be keyframed.");
  s.field("vectors", &Settings::vectors).doc("Vectors by name, read as `v$name`; they may be keyframed.");
  s.field("fields", &Settings::fields)
      .doc(
          "Files of vector volumes by name, one file or a sequence (`wind.$F4.vdb`), read as "
          "`sample(\"name\", \"vel\", position)`.");
  s.field("seed", &Settings::seed).doc("Another seed gives other random numbers from `rand()`.");
  s.field("loop_limit", &Settings::loop_limit)
      .min(1)
      .advanced()
      .doc("Turns that the loops of the snippet may take for one particle or cell before the run stops.");
  s.check([](const Settings& v) -> std::string {
    if (v.file.empty() == v.code->empty()) return "give one of 'code' and 'file'";
    return wrong_names(v);
  });
}

Result<std::vector<Object*>> Expression::targets(Builder& build) const {
  const Settings& s = settings_.base;
  const bool voxels = s.over == ExpressionOver::voxels;
  std::vector<Object*> all, chosen;
  std::vector<std::string> known;
  for (Object* o : build.objects())
    if (voxels ? dynamic_cast<HybridObject*>(o) != nullptr : o->simulated() && o->particles())
      all.push_back(o), known.push_back(o->path());
  for (const std::string& name : s.objects.names)
    if (std::none_of(all.begin(), all.end(), [&](const Object* o) { return o->named(name); }))
      return usage_error(s.objects.where, "there is no Object '{}' with {} in this group{}", name,
                         voxels ? "a grid" : "particles", suggestion(name, known));
  for (Object* o : all)
    if (s.objects.empty() ||
        std::any_of(s.objects.names.begin(), s.objects.names.end(), [&](const std::string& n) { return o->named(n); }))
      chosen.push_back(o);
  return chosen;
}

Status Expression::act_on(Builder& build, Object& object, const std::vector<SampleOffer>& offers) const {
  const Settings& s = settings_.of(object.path());
  if (s.over != settings_.base.over)
    return usage_error({}, "'over' cannot be overridden for '{}'; write another expression for it", object.path());
  const bool voxels = s.over == ExpressionOver::voxels;
  const auto snippet = Snippet::statements(s.code, s.file, voxels ? Elements::voxels : Elements::particles);
  if (!snippet) return snippet.error();
  auto compiled = compile_snippet(build, *snippet, options_for(s, object, *snippet), offers, s.stage);
  if (!compiled) return compiled.error();
  if (Status ok = check_stage(*compiled->program, *snippet, s.stage); !ok) return ok;
  Status declared;
  if (voxels)
    declared = expression::declare_created(*compiled->program, dynamic_cast<HybridObject&>(object).grid());
  else
    declared = expression::declare_created(*compiled->program, *object.particles());
  if (!declared) return Error{Failure::usage, declared.error().message, snippet->at(0, 0)};
  build.add(std::make_unique<ExpressionOperator>(build.path(), object, std::move(*compiled), s));
  return {};
}

/// What Objects of the whole setup offer, and the files of `fields`.
Result<std::vector<SampleOffer>> Expression::offers(Builder& build) const {
  std::vector<SampleOffer> all = sample_offers(build.all_objects());
  VectorSources sources(build, "a field of an expression");
  for (const auto& [name, file] : settings_.base.fields) {
    for (const Object* o : build.all_objects())
      if (o->named(name))
        return usage_error(file.where, "'fields' calls a file '{}', as the Object '{}' is; choose another name", name,
                           o->path());
    auto vectors = sources.open(file, "vel");
    if (!vectors) return vectors.error();
    all.push_back(sample_offer(name, std::move(*vectors)));
  }
  return all;
}

Status Expression::create_actions(Builder& build) {
  const auto objects = targets(build);
  if (!objects) return objects.error();
  if (objects->empty()) {
    build.switch_off(settings_.base.over == ExpressionOver::voxels ? "no Object in its group has a grid"
                                                                   : "no Object in its group has particles");
    return {};
  }
  const auto offered = offers(build);
  if (!offered) return offered.error();
  for (Object* o : *objects)
    if (Status ok = act_on(build, *o, *offered); !ok) return ok;
  return {};
}

}  // namespace

void register_expression(Catalog& catalog) { catalog.add<Expression>(); }

}  // namespace aegir
