#include "engine/explain.h"

#include <algorithm>
#include <array>

#include "engine/text.h"

namespace aegir {
namespace {

/// "v" of the task's own Object, "rain/drops.v" of another; "v+1" where one cell beyond the bucket is read.
std::string channel_text(const ChannelAccess& access, const std::string& behavior) {
  const std::string halo = access.halo > 0 ? fmt::format("+{}", access.halo) : "";
  const std::string channel = access.channel == "*" ? "(all)" : access.channel;
  return (access.owner == behavior ? "" : access.owner + ".") + channel + halo;
}

std::string channels(const Task& task, AccessMode mode) {
  std::string text;
  for (const ChannelAccess& access : task.accesses)
    if (access.mode == mode) text += (text.empty() ? "" : " ") + channel_text(access, task.behavior);
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string repeats(Stage stage) {
  if (stage == Stage::ingest) return "once";
  return in_substep(stage) ? "every substep" : "every frame";
}

}  // namespace

std::string explain(const Simulation& simulation) {
  TextTable table({"stage", "task", "behavior", "acting", "reads", "adds to", "writes"});
  std::string block;
  Stage last = Stage::output;
  bool first = true, marked = false;
  for (const Task& task : simulation.plan().tasks()) {
    if (const std::string now = repeats(task.stage); now != block) table.line(block = now);
    const bool fresh = first || task.stage != last;
    const bool user = user_facing(task.stage);
    marked = marked || user;
    table.row({fresh ? "  " + std::string(stage_name(task.stage)) + (user ? " *" : "") : "", task.name, task.behavior,
               joined(task.acting), channels(task, AccessMode::read), channels(task, AccessMode::add),
               channels(task, AccessMode::write)});
    last = task.stage;
    first = false;
  }
  std::string text = table.text();
  if (marked) text += "\n* expressions may hook in here. x+1: also read one cell beyond the bucket.\n";
  TextTable off({"off", "type", "why"});
  bool any = false;
  for (const BehaviorSummary& b : simulation.behaviors())
    if (!b.off.empty()) off.row({b.path, b.type, b.off}), any = true;
  if (any) text += "\n" + off.text();
  return text;
}

}  // namespace aegir
