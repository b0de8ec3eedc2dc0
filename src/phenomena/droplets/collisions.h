// Droplet Collisions: droplets of one Particle Object meet, and merge, stretch, break or shatter.
#pragma once

#include "phenomena/common/particle_object.h"
#include "phenomena/droplets/meetings.h"
#include "phenomena/droplets/pair.h"
#include "pipeline/model/action.h"

namespace aegir {

struct DropletCollisionSettings {
  Parameter<double> surface_tension = 0.072;
  double density = 997.044;
  double smallest_radius = 0.0001;
  double largest_radius = 0.05;
  double perturbation = 0.01;
  std::int64_t most_satellites = 5;
  double delay = 1.0 / 24;
  bool bounce = false;
  double restitution = 1;
  Neighbourhood neighbourhood = Neighbourhood::trajectory;
  std::int64_t rounds = 4;
  std::int64_t most_tests = 4096;
  std::int64_t seed = 1;
};

/// Acts between sorting and forces: it looks ahead over the substep, resolves what meets at the moment of greatest
/// overlap and moves it back along its new velocity, so that flying through the substep brings it where it belongs.
class DropletCollisions final : public Operator {
 public:
  DropletCollisions(std::string behavior, ParticleObject& object, DropletCollisionSettings settings);

  void plan(TaskList& tasks) override;
  /// One substep. Public for the benchmark.
  Status collide(StepContext& context);

 private:
  /// A droplet that a collision makes, and the index in its bucket of the one whose attributes it takes.
  struct Satellite {
    Droplet droplet;
    std::uint32_t parent;
  };
  struct State;
  struct Tally;

  CollisionRules rules(const StepContext& context) const;
  void warn_of_limits(const StepContext& context, const MeetingCounts& found);
  void resolve_bucket(const StepContext& context, const CollisionRules& rules, const State& state, int bucket,
                      Tally& tally);
  Vec3d reachable(const Vec3d& from, const Vec3d& to) const;
  void add_satellites(StepContext& context);

  ParticleObject& object_;
  DropletCollisionSettings s_;
  Meetings meetings_;
  std::vector<std::vector<Satellite>> satellites_;  // per local bucket
  // Since the start of the run, for the statistics and checkpoints.
  double merged_ = 0, stretched_ = 0, reflexed_ = 0, bounced_ = 0, satellites_made_ = 0, surface_energy_ = 0;
  bool told_blind_ = false, told_crowded_ = false;
};

}  // namespace aegir
