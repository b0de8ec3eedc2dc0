#include "phenomena/common/expression.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <memory>

#include "expressions/apply.h"
#include "phenomena/common/derived_channels.h"
#include "phenomena/common/expression_operator.h"
#include "phenomena/common/expression_place.h"
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
using expression::ValueType;

constexpr std::array<const char*, 4> given_variables{"time", "frame", "dt", "substep"};

struct Settings : ExpressionSettings {
  Located<std::string> code;
  FilePath file;
  ObjectList objects;
};

std::string wrong_names(const Settings& s) {
  const auto wrong = [](const std::string& name) -> std::string {
    const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
    const auto is_word = [&](char c) { return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)); };
    if (name.empty() || !is_letter(name.front()) || !std::all_of(name.begin(), name.end(), is_word))
      return "variable '" + name + "' cannot be written as $name; use letters, digits and _";
    if (std::find(given_variables.begin(), given_variables.end(), name) != given_variables.end())
      return "$" + name + " is given by the run; call the variable something else";
    return "";
  };
  for (const auto& [name, value] : s.variables)
    if (std::string text = wrong(name); !text.empty()) return text;
  for (const auto& [name, value] : s.vectors) {
    if (std::string text = wrong(name); !text.empty()) return text;
    if (s.variables.contains(name)) return "'" + name + "' is in 'variables' and in 'vectors'";
  }
  return "";
}

Result<std::string> read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) return io_error("{}: cannot be read", path);
  return text;
}

/// A snippet with its places. The setup is read again for them, and only when something is wrong.
struct Snippet {
  const Settings& settings;
  std::string text;

  SnippetPlaces places() const {
    if (!settings.file.empty()) return SnippetPlaces::whole_file(settings.file.resolved, text);
    const auto file = read_text(settings.code.where.file);
    return SnippetPlaces::in_setup(file ? *file : "", settings.code.where, text);
  }
};

Result<Snippet> read_snippet(const Settings& s) {
  if (s.file.empty()) return Snippet{s, *s.code};
  auto text = read_text(s.file.resolved);
  if (!text)
    return Error{Failure::io, fmt::format("'{}' cannot be read; is the file there?", s.file.text), s.file.where};
  return Snippet{s, std::move(*text)};
}

/// A stage between sorting and moving: particles are found by their cells, and the grid is laid out for them.
bool sorted(Stage stage) { return stage == Stage::after_forces || stage == Stage::after_solve; }

/// What the language allows and this stage does not.
Status check_stage(const Program& program, const Snippet& snippet) {
  const Stage stage = snippet.settings.stage;
  const auto wrong = [&](std::string_view word, std::string text) {
    return Error{Failure::usage, std::move(text), snippet.places().of_word(word)};
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
  const bool counts = find_ax_word(snippet.text, "neighbourcount") != std::string::npos;
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
  CompileOptions options;
  for (const char* name : given_variables) options.variables.push_back({name, ValueType::float32});
  for (const auto& [name, value] : s.variables) options.variables.push_back({name, ValueType::float32});
  for (const auto& [name, value] : s.vectors) options.variables.push_back({name, ValueType::vec3f});
  auto* hybrid = dynamic_cast<HybridObject*>(&object);
  if (s.over == ExpressionOver::voxels)
    options.channels = expression::channels_of(hybrid->grid());
  else {
    if (auto* source = dynamic_cast<DerivedSource*>(&object))
      for (const DerivedInfo& d : derived_channels())
        if (find_ax_word(snippet.text, std::string("@") + d.name) != std::string::npos)
          source->derive(d.name, s.stage == Stage::frame_end ? Asked::frame_end : Asked::every_substep);
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
            "Expressions at one stage run in the order in which they stand in the setup. The first frame, the state at "
            "t = 0, only passes `ingest`, `frame_begin`, `substep_begin`, `after_emission` and `frame_end`."};
  }
  static void describe(Schema<Settings>& s);
  explicit Expression(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override;

 private:
  Result<std::vector<Object*>> targets(Builder& build) const;
  Status act_on(Builder& build, Object& object) const;
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

Status Expression::act_on(Builder& build, Object& object) const {
  const Settings& s = settings_.of(object.path());
  if (s.over != settings_.base.over)
    return usage_error({}, "'over' cannot be overridden for '{}'; write another expression for it", object.path());
  const Result<Snippet> snippet = read_snippet(s);
  if (!snippet) return snippet.error();
  const bool voxels = s.over == ExpressionOver::voxels;
  const expression::Source source{snippet->text, voxels ? Elements::voxels : Elements::particles, {}, 0};
  const expression::Compiled compiled = expression::compile(source, options_for(s, object, *snippet));
  for (const expression::Diagnostic& d : compiled.diagnostics) {
    Error said{Failure::usage, d.message, snippet->places().at(d.line, d.column)};
    if (d.is_error) return said;
    // Numbers that become other numbers are everywhere: `float x = rand();`.
    if (!d.message.starts_with("implicit conversion"))
      build.warn(fmt::format("{} (at {}:{})", d.message, said.where.line, said.where.column));
  }
  if (!compiled.program) return usage_error(snippet->places().at(0, 0), "the expression cannot be compiled");
  if (Status ok = check_stage(*compiled.program, *snippet); !ok) return ok;
  Status declared;
  if (voxels)
    declared = expression::declare_created(*compiled.program, dynamic_cast<HybridObject&>(object).grid());
  else
    declared = expression::declare_created(*compiled.program, *object.particles());
  if (!declared) return Error{Failure::usage, declared.error().message, snippet->places().at(0, 0)};
  build.add(std::make_unique<ExpressionOperator>(build.path(), object, compiled.program, s));
  return {};
}

Status Expression::create_actions(Builder& build) {
  const auto objects = targets(build);
  if (!objects) return objects.error();
  if (objects->empty()) {
    build.switch_off(settings_.base.over == ExpressionOver::voxels ? "no Object in its group has a grid"
                                                                   : "no Object in its group has particles");
    return {};
  }
  for (Object* o : *objects)
    if (Status ok = act_on(build, *o); !ok) return ok;
  return {};
}

}  // namespace

void register_expression(Catalog& catalog) { catalog.add<Expression>(); }

}  // namespace aegir
