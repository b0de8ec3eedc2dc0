#include "numerics/surface/offset_table.h"

#include <algorithm>
#include <cmath>

namespace aegir {
namespace {

constexpr double longest = 1.5;  // offsets beyond lie outside in any direction

/// Weight of a half space, and how far its mean lies below the point.
struct HalfSpace {
  double weight, offset;
};

/// A continuous half space cut along the diagonal: the projected kernel is a B-spline of order 9 with variance 1/4.
/// With F0 = ∫ B and F1 = ∫ F0, integration by parts gives ∫ x B = x F0 - F1.
HalfSpace diagonal_space(double s) {
  constexpr int n = 9;
  const double scale = std::sqrt(3.0 / n), x = s / scale;
  double f0 = 0, f1 = 0, binomial = 1, factorial = 1;
  for (int k = 1; k <= n; ++k) factorial *= k;
  for (int k = 0; k <= n; ++k) {
    const double t = x + 0.5 * n - k;
    if (t > 0) {
      const double power = binomial * std::pow(t, n) / factorial;
      f0 += power, f1 += power * t / (n + 1);
    }
    binomial *= -static_cast<double>(n - k) / (k + 1);
  }
  return {f0, f0 > 1e-12 ? (f1 / f0 - x) * scale : longest * 2};
}

/// Along an axis, layers of particles half a cell apart, the first a quarter of a cell below the surface. Particles
/// strewn evenly give offsets whose distances differ by up to 0.026 cells.
HalfSpace layered_space(double s) {
  double m0 = 0, m1 = 0;
  for (double y = s - 0.25; y > -1.5; y -= 0.5) {
    const double t = std::abs(y), u = std::max(0.0, 1.5 - t), v = std::max(0.0, 0.5 - t), w = 0.5 * u * u - 1.5 * v * v;
    m0 += w, m1 += y * w;
  }
  return {0.5 * m0, m0 > 1e-12 ? -m1 / m0 : longest * 2};
}

/// The s in [low, high] where a decreasing function takes a value.
template <class Fn>
double inverse(double value, double low, double high, Fn&& fn) {
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (fn(middle) > value ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

OffsetTable::OffsetTable() {
  for (int i = 0; i < size + 2; ++i) {
    const double root = std::sqrt(longest) * i / size, a = root * root;
    const double layers = inverse(a, -1.5, 1.5, [](double s) { return layered_space(s).offset; });
    const double diagonal = inverse(a, -2.6, 2.6, [](double s) { return diagonal_space(s).offset; });
    axis_[static_cast<std::size_t>(i)] = static_cast<float>(-layers);
    diagonal_[static_cast<std::size_t>(i)] = static_cast<float>(-diagonal);
    const double s = longest - 2 * longest * std::min(i, size) / size;
    axis_weight_[static_cast<std::size_t>(i)] = static_cast<float>(layered_space(s).weight);
    diagonal_weight_[static_cast<std::size_t>(i)] = static_cast<float>(diagonal_space(s).weight);
  }
}

const OffsetTable& OffsetTable::get() {
  static const OffsetTable table;
  return table;
}

float OffsetTable::distance(float offset2, float quartic) const {
  const float at = std::min(std::sqrt(std::sqrt(offset2)) * (size / std::sqrt(static_cast<float>(longest))),
                            static_cast<float>(size));
  const auto i = static_cast<std::size_t>(at);
  const float f = at - static_cast<float>(i), q = std::clamp(1.5f * quartic - 0.5f, 0.0f, 1.0f);
  const float axis = axis_[i] + f * (axis_[i + 1] - axis_[i]);
  const float diagonal = diagonal_[i] + f * (diagonal_[i + 1] - diagonal_[i]);
  return std::clamp(diagonal + q * (axis - diagonal), -reach, reach);
}

float OffsetTable::weight(float distance, float quartic) const {
  const float at = std::clamp((distance + reach) * (size / (2 * reach)), 0.0f, static_cast<float>(size));
  const auto i = static_cast<std::size_t>(at);
  const float f = at - static_cast<float>(i), q = std::clamp(1.5f * quartic - 0.5f, 0.0f, 1.0f);
  const float axis = axis_weight_[i] + f * (axis_weight_[i + 1] - axis_weight_[i]);
  const float diagonal = diagonal_weight_[i] + f * (diagonal_weight_[i + 1] - diagonal_weight_[i]);
  return diagonal + q * (axis - diagonal);
}

}  // namespace aegir
