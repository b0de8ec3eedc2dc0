// Breaking away: particles of a liquid whose metric reaches the threshold become droplets of a Particle Object.
//
//   group_exit    leave     the metric of every particle; those that reach the threshold are marked for removal
//   group_enter   enter     each is split into droplets (split.h), which the Particle Object takes in
//
// Of a cached run nothing is removed: a particle that has broken away makes droplets once, and again only after its
// metric has been below half the threshold.
#pragma once

#include <string>
#include <vector>

#include "phenomena/common/hybrid_object.h"
#include "phenomena/common/particle_object.h"
#include "phenomena/coupling/balance.h"
#include "phenomena/coupling/breaking_metric.h"
#include "phenomena/coupling/split.h"
#include "pipeline/schema/parameter.h"

namespace aegir {

struct BreakAwaySettings {
  BreakingCriteria criteria;          ///< its threshold is that of the substep
  SplitRules split;                   ///< so are amount and spread
  Parameter<double> threshold = 0.5;  ///< of the metric
  Parameter<double> amount = 1.0, spread = 0.0;
  double delay = 0;       ///< s that particles of the liquid are older than, and that droplets do not collide for
  double density = 1000;  ///< kg/m³, of a cached run, whose particles carry no mass
  std::int64_t seed = 1;
};

class BreakAway final : public Operator {
 public:
  /// `liquid` is a Hybrid Object, or another one with particles that is only looked at.
  BreakAway(std::string behavior, Object& liquid, ParticleObject& droplets, const BreakAwaySettings& settings);
  void plan(TaskList& tasks) override;

 private:
  /// A particle that leaves.
  struct Leaving {
    Whole whole;
    std::int64_t id;
    std::size_t index;  // in its bucket
  };

  void ask_for_channels();
  Status leave(StepContext& c);
  Status enter(StepContext& c);
  Status prepare_cached(StepContext& c);
  void mark(StepContext& c);
  void remember(StepContext& c, const std::vector<std::vector<std::int64_t>>& calm);
  void keep_clear(const Whole& whole, std::span<Splinter> droplets) const;

  Object& liquid_;
  HybridObject* hybrid_;  // null: only looked at
  ParticleObject& droplets_;
  BreakAwaySettings s_;
  std::vector<std::vector<Leaving>> leaving_;  // by bucket; between the two tasks of a substep
  std::vector<std::int64_t> gone_;  // of a cached run: who has made droplets, ascending; the same on all ranks
  Balance balance_;
  std::string error_name_;
  bool told_ = false;
};

/// Full names of the tasks of a stage, so far, that touch one of two Objects: a new one comes after them.
std::vector<std::string> turns_so_far(const TaskList& tasks, Stage stage, const std::string& one,
                                      const std::string& other);

}  // namespace aegir
