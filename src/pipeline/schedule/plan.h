// The plan: all tasks in the order they run, checked for conflicts before the first step.
#pragma once

#include <string>
#include <vector>

#include "pipeline/schedule/task.h"

namespace aegir {

/// Two tasks of one Stage that touch the same channel, one of them changing it, and no order between them.
struct Conflict {
  std::string first, second, owner, channel;
  Stage stage;
  std::string text() const;
};

class Plan {
 public:
  /// Orders by stage, then by `after`, then as added. A cycle of `after` is a bug.
  explicit Plan(std::vector<Task> tasks);

  const std::vector<Task>& tasks() const { return tasks_; }
  std::vector<Conflict> conflicts() const;

 private:
  std::vector<Task> tasks_;
};

}  // namespace aegir
