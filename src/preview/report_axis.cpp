#include "preview/report_axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "base/assert.h"

namespace aegir {
namespace {

/// A unit and the smallest value that is written in it.
struct UnitStep {
  double divisor, from;
  const char* name;
};

constexpr std::array joules{UnitStep{1e12, 1e12, "TJ"}, UnitStep{1e9, 1e9, "GJ"}, UnitStep{1e6, 1e6, "MJ"},
                            UnitStep{1e3, 1e3, "kJ"},   UnitStep{1, 1, "J"},      UnitStep{1e-3, 1e-3, "mJ"},
                            UnitStep{1e-6, 1e-7, "µJ"}};
constexpr std::array seconds{UnitStep{1, 1, "s"}, UnitStep{1e-3, 1e-3, "ms"}, UnitStep{1e-6, 0, "µs"}};
constexpr std::array volumes{UnitStep{1, 0.1, "m³"}, UnitStep{1e-3, 1e-4, "L"}, UnitStep{1e-6, 1e-8, "mL"}};
constexpr std::array masses{UnitStep{1e3, 1e5, "t"}, UnitStep{1, 0.1, "kg"}, UnitStep{1e-3, 1e-4, "g"},
                            UnitStep{1e-6, 1e-8, "mg"}};
constexpr std::array speeds{UnitStep{1, 0.1, "m/s"}, UnitStep{1e-3, 1e-4, "mm/s"}};
constexpr std::array memory{UnitStep{1099511627776.0, 1e12, "TiB"}, UnitStep{1073741824.0, 1e9, "GiB"},
                            UnitStep{1048576.0, 1e6, "MiB"}, UnitStep{1024.0, 1e3, "KiB"}, UnitStep{1, 0, "B"}};
constexpr std::array counts{UnitStep{1e12, 1e13, "T"}, UnitStep{1e9, 1e10, "G"}, UnitStep{1e6, 1e6, "M"},
                            UnitStep{1e3, 1e4, "k"}, UnitStep{1, 0, ""}};

std::span<const UnitStep> steps_of(std::string_view unit) {
  if (unit == "J") return joules;
  if (unit == "s") return seconds;
  if (unit == "m³") return volumes;
  if (unit == "kg") return masses;
  if (unit == "m/s") return speeds;
  if (unit == "B") return memory;
  if (unit.empty()) return counts;
  return {};
}

/// "10⁻³".
std::string power_text(int exponent) {
  constexpr std::array digits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "10⁻" : "10";
  for (const char digit : std::to_string(std::abs(exponent))) text += digits[static_cast<std::size_t>(digit - '0')];
  return text;
}

/// The first and the last point of a column, its lowest and its highest, and one that is not finite.
struct ColumnEnds {
  static constexpr std::size_t none = SIZE_MAX;
  std::size_t low = none, high = none, gap = none;

  void take(const std::vector<double>& y, std::size_t i) {
    if (!std::isfinite(y[i])) {
      gap = i;
      return;
    }
    if (low == none || y[i] < y[low]) low = i;
    if (high == none || y[i] > y[high]) high = i;
  }
  void give(std::vector<std::size_t>& kept) {
    std::array ends{low, high, gap};
    std::sort(ends.begin(), ends.end());
    for (const std::size_t i : ends)
      if (i != none && (kept.empty() || i > kept.back())) kept.push_back(i);
    *this = {};
  }
};

}  // namespace

AxisScale axis_scale(double largest, std::string_view unit) {
  if (!(largest > 0) || !std::isfinite(largest)) return {1, std::string(unit), ""};
  const std::span<const UnitStep> steps = steps_of(unit);
  for (const UnitStep& s : steps)
    if (largest >= s.from && largest < 1e6 * s.divisor)
      return unit.empty() ? AxisScale{s.divisor, "", s.name} : AxisScale{s.divisor, s.name, ""};
  if (unit == "%" || (largest >= 0.1 && largest < 1e5)) return {1, std::string(unit), ""};
  const int exponent = std::max(-300, 3 * static_cast<int>(std::floor(std::log10(largest) / 3)));
  return {std::pow(10.0, exponent), power_text(exponent) + (unit.empty() ? "" : " ") + std::string(unit), ""};
}

std::vector<double> axis_ticks(double low, double high, int count) {
  AEGIR_ASSERT(count > 0 && std::isfinite(low) && std::isfinite(high), "an axis has finite bounds");
  if (!(high > low)) return {low};
  const double rough = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double steps = rough / power;  // 1 to 10: the nearest of the round ones
  const double distance = power * (steps < 1.5 ? 1 : steps < 3.5 ? 2 : steps < 7.5 ? 5 : 10);
  std::vector<double> ticks;
  const double slack = 1e-9 * (high - low);  // a bound that is a tick is one in spite of round-off
  const double first = std::ceil((low - slack) / distance);
  for (double i = 0; (first + i) * distance <= high + slack; ++i) {
    const double tick = (first + i) * distance;
    if (!ticks.empty() && tick <= ticks.back()) break;  // steps below the precision of the numbers
    ticks.push_back(tick);
  }
  return ticks;
}

std::string tick_text(double tick, double distance) {
  if (!(distance > 0)) return fmt::format("{:.6g}", tick);
  const int decimals = std::clamp(-static_cast<int>(std::floor(std::log10(distance) + 1e-9)), 0, 12);
  if (std::abs(tick) < 1e-9 * distance) tick = 0;  // no "-0"
  return fmt::format("{:.{}f}", tick, decimals);
}

std::vector<std::size_t> thinned(const std::vector<double>& x, const std::vector<double>& y, int columns) {
  AEGIR_ASSERT(x.size() == y.size() && columns > 0, "a series has as many places as values");
  std::vector<std::size_t> kept;
  const std::size_t count = x.size();
  if (count <= 2 * static_cast<std::size_t>(columns)) {
    for (std::size_t i = 0; i < count; ++i) kept.push_back(i);
    return kept;
  }
  const double width = std::max(x.back() - x.front(), std::numeric_limits<double>::min());
  ColumnEnds ends;
  int column = 0;
  kept.push_back(0);
  for (std::size_t i = 0; i < count; ++i) {
    const int here = std::clamp(static_cast<int>((x[i] - x.front()) / width * columns), 0, columns - 1);
    if (here != column) ends.give(kept);
    column = here;
    ends.take(y, i);
  }
  ends.give(kept);
  if (kept.back() != count - 1) kept.push_back(count - 1);
  return kept;
}

}  // namespace aegir
