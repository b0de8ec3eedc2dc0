// Action: something that acts on one Object. Forces are called by the Object's own kernel, block by block, so that any
// number of them costs one pass over memory; Operators bring tasks of their own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/vec.h"
#include "pipeline/schedule/task.h"

namespace aegir {

class Action {
 public:
  /// `behavior` is the path of the Behavior that made it.
  explicit Action(std::string behavior) : behavior_(std::move(behavior)) {}
  virtual ~Action() = default;
  Action(const Action&) = delete;
  Action& operator=(const Action&) = delete;

  const std::string& behavior() const { return behavior_; }
  /// Takes the values of keyframed settings for this substep.
  virtual void begin_substep(const StepContext&) {}

 private:
  std::string behavior_;
};

/// A float channel of a block's elements by name, or null where the Object has none.
using AttributeSource = FunctionRef<const float*(std::string_view)>;

/// Elements that forces act on: a stretch of one bucket, small enough to stay in cache. Arrays have `count` entries.
struct ForceBlock {
  static constexpr std::size_t capacity = 256;

  std::size_t count = 0;
  double time = 0, dt = 0;  ///< positions are those of the middle of the substep, velocities those of its begin
  Vec3d origin;             ///< world position = origin + spacing · (x, y, z)
  double spacing = 1;
  const float *x = nullptr, *y = nullptr, *z = nullptr;
  const float *vx = nullptr, *vy = nullptr, *vz = nullptr;  ///< m/s
  const float *radius = nullptr, *mass = nullptr;           ///< m, kg
  float *ax = nullptr, *ay = nullptr, *az = nullptr;        ///< acceleration, added to; m/s²
  float* damping = nullptr;                                 ///< -∂a/∂v, isotropic part, added to; 1/s
  const AttributeSource* attributes = nullptr;

  const float* attribute(std::string_view name) const { return attributes ? (*attributes)(name) : nullptr; }
  Vec3d world(std::size_t i) const { return origin + Vec3d(x[i], y[i], z[i]) * spacing; }
};

/// A Force depends on one element alone. It adds an acceleration and, if it wants to be integrated implicitly, its
/// damping; what is left out is integrated explicitly.
class Force : public Action {
 public:
  using Action::Action;
  virtual void accumulate(const ForceBlock& block) const = 0;
  /// Channels that accumulate() reads beside position and velocity.
  virtual std::vector<std::string> reads() const { return {}; }
  /// Whether accumulate() adds to `damping`.
  virtual bool implicit() const { return false; }
  /// Whether accumulate() looks at positions; the block has none (null) if no force does.
  virtual bool uses_position() const { return true; }
  /// Whether it is the same for all elements; the block then holds one, without position and velocity.
  virtual bool uniform() const { return false; }
  /// Energy per mass at a place, for the audit; 0 for what has no potential.
  virtual double potential(const Vec3d&) const { return 0; }
};

/// What a Force can be given to.
class ForceTarget {
 public:
  virtual ~ForceTarget() = default;
  virtual void add_force(std::unique_ptr<Force> force) = 0;
};

/// Emission, transitions, anything that is neither Force nor Constraint; brings its own tasks.
class Operator : public Action {
 public:
  using Action::Action;
  virtual void plan(TaskList& tasks) = 0;
};

}  // namespace aegir
