// Object: something in the scene that is simulated or read, and the state it is made of.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "domain/state/state_tree.h"
#include "pipeline/schedule/task.h"

namespace aegir {

/// What is conserved, or should be; one line per Object and substep in the statistics.
struct ObjectAudit {
  std::int64_t particles = 0;
  double mass = 0, volume = 0;
  Vec3d momentum, angular_momentum;
  double kinetic_energy = 0, potential_energy = 0;
  double max_speed = 0;
  std::vector<std::pair<const char*, double>> more;  ///< what only some Objects know: "volume_drift", "removed"
  /// Mass in kg that each Behavior has put in or taken out since the start, by its path.
  std::vector<std::pair<std::string, double>> added, removed;
  std::string not_finite;  ///< name of a channel that holds NaN or infinity; empty if all is well
};

class Object {
 public:
  explicit Object(std::string path) : path_(std::move(path)), state_(path_) {}
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  /// Names from the root: "bulk/water".
  const std::string& path() const { return path_; }
  /// Whether a name in a setup means this Object: its path, or the end of it.
  bool named(std::string_view name) const {
    return path_ == name ||
           (path_.size() > name.size() && path_.ends_with(name) && path_[path_.size() - name.size() - 1] == '/');
  }
  /// Everything a resumed run needs of this Object.
  StateTree& state() { return state_; }

  /// Places the Object's own tasks on the timeline.
  virtual void plan(TaskList& tasks) = 0;
  /// True for Objects that move by themselves and appear in statistics; colliders and cached runs do not.
  virtual bool simulated() const { return true; }
  /// Mass, momentum, energy and finiteness at `time`. Collective.
  virtual ObjectAudit audit(Exec&) { return {}; }
  /// Substeps per second that the Object needs, from what moved fastest at the last audit, if particles may move `cfl`
  /// cells in each.
  virtual double substeps_per_second(double /*cfl*/) const { return 0; }
  /// Bytes of memory on this rank.
  virtual std::size_t memory_bytes() const { return 0; }
  /// Bytes that the whole run is expected to need on this rank at most, as far as the setup tells.
  virtual std::size_t forecast_bytes(const Comm&) const { return memory_bytes(); }
  /// The Object's particles, or null.
  virtual ParticleSystem* particles() { return nullptr; }

 private:
  std::string path_;
  StateTree state_;
};

}  // namespace aegir
