// Forces that act on anything with a velocity: gravity, drag of still and moving air, attraction to a point.
#include "phenomena/common/forces.h"

#include <algorithm>
#include <cmath>

#include "base/simd.h"
#include "pipeline/model/action.h"
#include "pipeline/model/behavior.h"
#include "pipeline/model/object.h"
#include "pipeline/schema/catalog.h"

namespace aegir {
namespace {

/// Gives a force made by `make` to every Object in scope that takes forces.
template <class Make>
Status give_to_targets(Builder& build, Make&& make) {
  int given = 0;
  for (Object* o : build.objects())
    if (auto* target = dynamic_cast<ForceTarget*>(o)) target->add_force(make(*o)), ++given;
  if (!given) build.switch_off("no Object in its group takes forces");
  return {};
}

// ---------------------------------------------------------------------------------------------------------- gravity

class GravityForce final : public Force {
 public:
  GravityForce(std::string behavior, Parameter<Vec3d> acceleration)
      : Force(std::move(behavior)), parameter_(std::move(acceleration)), g_(parameter_.constant()) {}
  void begin_substep(const StepContext& c) override { g_ = parameter_.at(c.frame_time); }
  void accumulate(const ForceBlock& b) const override {
    const Vec3f g(g_);
    for (std::size_t i = 0; i < b.count; ++i) b.ax[i] += g.x, b.ay[i] += g.y, b.az[i] += g.z;
  }
  bool uses_position() const override { return false; }
  bool uniform() const override { return true; }
  double potential(const Vec3d& x) const override { return -dot(g_, x); }

 private:
  Parameter<Vec3d> parameter_;
  Vec3d g_;
};

class Gravity final : public Behavior {
 public:
  struct Settings {
    Parameter<Vec3d> acceleration = Vec3d{0, -9.80665, 0};
  };
  static TypeInfo info() {
    return {"gravity", Category::force, "Gravity", "The same acceleration for everything in its group.",
            "`a = g`. The default is standard gravity, 9.80665 m/s². The potential energy in the statistics is `-m "
            "g·x`, zero at the origin."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("acceleration", &Settings::acceleration).unit("m/s^2").doc("Acceleration, y up.");
  }
  explicit Gravity(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    return give_to_targets(build, [&](Object& o) {
      return std::make_unique<GravityForce>(build.path(), settings_.of(o.path()).acceleration);
    });
  }

 private:
  Scoped<Settings> settings_;
};

// ------------------------------------------------------------------------------------------------------------- drag

enum class DragLaw { sphere, stokes, newton };

struct AirSettings {
  DragLaw law = DragLaw::sphere;
  double air_density = 1.204;       // kg/m³, dry air at 20 °C
  double air_viscosity = 1.813e-5;  // Pa s
  double drag_coefficient = 0.44;
  Parameter<double> scale = 1.0;
};

template <class S>
void describe_air(Schema<S>& s) {
  s.field("law", &S::law)
      .choices({{"sphere", DragLaw::sphere, "Measured drag of a sphere at any Reynolds number (Abraham 1970)."},
                {"stokes", DragLaw::stokes, "Linear: 6 π μ r u, right below a Reynolds number of about 1."},
                {"newton", DragLaw::newton, "Quadratic with `drag_coefficient`."}})
      .doc("How drag depends on speed and size.");
  s.field("air_density", &S::air_density).unit("kg/m^3").min(0).doc("Density of the air.");
  s.field("air_viscosity", &S::air_viscosity).unit("Pa s").min(0).doc("Shear viscosity of the air.");
  s.field("drag_coefficient", &S::drag_coefficient)
      .min(0)
      .soft(0.1, 2)
      .doc("Of a body at high Reynolds number; a sphere has 0.44.");
  s.field("scale", &S::scale)
      .from_attribute()
      .min(0)
      .soft(0, 10)
      .advanced()
      .doc("Multiplies the drag; not physical unless 1. May come from an attribute.");
}

/// a -= λ (v - w), damping += λ with λ = factor · law(radius, speed) / mass. Arguments are restrict so that it
/// vectorises.
template <class Law>  // Law(radius, speed) -> m λ
AEGIR_HOT void drag_kernel(std::size_t n, Vec3f w, const float* __restrict factor, const float* __restrict vx,
                           const float* __restrict vy, const float* __restrict vz, const float* __restrict radius,
                           const float* __restrict mass, float* __restrict ax, float* __restrict ay,
                           float* __restrict az, float* __restrict damping, Law law) {
  for (std::size_t i = 0; i < n; ++i) {
    const float ux = vx[i] - w.x, uy = vy[i] - w.y, uz = vz[i] - w.z;
    const float lambda = factor[i] * law(radius[i], std::sqrt(ux * ux + uy * uy + uz * uz)) / mass[i];
    ax[i] -= lambda * ux, ay[i] -= lambda * uy, az[i] -= lambda * uz, damping[i] += lambda;
  }
}

/// An attribute that an Object does not have is probably misspelt.
void warn_of_missing(Builder& build, Object& object, const AirSettings& s) {
  if (s.scale.attribute() && !(object.particles() && object.particles()->has(s.scale.attribute()->name)))
    build.warn(fmt::format("'{}' has no attribute '{}'; the default {} of 'scale' is used", object.path(),
                           s.scale.attribute()->name, s.scale.constant()));
}

/// Drag of a sphere of radius r and mass m at velocity u relative to the air; the acceleration is -λ u.
///   stokes  λ = 6 π μ r / m
///   newton  λ = ρ C π r² |u| / (2 m)
///   sphere  C = max(C_newton, 0.2924 (1 + 9.06 / √Re)²), Re = 2 r |u| / ν; with |u| pulled in no division by |u| is
///   left:
///           λ = ρ π r² / (2 m) · 0.2924 (√|u| + 9.06 √(ν / 2r))²      [Abraham 1970, Phys. Fluids 13, 2194]
class DragForce final : public Force {
 public:
  DragForce(std::string behavior, AirSettings settings, Parameter<Vec3d> wind)
      : Force(std::move(behavior)), s_(std::move(settings)), wind_(std::move(wind)) {}

  bool implicit() const override { return true; }
  bool uses_position() const override { return false; }
  std::vector<std::string> reads() const override {
    if (s_.scale.attribute()) return {s_.scale.attribute()->name};
    return {};
  }
  void begin_substep(const StepContext& c) override {
    w_ = Vec3f(wind_.at(c.frame_time)), scale_ = static_cast<float>(s_.scale.at(c.frame_time));
  }

  void accumulate(const ForceBlock& b) const override {
    alignas(64) float factor[ForceBlock::capacity];
    const float* painted = s_.scale.attribute() ? b.attribute(s_.scale.attribute()->name) : nullptr;
    if (painted)
      for (std::size_t i = 0; i < b.count; ++i) factor[i] = static_cast<float>(s_.scale.attribute()->map(painted[i]));
    else
      std::fill_n(factor, b.count, scale_);
    switch (s_.law) {
      case DragLaw::stokes:
        return apply(b, factor, [k = static_cast<float>(6 * pi * s_.air_viscosity)](float r, float) { return k * r; });
      case DragLaw::newton:
        return apply(b, factor,
                     [k = static_cast<float>(0.5 * pi * s_.air_density * s_.drag_coefficient)](float r, float speed) {
                       return k * r * r * speed;
                     });
      case DragLaw::sphere:
        break;
    }
    const float k = static_cast<float>(0.5 * pi * s_.air_density), newton = static_cast<float>(s_.drag_coefficient);
    const float half_nu = static_cast<float>(0.5 * s_.air_viscosity / std::max(1e-30, s_.air_density));
    apply(b, factor, [=](float r, float speed) {
      const float root = std::sqrt(speed) + 9.06f * std::sqrt(half_nu / r);
      return k * r * r * std::max(newton * speed, 0.2924f * root * root);
    });
  }

 private:
  static constexpr double pi = 3.14159265358979323846;

  template <class Law>
  void apply(const ForceBlock& b, const float* factor, Law law) const {
    drag_kernel(b.count, w_, factor, b.vx, b.vy, b.vz, b.radius, b.mass, b.ax, b.ay, b.az, b.damping, law);
  }

  AirSettings s_;
  Parameter<Vec3d> wind_;
  Vec3f w_;
  float scale_ = 1;
};

constexpr const char* drag_page =
    "A sphere of radius r (`pscale`) and mass m moving at u relative to the air is slowed by `a = -λ u`:\n\n"
    "- `stokes`: λ = 6 π μ r / m\n- `newton`: λ = ρ C π r² |u| / 2m\n- `sphere`: λ = ρ C π r² |u| / 2m with C = "
    "max(0.44, 0.2924 (1 + 9.06/√Re)²), Re = 2 r |u| ρ/μ (Abraham 1970),\n"
    "  within about 10 % of measurements up to Re = 10⁵.\n\nλ is handed to the integrator, so that any step size is "
    "stable and terminal velocity is exact.";

class AirDrag final : public Behavior {
 public:
  struct Settings : AirSettings {};
  static TypeInfo info() {
    return {"air_drag", Category::force, "Air drag", "Drag of still air on particles by their size and mass.",
            drag_page};
  }
  static void describe(Schema<Settings>& s) { describe_air(s); }
  explicit AirDrag(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    return give_to_targets(build, [&](Object& o) {
      warn_of_missing(build, o, settings_.of(o.path()));
      return std::make_unique<DragForce>(build.path(), settings_.of(o.path()), Vec3d{});
    });
  }

 private:
  Scoped<Settings> settings_;
};

class WindDrag final : public Behavior {
 public:
  struct Settings : AirSettings {
    Parameter<Vec3d> velocity = Vec3d{};
  };
  static TypeInfo info() {
    return {"wind_drag", Category::force, "Wind drag", "Drag of air that moves with a given velocity.", drag_page};
  }
  static void describe(Schema<Settings>& s) {
    s.field("velocity", &Settings::velocity).unit("m/s").doc("Velocity of the air.");
    describe_air(s);
  }
  explicit WindDrag(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    return give_to_targets(build, [&](Object& o) {
      warn_of_missing(build, o, settings_.of(o.path()));
      return std::make_unique<DragForce>(build.path(), settings_.of(o.path()), settings_.of(o.path()).velocity);
    });
  }

 private:
  Scoped<Settings> settings_;
};

// -------------------------------------------------------------------------------------------------------- attractor

class AttractorForce final : public Force {
 public:
  AttractorForce(std::string behavior, Parameter<Vec3d> center, Parameter<double> strength, double softening)
      : Force(std::move(behavior)),
        center_(std::move(center)),
        strength_(std::move(strength)),
        softening_(softening),
        c_(center_.constant()),
        k_(strength_.constant()) {}
  void begin_substep(const StepContext& c) override { c_ = center_.at(c.frame_time), k_ = strength_.at(c.frame_time); }
  void accumulate(const ForceBlock& b) const override {
    const Vec3f offset(b.origin - c_);
    const float spacing = static_cast<float>(b.spacing), k = static_cast<float>(k_),
                soft = static_cast<float>(softening_ * softening_);
    for (std::size_t i = 0; i < b.count; ++i) {
      const float x = offset.x + b.x[i] * spacing, y = offset.y + b.y[i] * spacing, z = offset.z + b.z[i] * spacing;
      const float squared = x * x + y * y + z * z + soft,
                  pull = squared > 0 ? k / (squared * std::sqrt(squared)) : 0.0f;
      b.ax[i] -= pull * x, b.ay[i] -= pull * y, b.az[i] -= pull * z;
    }
  }
  double potential(const Vec3d& x) const override {
    const Vec3d r = x - c_;
    const double distance = std::sqrt(dot(r, r) + softening_ * softening_);
    return distance > 0 ? -k_ / distance : 0;
  }

 private:
  Parameter<Vec3d> center_;
  Parameter<double> strength_;
  double softening_;
  Vec3d c_;
  double k_;
};

class Attractor final : public Behavior {
 public:
  struct Settings {
    Parameter<Vec3d> center = Vec3d{};
    Parameter<double> strength = 1.0;
    double softening = 0.01;
  };
  static TypeInfo info() {
    return {"attractor", Category::force, "Attractor",
            "Pulls towards a point with the inverse square of the distance; negative strength pushes.",
            "`a = -k r / (|r|² + s²)^(3/2)`, r from the centre, k `strength`, s `softening`. Orbits keep their energy "
            "(the integrator is symplectic); closer than a few\n"
            "softening lengths the step must resolve the pull."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("center", &Settings::center).unit("m").doc("The point.");
    s.field("strength", &Settings::strength).unit("m^3/s^2").doc("Acceleration times squared distance.");
    s.field("softening", &Settings::softening).unit("m").min(0).doc("Distance below which the pull stops growing.");
  }
  explicit Attractor(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    return give_to_targets(build, [&](Object& o) {
      const Settings& s = settings_.of(o.path());
      return std::make_unique<AttractorForce>(build.path(), s.center, s.strength, s.softening);
    });
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_forces(Catalog& catalog) {
  catalog.add<Gravity>();
  catalog.add<AirDrag>();
  catalog.add<WindDrag>();
  catalog.add<Attractor>();
}

}  // namespace aegir
