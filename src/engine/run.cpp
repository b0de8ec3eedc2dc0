#include "engine/run.h"

#include <charconv>
#include <filesystem>

#include "base/units.h"
#include "engine/build.h"
#include "engine/runner.h"

namespace aegir {

std::string default_output(const std::string& setup) {
  const std::string name = std::filesystem::path(setup).stem().string();
  return "runs/" + (name.empty() ? std::string("run") : name);
}

Result<std::pair<int, int>> parse_frames(const std::string& text) {
  std::pair<int, int> frames;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, frames.first);
  const bool colon = first.ec == std::errc() && first.ptr != end && *first.ptr == ':';
  if (!colon) return usage_error({}, "'{}' is no range of frames; it looks like 1001:1120, both included", text);
  const auto last = std::from_chars(first.ptr + 1, end, frames.second);
  if (last.ec != std::errc() || last.ptr != end)
    return usage_error({}, "'{}' is no range of frames; it looks like 1001:1120, both included", text);
  if (frames.second < frames.first)
    return usage_error({}, "the last frame, {}, is before the first, {}", frames.second, frames.first);
  return frames;
}

Result<Interval> parse_interval(const std::string& text) {
  std::string number = text;
  if (const auto at = number.find("frame"); at != std::string::npos) number = number.substr(0, at);
  const Result<Quantity> q = parse_quantity(number);
  const bool frames = q && !q->has_unit;
  if (!q || !(q->value >= 0) || (!frames && q->unit != unit::second) || (frames && q->value > 1e9))
    return usage_error({}, "'{}' is no interval; it looks like 10 (frames) or '10 min'", text);
  if (!frames) return Interval{.frames = 0, .seconds = q->value};
  return Interval{.frames = static_cast<int>(q->value), .seconds = 0};
}

CheckReport check(const std::string& setup, const std::vector<std::string>& sets, const Catalog& catalog, Comm& comm) {
  Profile profile;
  return build_run(setup, sets, catalog, {comm, profile}).report;
}

Result<RunSummary> run(const RunOptions& options, const Catalog& catalog, Comm& comm, RunControl& control,
                       RunObserver& observer) {
  Runner runner(options, catalog, comm, control, observer);
  return runner.go();
}

}  // namespace aegir
