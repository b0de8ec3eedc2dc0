// A plugin for Aegir: a vortex that drives particles and liquids around an axis.
//
//   d = r - n (n·r),  r = x - c        from the axis through c along n, |n| = 1, to the particle
//   a = (s n×d - p d) / sqrt(|d|² + R²)
//   s: swirl, m/s²   p: pull, m/s²   R: core, m; inside of it both fall to nothing at the axis
#include <cmath>

#include "phenomena/common/give_force.h"
#include "pipeline/plugin.h"

namespace {

using namespace aegir;

class VortexForce final : public Force {
 public:
  VortexForce(std::string behavior, Parameter<Vec3d> center, Vec3d axis, Parameter<double> swirl,
              Parameter<double> pull, double core)
      : Force(std::move(behavior)),
        center_(std::move(center)),
        swirl_(std::move(swirl)),
        pull_(std::move(pull)),
        n_(axis / length(axis)),
        core_(core),
        c_(center_.constant()),
        s_(static_cast<float>(swirl_.constant())),
        p_(static_cast<float>(pull_.constant())) {}

  // Keyframed settings take their values once per substep.
  void begin_substep(const StepContext& step) override {
    c_ = center_.at(step.frame_time);
    s_ = static_cast<float>(swirl_.at(step.frame_time));
    p_ = static_cast<float>(pull_.at(step.frame_time));
  }

  // A block is a stretch of one bucket; positions are in cells from its corner. 24 bytes and some 30 flops per element.
  void accumulate(const ForceBlock& b) const override {
    const Vec3f corner(b.origin - c_), n(n_);
    const float spacing = static_cast<float>(b.spacing), core = static_cast<float>(core_ * core_);
    for (std::size_t i = 0; i < b.count; ++i) {
      const Vec3f r = corner + Vec3f(b.x[i], b.y[i], b.z[i]) * spacing;
      const Vec3f d = r - n * dot(n, r), around = cross(n, d);
      const float scale = 1.0f / std::sqrt(dot(d, d) + core);
      b.ax[i] += scale * (s_ * around.x - p_ * d.x);
      b.ay[i] += scale * (s_ * around.y - p_ * d.y);
      b.az[i] += scale * (s_ * around.z - p_ * d.z);
    }
  }

 private:
  Parameter<Vec3d> center_;
  Parameter<double> swirl_, pull_;
  Vec3d n_;
  double core_;
  Vec3d c_;
  float s_, p_;
};

class Vortex final : public Behavior {
 public:
  struct Settings : MaskSettings {
    Parameter<Vec3d> center = Vec3d{};
    Vec3d axis = {0, 1, 0};
    Parameter<double> swirl = 5.0;
    Parameter<double> pull = 0.0;
    double core = 0.1;
  };

  // What `aegir describe vortex` and the forms of other programs show.
  static TypeInfo info() {
    return {"vortex", Category::force, "Vortex", "Drives everything in its group around an axis.",
            "`a = (s n×d - p d) / sqrt(|d|² + R²)`, d from the axis to the particle. It adds energy for as long as it "
            "acts; drag or `pull` keeps particles near."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("center", &Settings::center).unit("m").doc("A point of the axis.");
    s.field("axis", &Settings::axis).doc("Direction of the axis; its length does not matter.");
    s.field("swirl", &Settings::swirl).unit("m/s^2").soft(-50, 50).doc("Acceleration around the axis.");
    s.field("pull", &Settings::pull).unit("m/s^2").soft(-50, 50).doc("Acceleration towards the axis.");
    s.field("core", &Settings::core).unit("m").above(0).doc("Radius inside of which it fades to nothing.");
    describe_mask(s);
  }
  explicit Vortex(Scoped<Settings> s) : settings_(std::move(s)) {}

  Status create_actions(Builder& build) override {
    for (Object* o : build.objects())
      if (length(settings_.of(o->path()).axis) < 1e-12)
        return usage_error(build.where(), "the axis of '{}' has no direction; give one, as [0, 1, 0]", build.path());
    return give_force(build, settings_, [&](Object&, const Settings& s) {
      return make_force<VortexForce>(build.path(), s.center, s.axis, s.swirl, s.pull, s.core);
    });
  }

 private:
  Scoped<Settings> settings_;
};

void register_vortex(Catalog& catalog) { catalog.add<Vortex>(); }

}  // namespace

AEGIR_PLUGIN("vortex", "1.0", register_vortex)
