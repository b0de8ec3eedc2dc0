#include "engine/ax_file.h"

#include <algorithm>
#include <array>
#include <optional>

#include "expressions/openvdb_run.h"

namespace aegir {
namespace {

using expression::Attribute;
using expression::Compiled;
using expression::CompileOptions;
using expression::Elements;
using expression::Named;
using expression::Outline;
using expression::Program;
using expression::RunStatus;
using expression::Source;
using expression::Span;
using expression::ValueType;

/// The channel that keys rand(): no snippet can name it, so that `@id` is an attribute like others.
constexpr const char* identity = "aegir:number";

struct TypePair {
  const char* vdb;
  ValueType type;
};
/// OpenVDB's names of the types; int8 is seen as int32.
constexpr std::array type_pairs{
    TypePair{"bool", ValueType::boolean}, TypePair{"int16", ValueType::int16},   TypePair{"int32", ValueType::int32},
    TypePair{"int64", ValueType::int64},  TypePair{"float", ValueType::float32}, TypePair{"double", ValueType::float64},
    TypePair{"vec2i", ValueType::vec2i},  TypePair{"vec2s", ValueType::vec2f},   TypePair{"vec2d", ValueType::vec2d},
    TypePair{"vec3i", ValueType::vec3i},  TypePair{"vec3s", ValueType::vec3f},   TypePair{"vec3d", ValueType::vec3d},
    TypePair{"vec4i", ValueType::vec4i},  TypePair{"vec4s", ValueType::vec4f},   TypePair{"vec4d", ValueType::vec4d},
    TypePair{"mat3s", ValueType::mat3f},  TypePair{"mat3d", ValueType::mat3d},   TypePair{"mat4s", ValueType::mat4f},
    TypePair{"mat4d", ValueType::mat4d},  TypePair{"int8", ValueType::int32},    TypePair{"group", ValueType::int32}};

std::optional<ValueType> type_of(const std::string& vdb) {
  for (const TypePair& p : type_pairs)
    if (vdb == p.vdb) return p.type;
  return std::nullopt;
}
std::string vdb_name(ValueType type) {
  for (const TypePair& p : type_pairs)
    if (type == p.type) return p.vdb;
  return "";
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "'" : ", '") + n + "'";
  return text;
}

class AxRun {
 public:
  AxRun(VdbEdit& file, const AxWork& work) : file_(file), work_(work), source_(work.source) {
    options_.identity = identity;
    for (const AxVariable& v : work.variables) {
      options_.variables.push_back({v.name, v.values.size() == 3 ? ValueType::vec3f : ValueType::float32});
      expression::Value value{v.name, {0, 0, 0}};
      for (std::size_t c = 0; c < v.values.size() && c < 3; ++c) value.value[c] = static_cast<float>(v.values[c]);
      values_.push_back(value);
    }
  }

  Result<AxOutcome> run() {
    if (Status ok = choose_grids(); !ok) return ok.error();
    outline_ = expression::outline_of(source_);
    if (Status ok = choose_elements(); !ok) return ok.error();
    const bool points = source_.elements == Elements::particles;
    const std::vector<int>& grids = points ? points_ : volumes_;
    if (grids.empty())
      return usage_error({}, "there are no {} here to run the expression over; the file has {}",
                         points ? "points" : "volumes", contents());
    Status done;
    if (work_.engine == AxEngine::openvdb || outline_.text)
      done = run_openvdb(grids);
    else
      done = points ? run_points() : run_voxels();
    if (!done) return done.error();
    return std::move(outcome_);
  }

 private:
  const VdbGrid& grid(int g) const { return file_.grids()[static_cast<std::size_t>(g)]; }

  void remark(std::string text) {
    auto& all = outcome_.remarks;
    if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(std::move(text));
  }

  std::string contents() const {
    std::vector<std::string> names;
    for (const VdbGrid& g : file_.grids()) names.push_back(g.name);
    return names.empty() ? "no grids" : list_of(names);
  }

  Status choose_grids() {
    for (const std::string& name : work_.grids)
      if (std::none_of(file_.grids().begin(), file_.grids().end(), [&](const VdbGrid& g) { return g.name == name; }))
        return usage_error({}, "there is no grid '{}'; the file has {}", name, contents());
    for (int g = 0; g < static_cast<int>(file_.grids().size()); ++g) {
      const auto& wanted = work_.grids;
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), grid(g).name) == wanted.end()) continue;
      if (grid(g).kind == VdbGrid::points) points_.push_back(g);
      if (grid(g).kind == VdbGrid::voxels) volumes_.push_back(g);
    }
    return {};
  }

  /// Points or voxels: as said, or by what the file has, or by what the snippet names.
  Status choose_elements() {
    const auto choose = [&](bool points) {
      source_.elements = points ? Elements::particles : Elements::voxels;
      return Status();
    };
    if (work_.over != AxOver::deduced) return choose(work_.over == AxOver::points);
    if (volumes_.empty() || points_.empty()) return choose(volumes_.empty());
    if (outline_.points != outline_.voxels) return choose(outline_.points);
    bool named_points = false, named_volumes = false;
    for (const std::string& name : outline_.attributes) {
      for (const int g : points_) named_points |= grid(g).find(name) != nullptr;
      for (const int g : volumes_) named_volumes |= grid(g).name == name;
    }
    if (named_points != named_volumes) return choose(named_points);
    return usage_error({}, "the file has points and volumes; say --over points or --over voxels");
  }

  Status run_openvdb(const std::vector<int>& grids) {
    outcome_.openvdb = true;
    std::int64_t before = 0, after = 0;
    for (const int g : grids) before += grid(g).count;
    const Status done =
        expression::run_openvdb(source_, options_.variables, values_, file_.lend(grids), outcome_.remarks);
    if (Status ok = file_.take_back(); !ok) return ok;
    if (!done) return done;
    for (const int g : grids) after += grid(g).count;
    if (source_.elements == Elements::particles)
      outcome_.points += before, outcome_.deleted += before - after;
    else
      outcome_.voxels += before;
    return {};
  }

  Result<std::shared_ptr<const Program>> compile(std::vector<Named> channels) {
    options_.channels = std::move(channels);
    std::sort(options_.channels.begin(), options_.channels.end(),
              [](const Named& a, const Named& b) { return a.name < b.name; });
    const Compiled compiled = expression::compile(source_, options_);
    if (!compiled.program) return compiled.error(source_);
    for (const Error& warning : compiled.messages(source_).warnings) remark(warning.text());
    if (compiled.program->uses().neighbours)
      return Error{Failure::usage, "neighbourcount() and neighbouraverage() work in setups, not on files",
                   source_.where};
    return compiled.program;
  }

  VdbKernel kernel(const Program& program, const std::vector<float>& values) const {
    return [this, &program, &values](const VdbLeaf& leaf) -> Status {
      Span span;
      span.planes = leaf.planes, span.variables = values.data(), span.deleted = leaf.deleted;
      const bool voxels = program.elements() == Elements::voxels;
      span.spacing = voxels ? leaf.voxel_size : 1.0;
      for (int a = 0; a < 3; ++a) {
        // A program's cells lie between corners, the voxels of a VDB around their samples.
        span.origin[a] = leaf.origin[a] - (voxels ? 0.5 * leaf.voxel_size : 0.0);
        span.first_cell[a] = leaf.first_voxel[a];
      }
      span.seed = work_.seed, span.step = work_.step;
      span.stop = work_.stop, span.loop_budget = work_.loop_budget;
      for (std::size_t r = 0; r < leaf.range_count; ++r)
        if (Status ok = verdict(program.run(span, leaf.ranges[r].begin, leaf.ranges[r].end)); !ok) return ok;
      return {};
    };
  }

  Status verdict(RunStatus status) const {
    if (status == RunStatus::interrupted) return simulation_error("the expression was interrupted in a loop");
    if (status == RunStatus::loop_limit)
      return Error{
          Failure::usage,
          fmt::format("the expression took more than {} turns of its loops for one element; it may be endless, "
                      "else raise --loop-limit",
                      work_.loop_budget),
          source_.where};
    return {};
  }

  Status run_points() {
    for (const int g : points_) {
      if (grid(g).count == 0) continue;
      std::vector<Named> channels;
      for (const VdbAttribute& a : grid(g).attributes)
        if (const auto type = type_of(a.type); type && a.editable && a.name != "P") channels.push_back({a.name, *type});
      const auto program = compile(std::move(channels));
      if (!program) return program.error();
      if (is_other_grids(**program, g)) {
        remark(fmt::format("points '{}' are left as they are: they lack attributes that the expression reads",
                           grid(g).name));
        continue;
      }
      const auto columns = point_columns(**program, grid(g));
      if (!columns) return columns.error();
      const std::vector<float> values = (*program)->values(values_);
      const auto done = file_.edit_points(g, *columns, kernel(**program, values));
      if (!done) return done.error();
      outcome_.points += done->elements, outcome_.deleted += done->deleted;
    }
    return {};
  }

  /// Whether the snippet reads attributes that this grid lacks and another one has.
  bool is_other_grids(const Program& program, int g) const {
    return std::any_of(program.attributes().begin(), program.attributes().end(), [&](const Attribute& a) {
      return a.created && !a.written && std::any_of(points_.begin(), points_.end(), [&](int other) {
               return other != g && grid(other).find(a.name);
             });
    });
  }

  Result<std::vector<VdbColumn>> point_columns(const Program& program, const VdbGrid& on) const {
    std::vector<VdbColumn> columns;
    for (const Attribute& a : program.attributes()) {
      const VdbAttribute* stored = on.find(a.name);
      if (a.name == identity)
        columns.push_back({a.name, "number", false, false});
      else if (stored && !stored->editable)
        return usage_error(source_.where, "attribute '{}' of '{}' holds {}, which an expression cannot work on{}",
                           a.name, on.name, stored->type, stored->type == "string" ? "; write string@" + a.name : "");
      else
        columns.push_back({a.name, stored ? stored->type : vdb_name(a.type), a.written, !stored});
    }
    return columns;
  }

  Status run_voxels() {
    std::vector<Named> channels;
    for (const int g : volumes_)
      if (const auto type = type_of(grid(g).type)) {
        const auto same = [&](const Named& n) { return n.name == grid(g).name; };
        if (std::none_of(channels.begin(), channels.end(), same)) channels.push_back({grid(g).name, *type});
      }
    const auto program = compile(std::move(channels));
    if (!program) return program.error();
    std::vector<VdbColumn> columns;
    // The volumes whose voxels are run over: those that are written, or the first that is read where all are created.
    const VdbGrid* read = nullptr;
    bool uniform = true, written = false, any = false;
    for (const Attribute& a : (*program)->attributes()) {
      const VdbGrid* stored = nullptr;
      for (const int g : volumes_)
        if (!stored && grid(g).name == a.name) stored = &grid(g);
      columns.push_back({a.name, stored ? stored->type : vdb_name(a.type), a.written, !stored});
      written |= a.written;
      if (stored && a.written) uniform &= stored->uniform, any = true;
      if (stored && !read) read = stored;
    }
    if (!any && read) uniform = read->uniform;
    if (!written) return remark("the expression changes nothing"), Status();
    if (!uniform) {
      remark("a volume is stretched or turned; OpenVDB's own executable runs, without a limit on loops");
      return run_openvdb(volumes_);
    }
    const std::vector<float> values = (*program)->values(values_);
    const auto done = file_.edit_voxels(columns, kernel(**program, values));
    if (!done) return done.error();
    outcome_.voxels += done->elements;
    return {};
  }

  VdbEdit& file_;
  const AxWork& work_;
  Source source_;
  Outline outline_;
  CompileOptions options_;
  std::vector<expression::Value> values_;
  std::vector<int> points_, volumes_;
  AxOutcome outcome_;
};

}  // namespace

Result<AxOutcome> apply_ax(VdbEdit& file, const AxWork& work) { return AxRun(file, work).run(); }

}  // namespace aegir
