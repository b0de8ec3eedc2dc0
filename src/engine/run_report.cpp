#include "engine/run_report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

#include "engine/run_directory.h"
#include "engine/run_lock.h"
#include "engine/run_record.h"
#include "engine/text.h"
#include "io/atomic_file.h"
#include "preview/report_axis.h"
#include "preview/report_page.h"

namespace aegir {
namespace {

namespace fs = std::filesystem;

/// Everything that a report is made of.
struct Material {
  RunDirectory directory;
  std::optional<RunRecord> record;
  RunStatistics stats;

  const RunSession* newest() const { return record && !record->sessions.empty() ? &record->sessions.back() : nullptr; }
};

/// Seconds, as short as they can be read: 0.84 s, 31.9 s, 54:31.
std::string time_text(double seconds) { return seconds < 60 ? fmt::format("{:.3g} s", seconds) : short_time(seconds); }

/// A number with four digits and the unit that suits its size.
std::string quantity(double value, std::string_view unit) {
  if (!std::isfinite(value)) return "–";
  const AxisScale scale = axis_scale(std::abs(value), unit);
  return fmt::format("{:.4g} {}", value / scale.divisor, scale.unit);
}

/// "2031-05-04 13:37 UTC" of the record's "2031-05-04T13:37:00Z".
std::string date_text(const std::string& stamp) {
  constexpr std::size_t minutes = 16;  // letters up to them
  if (stamp.size() < minutes || stamp[10] != 'T') return stamp;
  return stamp.substr(0, 10) + " " + stamp.substr(11, minutes - 11) + " UTC";
}

double last_known(const StatsColumn& column) {
  const auto found = std::find_if(column.rbegin(), column.rend(), [](double v) { return std::isfinite(v); });
  return found == column.rend() ? std::nan("") : *found;
}

double largest(const StatsColumn& column) {
  double most = std::nan("");
  for (const double v : column)
    if (!(v <= most)) most = std::isfinite(v) ? v : most;
  return most;
}

double wall_seconds(const RunRecord& record) {
  return std::accumulate(record.sessions.begin(), record.sessions.end(), 0.0,
                         [](double sum, const RunSession& s) { return sum + s.seconds; });
}

double task_seconds(const RunStatistics& stats) {
  return std::accumulate(stats.tasks.begin(), stats.tasks.end(), 0.0,
                         [](double sum, const TaskTotal& t) { return sum + t.seconds; });
}

std::int64_t substeps_of(const RunStatistics& stats) {
  return std::accumulate(stats.frames.begin(), stats.frames.end(), std::int64_t{0},
                         [](std::int64_t sum, const FrameWork& f) { return sum + f.substeps; });
}

/// "after frame 12": what the statistics reach.
std::string stats_end(const RunStatistics& stats) {
  return stats.lines() == 0 ? "" : fmt::format("after frame {}", stats.frame.back());
}

void set_state(const Material& m, ReportPage& page) {
  using Mood = ReportPage::Mood;
  using Kind = ReportNotice::Kind;
  const RunSession* s = m.newest();
  const std::string go_on = "; it goes on from its newest checkpoint with --resume";
  if (!s) {
    page.state = "unknown";
    page.notices.push_back(
        {Kind::warning, "", "run.json is missing or damaged: setup, machine and outcome are not known"});
  } else if (s->outcome == "finished") {
    page.state = "finished";
    page.mood = Mood::good;
  } else if (s->outcome == "stopped") {
    page.state = "stopped";
    page.notices.push_back({Kind::hint, "", "the run was stopped by a signal" + go_on});
  } else if (s->outcome == "running") {
    const auto owner = read_lock(m.directory.lock_file());
    const bool alive = owner && owner->alive;
    page.state = alive ? "running" : "ended without a word";
    page.mood = alive ? Mood::neutral : Mood::bad;
    page.notices.push_back(alive
                               ? ReportNotice{Kind::hint, "",
                                              fmt::format("process {} on {} is at work; aegir report renews this page",
                                                          owner->process, owner->host)}
                               : ReportNotice{Kind::error, "", "the run was killed, or its machine lost" + go_on});
  } else {
    page.state = "failed";
    page.mood = Mood::bad;
    constexpr std::string_view prefix = "failed: ";
    const std::string why = s->outcome.starts_with(prefix) ? s->outcome.substr(prefix.size()) : s->outcome;
    page.notices.push_back(
        {Kind::error, stats_end(m.stats), why + "; once the cause is removed, the run goes on with --resume"});
  }
}

/// A text with its numbers taken out: warnings that differ only by them are one.
std::string without_numbers(const std::string& text) {
  std::string shape;
  for (const char c : text)
    if (!(c >= '0' && c <= '9') && c != '.' && c != '-' && c != '+') shape += c;
  return shape;
}

void add_warnings(const RunRecord& record, std::vector<ReportNotice>& notices) {
  struct Kin {
    const RunWarning* first;
    int count = 0, last_frame = 0;
  };
  std::vector<Kin> all;
  std::map<std::string, std::size_t> places;
  std::int64_t more = 0;
  for (const RunSession& s : record.sessions) {
    more += s.more_warnings;
    for (const RunWarning& w : s.warnings) {
      const auto [place, is_new] = places.try_emplace(without_numbers(w.text), all.size());
      if (is_new) all.push_back({&w});
      ++all[place->second].count;
      all[place->second].last_frame = w.frame.value_or(0);
    }
  }
  for (const Kin& k : all) {
    std::string text = k.first->text;
    if (k.count > 1) text += fmt::format(" (and {} more like it, the last in frame {})", k.count - 1, k.last_frame);
    notices.push_back({ReportNotice::Kind::warning, k.first->frame ? fmt::format("frame {}", *k.first->frame) : "setup",
                       std::move(text)});
  }
  if (more > 0)
    notices.push_back(
        {ReportNotice::Kind::warning, "", fmt::format("and {} that were not kept", plural(more, "warning"))});
}

std::string damaged_lines(const RunStatistics& stats) {
  if (stats.skipped == 0) return {};
  return fmt::format("{} of stats.jsonl {} damaged and left out; the first is line {}", plural(stats.skipped, "line"),
                     stats.skipped == 1 ? "is" : "are", stats.first_skipped);
}

void add_tiles(const Material& m, ReportPage& page) {
  const RunStatistics& stats = m.stats;
  if (stats.frames.empty()) return;
  const auto frames = static_cast<double>(stats.frames.size());
  const int first = stats.frames.front().frame, last = stats.frames.back().frame;
  page.tiles.push_back({"Frames", fmt::format("{}–{}", first, last),
                        m.record && m.record->last_frame > last
                            ? fmt::format("of {}–{}", m.record->first_frame, m.record->last_frame)
                            : plural(substeps_of(stats), "substep")});
  const double wall = m.record ? wall_seconds(*m.record) : 0, work = task_seconds(stats);
  const double taken = wall > 0 ? wall : work;
  page.tiles.push_back({wall > 0 ? "Wall time" : "Time of tasks", time_text(taken),
                        fmt::format("{} per frame", time_text(taken / frames))});
  double particles = 0, drift = 0, speed = 0;
  bool liquid = false;
  for (const ObjectColumns& o : stats.objects) {
    if (const double n = last_known(o.particles); std::isfinite(n)) particles += n;
    if (const double d = last_known(o.volume_drift); std::isfinite(d)) {
      liquid = true;
      if (std::abs(d) > std::abs(drift)) drift = d;
    }
    if (const double s = largest(o.max_speed); s > speed) speed = s;
  }
  page.tiles.push_back({"Particles", short_count(static_cast<std::int64_t>(particles)),
                        plural(static_cast<std::int64_t>(stats.objects.size()), "Object") + ", at the end"});
  if (liquid) page.tiles.push_back({"Drift of volume", fmt::format("{:+.2f} %", 100 * drift), "at the end"});
  page.tiles.push_back({"Greatest speed", quantity(speed, "m/s"), "of all frames"});
  std::uint64_t peak = 0;
  if (m.record)
    for (const RunSession& s : m.record->sessions) peak = std::max(peak, s.peak_memory);
  if (peak > 0) page.tiles.push_back({"Memory", short_bytes(peak), "most at the end of a frame"});
}

ReportTable task_table(const RunStatistics& stats) {
  ReportTable table{
      .id = "task_table",
      .title = "Tasks",
      .note = "Seconds are those of the slowest rank, bytes those of all ranks as the kernels declare them.",
      .header = {"task", "share of time", "total", "per substep", "rate"},
      .alignment = "llrrr",
      .rows = {}};
  std::vector<TaskTotal> tasks = stats.tasks;
  std::stable_sort(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  const double all = task_seconds(stats);
  const auto substeps = static_cast<double>(std::max<std::int64_t>(1, substeps_of(stats)));
  for (const TaskTotal& t : tasks)
    table.rows.push_back({t.name, fmt::format("={:.5f}", all > 0 ? t.seconds / all : 0), quantity(t.seconds, "s"),
                          quantity(t.seconds / substeps, "s"),
                          t.bytes > 0 && t.seconds > 0 ? fmt::format("{:.2f} GB/s", 1e-9 * t.bytes / t.seconds) : "–"});
  return table;
}

std::string masses_text(const std::vector<std::pair<std::string, double>>& masses) {
  std::string text;
  for (const auto& [behavior, mass] : masses)
    if (mass != 0) text += (text.empty() ? "" : ", ") + behavior + " " + quantity(mass, "kg");
  return text.empty() ? "–" : text;
}

ReportTable object_table(const RunStatistics& stats) {
  ReportTable table{
      .id = "objects",
      .title = "Objects at the end",
      .note = {},
      .header = {"Object", "particles", "mass", "volume", "drift", "kinetic", "potential", "put in", "taken out"},
      .alignment = "lrrrrrrll",
      .rows = {}};
  for (const ObjectColumns& o : stats.objects) {
    const double particles = last_known(o.particles), drift = last_known(o.volume_drift);
    table.rows.push_back({o.name, std::isfinite(particles) ? fmt::format("{:.0f}", particles) : "–",
                          quantity(last_known(o.mass), "kg"), quantity(last_known(o.volume), "m³"),
                          std::isfinite(drift) ? fmt::format("{:+.3f} %", 100 * drift) : "–",
                          quantity(last_known(o.kinetic_energy), "J"), quantity(last_known(o.potential_energy), "J"),
                          masses_text(o.added), masses_text(o.removed)});
  }
  return table;
}

std::string command_text(const RunSession& s) {
  std::string text;
  for (const std::string& word : s.command) text += (text.empty() ? "" : " ") + word;
  return text;
}

ReportTable session_table(const RunRecord& record) {
  ReportTable table{
      .id = "sessions",
      .title = "Sessions",
      .note = {},
      .header = {"started", "from", "wall time", "outcome", "host", "processor", "threads", "Aegir", "command"},
      .alignment = "nlrlllllc",
      .rows = {}};
  for (const RunSession& s : record.sessions)
    table.rows.push_back(
        {date_text(s.started), s.from.empty() ? "start" : "checkpoint " + s.from,
         s.seconds > 0 ? time_text(s.seconds) : "–", s.outcome, s.host + ", " + s.system, s.cpu + ", " + s.simd,
         s.ranks > 1 ? fmt::format("{} × {}", s.ranks, plural(s.threads, "thread")) : plural(s.threads, "thread"),
         s.version + ", " + s.compiler, command_text(s)});
  return table;
}

ReportTable input_table(const RunRecord& record) {
  ReportTable table{.id = "inputs",
                    .title = "Inputs",
                    .note = {},
                    .header = {"input", "files", "first file", "hash"},
                    .alignment = "lrcc",
                    .rows = {}};
  for (const InputRecord& input : record.inputs)
    table.rows.push_back({input.name, std::to_string(input.files.size()),
                          input.files.empty() ? "" : input.files.front().path,
                          input.files.empty() ? "" : input.files.front().hash});
  return table;
}

ReportPage page_of(const Material& m) {
  ReportPage page;
  const RunStatistics& stats = m.stats;
  std::error_code ignored;
  page.title = fs::weakly_canonical(m.directory.path(), ignored).filename().string();
  if (page.title.empty()) page.title = m.directory.path();
  set_state(m, page);
  if (const RunSession* s = m.newest())
    page.subtitle =
        fmt::format("{} {} · Aegir {} · {} · {}, {}, {} · {}", fs::path(m.record->setup_file).filename().string(),
                    m.record->setup_hash.substr(0, 6), s->version, s->host, plural(s->ranks, "rank"),
                    plural(s->threads, "thread"), s->simd, date_text(s->started));
  if (const std::string damaged = damaged_lines(stats); !damaged.empty())
    page.notices.push_back({ReportNotice::Kind::warning, "", damaged});
  if (stats.lines() == 0)
    page.notices.push_back(
        {ReportNotice::Kind::hint, "", "no substep is recorded in stats.jsonl: there is nothing to plot yet"});
  if (m.record) add_warnings(*m.record, page.notices);
  add_tiles(m, page);

  constexpr PictureBudget budget{.bytes = 6 << 20, .frames = 24};
  page.pictures = find_pictures(m.directory.path() + "/preview", budget);
  page.picture_hint = fmt::format("None yet. Make them with “aegir preview {0}”, then “aegir report {0}”.", page.title);
  FrameAxis axis{m.record ? m.record->first_frame : 0.0, m.record ? m.record->fps : stats.frame_rate(24)};
  if (!m.record && stats.lines() > 0) axis.first = stats.frame.front() - stats.time.front() * axis.rate;
  page.groups = run_charts(stats, axis);
  if (!stats.tasks.empty()) page.tables.push_back(task_table(stats));
  if (!stats.objects.empty()) page.tables.push_back(object_table(stats));
  if (m.record) {
    page.tables.push_back(session_table(*m.record));
    if (!m.record->inputs.empty()) page.tables.push_back(input_table(*m.record));
    page.setup_title = fmt::format("{} · {} · as it was understood, with every --set in it", m.record->setup_file,
                                   m.record->setup_hash);
    page.setup_text = m.record->setup_text;
  }
  page.footer = "Made by Aegir from run.json, stats.jsonl and preview/ beside this page.";
  return page;
}

Result<Material> gather(const std::string& path) {
  Material m{RunDirectory(path), {}, {}};
  std::error_code error;
  if (!fs::is_directory(path, error))
    return usage_error({}, "{} {}; name the folder that aegir run wrote to", path,
                       fs::exists(path, error) ? "is a file, not a run directory" : "does not exist");
  const bool has_record = fs::exists(m.directory.run_file(), error),
             has_stats = fs::exists(m.directory.stats_file(), error);
  if (!has_record && !has_stats)
    return usage_error(
        {},
        "{} is no run directory: it holds neither run.json nor stats.jsonl; name the folder that aegir run wrote to",
        path);
  m.record = RunRecord::load(m.directory.run_file());
  if (has_stats) {
    Result<RunStatistics> stats = read_run_statistics(m.directory.stats_file());
    if (!stats) return stats.error();
    m.stats = std::move(*stats);
  }
  return m;
}

}  // namespace

Result<RunReport> write_run_report(const std::string& directory, const std::string& file) {
  const Result<Material> material = gather(directory);
  if (!material) return material.error();
  const ReportPage page = page_of(*material);
  RunReport report;
  report.file = file.empty() ? material->directory.report_file() : file;
  report.frames = static_cast<int>(material->stats.frames.size());
  report.substeps = substeps_of(material->stats);
  for (const ChartGroup& g : page.groups) report.plots += static_cast<int>(g.charts.size());
  report.pictures = static_cast<int>(page.pictures.frames.size() + page.pictures.sheets.size());
  if (!material->record)
    report.remarks.push_back("run.json is missing or damaged; setup, machine and outcome are left out");
  if (std::string damaged = damaged_lines(material->stats); !damaged.empty())
    report.remarks.push_back(std::move(damaged));
  if (material->stats.lines() == 0) report.remarks.push_back("no substep is recorded, so there is nothing to plot");
  if (Status ok = write_text_atomically(report.file, report_html(page)); !ok) return ok.error();
  return report;
}

}  // namespace aegir
