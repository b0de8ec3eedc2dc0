#include "preview/report_plots.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace aegir {
namespace {

using Places = std::vector<double>;

bool has_values(const StatsColumn& column) {
  return std::any_of(column.begin(), column.end(), [](double v) { return std::isfinite(v); });
}

/// One line per Object.
Chart per_object(Chart chart, const RunStatistics& stats, const Places& x, StatsColumn ObjectColumns::*column,
                 double factor = 1) {
  for (const ObjectColumns& o : stats.objects) {
    if (!has_values(o.*column)) continue;
    ChartSeries s{o.name, x, o.*column};
    for (double& y : s.y) y *= factor;
    chart.series.push_back(std::move(s));
  }
  return chart;
}

/// The sum over all Objects, by line; an Object that a line does not tell of adds nothing.
StatsColumn total(const RunStatistics& stats, const std::function<const StatsColumn&(const ObjectColumns&)>& column) {
  StatsColumn sum(stats.lines(), 0.0);
  for (const ObjectColumns& o : stats.objects)
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (std::isfinite(column(o)[i])) sum[i] += column(o)[i];
  return sum;
}

Chart energy_chart(const RunStatistics& stats, const Places& x) {
  Chart chart{.id = "energy", .title = "Energy", .unit = "J"};
  if (stats.objects.empty()) return chart;
  if (stats.objects.size() > 1) chart.note = "All Objects together.";
  const StatsColumn kinetic = total(
      stats, [](const ObjectColumns& o) -> const auto& { return o.kinetic_energy; });
  const StatsColumn potential = total(
      stats, [](const ObjectColumns& o) -> const auto& { return o.potential_energy; });
  StatsColumn sum = kinetic;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += potential[i];
  chart.series = {{"kinetic", x, kinetic}, {"potential", x, potential}, {"total", x, sum}};
  return chart;
}

Chart momentum_chart(const RunStatistics& stats, const Places& x) {
  Chart chart{.id = "momentum", .title = "Momentum", .unit = "kg m/s"};
  if (stats.objects.empty()) return chart;
  if (stats.objects.size() > 1) chart.note = "All Objects together.";
  constexpr const char* axes[] = {"x", "y", "z"};
  for (std::size_t a = 0; a < 3; ++a)
    chart.series.push_back({axes[a], x,
                            total(
                                stats, [a](const ObjectColumns& o) -> const auto& { return o.momentum[a]; })});
  return chart;
}

std::vector<Chart> physics(const RunStatistics& stats, const Places& x) {
  using O = ObjectColumns;
  constexpr double one_percent = 0.01;
  return {
      per_object({.id = "volume",
                  .title = "Volume",
                  .unit = "m³",
                  .note = "That of all particles added up.",
                  .least_share = 2 * one_percent},
                 stats, x, &O::volume),
      per_object({.id = "volume_drift",
                  .title = "Drift of volume",
                  .unit = "%",
                  .note = "From how crowded particles are where no air is near; 0 is as they were filled in.",
                  .least_span = 0.2},
                 stats, x, &O::volume_drift, 100),
      energy_chart(stats, x),
      momentum_chart(stats, x),
      per_object({.id = "particles", .title = "Particles", .from_zero = true}, stats, x, &O::particles),
      per_object({.id = "mass", .title = "Mass", .unit = "kg", .least_share = 2 * one_percent}, stats, x, &O::mass),
      per_object({.id = "max_speed", .title = "Greatest speed", .unit = "m/s", .from_zero = true}, stats, x,
                 &O::max_speed),
  };
}

Chart substeps_chart(const RunStatistics& stats) {
  Chart chart{.id = "substeps", .title = "Substeps per frame", .kind = Chart::Kind::bars, .legend = false};
  ChartSeries s{"substeps", {}, {}};
  for (const FrameWork& f : stats.frames) {
    s.x.push_back(f.frame);
    s.y.push_back(f.substeps);
  }
  if (!s.x.empty()) chart.series.push_back(std::move(s));
  return chart;
}

Chart tasks_chart(const RunStatistics& stats) {
  Chart chart{.id = "tasks", .title = "Time per task and frame", .unit = "s", .kind = Chart::Kind::bars, .wide = true};
  for (std::size_t t = 0; t < stats.tasks.size(); ++t) {
    ChartSeries s{stats.tasks[t].name, {}, {}};
    for (const FrameWork& f : stats.frames) {
      s.x.push_back(f.frame);
      s.y.push_back(t < f.seconds.size() ? f.seconds[t] : 0);
    }
    chart.series.push_back(std::move(s));
  }
  return chart;
}

std::vector<Chart> work(const RunStatistics& stats, const Places& x) {
  Chart iterations{.id = "iterations", .title = "Solver iterations per substep", .from_zero = true};
  for (const SolveColumns& s : stats.solves)
    if (has_values(s.iterations)) iterations.series.push_back({s.name, x, s.iterations});
  Chart step{.id = "time_step", .title = "Length of a substep", .unit = "s", .legend = false, .from_zero = true};
  ChartSeries dt{"dt", {}, {}};
  for (std::size_t i = 0; i < stats.lines(); ++i)
    if (stats.dt[i] > 0) dt.x.push_back(x[i]), dt.y.push_back(stats.dt[i]);
  if (!dt.x.empty()) step.series.push_back(std::move(dt));
  Chart memory{.id = "memory",
               .title = "Memory of Objects",
               .unit = "B",
               .note = "Particles and grids of all ranks, without what solvers and outputs need for a while.",
               .legend = false,
               .from_zero = true};
  if (has_values(stats.memory)) memory.series.push_back({"memory", x, stats.memory});
  return {tasks_chart(stats), substeps_chart(stats), std::move(step), std::move(iterations), std::move(memory)};
}

}  // namespace

std::vector<ChartGroup> run_charts(const RunStatistics& stats, const FrameAxis& axis) {
  Places x;
  for (const double time : stats.time) x.push_back(axis.first + time * axis.rate);
  std::vector<ChartGroup> groups = {{"What happened", physics(stats, x)}, {"What it took", work(stats, x)}};
  for (ChartGroup& g : groups) std::erase_if(g.charts, [](const Chart& c) { return c.series.empty(); });
  std::erase_if(groups, [](const ChartGroup& g) { return g.charts.empty(); });
  return groups;
}

}  // namespace aegir
