#include "surface_command.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "console.h"
#include "engine/run.h"
#include "engine/text.h"
#include "parallel/threads.h"
#include "surface_filters.h"

namespace aegir {
namespace {

using nlohmann::ordered_json;

/// Shows what is done: lines for people, marks for render farms, JSON for programs.
class SurfaceDisplay {
 public:
  SurfaceDisplay(ProgressStyle style, int ranks) : style_(style), ranks_(ranks) {
    if (style_ == ProgressStyle::automatic)
      style_ = ::isatty(STDOUT_FILENO) != 0 && ranks == 1 ? ProgressStyle::bar : ProgressStyle::plain;
  }

  /// A surface of this rank.
  void made(const SurfacedFrame& f) {
    ++done_;
    const int percent = std::min(100, 100 * done_ * ranks_ / std::max(1, f.count));
    if (style_ == ProgressStyle::alf) print(fmt::format("ALF_PROGRESS {}%\n", percent));
    if (style_ == ProgressStyle::openjd) print(fmt::format("openjd_progress: {}\n", percent));
    if (style_ == ProgressStyle::bar) print("\r\033[K");
    if (ranks_ == 1) row(f, watch_.seconds() / done_ * (f.count - done_));
    if (style_ == ProgressStyle::bar && done_ < f.count)
      print(fmt::format("surfacing {} of {} · {} left", done_, f.count,
                        short_time(watch_.seconds() / done_ * (f.count - done_))));
  }

  void finished(const SurfaceJobReport& report, const SurfaceJob& job) {
    if (ranks_ > 1)
      for (const SurfacedFrame& f : report.made) row(f, 0);
    if (style_ == ProgressStyle::json)
      print(ordered_json{
                {"event", "done"}, {"frames", report.frames}, {"output", job.output}, {"seconds", watch_.seconds()}}
                .dump() +
            "\n");
    else
      print(fmt::format("done      {} in {} · {}\n", plural(report.frames, "surface"),
                        short_time(watch_.seconds(), true), job.output.empty() ? "." : job.output));
  }

 private:
  void row(const SurfacedFrame& f, double left) {
    if (style_ == ProgressStyle::json) {
      print(ordered_json{{"event", "surface"},
                         {"frame", f.frame},
                         {"index", f.index},
                         {"count", f.count},
                         {"particles", f.surface.particles},
                         {"skipped", f.surface.not_finite + f.surface.without_radius},
                         {"voxel", f.surface.voxel},
                         {"triangles", f.triangles},
                         {"non_manifold_edges", f.non_manifold_edges},
                         {"seconds", f.seconds},
                         {"remarks", f.remarks}}
                .dump() +
            "\n");
      return;
    }
    if (!titled_)
      print(fmt::format("{:>10}  {:>9}  {:>9}  {:>9}  {:>9}  {:>7}  {:>7}\n", "frame", "particles", "near", "voxel",
                        "triangles", "s", "eta"));
    titled_ = true;
    print(fmt::format("{:>10}  {:>9}  {:>9}  {:>7.4g} m  {:>9}  {:>7.2f}  {:>7}\n", fmt::format("{:g}", f.frame),
                      short_count(f.surface.particles), short_count(f.surface.shaped), f.surface.voxel,
                      f.triangles > 0 ? short_count(f.triangles) : "", f.seconds, short_time(left)));
    for (const std::string& remark : f.remarks) {
      // The same remark at every frame is said once.
      if (remark == last_remark_) continue;
      print(fmt::format("  warning {:g}: {}\n", f.frame, remark));
      last_remark_ = remark;
    }
  }

  ProgressStyle style_;
  int ranks_, done_ = 0;
  bool titled_ = false;
  std::string last_remark_;
  Stopwatch watch_;
};

Status read_length(const std::string& text, const char* option, double& metres) {
  if (text.empty()) return {};
  const auto value = parse_quantity(text, unit::metre);
  if (!value) return usage_error({}, "{}: {}", option, value.error().message);
  if (!(*value > 0)) return usage_error({}, "{}: '{}' is not above zero", option, text);
  metres = *value;
  return {};
}

Result<double> number(const std::string& text, const char* option) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return usage_error({}, "{}: '{}' is no number", option, text);
  return value;
}

/// "0,0.25,0.5", or "-0.25:0.25:5" for five times from the first to the last.
Status read_shutter(const std::string& text, std::vector<double>& shutter) {
  if (text.empty()) return {};
  shutter.clear();
  const bool range = text.find(':') != std::string::npos;
  std::vector<double> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(range ? ':' : ',', at), text.size());
    const auto value = number(text.substr(at, end - at), "--shutter");
    if (!value) return value.error();
    parts.push_back(*value);
    at = end + 1;
  }
  if (!range) return shutter = parts, Status();
  if (parts.size() != 3 || !(parts[2] >= 2 && parts[2] <= 1000) || parts[2] != std::floor(parts[2]))
    return usage_error({}, "--shutter: '{}' should be OPEN:CLOSE:COUNT, as -0.25:0.25:5", text);
  for (int i = 0; i < static_cast<int>(parts[2]); ++i)
    shutter.push_back(parts[0] + (parts[1] - parts[0]) * i / (parts[2] - 1));
  return {};
}

Status read_droplets(const std::string& text, SurfaceSettings& s) {
  if (text.empty()) return {};
  const std::size_t colon = text.find(':');
  const auto low = number(text.substr(0, colon), "--droplet-neighbours"),
             high = number(colon == std::string::npos ? "" : text.substr(colon + 1), "--droplet-neighbours");
  if (!low) return low.error();
  if (!high) return usage_error({}, "--droplet-neighbours: '{}' should be LOW:HIGH, as 4:12", text);
  if (!(*low >= 0 && *high >= *low)) return usage_error({}, "--droplet-neighbours: '{}' does not rise", text);
  s.droplet_low = *low, s.droplet_high = *high;
  return {};
}

Status understand(SurfaceArguments& a) {
  SurfaceSettings& s = a.job.settings;
  if (!a.frames.empty()) {
    const auto frames = parse_frames(a.frames);
    if (!frames) return Error{Failure::usage, "--frames: " + frames.error().message, {}};
    a.job.frames = *frames;
  }
  if (Status ok = read_length(a.voxel, "--voxel-size", s.voxel_size); !ok) return ok;
  if (Status ok = read_length(a.radius, "--radius", s.default_radius); !ok) return ok;
  if (Status ok = read_shutter(a.shutter, a.job.shutter); !ok) return ok;
  if (Status ok = read_droplets(a.droplet_neighbours, s); !ok) return ok;
  if (a.normalisation == "local" || a.normalisation == "global") {
    s.normalisation = a.normalisation == "global";
  } else {
    const auto blend = number(a.normalisation, "--normalisation");
    if (!blend)
      return usage_error({}, "--normalisation: '{}' is neither local, global nor a number between 0 and 1",
                         a.normalisation);
    s.normalisation = *blend;
  }
  if (!a.filters.empty()) {
    auto filters = parse_filters(a.filters);
    if (!filters) return filters.error();
    s.filters = std::move(*filters);
  }
  s.attributes = a.attributes;
  a.job.files.volumes = !a.no_volumes;
  if (a.no_volumes && a.job.files.mesh == MeshFormat::none)
    return usage_error({}, "--no-volumes without --mesh leaves nothing to write");
  return {};
}

}  // namespace

int surface_command(SurfaceArguments& a, Comm& comm) {
  if (Status ok = understand(a); !ok) return report_error(ok.error());
  SurfaceDisplay display(a.style, comm.size());
  ThreadScope threads(a.threads > 0 ? a.threads : std::max(1, available_threads() / comm.size()));
  Result<SurfaceJobReport> report = simulation_error("nothing was done");
  threads.run([&] { report = run_surface_job(a.job, comm, [&](const SurfacedFrame& f) { display.made(f); }); });
  if (!report) {
    if (a.style == ProgressStyle::openjd) print("openjd_fail: " + report.error().text() + "\n");
    return report_error(report.error());
  }
  display.finished(*report, a.job);
  return 0;
}

}  // namespace aegir
