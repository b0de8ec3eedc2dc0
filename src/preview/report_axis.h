// Axes of charts: round ticks, units that suit the size of the values, and which points of a long series to draw.
//
//   const AxisScale scale = axis_scale(0.0042, "m³");          // values / 1e-3, in L
//   for (double t : axis_ticks(0, 4.2, 5)) draw(t);            // 0 1 2 3 4
//   for (std::size_t i : thinned(x, y, 600)) draw(x[i], y[i]);  // the peaks of every pixel column stay
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace aegir {

/// How the values of an axis are written: divided, with a unit of that size.
struct AxisScale {
  double divisor = 1;
  std::string unit;    ///< for the title of the axis
  std::string suffix;  ///< behind every number: "k" of 300k
};

/// The unit in which values up to `largest` read best; "" is the unit of counts, "B" of bytes.
AxisScale axis_scale(double largest, std::string_view unit);

/// Round numbers (1, 2 or 5 times a power of ten apart) between two bounds, about `count` of them.
std::vector<double> axis_ticks(double low, double high, int count);

/// A tick with as many decimals as the distance between ticks needs.
std::string tick_text(double tick, double distance);

/// Indices of the points that are worth drawing in `columns` columns of pixels: all of them if they are few, otherwise
/// the lowest and the highest of every column, and the first and the last; x rises. Where a column has values that are
/// not finite, one of them stays as a gap.
std::vector<std::size_t> thinned(const std::vector<double>& x, const std::vector<double>& y, int columns);

}  // namespace aegir
