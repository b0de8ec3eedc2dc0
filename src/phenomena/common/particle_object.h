// Particle Object: points with velocity, radius, mass and age that fly under forces and bounce off colliders.
//
// One substep (drift–kick–drift; exact for constant acceleration, symplectic for potentials, second order otherwise):
//   a, λ  at x + v dt/2                         forces: acceleration and damping λ = -∂a/∂v
//   v' = v + dt a (1 + z/2) / (1 + z + z²/2)    z = λ dt; second order in z and never overshooting: drag is implicit
//   x' = x + dt (v + v') / 2
// A particle whose age is negative is born that much later and takes only the rest of the substep.
// Forces and move are one pass over memory, unless another task wants to see or change velocities in between (stages
// after_forces to to_particles); then they are two tasks and the velocity of the begin is kept in a channel of its own.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "domain/particles/particle_system.h"
#include "phenomena/common/channels.h"
#include "phenomena/common/collider.h"
#include "pipeline/model/action.h"
#include "pipeline/model/object.h"

namespace aegir {

class ParticleObject final : public Object, public ForceTarget {
 public:
  ParticleObject(std::string path, double spacing, const Partition& partition);

  void plan(TaskList& tasks) override;
  ObjectAudit audit(Exec& exec) override;
  double substeps_per_second(double cfl) const override { return max_speed_ / (cfl * particles_.spacing()); }
  std::size_t memory_bytes() const override { return particles_.memory_bytes(); }
  std::size_t forecast_bytes(const Comm& comm) const override;
  ParticleSystem* particles() override { return &particles_; }

  void add_force(std::unique_ptr<Force> force) override;
  void add_collider(const Collider& collider) { colliders_.push_back(&collider); }
  const std::vector<const Collider*>& colliders() const { return colliders_; }
  /// Names a number that an Operator wants in the statistics; `value` outlives the Object's steps.
  void book_figure(const char* name, const double& value) { figures_.emplace_back(name, &value); }
  /// Names what adds particles or takes them away, and where their mass is counted; told in the statistics.
  void book_added(std::string name, const double& mass) { added_.emplace_back(std::move(name), &mass); }
  void book_removed(std::string name, const double& mass) { removed_by_.emplace_back(std::move(name), &mass); }
  /// Announces particles that will certainly exist, for the forecast of memory.
  void expect(double count) { expected_ += count; }
  /// Gives out `count` ids that were never used; every rank asks for the same number.
  std::int64_t take_ids(std::int64_t count) { return std::exchange(next_id_, next_id_ + count); }

  /// Forces, move and age in one pass over memory. Public for the benchmark.
  Status fly(StepContext& context);

 private:
  struct Pass;
  Status sort(StepContext& context);
  Status apply_forces(StepContext& context);
  Status move(StepContext& context);
  Pass begin_pass(StepContext& context) const;

  ParticleSystem particles_;
  std::vector<std::unique_ptr<Force>> forces_;
  std::vector<const Collider*> colliders_;
  std::vector<std::pair<const char*, const double*>> figures_;
  std::vector<std::pair<std::string, const double*>> added_, removed_by_;
  std::int64_t next_id_ = 0;
  double max_speed_ = 0;
  double expected_ = 0;
};

class Catalog;
void register_particles(Catalog& catalog);

}  // namespace aegir
