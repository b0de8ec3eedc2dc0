#include "run_display.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "console.h"
#include "engine/text.h"
#include "json_display.h"

namespace aegir {
namespace {

std::atomic<bool> confirm{false};

std::string labelled(const char* label, const std::string& text) { return fmt::format("{:<10}{}\n", label, text); }

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// 9.08, 41.3, 1200.
std::string three_digits(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

/// The change of volume of the liquid where it is largest, if there are liquids; NaN where no one can tell.
std::optional<double> volume_drift(const std::vector<std::pair<std::string, ObjectAudit>>& objects) {
  std::optional<double> worst;
  for (const auto& [path, audit] : objects)
    for (const auto& [name, value] : audit.more)
      if (name == std::string_view("volume_drift") &&
          (!worst || std::isnan(*worst) || std::abs(value) > std::abs(*worst)))
        worst = value;
  return worst;
}

std::string percent(double part) { return std::isnan(part) ? "-" : fmt::format("{:+.2f} %", 100 * part); }

/// Right-aligned in a column.
std::string cell(const std::string& text, std::size_t width) {
  const std::size_t columns = text_columns(text);
  return std::string(width > columns ? width - columns : 0, ' ') + text;
}

/// Lines for people; on a terminal with a line that moves below them.
class TextDisplay final : public RunDisplay {
 public:
  TextDisplay(ProgressStyle style, bool bar, int rank) : style_(style), bar_(bar), rank_(rank) {}

  void header(const RunHeader& h) override {
    const std::string where =
        h.ranks > 1 ? fmt::format("{}, {} each, {}", plural(h.ranks, "rank"), plural(h.threads, "thread"), h.simd)
                    : fmt::format("{}, {}", plural(h.threads, "thread"), h.simd);
    setup_ = h.setup;
    line(fmt::format("aegir {} · {} {} · {} · {}\n", h.version, std::filesystem::path(h.setup).filename().string(),
                     h.hash.substr(0, 6), h.host, where));
  }

  void checked(const CheckReport& r) override {
    if (!r.messages.ok()) {
      report_warnings(r.messages.warnings);
      shown_ = true;
      code_ = report_errors(r.messages.errors, "the setup", "nothing was run and nothing written");
      return;
    }
    std::string text =
        plural(r.inputs, "input") + ", " + plural(r.groups, "group") + ", " + plural(r.behaviors, "behavior");
    if (!r.off.empty()) text += fmt::format(" ({} off)", r.off.size());
    line(labelled("checked", text + ", " + plural(r.outputs, "output")));
    for (const Error& w : r.messages.warnings) line("  warning " + w.text() + "\n");
  }

  void forecast(const Forecast& f) override {
    std::string text = short_bytes(f.memory_available) + " of memory available";
    if (f.memory_needed > (1 << 20)) text = short_bytes(f.memory_needed) + " expected · " + text;
    if (f.disk_free > 0) text += " · " + short_bytes(f.disk_free) + " of disk free";
    line(labelled("forecast", text));
  }

  void resuming(const ResumeReport& r) override {
    std::string text = "checkpoint " + r.from.text();
    if (!r.host.empty() && !r.last.empty()) text += fmt::format(" ({} came to {})", r.host, r.last);
    if (r.first_kept) text += fmt::format("; frames {}–{} kept", *r.first_kept, r.from.frame);
    if (r.later_removed) text += "; later frames removed";
    line(labelled("resuming", text));
    for (const std::string& change : r.changes) line("  changed " + change + "\n");
  }

  void frame(const FrameReport& f) override {
    begin_table(f);
    std::string text = cell(fmt::format("{}/{}", f.frame, f.last), frame_width_) + cell(std::to_string(f.substeps), 7);
    for (std::size_t i = 0; i < f.objects.size(); ++i)
      text += cell(short_count(f.objects[i].second.particles), i < widths_.size() ? widths_[i] : 8);
    text += cell(three_digits(f.max_speed), 9);
    if (iterations_) text += cell(std::to_string(f.iterations), 7);
    if (volume_) text += cell(percent(volume_drift(f.objects).value_or(0)), 10);
    text += cell(fmt::format("{:.2f}", f.seconds), 8) + cell(short_bytes(f.memory), 10) + cell(short_time(f.eta), 9);
    line(text + (f.written ? "" : "  not written") + "\n");
    first_ = f.first;
    last_ = f.last;
    mark(static_cast<double>(f.frame - f.first + 1) / (f.last - f.first + 1));
    draw_bar({f.frame + 1, f.first, f.last, 0, 0, f.eta});
  }

  void progress(const FrameProgress& p) override { draw_bar(p); }

  void warning(int frame, const std::string& text) override { line(fmt::format("  warning {}: {}\n", frame, text)); }

  void checkpoint(const RunMoment& m) override {
    saved_ = m.text();
    if (confirm.exchange(false)) line("  saved   checkpoint " + saved_ + "\n");
  }

  void done(const RunSummary& s) override {
    clear_bar();
    if (s.checkpoint) saved_ = s.checkpoint->text();
    const std::string frames = plural(s.frames, "frame") + " in " + short_time(s.seconds, true);
    if (s.stopped_by) {
      line(labelled("stopped", fmt::format("by signal {} ({}) after {}; checkpoint {}", s.stopped_by,
                                           ::strsignal(s.stopped_by), frames, saved_)));
      line(labelled("go on", fmt::format("aegir run {} -o {} --resume", setup_, s.output)));
      return;
    }
    std::string text =
        s.frames > 0 ? frames : fmt::format("nothing to do; the run had already reached frame {}", s.last_frame);
    for (const auto& [name, audit] : s.objects)
      text += fmt::format(" · {} {} particles", last_part(name), short_count(audit.particles));
    if (const auto drift = volume_drift(s.objects); drift && !std::isnan(*drift))
      text += " · volume " + percent(*drift);
    line(labelled("done", text));
    if (!s.output.empty()) line(labelled("open", fmt::format("{}/report.html · aegir preview {}", s.output, s.output)));
  }

  int failed(const Error& error) override {
    clear_bar();
    if (shown_) return code_;
    const int code = report_error(error);
    say_what_next(error);
    return code;
  }

  void fatal(const Error& error) override {
    clear_bar();
    report_fatal(error, rank_);
    say_what_next(error);
  }

  void rank_news(const RankNews& news) override { report_news(news.text); }

 private:
  /// After a failure: the mark for render farms, and from where to go on.
  void say_what_next(const Error& error) {
    if (style_ == ProgressStyle::openjd) print("openjd_fail: " + error.text() + "\n");
    if (!saved_.empty())
      print_error(
          error.kind == Failure::simulation
              ? fmt::format(
                    "aegir: the state before is in checkpoint {}; change the setup and go on from it (--resume)\n",
                    saved_)
              : fmt::format("aegir: earlier frames are whole; go on from checkpoint {} with --resume\n", saved_));
  }

  void line(const std::string& text) {
    clear_bar();
    print(text);
  }

  /// The head of the table, again when it gets other columns.
  void begin_table(const FrameReport& f) {
    const bool liquids = volume_drift(f.objects).has_value();
    if (titled_ && (iterations_ || f.iterations == 0) && volume_ == liquids) return;
    titled_ = true;
    iterations_ = f.iterations > 0 || liquids;
    volume_ = liquids;
    frame_width_ = std::max<std::size_t>(9, fmt::format("{}/{}", f.last, f.last).size());
    std::string text = cell("frame", frame_width_) + cell("steps", 7);
    widths_.clear();
    for (const auto& [name, audit] : f.objects) {
      widths_.push_back(std::max<std::size_t>(8, last_part(name).size() + 2));
      text += cell(last_part(name), widths_.back());
    }
    text += cell("max m/s", 9) + (iterations_ ? cell("iters", 7) : "") + (volume_ ? cell("volume", 10) : "") +
            cell("s", 8) + cell("mem", 10) + cell("eta", 9);
    line(text + "\n");
  }

  void draw_bar(const FrameProgress& p) {
    if (!bar_ || p.frame > p.last) return;
    constexpr int width = 30;
    const double part = (p.frame - p.first + p.fraction) / std::max(1, p.last - p.first + 1);
    const int full = std::clamp(static_cast<int>(part * width), 0, width);
    std::string bar;
    for (int i = 0; i < width; ++i) bar += i < full ? "█" : "·";
    print(fmt::format("\r\033[K{} {:3.0f} %  frame {}, substep {}  eta {}", bar, 100 * part, p.frame, p.substep + 1,
                      short_time(p.eta)));
    drawn_ = true;
  }

  void clear_bar() {
    if (drawn_) print("\r\033[K");
    drawn_ = false;
  }

  /// Marks that render farms read.
  void mark(double part) {
    const int percent = static_cast<int>(std::floor(100 * part));
    if (style_ == ProgressStyle::alf) line(fmt::format("ALF_PROGRESS {}%\n", percent));
    if (style_ == ProgressStyle::openjd) line(fmt::format("openjd_progress: {}\n", percent));
  }

  ProgressStyle style_;
  bool bar_, drawn_ = false, titled_ = false, iterations_ = false, volume_ = false, shown_ = false;
  int rank_ = 0, code_ = 2, first_ = 0, last_ = 0;
  std::size_t frame_width_ = 9;
  std::vector<std::size_t> widths_;
  std::string saved_, setup_;
  bool writes_frames_ = true;
};

}  // namespace

std::unique_ptr<RunDisplay> make_display(ProgressStyle style, const Comm& comm) {
  if (style == ProgressStyle::json) return make_json_display(comm.rank());
  const bool bar =
      style == ProgressStyle::bar || (style == ProgressStyle::automatic && comm.size() == 1 && ::isatty(STDOUT_FILENO));
  return std::make_unique<TextDisplay>(style, bar, comm.rank());
}

void confirm_next_checkpoint() { confirm = true; }

}  // namespace aegir
