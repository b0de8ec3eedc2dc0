// Charts of the report: inline SVG with axes, legend, and the plotted values beside it for whoever looks or reads.
//
//   Chart chart{.id = "volume", .title = "Volume", .unit = "m³"};
//   chart.series.push_back({"water", frames, volumes});
//   page += chart_html(chart);
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aegir {

/// A line of a chart, or a layer of stacked bars; values that are not finite are gaps.
struct ChartSeries {
  std::string name;
  std::vector<double> x, y;
};

/// What a chart shows; values are in SI units, and the axis finds multiples of them.
struct Chart {
  enum class Kind { lines, bars };  ///< bars are stacked, one for every frame

  std::string id = {};     ///< one word, unique on the page
  std::string title = {};  ///< what is plotted
  std::string unit = {};   ///< of the values; empty for counts, "B" for bytes
  std::string note = {};   ///< one sentence for below the title; may be empty
  Kind kind = Kind::lines;
  bool legend = true;      ///< names the series; one that is called like the chart needs none
  bool wide = false;       ///< takes the whole width of the page
  bool from_zero = false;  ///< the axis begins at zero, even where the values do not come near it
  /// The axis covers at least this share of the largest value, so that round-off does not look like a mountain range.
  double least_share = 0;
  /// The axis covers at least this much, in the unit of the values.
  double least_span = 0;
  std::vector<ChartSeries> series = {};
};

/// The chart as a <figure>; with more series than there are colours the smallest are left out (lines) or added up
/// (bars), and that is said.
std::string chart_html(const Chart& chart);

/// Text with the characters that mean something in HTML written so that they do not, also inside of attributes.
std::string html_escaped(std::string_view text);

}  // namespace aegir
