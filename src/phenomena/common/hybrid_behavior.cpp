// The Behavior that adds a Hybrid Object to a setup, and what it is filled with.
#include <algorithm>
#include <cctype>
#include <set>

#include "phenomena/common/hybrid_object.h"
#include "phenomena/common/liquid_region.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/catalog.h"

namespace aegir {
namespace {

struct FillSettings : RegionSettings {
  std::optional<double> below;
  Located<std::string> in;
  std::map<std::string, double> attributes;
};
void describe(Schema<FillSettings>& s) {
  s.field("below", &FillSettings::below).unit("m").doc("Everything below this height.");
  s.field("in", &FillSettings::in).doc("Domain that is filled; the one around the Object if not given.");
  s.field("shape", &FillSettings::shape).doc("Inside a shape.");
  s.field("input", &FillSettings::input).doc("Inside the closed mesh of an input.");
  s.field("level_set", &FillSettings::level_set).doc("Where a level set of an OpenVDB file is negative.");
  s.field("attributes", &FillSettings::attributes).doc("Values of the Object's `attributes` for what is filled.");
  s.check([](const FillSettings& f) -> std::string {
    if (f.given() > 1) return "give one of 'shape', 'input' and 'level_set'";
    if (const std::string wrong = f.trouble(); !wrong.empty()) return wrong;
    if (!f.below && f.given() == 0 && f.in.value.empty()) return "give 'below', 'shape', 'input', 'level_set' or 'in'";
    return "";
  });
}

}  // namespace

void describe(Schema<ReseedSettings>& s) {
  s.field("minimum", &ReseedSettings::minimum).min(1).max(64).doc("Cells with fewer particles get new ones.");
  s.field("maximum", &ReseedSettings::maximum).min(2).max(512).doc("Cells with more have the closest merged.");
  s.check([](const ReseedSettings& r) -> std::string {
    return r.maximum < 2 * r.minimum ? "'maximum' must be at least twice 'minimum', or particles come and go" : "";
  });
}

namespace {

/// Fills the Object when the run starts.
class Fill final : public Operator {
 public:
  using Field = std::shared_ptr<const VolumeField>;
  Fill(std::string behavior, HybridObject& object, Region region, Parameter<Vec3d> velocity, Field field, Pour pour)
      : Operator(std::move(behavior)),
        object_(object),
        region_(std::move(region)),
        velocity_(std::move(velocity)),
        field_(std::move(field)),
        pour_(std::move(pour)) {
    object.state().record("filled", &added_);
    object.book_added(this->behavior(), added_);
  }
  void plan(TaskList& tasks) override {
    std::vector<ChannelAccess> accesses{writes(object_.path(), "*")};
    for (const Collider* c : object_.colliders()) accesses.push_back(reads(c->path(), "surface"));
    tasks.add({.name = "fill",
               .stage = Stage::emit,
               .behavior = behavior(),
               .accesses = std::move(accesses),
               .after = object_.pours_so_far(behavior() + ":fill"),
               .acting = {},
               .run = [this](StepContext& c) { return fill(c); }});
  }

 private:
  Status fill(StepContext& c) {
    if (!c.first_frame) return {};
    const Vec3d v = velocity_.at(c.frame_time);
    const auto velocity = [&](const Vec3d& x) { return field_ ? v + Vec3d(field_->vector(x)) : v; };
    const std::int64_t born = object_.fill(c.exec, region_, object_.seeding(), velocity, pour_);
    if (born == 0)
      c.warn(
          fmt::format("'{}': its 'fill' holds no liquid: it is empty, smaller than a particle, inside a solid, or "
                      "outside the domain",
                      object_.path()));
    added_ += static_cast<double>(born) * object_.particle_mass();
    return {};
  }

  HybridObject& object_;
  Region region_;
  Parameter<Vec3d> velocity_;
  Field field_;
  Pour pour_;
  double added_ = 0;  // kg
};

/// What is wrong with the name of a new attribute.
std::string check_name(const std::string& name) {
  static const std::set<std::string> taken{"P",   "id",   "v",        "mass",     "pscale",
                                           "age", "rest", "affine_x", "affine_y", "affine_z"};
  if (taken.contains(name) || find_derived(name) || name == thickness_attribute)
    return fmt::format("every liquid has '{}' already; call the attribute something else", name);
  const auto good = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) || !std::all_of(name.begin(), name.end(), good))
    return fmt::format("'{}' is no name for an attribute; use letters, digits and '_', and a letter first", name);
  return "";
}

class Hybrid final : public Behavior {
 public:
  struct Settings : HybridSettings {
    std::optional<FillSettings> fill;
    Parameter<Vec3d> velocity = Vec3d{};
    std::optional<VolumeReference> velocity_field;
  };
  static TypeInfo info() {
    return {
        "hybrid", Category::object, "Hybrid",
        "Liquid: particles that carry mass and momentum, with a grid for forces and pressure.",
        "Velocities go from particles to the faces of a staggered grid with trilinear weights, are changed there by "
        "forces and materials, and come back:\n\n"
        "- `pic`: `v = u(x)`. Strong smoothing: a transfer there and back adds `Δx²/6 ∇²u` (Zhu 2005, thesis, eq. 3.8 "
        "with the right limits).\n"
        "- `flip`: `v = u(x) + r (v - u_before(x))`, r being `flip_ratio` [Brackbill & Ruppel 1986; Zhu & Bridson "
        "2005].\n"
        "- `apic`: `v = u(x)` and the gradient of u at x go along with the particle [Jiang et al. 2015]; angular "
        "momentum is kept without noise.\n\n"
        "`transfer_viscosity` ν chooses the ratio that adds a viscosity of about ν: `r = 1 - min(1, 6 ν dt/Δx²)`.\n"
        "Without a `pressure` in its group nothing keeps the liquid's volume.\n\n"
        "Limits: features thinner than two cells are not resolved; the grid is as fine everywhere."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("voxel_size", &Settings::voxel_size)
        .unit("m")
        .min(1e-6)
        .max(1e6)
        .soft(0.002, 0.5)
        .doc("Edge of a grid cell.");
    s.field("density", &Settings::density).unit("kg/m^3").above(0).soft(500, 3000).doc("Mass per volume.");
    s.field("fill", &Settings::fill).doc("Where liquid is at the first frame.");
    s.field("velocity", &Settings::velocity).unit("m/s").doc("Velocity of what `fill` puts there.");
    s.field("velocity_field", &Settings::velocity_field).doc("Velocities of an OpenVDB volume, added to `velocity`.");
    s.field("transfer", &Settings::transfer)
        .choices({{"flip", TransferMethod::flip, "Lively; a little noise."},
                  {"apic", TransferMethod::apic, "Smooth and true to rotation; 36 more bytes per particle."},
                  {"pic", TransferMethod::pic, "Thick: strong numerical viscosity."}})
        .doc("How velocities come back from the grid; `flip` where not given, and `apic` for sand.");
    s.field("flip_ratio", &Settings::flip_ratio).min(0).max(1).soft(0.9, 1).doc("1 is FLIP, 0 is PIC.");
    s.field("transfer_viscosity", &Settings::transfer_viscosity)
        .unit("m^2/s")
        .min(0)
        .advanced()
        .doc("Kinematic viscosity that decides `flip_ratio` instead.");
    s.field("particles_per_axis", &Settings::particles_per_axis)
        .min(1)
        .max(4)
        .advanced()
        .doc("Particles per cell along each axis; 2 make eight per cell.");
    s.field("jitter", &Settings::jitter)
        .min(0)
        .max(1)
        .advanced()
        .doc("How far from its lattice place a particle may start; 0 is a regular lattice.");
    s.field("integrator", &Settings::integrator)
        .min(2)
        .max(3)
        .advanced()
        .doc("Order of the Runge–Kutta steps that move particles.");
    s.field("seed", &Settings::seed).advanced().doc("Another seed gives another jitter.");
    s.field("attributes", &Settings::attributes)
        .doc(
            "More numbers that particles carry, by name, and what they are where nobody says otherwise: `{viscosity: "
            "5}`. In SI units. `fill` and `source` set them, parameters that can come from an attribute read them, "
            "`points` writes those it is asked for.");
    s.field("reseed", &Settings::reseed)
        .doc(
            "Keeps the number of particles per cell between `minimum` and `maximum` inside the liquid; mass, momentum "
            "and volume stay. Off where not given.");
    s.field("rest", &Settings::rest)
        .doc("Particles remember where they were born, as `rest`: a coordinate for textures.");
    s.check([](const Settings& v) -> std::string {
      for (const auto& [name, value] : v.attributes)
        if (std::string wrong = check_name(name); !wrong.empty()) return wrong;
      return "";
    });
  }
  explicit Hybrid(Scoped<Settings> s) : settings_(std::move(s)) {}

  Status create_objects(Builder& build) override {
    build.add(std::make_unique<HybridObject>(build.path(), settings_.of(build.path()),
                                             Partition::even(build.exec().comm.size())));
    return {};
  }
  Status create_actions(Builder& build) override {
    HybridObject* object = nullptr;
    for (Object* o : build.objects())
      if (o->path() == build.path()) object = dynamic_cast<HybridObject*>(o);
    if (!object) return {};
    for (Object* other : build.objects_acting_on(*object)) {
      if (const auto* c = dynamic_cast<const Collider*>(other)) object->add_collider(*c);
      if (const auto* l = dynamic_cast<const Limits*>(other))
        if (Status ok = object->set_limits(*l); !ok) return ok;
    }
    const Settings& s = settings_.of(build.path());
    if (!s.fill) return {};
    auto region = region_of(build, *object, *s.fill);
    if (!region) return region.error();
    if (Status ok = object->check_attributes(s.fill->attributes); !ok) return ok;
    std::shared_ptr<const VolumeField> field;
    if (s.velocity_field) {
      const auto loaded = load_vectors(build, *s.velocity_field);
      if (!loaded) return loaded.error();
      field = *loaded;
    }
    object->expect(expected_seeds(*region, object->seeding()));
    build.add(std::make_unique<Fill>(build.path(), *object, std::move(*region), s.velocity, std::move(field),
                                     Pour{.attributes = s.fill->attributes}));
    return {};
  }

 private:
  static Result<Region> region_of(Builder& build, const HybridObject& object, const FillSettings& f) {
    const Limits* domain = object.limits();
    if (!f.in.value.empty()) {
      domain = nullptr;
      for (Object* o : build.objects_acting_on(object))
        if (const auto* l = dynamic_cast<const Limits*>(o); l && l->named(f.in.value)) domain = l;
      if (!domain)
        return usage_error(f.in.where, "'fill.in' names '{}', but there is no domain of that name around '{}'",
                           f.in.value, object.path());
    }
    std::optional<Region> region;
    if (f.given() > 0) {
      Result<Region> made = load_region(build, f);
      if (!made) return made.error();
      region = std::move(*made);
    }
    const Box everywhere{Vec3d(-1e300), Vec3d(1e300)};
    if (domain) {
      Region limits = below_level(f.below.value_or(domain->box().max.y), domain->box());
      if (!f.below) limits.level.reset();
      region = region ? both(std::move(*region), std::move(limits)) : std::move(limits);
    } else if (f.below) {
      if (!region) return usage_error({}, "'fill.below' needs a domain, or a 'shape' or 'input' that bounds it");
      region = both(std::move(*region), below_level(*f.below, everywhere));
    }
    if (region && region->bounds.size().x > 1e200)
      return usage_error({}, "'fill' is endless; give a domain, or a bounded shape");
    if (!region) return usage_error({}, "'fill' is not bounded; give a domain, a shape or an input");
    return std::move(*region);
  }

  Scoped<Settings> settings_;
};

}  // namespace

void register_hybrid(Catalog& catalog) { catalog.add<Hybrid>(); }

}  // namespace aegir
