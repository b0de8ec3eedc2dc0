#include "pipeline/schedule/plan.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/assert.h"

namespace aegir {
namespace {

/// The channel on which two tasks collide, if any. Adding commutes with adding.
std::optional<ChannelAccess> clash(const Task& a, const Task& b) {
  for (const ChannelAccess& x : a.accesses)
    for (const ChannelAccess& y : b.accesses) {
      if (x.owner != y.owner || !(x.channel == y.channel || x.channel == "*" || y.channel == "*")) continue;
      if (x.mode == AccessMode::read && y.mode == AccessMode::read) continue;
      if (x.mode == AccessMode::add && y.mode == AccessMode::add) continue;
      return x.channel == "*" ? y : x;
    }
  return {};
}

}  // namespace

std::string Conflict::text() const {
  return fmt::format(
      "tasks '{}' and '{}' both touch channel '{}' of '{}' in stage '{}', and no order is defined between them", first,
      second, channel, owner, stage_name(stage));
}

Plan::Plan(std::vector<Task> tasks) {
  for (int s = 0; s < stage_count; ++s) {
    std::vector<Task> waiting;
    for (Task& t : tasks)
      if (t.stage == static_cast<Stage>(s)) waiting.push_back(std::move(t));
    for (const Task& t : waiting)
      for (const std::string& name : t.after)
        AEGIR_ASSERT(std::any_of(waiting.begin(), waiting.end(), [&](const Task& o) { return o.full_name() == name; }),
                     fmt::format("task '{}' comes after '{}', which is no task of its stage", t.full_name(), name));
    while (!waiting.empty()) {
      const auto ready = std::find_if(waiting.begin(), waiting.end(), [&](const Task& t) {
        return std::none_of(waiting.begin(), waiting.end(), [&](const Task& other) {
          return std::find(t.after.begin(), t.after.end(), other.full_name()) != t.after.end();
        });
      });
      AEGIR_ASSERT(ready != waiting.end(), fmt::format("tasks of stage '{}' wait for each other: {}",
                                                       stage_name(static_cast<Stage>(s)), waiting.front().full_name()));
      tasks_.push_back(std::move(*ready));
      waiting.erase(ready);
    }
  }
}

std::vector<Conflict> Plan::conflicts() const {
  // `after` is transitive inside a stage.
  const auto precedes = [&](const Task& a, const Task& b) {
    std::vector<const Task*> open{&b};
    for (std::size_t i = 0; i < open.size(); ++i)
      for (const std::string& name : open[i]->after) {
        if (name == a.full_name()) return true;
        for (const Task& t : tasks_)
          if (t.stage == b.stage && t.full_name() == name && std::find(open.begin(), open.end(), &t) == open.end())
            open.push_back(&t);
      }
    return false;
  };
  std::vector<Conflict> found;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    for (std::size_t j = i + 1; j < tasks_.size() && tasks_[j].stage == tasks_[i].stage; ++j)
      if (const auto c = clash(tasks_[i], tasks_[j]); c && !precedes(tasks_[i], tasks_[j]))
        found.push_back({tasks_[i].full_name(), tasks_[j].full_name(), c->owner, c->channel, tasks_[i].stage});
  return found;
}

}  // namespace aegir
