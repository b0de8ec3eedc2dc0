#include "phenomena/common/force_field.h"

#include "phenomena/common/give_force.h"
#include "phenomena/common/mask.h"
#include "phenomena/common/vector_source.h"

namespace aegir {
namespace {

enum class ForcePer { mass, volume };

struct ForceFieldSettings : MaskSettings {
  FilePath file;
  std::string volume;
  ForcePer per = ForcePer::mass;
  Parameter<double> scale = 1.0;
};

using Field = std::shared_ptr<const VectorSource>;

class FieldForce final : public Force {
 public:
  FieldForce(std::string behavior, Field field, const ForceFieldSettings& s)
      : Force(std::move(behavior)),
        field_(std::move(field)),
        per_(s.per),
        parameter_(s.scale),
        scale_(s.scale.constant()) {}
  void begin_substep(const StepContext& c) override { scale_ = parameter_.at(c.frame_time); }

  void accumulate(const ForceBlock& b) const override {
    std::array<Vec3d, ForceBlock::capacity> where;
    std::array<Vec3f, ForceBlock::capacity> pull;
    for (std::size_t i = 0; i < b.count; ++i) where[i] = b.world(i);
    field_->vectors({where.data(), b.count}, {pull.data(), b.count});
    for (std::size_t i = 0; i < b.count; ++i) {
      // Per volume: over the density of what is pushed, mass over that of a ball of its radius.
      const float specific =
          per_ == ForcePer::mass ? 1.0f : 4.1887902f * b.radius[i] * b.radius[i] * b.radius[i] / b.mass[i];
      const Vec3f a = pull[i] * (static_cast<float>(scale_) * specific);
      b.ax[i] += a.x, b.ay[i] += a.y, b.az[i] += a.z;
    }
  }

 private:
  Field field_;
  ForcePer per_;
  Parameter<double> parameter_;
  double scale_;
};

class ForceField final : public Behavior {
 public:
  using Settings = ForceFieldSettings;
  static TypeInfo info() {
    return {
        "force_field", Category::force, "Force field", "Pushes with the vectors of an OpenVDB volume.",
        "`a = scale · f(x)` per mass, or `scale · f(x) / ρ` per volume (N/m³), f being interpolated linearly between "
        "samples, staggered or not, and its background outside.\n\nOne file stays the same for the whole run. A file "
        "name with a frame pattern is a sequence, linear in time between frames and held before the first and after "
        "the last; two frames are in memory. `scale` may be keyframed."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("file", &Settings::file).required().doc("OpenVDB file, or one per frame: `wind.$F4.vdb`, `%04d`, `####`.");
    s.field("volume", &Settings::volume).doc("Name of the vector volume; the only one of the file if not given.");
    s.field("per", &Settings::per)
        .choices({{"mass", ForcePer::mass, "An acceleration, m/s²."},
                  {"volume", ForcePer::volume, "A force per volume, N/m³."}})
        .doc("What the vectors are.");
    s.field("scale", &Settings::scale).soft(0, 10).doc("Multiplies the vectors.");
    describe_mask(s);
  }
  explicit ForceField(Scoped<Settings> s) : settings_(std::move(s)) {}

  Status create_actions(Builder& build) override {
    VectorSources sources(build, "a force field");
    const auto make = [&](Object&, const Settings& s) -> MadeForce {
      auto field = sources.open(s.file, s.volume);
      if (!field) return field.error();
      return make_force<FieldForce>(build.path(), std::move(*field), s);
    };
    return give_force(build, settings_, make, [](const Settings& s) { return s.file; });
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_force_field(Catalog& catalog) { catalog.add<ForceField>(); }

}  // namespace aegir
