// Surface output: the particles of one or several Objects as one level set and mesh per frame.
#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <set>

#include "io/atomic_file.h"
#include "pipeline/model/action.h"
#include "pipeline/model/behavior.h"
#include "pipeline/model/in_order.h"
#include "pipeline/model/object.h"
#include "pipeline/schema/catalog.h"
#include "pipeline/schema/suggest.h"
#include "surfacing/gather_surface.h"
#include "surfacing/object_points.h"
#include "surfacing/register.h"
#include "surfacing/surface_job.h"

namespace aegir {
namespace {

struct MaskChoice {
  std::string attribute;
  FilePath volume;
  std::string grid;
  double none = 0, full = 1;
};

void describe(Schema<MaskChoice>& s) {
  s.field("attribute", &MaskChoice::attribute).doc("Channel of the particles; the length of vectors.");
  s.field("volume", &MaskChoice::volume).doc("VDB file; a level set counts 1 inside and 0 outside.");
  s.field("grid", &MaskChoice::grid).doc("Volume of the file, by name; its only one if not given.");
  s.field("none", &MaskChoice::none).doc("Value at which the filter does nothing.");
  s.field("full", &MaskChoice::full).doc("Value at which the filter works fully.");
}

struct FilterChoice {
  FilterKind kind = FilterKind::mean_curvature;
  int width = 1, iterations = 1;
  double distance = 1;
  bool spare_droplets = false, never_raise = false;
  std::optional<MaskChoice> mask;
};

void describe(Schema<FilterChoice>& s) {
  s.field("kind", &FilterChoice::kind)
      .choices({{"mean", FilterKind::mean, "Average over a cube of voxels."},
                {"gaussian", FilterKind::gaussian, "Average with weights that fall off."},
                {"median", FilterKind::median, "Median of 27 voxels: takes away what is small, keeps edges."},
                {"mean_curvature", FilterKind::mean_curvature, "Flows towards flat; keeps thin sheets best."},
                {"dilate", FilterKind::dilate, "Moves the surface outwards."},
                {"erode", FilterKind::erode, "Moves the surface inwards."}})
      .doc("What the filter does.");
  s.field("width", &FilterChoice::width).min(1).max(4).doc("Voxels to each side, for mean and gaussian.");
  s.field("iterations", &FilterChoice::iterations).min(0).max(10000).soft(1, 10).doc("How often.");
  s.field("distance", &FilterChoice::distance).min(0).max(1000).soft(0, 3).doc("In voxels, for dilate and erode.");
  s.field("spare_droplets", &FilterChoice::spare_droplets)
      .doc("Leaves what particles alone have drawn as it is; for ellipsoids.");
  s.field("never_raise", &FilterChoice::never_raise)
      .doc("Only adds to the inside, so that thin features stay (Zhu 2005).");
  s.field("mask", &FilterChoice::mask).doc("Where the filter works; everywhere if not given.");
}

struct SurfaceChoice {
  ObjectList objects;
  SurfaceMethod method = SurfaceMethod::ellipsoids;
  double voxel_size = 0, radius_scale = 1, search_radius = 0, sphericity = 0.15, normalisation = 0;
  double droplet_size = 1, smoothing = 0.4;
  std::array<double, 2> droplet_neighbours{4, 12};
  int band = 3;
  std::optional<std::vector<FilterChoice>> filters;
  std::vector<std::string> attributes;
  bool level_set = true;
  MeshFormat mesh = MeshFormat::none;
  double adaptivity = 0;
  int every = 1;
  bool half = false;
  VdbOptions::Naming naming = VdbOptions::houdini;

  SurfaceSettings settings() const {
    SurfaceSettings s;
    s.method = method, s.voxel_size = voxel_size, s.radius_scale = radius_scale, s.search_radius = search_radius;
    s.sphericity = sphericity, s.normalisation = normalisation, s.droplet_size = droplet_size, s.smoothing = smoothing;
    s.droplet_low = droplet_neighbours[0], s.droplet_high = droplet_neighbours[1], s.band = band;
    s.attributes = attributes;
    if (filters) {
      s.filters.emplace();
      for (const FilterChoice& f : *filters) {
        SurfaceFilter filter{f.kind, f.width, f.iterations, f.distance, f.spare_droplets, f.never_raise, {}};
        if (f.mask)
          filter.mask = {f.mask->attribute, f.mask->volume.resolved, f.mask->grid, f.mask->none, f.mask->full};
        s.filters->push_back(std::move(filter));
      }
    }
    return s;
  }
};

void describe_shape(Schema<SurfaceChoice>& s) {
  s.field("method", &SurfaceChoice::method)
      .choices({{"spheres", SurfaceMethod::spheres, "Union of spheres: fast, bumpy."},
                {"zhu_bridson", SurfaceMethod::zhu_bridson, "Averages of positions (Zhu & Bridson)."},
                {"solenthaler", SurfaceMethod::solenthaler,
                 "The same without artefacts between parts (Solenthaler & Pajarola)."},
                {"ellipsoids", SurfaceMethod::ellipsoids,
                 "Ellipsoids along the neighbours (Jones): smooth, with thin sheets."}})
      .doc("How particles become a surface.");
  s.field("voxel_size", &SurfaceChoice::voxel_size)
      .unit(unit::metre)
      .min(0)
      .doc("Of the level set; 0: half of the particle spacing.");
  s.field("radius_scale", &SurfaceChoice::radius_scale)
      .above(0)
      .max(1e5)
      .soft(0.5, 2)
      .doc("Factor on the radii of all particles; 1 puts flat surfaces where they are.");
  s.field("search_radius", &SurfaceChoice::search_radius)
      .min(0)
      .max(32)
      .soft(2, 6)
      .advanced()
      .doc("How far a particle looks for neighbours, in radii; 0: the method's own.");
  s.field("sphericity", &SurfaceChoice::sphericity)
      .above(0)
      .max(1)
      .group("ellipsoids")
      .doc("Smallest stretch of an ellipsoid over its largest (k_r).");
  s.field("normalisation", &SurfaceChoice::normalisation)
      .min(0)
      .max(1)
      .group("ellipsoids")
      .doc("0: every ellipsoid has the volume of its sphere; 1: all of them together have; between: a blend.");
  s.field("smoothing", &SurfaceChoice::smoothing)
      .min(0)
      .max(1)
      .group("ellipsoids")
      .doc("How far centres move to the mean of their neighbours.");
  s.field("droplet_size", &SurfaceChoice::droplet_size)
      .above(0)
      .max(4)
      .group("droplets")
      .doc("Radius of a particle alone over its own (k_n).");
  s.field("droplet_neighbours", &SurfaceChoice::droplet_neighbours)
      .min(0)
      .group("droplets")
      .doc(
          "Up to the first number of neighbours a particle is alone, from the second on it is not; between, its shape "
          "is blended.");
  s.field("band", &SurfaceChoice::band).min(2).max(8).advanced().doc("Half width of the level set in voxels.");
}

class SurfaceOperator final : public Operator {
 public:
  SurfaceOperator(std::string behavior, std::vector<Object*> objects, const SurfaceChoice& choice)
      : Operator(std::move(behavior)),
        objects_(std::move(objects)),
        every_(choice.every),
        settings_(choice.settings()) {
    output_.volumes = choice.level_set, output_.mesh = choice.mesh, output_.adaptivity = choice.adaptivity;
    output_.vdb.half = choice.half, output_.vdb.naming = choice.naming;
  }

  void plan(TaskList& tasks) override {
    std::vector<ChannelAccess> accesses;
    for (const Object* o : objects_) accesses.push_back(reads(o->path(), "*"));
    tasks.add({.name = "surface",
               .stage = Stage::output,
               .behavior = behavior(),
               .accesses = std::move(accesses),
               .after = {},
               .acting = {},
               .run = [this](StepContext& c) { return write(c); }});
  }

 private:
  std::vector<std::string> channels() const {
    std::set<std::string> names{"v", "pscale"};
    names.insert(settings_.attributes.begin(), settings_.attributes.end());
    if (settings_.filters)
      for (const SurfaceFilter& f : *settings_.filters)
        if (!f.mask.attribute.empty()) names.insert(f.mask.attribute);
    return {names.begin(), names.end()};
  }

  Status write(StepContext& c) {
    if (c.output_directory.empty() || c.frame % every_ != 0) return {};
    Comm& comm = c.exec.comm;
    ObjectPoints input = points_of(objects_, channels());
    if (comm.size() == 1) {
      const Result<ParticleSurface> surface = make_surface(input.points, settings_, pool_);
      return surface ? write_frame(c, *surface, input.points) : named(surface.error());
    }
    Result<ParticleSurface> part = make_shared_surface(std::move(input.points), input.ends, settings_, pool_, comm);
    if (Status ok = comm.agree(part ? Status() : Status(named(part.error()))); !ok) return ok;
    const WholeSurface whole = gather_surface(std::move(*part));
    return comm.agree(comm.root() ? write_frame(c, whole.surface, whole.points) : Status());
  }

  Error named(const Error& error) const { return {error.kind, behavior() + ": " + error.message, {}}; }

  Status write_frame(StepContext& c, const ParticleSurface& surface, const PointSet& points) {
    const std::string name = behavior().substr(behavior().rfind('/') + 1);
    const std::string folder = (std::filesystem::path(c.output_directory) / behavior()).string();
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) return system_error("cannot make", folder, failed.value());
    SurfacedFrame done;
    if (Status ok = write_surface(folder, name, c.frame, surface, points, settings_, output_, done); !ok) return ok;
    for (const std::string& remark : done.remarks)
      if (surface.report.particles > 0) c.warn(behavior() + ": " + remark);
    return {};
  }

  std::vector<Object*> objects_;
  int every_;
  SurfaceSettings settings_;
  SurfaceOutput output_;
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
};

/// Built in order, and so after the expressions, whose attributes may be its masks.
class SurfaceBehavior final : public Behavior, public InOrder {
 public:
  using Settings = SurfaceChoice;
  static TypeInfo info() {
    return {
        "surface", Category::output, "Surface",
        "Level set and mesh of the particles of one or several Objects, one file each per frame: "
        "`<name>/<name>.volumes.<frame>.vdb`, `<name>/<name>.mesh.<frame>.ply`.",
        "All Objects together make one surface. The volumes are `surface` (level set, metres, negative inside), `vel` "
        "and the chosen attributes, each from the\nparticle whose shape is nearest. Particles deep inside cost "
        "nothing. Equations, measured errors and limits: [surfacing](../surfacing.md)."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("objects", &Settings::objects)
        .doc("Objects whose particles make the surface; all with particles if not given.");
    describe_shape(s);
    s.field("filters", &Settings::filters)
        .doc(
            "Filters of the level set, in order; two steps of mean_curvature that spare droplets if not given, none "
            "for an empty list.");
    s.field("attributes", &Settings::attributes).doc("Channels carried to the surface besides `v`.");
    s.field("level_set", &Settings::level_set).doc("Writes the level set and the volumes beside it.");
    s.field("mesh", &Settings::mesh)
        .choices({{"none", MeshFormat::none, "No mesh."},
                  {"ply", MeshFormat::ply, "Binary PLY."},
                  {"obj", MeshFormat::obj, "Text."}})
        .doc("Writes a mesh with velocity and attributes per vertex.");
    s.field("adaptivity", &Settings::adaptivity)
        .min(0)
        .max(1)
        .doc("Of the mesh: 0 is even and closed; more grows polygons on flat parts.");
    s.field("every", &Settings::every).min(1).doc("Only frames whose number this divides.");
    s.field("half", &Settings::half).doc("Numbers of volumes with 16 bits.");
    s.field("naming", &Settings::naming)
        .choices({{"houdini", VdbOptions::houdini, "`surface`, `vel`."},
                  {"blender", VdbOptions::blender, "`phi`, `velocity`."}})
        .doc("Names of the volumes in the file.");
    s.check([](const Settings& v) {
      return v.droplet_neighbours[0] > v.droplet_neighbours[1] ? "the numbers of 'droplet_neighbours' must rise" : "";
    });
    s.check([](const Settings& v) {
      return v.search_radius > 0 && v.search_radius < 1 ? "'search_radius' must be 0, or 1 and more" : "";
    });
    s.check([](const Settings& v) {
      return !v.level_set && v.mesh == MeshFormat::none ? "neither a level set nor a mesh is written" : "";
    });
  }
  explicit SurfaceBehavior(Scoped<Settings> s) : settings_(std::move(s)) {}

  Status create_actions(Builder& build) override {
    const Settings& s = settings_.base;
    std::vector<Object*> all, chosen;
    std::vector<std::string> known;
    for (Object* o : build.objects())
      if (o->particles()) all.push_back(o), known.push_back(o->path());
    for (const std::string& name : s.objects.names)
      if (std::none_of(all.begin(), all.end(), [&](const Object* o) { return o->named(name); }))
        return usage_error(s.objects.where, "there is no Object '{}' with particles{}", name, suggestion(name, known));
    for (Object* o : all)
      if (s.objects.empty() || std::any_of(s.objects.names.begin(), s.objects.names.end(),
                                           [&](const std::string& n) { return o->named(n); }))
        chosen.push_back(o);
    if (chosen.empty()) return build.switch_off("no Object has particles"), Status();
    if (Status ok = check_channels(build, chosen); !ok) return ok;
    build.add(std::make_unique<SurfaceOperator>(build.path(), std::move(chosen), s));
    return {};
  }

 private:
  /// Every attribute must be a channel of at least one Object.
  Status check_channels(Builder& build, const std::vector<Object*>& objects) const {
    std::vector<std::string> wanted = settings_.base.attributes;
    if (settings_.base.filters)
      for (const FilterChoice& f : *settings_.base.filters)
        if (f.mask && !f.mask->attribute.empty()) wanted.push_back(f.mask->attribute);
    for (const std::string& name : wanted)
      if (std::none_of(objects.begin(), objects.end(), [&](Object* o) { return o->particles()->has(name); }))
        return usage_error(build.where(), "no Object of this surface has a channel '{}'", name);
    return {};
  }

  Scoped<Settings> settings_;
};

}  // namespace

void register_surfacing(Catalog& catalog) { catalog.add<SurfaceBehavior>(); }

}  // namespace aegir
