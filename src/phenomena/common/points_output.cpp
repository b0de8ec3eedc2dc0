// Points output: particle Objects as OpenVDB points, one file per Object and frame.
#include "phenomena/common/points_output.h"

#include <algorithm>

#include "io/frame_path.h"
#include "io/vdb.h"
#include "phenomena/common/cache_pieces.h"
#include "phenomena/common/derived_channels.h"
#include "pipeline/model/action.h"
#include "pipeline/model/behavior.h"
#include "pipeline/model/object.h"
#include "pipeline/model/particle_points.h"
#include "pipeline/schema/catalog.h"
#include "pipeline/schema/suggest.h"

namespace aegir {
namespace {

struct PointsSettings {
  ObjectList objects;
  std::vector<std::string> attributes{"v", "pscale", "id", "age"};
  int every = 1;
  bool half = false;
  VdbOptions::Compression compression = VdbOptions::blosc;
  bool split = false;
};

class PointsOperator final : public Operator {
 public:
  PointsOperator(std::string behavior, std::vector<Object*> objects, PointsSettings settings)
      : Operator(std::move(behavior)), objects_(std::move(objects)), s_(std::move(settings)) {}

  void plan(TaskList& tasks) override {
    for (Object* o : objects_)
      tasks.add({.name = "write points of " + o->path(),
                 .stage = Stage::output,
                 .behavior = behavior(),
                 .accesses = {reads(o->path(), "*")},
                 .after = {},
                 .acting = {},
                 .run = [this, o](StepContext& c) { return write(c, *o); }});
  }

 private:
  Status write(StepContext& c, Object& object) const {
    if (c.output_directory.empty() || c.frame % s_.every != 0) return {};
    const ParticleSystem& system = *object.particles();
    std::vector<std::string> names;
    for (const std::string& a : s_.attributes)
      if (system.has(a) && a != particle::position.name) names.push_back(a);
    const CachePiece piece(c.output_directory, object.path(), CacheKind::points, c.frame, c.exec.comm, s_.split);
    const auto alone = make_single_comm();
    const PointSet points = gather_points(system, names, piece.split() ? *alone : c.exec.comm);
    Status status;
    if (piece.writes())
      status = write_points(
          piece.path(), points, system.spacing(),
          {{"frame", std::to_string(c.frame)}, {"time", fmt::format("{:.17g}", c.time)}, {"object", object.path()}},
          {.half = s_.half, .compression = s_.compression});
    return piece.finish(c.exec.comm, status);
  }

  std::vector<Object*> objects_;
  PointsSettings s_;
};

class PointsOutput final : public Behavior {
 public:
  using Settings = PointsSettings;
  static TypeInfo info() {
    return {
        "points", Category::output, "Points",
        "OpenVDB points of particle Objects, one file per Object and frame: `<object>/<object>.points.<frame>.vdb`.",
        "Positions keep the bits of the simulation; `v` is in metres per second, `pscale` is the radius in metres, "
        "`id` never changes. Attributes that an Object\n"
        "does not have are left out. A `hybrid` works these out when they are asked for, as they are where a particle "
        "was when the frame's last substep began:\n\n"
        "- `surface_distance`: m to the surface, negative inside; at most three cells\n"
        "- `density`: kg/m³, mass over the volume that the surface encloses, in the 27 cells around\n"
        "- `vorticity`: 1/s, the curl of the velocity\n"
        "- `pressure_gradient`: Pa/m; 0 in drops that no pressure holds\n"
        "- `neighbours`: how many other particles are within one cell size\n"
        "- `travelled`: m, length of the way since birth"};
  }
  static void describe(Schema<Settings>& s) {
    s.field("objects", &Settings::objects).doc("Objects to write; all with particles if not given.");
    s.field("attributes", &Settings::attributes).doc("Channels to write beside P.");
    s.field("every", &Settings::every).min(1).doc("Only frames whose number this divides.");
    s.field("half", &Settings::half).doc("Floats with 16 bits; positions and ids stay whole.");
    s.field("compression", &Settings::compression)
        .choices({{"blosc", VdbOptions::blosc, "Fast."},
                  {"zip", VdbOptions::zip, "Smaller."},
                  {"none", VdbOptions::none, "As it is."}})
        .doc("How the file is packed.");
    s.field("split", &Settings::split)
        .doc("On several ranks each writes its particles into a file of its own: `<object>/piece_<rank>of<ranks>/…`.");
  }
  explicit PointsOutput(Scoped<Settings> s) : settings_(std::move(s)) {}

  Status create_actions(Builder& build) override {
    std::vector<Object*> all, chosen;
    std::vector<std::string> known;
    for (Object* o : build.objects())
      if (o->particles()) all.push_back(o), known.push_back(o->path());
    const auto& names = settings_.base.objects.names;
    for (const std::string& name : names)
      if (std::none_of(all.begin(), all.end(), [&](const Object* o) { return o->named(name); }))
        return usage_error(settings_.base.objects.where, "there is no Object '{}' with particles{}", name,
                           suggestion(name, known));
    for (Object* o : all)
      if (names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& n) { return o->named(n); }))
        chosen.push_back(o);
    if (chosen.empty()) return build.switch_off("no Object has particles"), Status();
    for (Object* o : chosen)
      if (auto* source = dynamic_cast<DerivedSource*>(o))
        for (const std::string& name : settings_.base.attributes) source->derive(name, Asked::frame_end);
    build.add(std::make_unique<PointsOperator>(build.path(), std::move(chosen), settings_.base));
    return {};
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_points_output(Catalog& catalog) { catalog.add<PointsOutput>(); }

}  // namespace aegir
