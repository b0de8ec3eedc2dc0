// A Task: one kernel-sized unit of work, on one Stage, with the channels it touches.
//
//   tasks.add({.name = "move", .stage = Stage::move, .behavior = "rain/drops",
//              .accesses = {reads("rain/drops", "v"), writes("rain/drops", "P")},
//              .run = [this](StepContext& step) { return move(step); }});
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "domain/channel/grant.h"
#include "domain/exec.h"
#include "pipeline/schedule/stage.h"

namespace aegir {

/// What a solver reports of one solve; goes into the statistics.
struct SolveRecord {
  std::string name;
  std::int64_t unknowns = 0;
  int iterations = 0;
  double residual = 0;
  double seconds = 0;
};

/// When and with what a task runs.
struct StepContext {
  Exec& exec;
  int frame = 0;              ///< the frame being computed
  int substep = 0;            ///< from 0 inside the frame
  std::uint64_t step = 0;     ///< counts substeps since the start of the run
  double time = 0;            ///< at the substep's begin; tasks of `audit` and later see its end
  double dt = 0;              ///< 0 while the first frame is made
  bool first_frame = false;   ///< the state at t = 0 is being made
  bool last_substep = false;  ///< a frame ends with this substep
  double frame_time = 0;      ///< time as a fractional frame number, for keyframes
  double fps = 24;
  double cfl = 0;         ///< cells that things should move in a substep at most
  int most_substeps = 0;  ///< of a frame
  bool cap_reached =
      false;  ///< the first substep of a frame that is longer than `cfl` asks for, since no more are allowed
  std::string output_directory = {};  ///< empty: nothing is written
  const std::int32_t* stop = nullptr;  ///< not 0: the run is asked to end; set by others at any time
  std::vector<std::string>* warnings = nullptr;
  std::vector<SolveRecord>* solves = nullptr;

  void warn(std::string text) const {
    if (warnings) warnings->push_back(std::move(text));
  }
};

struct Task {
  std::string name;  ///< what it does: "move"
  Stage stage = Stage::move;
  std::string behavior;  ///< path of the Behavior whose Object or Action it belongs to
  std::vector<ChannelAccess> accesses;
  std::vector<std::string> after;           ///< full names of tasks in the same stage that come first
  std::vector<std::string> acting;          ///< Actions that this task calls, for `explain`
  std::function<Status(StepContext&)> run;  ///< its outcome is the same on every rank (Comm::agree)

  /// "rain/drops:move"
  std::string full_name() const { return behavior + ":" + name; }
};

inline ChannelAccess reads(std::string owner, std::string channel, int halo = 0) {
  return {std::move(owner), std::move(channel), AccessMode::read, halo};
}
inline ChannelAccess writes(std::string owner, std::string channel) {
  return {std::move(owner), std::move(channel), AccessMode::write, 0};
}
inline ChannelAccess adds(std::string owner, std::string channel, int halo = 0) {
  return {std::move(owner), std::move(channel), AccessMode::add, halo};
}

class TaskList {
 public:
  void add(Task task) { tasks_.push_back(std::move(task)); }
  /// Whether a task added so far touches a channel in a stage from `first` up to, not including, `last`.
  bool touched(const std::string& owner, const std::string& channel, Stage first, Stage last) const {
    for (const Task& t : tasks_)
      for (const ChannelAccess& a : t.accesses)
        if (t.stage >= first && t.stage < last && a.owner == owner && (a.channel == channel || a.channel == "*"))
          return true;
    return false;
  }
  std::vector<Task>& tasks() { return tasks_; }
  const std::vector<Task>& tasks() const { return tasks_; }

 private:
  std::vector<Task> tasks_;
};

}  // namespace aegir
