#include "preview/report_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/assert.h"
#include "preview/report_axis.h"

namespace aegir {
namespace {

constexpr std::size_t colours = 10;  // of the style sheet

/// From values to places in the drawing, which is as large as on a screen of common size.
struct Panel {
  double width = 640, height = 250;
  double left = 58, right = 16, top = 22, bottom = 36;
  double x_low = 0, x_high = 1, y_low = 0, y_high = 1;  // in SI units

  double inner_width() const { return width - left - right; }
  double inner_height() const { return height - top - bottom; }
  double x(double value) const { return left + (value - x_low) / (x_high - x_low) * inner_width(); }
  double y(double value) const { return top + (y_high - value) / (y_high - y_low) * inner_height(); }
};

/// Finite, and small enough that differences do not overflow.
bool drawable(double value) { return std::abs(value) <= 1e300; }

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double value) {
    if (!drawable(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

/// The order of series by size, largest first; equal ones stay in order.
std::vector<std::size_t> by_size(const Chart& chart) {
  std::vector<double> size;
  for (const ChartSeries& s : chart.series) {
    double total = 0;
    for (const double y : s.y)
      if (std::isfinite(y)) total = chart.kind == Chart::Kind::bars ? total + y : std::max(total, std::abs(y));
    size.push_back(total);
  }
  std::vector<std::size_t> order(chart.series.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size[a] > size[b]; });
  return order;
}

/// As many series as there are colours. Layers of bars are put in order, the largest at the bottom.
Chart limited(const Chart& chart) {
  Chart few = chart;
  const bool bars = chart.kind == Chart::Kind::bars;
  if (chart.series.size() <= colours && !bars) return few;
  std::vector<std::size_t> order = by_size(chart);
  const bool too_many = chart.series.size() > colours;
  const std::size_t kept = !too_many ? order.size() : bars ? colours - 1 : colours;
  if (!bars) std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept));
  few.series.clear();
  for (std::size_t i = 0; i < kept; ++i) few.series.push_back(chart.series[order[i]]);
  if (!too_many) return few;
  const std::size_t rest = order.size() - kept;
  if (bars) {
    ChartSeries others = chart.series[order[kept]];
    others.name = fmt::format("{} others", rest);
    for (std::size_t i = kept + 1; i < order.size(); ++i)
      for (std::size_t k = 0; k < others.y.size(); ++k) others.y[k] += chart.series[order[i]].y[k];
    few.series.push_back(std::move(others));
  } else {
    few.note +=
        fmt::format("{}The {} smallest of {} lines are not shown.", few.note.empty() ? "" : " ", rest, order.size());
  }
  return few;
}

/// Joins neighbouring bars into their mean until they can be told apart; returns how many became one.
std::size_t join_bars(Chart& chart, const Panel& panel) {
  const std::size_t bars = chart.series.front().x.size();
  const auto most = static_cast<std::size_t>(panel.inner_width() / 2);
  const std::size_t joined = (bars + most - 1) / most;
  if (joined <= 1) return 1;
  for (ChartSeries& s : chart.series) {
    ChartSeries coarse{s.name, {}, {}};
    for (std::size_t at = 0; at < bars; at += joined) {
      const std::size_t end = std::min(at + joined, bars);
      double x = 0, y = 0;
      for (std::size_t i = at; i < end; ++i) x += s.x[i], y += s.y[i];
      coarse.x.push_back(x / static_cast<double>(end - at));
      coarse.y.push_back(y / static_cast<double>(end - at));
    }
    s = std::move(coarse);
  }
  chart.note += fmt::format("{}Each bar is the mean of {} frames.", chart.note.empty() ? "" : " ", joined);
  return joined;
}

/// Bounds of the values, widened to what the chart asks for.
Range value_range(const Chart& chart) {
  Range range;
  if (chart.kind == Chart::Kind::bars) {
    for (std::size_t i = 0; i < chart.series.front().x.size(); ++i) {
      double top = 0;
      for (const ChartSeries& s : chart.series) top += s.y[i];
      range.add(top);
    }
    range.add(0);
  } else {
    for (const ChartSeries& s : chart.series)
      for (const double y : s.y) range.add(y);
  }
  if (range.empty()) return {0, 1};
  if (chart.from_zero) range.add(0);
  const double largest = std::max(std::abs(range.low), std::abs(range.high));
  const double least = std::max({chart.least_span, chart.least_share * largest, 1e-12 * largest});
  if (range.high - range.low < least) {
    const double more = least - (range.high - range.low);
    if (range.low == 0 && chart.from_zero)
      range.high += more;
    else
      range.low -= more / 2, range.high += more / 2;
  }
  if (!(range.high > range.low)) range.high = range.low + 1;
  return range;
}

/// Ticks along y, in units of the scale; the panel is widened to the outermost ones.
std::vector<double> fit_values(const Chart& chart, const Range& range, const AxisScale& scale, Panel& panel) {
  constexpr int about = 4;
  const double low = range.low / scale.divisor, high = range.high / scale.divisor;
  std::vector<double> ticks = axis_ticks(low, high, about);
  double distance = ticks.size() > 1 ? ticks[1] - ticks[0] : high - low;
  if (chart.unit.empty() && scale.divisor == 1) distance = std::max(1.0, distance);  // half a particle is none
  const double first = std::floor(low / distance + 1e-9), last = std::ceil(high / distance - 1e-9);
  ticks.clear();
  for (double i = first; i <= last; ++i) ticks.push_back(i * distance);
  panel.y_low = ticks.front() * scale.divisor;
  panel.y_high = ticks.back() * scale.divisor;
  return ticks;
}

std::string y_axis(const std::vector<double>& ticks, const AxisScale& scale, const Panel& p) {
  std::string svg;
  const double distance = ticks.size() > 1 ? ticks[1] - ticks[0] : 0;
  for (const double t : ticks) {
    const double y = p.y(t * scale.divisor);
    svg += fmt::format(R"(<path class="{}" d="M{:.1f} {:.1f}H{:.1f}"/>)", t == 0 ? "zero" : "grid", p.left, y,
                       p.width - p.right);
    svg += fmt::format(R"(<text class="tick y" x="{:.1f}" y="{:.1f}">{}{}</text>)", p.left - 8, y + 4,
                       tick_text(t, distance), t == 0 ? "" : scale.suffix);
  }
  if (!scale.unit.empty())
    svg += fmt::format(R"(<text class="unit" x="{:.1f}" y="12">{}</text>)", p.left - 8, html_escaped(scale.unit));
  return svg;
}

std::string x_axis(const Panel& p) {
  std::string svg;
  const double base = p.height - p.bottom;
  const int about = static_cast<int>(p.inner_width() / 75);
  for (const double t : axis_ticks(p.x_low, p.x_high, about)) {
    if (t != std::round(t)) continue;
    svg += fmt::format(
        R"(<path class="mark" d="M{0:.1f} {1:.1f}v4"/><text class="tick x" x="{0:.1f}" y="{2:.1f}">{3:.0f}</text>)",
        p.x(t), base, base + 17, t);
  }
  svg += fmt::format(R"(<text class="tick axis" x="{:.1f}" y="{:.1f}">frame</text>)", p.width - p.right, p.height - 4);
  return svg;
}

/// A line with gaps; a point between gaps becomes a dot.
std::string line_path(const ChartSeries& s, const std::vector<std::size_t>& kept, const Panel& p) {
  std::string d;
  std::size_t length = 0;  // points since the last gap
  for (const std::size_t i : kept) {
    if (!drawable(s.y[i])) {
      if (length == 1) d += "h0";
      length = 0;
      continue;
    }
    d += fmt::format("{}{:.1f} {:.1f}", length == 0 ? 'M' : 'L', p.x(s.x[i]), p.y(s.y[i]));
    ++length;
  }
  return length == 1 ? d + "h0" : d;
}

/// One layer of the bars, on top of `floor`, which rises by it.
std::string bar_path(const ChartSeries& s, double frames_per_bar, std::vector<double>& floor, const Panel& p) {
  std::string d;
  const double full = p.x(p.x_low + frames_per_bar) - p.x(p.x_low);
  const double gap = full > 5 ? 1 : 0;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    const double low = p.y(floor[i]), high = p.y(floor[i] += s.y[i]), x = p.x(s.x[i]);
    if (low - high < 0.02) continue;
    d += fmt::format("M{:.1f} {:.2f}V{:.2f}H{:.1f}V{:.2f}Z", x - full / 2 + gap / 2, low, high, x + full / 2 - gap / 2,
                     low);
  }
  return d;
}

std::string number_list(const std::vector<double>& values, const std::vector<std::size_t>& kept, int digits) {
  std::string text;
  for (const std::size_t i : kept) {
    if (!text.empty()) text += ',';
    text += drawable(values[i]) ? fmt::format("{:.{}g}", values[i], digits) : "null";
  }
  return "[" + text + "]";
}

/// JSON inside of <script>, where only "<" could end it early.
std::string json_text(const std::string& text) {
  std::string json = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (std::size_t at = 0; (at = json.find('<', at)) != std::string::npos;) json.replace(at, 1, "\\u003c");
  return json;
}

std::string series_json(const ChartSeries& s, const std::vector<std::size_t>& kept) {
  return fmt::format(R"({{"name":{},"x":{},"y":{}}})", json_text(s.name), number_list(s.x, kept, 8),
                     number_list(s.y, kept, 7));
}

std::string legend_html(const Chart& chart) {
  if (!chart.legend) return {};
  std::string html;
  for (std::size_t i = 0; i < chart.series.size(); ++i)
    html += fmt::format(R"(<span class="s{}"><i></i>{}</span>)", i, html_escaped(chart.series[i].name));
  return "<span class=\"legend\">" + html + "</span>";
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return safe;
}

std::string chart_html(const Chart& asked) {
  AEGIR_ASSERT(!asked.series.empty(), "a chart has at least one series");
  Chart chart = limited(asked);
  const bool bars = chart.kind == Chart::Kind::bars;
  Panel panel;
  if (chart.wide) panel.width = 1300, panel.height = 320;
  const std::size_t frames_per_bar = bars ? join_bars(chart, panel) : 1;
  Range x;
  for (const ChartSeries& s : chart.series)
    for (const double value : s.x) x.add(value);
  const double aside = bars ? 0.5 * static_cast<double>(frames_per_bar) : x.high > x.low ? 0 : 0.5;
  panel.x_low = x.empty() ? 0 : x.low - aside;
  panel.x_high = x.empty() ? 1 : x.high + aside;
  const Range values = value_range(chart);
  const AxisScale scale = axis_scale(std::max(std::abs(values.low), std::abs(values.high)), chart.unit);
  const std::vector<double> ticks = fit_values(chart, values, scale, panel);

  std::string drawn, data;
  std::vector<double> floor(chart.series.front().x.size(), 0.0);
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const ChartSeries& s = chart.series[i];
    const std::vector<std::size_t> kept = thinned(s.x, s.y, bars ? 1 << 20 : static_cast<int>(panel.inner_width()));
    drawn +=
        fmt::format(R"(<path class="{} s{}" d="{}"/>)", bars ? "bar" : "line", i,
                    bars ? bar_path(s, static_cast<double>(frames_per_bar), floor, panel) : line_path(s, kept, panel));
    data += (i == 0 ? "" : ",") + series_json(s, kept);
  }
  const std::string label = fmt::format("{} over frames {:.6g} to {:.6g}", chart.title, x.low, x.high);
  return fmt::format(
      R"(<figure class="chart{}" id="chart-{}" data-plot="{}"><figcaption><h3>{}</h3>{}{}</figcaption>)"
      R"(<div class="plot"><svg viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}{}{}</svg></div>)"
      R"(<script type="application/json">{{"kind":"{}","divisor":{:.17g},"unit":{},"count":{},"box":[{},{},{},{}],"x":[{:.8g},{:.8g}],"y":[{:.17g},{:.17g}],"series":[{}]}}</script></figure>)"
      "\n",
      chart.wide ? " wide" : "", chart.id, chart.id, html_escaped(chart.title), legend_html(chart),
      chart.note.empty() ? "" : "<p>" + html_escaped(chart.note) + "</p>", panel.width, panel.height,
      html_escaped(label), y_axis(ticks, scale, panel), x_axis(panel), drawn, bars ? "bars" : "lines",
      chart.unit.empty() ? 1 : scale.divisor, json_text(chart.unit.empty() ? "" : scale.unit),
      chart.unit.empty() ? "true" : "false", panel.left, panel.top, panel.inner_width(), panel.inner_height(),
      panel.x_low, panel.x_high, panel.y_low, panel.y_high, data);
}

}  // namespace aegir
