// A simulation: Objects and Actions made from a Setup, a checked plan of tasks, and a clock.
//
//   auto simulation = Simulation::create(std::move(setup), exec, messages);
//   simulation->start();                                  // the first frame: the state at t = 0
//   while (!simulation->finished()) simulation->advance(); // one substep each
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/model/object.h"
#include "pipeline/schedule/plan.h"
#include "pipeline/setup/setup.h"

namespace aegir {

/// A Behavior as `explain` shows it.
struct BehaviorSummary {
  std::string type, path;
  Location where;
  std::string off;  ///< why it takes no part; empty if it does
};

/// What the ranks of a job did in one substep, one number per rank.
struct RankReport {
  std::vector<std::int64_t> memory_bytes;   ///< of Objects
  std::vector<std::int64_t> particles;      ///< owned
  std::vector<std::int64_t> buckets;        ///< owned, of Objects with particles
  std::vector<std::int64_t> ghost_buckets;  ///< copies of other ranks' buckets around them
  std::vector<std::int64_t> bytes_sent;     ///< to other ranks
  std::vector<std::int64_t> halo_bytes;     ///< of these, by halo exchanges
  std::vector<double> waiting;              ///< seconds inside calls to other ranks
  double seconds = 0;                       ///< of the substep, on the slowest
  int recuts = 0;                           ///< Objects of which the shares of ranks were cut anew
};

/// What one substep did.
struct StepReport {
  int frame = 0;
  int substep = 0;
  double time = 0;  ///< at its end
  double dt = 0;
  bool frame_done = false;
  std::vector<std::pair<std::string, ObjectAudit>> objects;
  std::vector<SolveRecord> solves;
  std::map<std::string, Profile::Entry> tasks;
  std::vector<std::string> warnings;
  std::size_t memory_bytes = 0;
  RankReport ranks;  ///< empty on one rank
};

class Simulation {
 public:
  /// Builds everything; `checked` makes unordered conflicts between tasks an error.
  static Result<std::unique_ptr<Simulation>> create(Setup setup, Exec exec, Messages& messages, bool checked = true);
  ~Simulation();

  /// Where outputs go; empty: nothing is written.
  void set_output_directory(std::string directory);
  /// What tasks look at to end early, when it is not 0; outlives the Simulation's steps.
  void set_stop(const std::int32_t* stop);
  /// Makes the first frame (state at t = 0) and its outputs.
  Result<StepReport> start();
  /// After a state was restored: audits it, so that the next step is the one that an uninterrupted run would take.
  Status resume();
  /// One substep; at the end of a frame also its outputs.
  Result<StepReport> advance();
  bool finished() const;
  /// Ends the run at this frame instead of the timeline's last.
  void set_last_frame(int frame);
  /// Told the name of every task before it runs.
  void on_task(std::function<void(const std::string&)> tell);

  int frame() const;          ///< the last frame that is complete
  bool at_frame_end() const;  ///< no substep of a next frame is done yet
  double time() const;
  std::uint64_t steps() const;

  const Setup& setup() const;
  const Plan& plan() const;
  const std::vector<BehaviorSummary>& behaviors() const;
  const std::vector<std::unique_ptr<Object>>& objects() const;
  Object* find(std::string_view path) const;
  /// The state of every Object and Action and of the clock, for checkpoints.
  std::vector<StateTree*> state();

 private:
  struct Impl;
  explicit Simulation(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace aegir
