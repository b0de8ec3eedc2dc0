#include "phenomena/common/force_field.h"

#include "io/vdb_volumes.h"
#include "pipeline/model/action.h"
#include "pipeline/model/behavior.h"
#include "pipeline/model/object.h"
#include "pipeline/schema/catalog.h"
#include "pipeline/schema/sections.h"

namespace aegir {
namespace {

enum class ForcePer { mass, volume };

struct ForceFieldSettings {
  FilePath file;
  std::string volume;
  FilePath mask_file;
  std::string mask_volume;
  ForcePer per = ForcePer::mass;
  Parameter<double> scale = 1.0;
};

using Field = std::shared_ptr<const VolumeField>;

class FieldForce final : public Force {
 public:
  FieldForce(std::string behavior, Field field, Field mask, const ForceFieldSettings& s)
      : Force(std::move(behavior)),
        field_(std::move(field)),
        mask_(std::move(mask)),
        per_(s.per),
        parameter_(s.scale),
        scale_(s.scale.constant()) {}
  void begin_substep(const StepContext& c) override { scale_ = parameter_.at(c.frame_time); }

  void accumulate(const ForceBlock& b) const override {
    std::array<Vec3d, ForceBlock::capacity> where;
    std::array<Vec3f, ForceBlock::capacity> pull;
    std::array<float, ForceBlock::capacity> share;
    for (std::size_t i = 0; i < b.count; ++i) where[i] = b.world(i);
    const std::span<const Vec3d> places(where.data(), b.count);
    field_->vectors(places, {pull.data(), b.count});
    std::fill_n(share.begin(), b.count, 1.0f);
    if (mask_) mask_->values(places, {share.data(), b.count});
    for (std::size_t i = 0; i < b.count; ++i) {
      // Per volume: over the density of what is pushed, mass over that of a ball of its radius.
      const float specific =
          per_ == ForcePer::mass ? 1.0f : 4.1887902f * b.radius[i] * b.radius[i] * b.radius[i] / b.mass[i];
      const Vec3f a = pull[i] * (static_cast<float>(scale_) * share[i] * specific);
      b.ax[i] += a.x, b.ay[i] += a.y, b.az[i] += a.z;
    }
  }

 private:
  Field field_, mask_;
  ForcePer per_;
  Parameter<double> parameter_;
  double scale_;
};

class ForceField final : public Behavior {
 public:
  using Settings = ForceFieldSettings;
  static TypeInfo info() {
    return {"force_field", Category::force, "Force field", "Pushes with the vectors of an OpenVDB volume.",
            "`a = scale · mask(x) · f(x)` per mass, or `scale · mask(x) · f(x) / ρ` per volume (N/m³), f being "
            "interpolated linearly between samples, staggered "
            "or not, and its background outside. A mask is a scalar volume; it multiplies the force.\n\nThe volume "
            "stays the same for the whole run; `scale` may be keyframed."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("file", &Settings::file).required().doc("OpenVDB file.");
    s.field("volume", &Settings::volume).doc("Name of the vector volume; the only one of the file if not given.");
    s.field("mask_file", &Settings::mask_file)
        .doc("OpenVDB file of a mask; the same file if only `mask_volume` is given.");
    s.field("mask_volume", &Settings::mask_volume).doc("Name of the scalar volume that the force is multiplied with.");
    s.field("per", &Settings::per)
        .choices({{"mass", ForcePer::mass, "An acceleration, m/s²."},
                  {"volume", ForcePer::volume, "A force per volume, N/m³."}})
        .doc("What the vectors are.");
    s.field("scale", &Settings::scale).soft(0, 10).doc("Multiplies the vectors.");
  }
  explicit ForceField(Scoped<Settings> s) : settings_(std::move(s)) {}

  Status create_actions(Builder& build) override {
    int given = 0;
    for (Object* o : build.objects()) {
      auto* target = dynamic_cast<ForceTarget*>(o);
      if (!target) continue;
      const Settings& s = settings_.of(o->path());
      const auto field = read(build, s.file, s.volume);
      if (!field) return field.error();
      if (!(*field)->is_vector())
        return usage_error(s.file.where, "'{}' of '{}' is no vector volume; a force field needs one", (*field)->name(),
                           s.file.text);
      Field mask;
      if (!s.mask_file.empty() || !s.mask_volume.empty()) {
        const auto loaded = read(build, s.mask_file.empty() ? s.file : s.mask_file, s.mask_volume);
        if (!loaded) return loaded.error();
        if ((*loaded)->is_vector())
          return usage_error(s.file.where, "the mask '{}' is a vector volume; it should be a scalar one",
                             (*loaded)->name());
        mask = *loaded;
      }
      target->add_force(std::make_unique<FieldForce>(build.path(), *field, std::move(mask), s)), ++given;
    }
    if (!given) build.switch_off("no Object in its group takes forces");
    return {};
  }

 private:
  static Result<Field> read(Builder& build, const FilePath& file, const std::string& volume) {
    auto field = VolumeField::read(file.resolved, volume,
                                   {.up = build.scene().up == UpAxis::z ? VolumeImport::z : VolumeImport::y,
                                    .metres_per_unit = build.scene().metres_per_unit});
    if (field) return field;
    Error error = field.error();
    if (error.where.file.empty()) error.where = file.where;
    return error;
  }

  Scoped<Settings> settings_;
};

}  // namespace

void register_force_field(Catalog& catalog) { catalog.add<ForceField>(); }

}  // namespace aegir
