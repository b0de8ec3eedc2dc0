#include "ax_command.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

#include "console.h"
#include "domain/exec.h"
#include "engine/run.h"
#include "engine/text.h"
#include "io/file_kind.h"
#include "parallel/threads.h"
#include "signals.h"

namespace aegir {
namespace {

using nlohmann::ordered_json;

/// Shows what is done: lines for people, marks for render farms, JSON for programs.
class AxDisplay {
 public:
  AxDisplay(ProgressStyle style, int ranks) : style_(style), ranks_(ranks) {
    if (style_ == ProgressStyle::automatic)
      style_ = ::isatty(STDOUT_FILENO) != 0 && ranks == 1 ? ProgressStyle::bar : ProgressStyle::plain;
  }

  /// A file of this rank.
  void made(const AxFile& f) {
    ++done_;
    const int percent = std::min(100, 100 * done_ * ranks_ / std::max(1, f.count));
    const double left = watch_.seconds() / done_ * (f.count - done_);
    if (style_ == ProgressStyle::alf) print(fmt::format("ALF_PROGRESS {}%\n", percent));
    if (style_ == ProgressStyle::openjd) print(fmt::format("openjd_progress: {}\n", percent));
    if (style_ == ProgressStyle::bar) print("\r\033[K");
    if (ranks_ == 1) row(f, left);
    if (style_ == ProgressStyle::bar && done_ < f.count)
      print(fmt::format("file {} of {} · {} left", done_, f.count, short_time(left)));
  }

  void finished(const AxJobReport& report, const AxJob& job) {
    if (style_ == ProgressStyle::bar && report.stopped) print("\r\033[K");
    if (ranks_ > 1)
      for (const AxFile& f : report.made) row(f, 0);
    const auto done = static_cast<std::int64_t>(report.made.size());
    if (style_ == ProgressStyle::json)
      print(ordered_json{{"event", report.stopped ? "stopped" : "done"},
                         {"files", done},
                         {"of", report.files},
                         {"output", job.output},
                         {"seconds", watch_.seconds()}}
                .dump() +
            "\n");
    else if (report.stopped)
      print(fmt::format("stopped   {} of {}; --resume goes on\n", done, plural(report.files, "file")));
    else
      print(fmt::format("done      {} in {} · {}\n", plural(done, "file"), short_time(watch_.seconds(), true),
                        job.output));
  }

 private:
  void row(const AxFile& f, double left) {
    const AxOutcome& o = f.outcome;
    if (style_ == ProgressStyle::json) {
      print(ordered_json{{"event", "file"},
                         {"frame", f.frame},
                         {"index", f.index},
                         {"count", f.count},
                         {"input", f.input},
                         {"output", f.output},
                         {"skipped", f.skipped},
                         {"points", o.points},
                         {"voxels", o.voxels},
                         {"deleted", o.deleted},
                         {"engine", o.openvdb ? "openvdb" : "aegir"},
                         {"read", f.read},
                         {"run", f.run},
                         {"write", f.write},
                         {"remarks", o.remarks}}
                .dump() +
            "\n");
      return;
    }
    if (!titled_)
      print(fmt::format("{:>7}  {:>8}  {:>8}  {:>8}  {:>7}  {:>7}  {:>7}  {:>7}  {}\n", "frame", "points", "voxels",
                        "deleted", "read s", "run s", "write s", "eta", "file"));
    titled_ = true;
    print(fmt::format("{:>7}  {:>8}  {:>8}  {:>8}  {:>7.2f}  {:>7.2f}  {:>7.2f}  {:>7}  {}{}\n", f.frame,
                      count(o.points), count(o.voxels), count(o.deleted), f.read, f.run, f.write, short_time(left),
                      f.output, f.skipped ? " was there" : ""));
    for (const std::string& remark : o.remarks) {
      // The same remark at every frame is said once.
      if (std::find(said_.begin(), said_.end(), remark) != said_.end()) continue;
      print(fmt::format("  warning {}: {}\n", f.frame, remark));
      said_.push_back(remark);
    }
  }
  static std::string count(std::int64_t n) { return n > 0 ? short_count(n) : ""; }

  ProgressStyle style_;
  int ranks_, done_ = 0;
  bool titled_ = false;
  std::vector<std::string> said_;
  Stopwatch watch_;
};

bool is_name(const std::string& text) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

Result<AxVariable> read_variable(const std::string& text) {
  const std::size_t equals = text.find('=');
  AxVariable variable{text.substr(0, equals), {}};
  if (equals == std::string::npos || !is_name(variable.name))
    return usage_error({}, "--set {}: it should be NAME=NUMBER or NAME=X,Y,Z", text);
  for (std::size_t at = equals + 1; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    double value = 0;
    const auto [stopped, error] = std::from_chars(text.data() + at, text.data() + end, value);
    if (error != std::errc() || stopped != text.data() + end || !std::isfinite(value))
      return usage_error({}, "--set {}: '{}' is no number", text, text.substr(at, end - at));
    variable.values.push_back(value);
    at = end + 1;
  }
  if (variable.values.size() != 1 && variable.values.size() != 3)
    return usage_error({}, "--set {}: a variable is one number or three", text);
  return variable;
}

Status understand(AxArguments& a) {
  expression::Source& source = a.job.work.source;
  if (a.snippet.empty() == a.file.empty())
    return usage_error({}, "what shall run? Give the expression with -s 'CODE', or a file of it with -f FILE.ax");
  source.text = a.snippet;
  source.where = {a.file.empty() ? "-s" : a.file, 1, 1};
  if (!a.file.empty()) {
    Result<std::string> text = read_bytes(a.file);
    if (!text) return text.error();
    source.text = std::move(*text);
  }
  if (!a.frames.empty()) {
    const auto frames = parse_frames(a.frames);
    if (!frames) return Error{Failure::usage, "--frames: " + frames.error().message, {}};
    a.job.frames = *frames;
  }
  for (const std::string& text : a.sets) {
    auto variable = read_variable(text);
    if (!variable) return variable.error();
    a.job.work.variables.push_back(std::move(*variable));
  }
  return {};
}

}  // namespace

int ax_command(AxArguments& a, Comm& comm) {
  if (Status ok = understand(a); !ok) return report_error(ok.error());
  RunControl& control = watch_signals();
  static_assert(sizeof control.stop == sizeof(std::int32_t) && std::atomic<int>::is_always_lock_free);
  a.job.work.stop = reinterpret_cast<const std::int32_t*>(&control.stop);
  AxDisplay display(a.style, comm.size());
  ThreadScope threads(a.threads > 0 ? a.threads : std::max(1, available_threads() / comm.size()));
  Result<AxJobReport> report = simulation_error("nothing was done");
  threads.run([&] { report = run_ax_job(a.job, comm, [&](const AxFile& f) { display.made(f); }); });
  if (!report) {
    if (a.style == ProgressStyle::openjd) print("openjd_fail: " + report.error().text() + "\n");
    return report_error(report.error());
  }
  display.finished(*report, a.job);
  return report->stopped ? 128 + std::max(1, control.stop.load()) : 0;
}

}  // namespace aegir
