// The plots of a run's report, from its statistics.
//
//   for (const ChartGroup& group : run_charts(stats, {.first = 1001, .rate = 24})) show(group.title, group.charts);
#pragma once

#include <string>
#include <vector>

#include "preview/report_chart.h"
#include "preview/report_stats.h"

namespace aegir {

/// Where a moment lies on the axis of frames: first + time · rate.
struct FrameAxis {
  double first = 0;
  double rate = 24;  ///< frames per second
};

/// Charts that belong together.
struct ChartGroup {
  std::string title;
  std::vector<Chart> charts;
};

/// Charts of everything that the statistics tell of; those without a value are left out.
std::vector<ChartGroup> run_charts(const RunStatistics& stats, const FrameAxis& axis);

}  // namespace aegir
