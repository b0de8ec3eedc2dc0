// Forces that act on anything with a velocity: gravity, attraction to a point.
#include "phenomena/common/forces.h"

#include <cmath>

#include "phenomena/common/drag.h"
#include "phenomena/common/give_force.h"
#include "phenomena/common/mask.h"
#include "pipeline/schema/catalog.h"

namespace aegir {
namespace {

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
  struct Settings : MaskSettings {
    Parameter<Vec3d> acceleration = Vec3d{0, -9.80665, 0};
  };
  static TypeInfo info() {
    return {"gravity", Category::force, "Gravity", "The same acceleration for everything in its group.",
            "`a = g`. The default is standard gravity, 9.80665 m/s². The potential energy in the statistics is `-m "
            "g·x`, zero at the origin; a mask that differs from place to place leaves no potential."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("acceleration", &Settings::acceleration).unit("m/s^2").doc("Acceleration, y up.");
    describe_mask(s);
  }
  explicit Gravity(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    return give_force(build, settings_, [&](Object&, const Settings& s) {
      return make_force<GravityForce>(build.path(), s.acceleration);
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
  struct Settings : MaskSettings {
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
    describe_mask(s);
  }
  explicit Attractor(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    return give_force(build, settings_, [&](Object&, const Settings& s) {
      return make_force<AttractorForce>(build.path(), s.center, s.strength, s.softening);
    });
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_forces(Catalog& catalog) {
  catalog.add<Gravity>();
  register_drag(catalog);
  catalog.add<Attractor>();
}

}  // namespace aegir
