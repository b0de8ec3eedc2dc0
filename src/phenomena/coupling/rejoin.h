// Rejoining: droplets that fall back into a liquid become liquid again.
//
//   audit         probe     how deep every droplet is below the liquid's surface, kept with it
//   group_exit    leave     droplets deep enough (or chosen by an expression) and old enough are marked for removal
//   group_enter   enter     each joins a particle of the liquid (join.h)
#pragma once

#include <string>
#include <vector>

#include "phenomena/common/hybrid_object.h"
#include "phenomena/common/particle_object.h"
#include "phenomena/coupling/balance.h"
#include "phenomena/coupling/join.h"

namespace aegir {

struct RejoinSettings {
  double depth = 0;  ///< m below the surface
  std::string when;  ///< channel that decides instead, from a half on; empty: none
  double delay = 0;  ///< s that droplets are older than
  std::int64_t seed = 1;
};

class Rejoin final : public Operator {
 public:
  Rejoin(std::string behavior, ParticleObject& droplets, HybridObject& liquid, const RejoinSettings& settings);
  void plan(TaskList& tasks) override;

 private:
  Status probe(StepContext& c);
  Status leave(StepContext& c);
  Status enter(StepContext& c);
  ParticleChannel<float> distance() const { return {distance_name_.c_str(), unit::metre, far_}; }
  ParticleChannel<float> decisive() const {
    return s_.when.empty() ? distance() : ParticleChannel<float>{s_.when.c_str()};
  }

  ParticleObject& droplets_;
  HybridObject& liquid_;
  RejoinSettings s_;
  std::string distance_name_, error_name_;
  float far_;
  std::vector<Fallen> fallen_;  // between the two tasks of a substep
  Balance balance_;
};

}  // namespace aegir
