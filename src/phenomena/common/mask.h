// Masks: where, when and how much a force acts. Every force has the same settings for it.
//
//   struct Settings : MaskSettings { … };
//   static void describe(Schema<Settings>& s) { …; describe_mask(s); }
//   auto mask = Mask::create(build, settings, object);
//   if (!mask) return mask.error();
//   target.add_force(masked(std::move(force), std::move(*mask)));
//
// The force is multiplied with
//   w = mask · s(x) · V(x)        mask: a number, keyframed or from an attribute
//   s = clamp(1 - d / falloff, 0, 1)    d: distance outside the shape, m; without a falloff 1 inside and 0 outside
//   V: the value of a scalar volume
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "geometry/shapes.h"
#include "io/vdb_volumes.h"
#include "phenomena/common/shape_settings.h"
#include "pipeline/model/action.h"
#include "pipeline/schema/parameter.h"
#include "pipeline/schema/schema.h"
#include "pipeline/schema/types.h"

namespace aegir {

class Builder;
class Object;
struct Scene;

/// What a user says about a mask; all of it multiplies.
struct MaskSettings {
  Parameter<double> mask = 1.0;
  std::optional<ShapeSettings> mask_shape;
  double mask_falloff = 0;
  FilePath mask_file;
  std::string mask_volume;
};

/// Describes the fields of settings that inherit MaskSettings.
template <class S>
void describe_mask(Schema<S>& s) {
  s.field("mask", &S::mask)
      .from_attribute()
      .soft(0, 1)
      .group("mask")
      .doc("Multiplies the force; may be keyframed, or come from an attribute.");
  s.field("mask_shape", &S::mask_shape).group("mask").doc("The force acts inside this shape only.");
  s.field("mask_falloff", &S::mask_falloff)
      .unit("m")
      .min(0)
      .group("mask")
      .doc("Distance outside `mask_shape` over which the force fades to nothing.");
  s.field("mask_file", &S::mask_file)
      .group("mask")
      .doc("OpenVDB file of a scalar volume that the force is multiplied with.");
  s.field("mask_volume", &S::mask_volume)
      .group("mask")
      .doc(
          "Name of the mask's volume; the only one of the file if not given. Without `mask_file` it is looked for in "
          "the file of the force itself.");
  s.check([](const S& v) -> std::string {
    if (v.mask_falloff > 0 && !v.mask_shape) return "'mask_falloff' needs a 'mask_shape'";
    if (v.mask_shape && v.mask_falloff == 0 &&
        (v.mask_shape->kind == ShapeKind::disc || v.mask_shape->kind == ShapeKind::rectangle))
      return "a thin sheet has no inside; give 'mask_falloff', or a box or a cylinder as 'mask_shape'";
    return "";
  });
}

/// A mask that is ready to be asked, from any number of threads.
class Mask {
 public:
  /// Reads the volume; `otherwise` is the file of a volume without `mask_file`. Warns of an attribute that the Object
  /// does not have.
  static Result<Mask> create(Builder& build, const MaskSettings& settings, Object& object,
                             const FilePath& otherwise = {});

  /// Whether it is 1 everywhere and always.
  bool none() const;
  /// Whether it is the same everywhere.
  bool uniform() const { return !shape_ && !volume_ && !parameter_.attribute(); }
  bool uses_position() const { return shape_ || volume_; }
  /// The attribute that it is read from, or nothing.
  std::vector<std::string> reads() const;
  void begin_substep(const StepContext& c) { now_ = static_cast<float>(parameter_.at(c.frame_time)); }
  /// The mask's value at every element of a block.
  void weights(const ForceBlock& block, float* out) const;
  /// The value of a uniform mask in this substep.
  float now() const { return now_; }

 private:
  Parameter<double> parameter_ = 1.0;
  std::optional<Shape> shape_;
  double falloff_ = 0;
  std::shared_ptr<const VolumeField> volume_;
  float now_ = 1;
};

/// The force where the mask lets it act; the force itself if the mask does nothing.
std::unique_ptr<Force> masked(std::unique_ptr<Force> force, Mask mask);

/// Reads a volume in the scene's units; errors carry the place of the file's name in the setup.
Result<std::shared_ptr<const VolumeField>> read_field(const Scene& scene, const FilePath& file,
                                                      const std::string& volume);

/// Whether forces on an Object can read an attribute: a number of its particles, carried or worked out.
bool has_attribute(Object& object, const std::string& name);

}  // namespace aegir
