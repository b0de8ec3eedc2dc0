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
};

class Simulation {
 public:
  /// Builds everything; `checked` makes unordered conflicts between tasks an error.
  static Result<std::unique_ptr<Simulation>> create(Setup setup, Exec exec, Messages& messages, bool checked = true);
  ~Simulation();

  /// Where outputs go; empty: nothing is written.
  void set_output_directory(std::string directory);
  /// Makes the first frame (state at t = 0) and its outputs.
  Result<StepReport> start();
  /// After a state was restored: audits it, so that the next step is the one that an uninterrupted run would take.
  Status resume();
  /// One substep; at the end of a frame also its outputs.
  Result<StepReport> advance();
  bool finished() const;
  /// Ends the run at this frame instead of the timeline's last.
  void set_last_frame(int frame);

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
