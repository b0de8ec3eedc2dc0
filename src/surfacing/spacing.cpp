#include "surfacing/spacing.h"

#include <algorithm>
#include <cmath>

#include "surfacing/bucket_map.h"

namespace aegir {
namespace {

/// Particles per occupied cell of a width.
double crowd(std::span<const Vec3d> positions, const Vec3d& corner, double width) {
  BucketMap cells(positions.size() / 4);
  std::int32_t found = 0;
  double counted = 0;
  for (const Vec3d& p : positions) {
    if (!is_finite(p)) continue;
    const Vec3d q = (p - corner) / width;
    if (std::max({q.x, q.y, q.z}) > 1e9) continue;
    found += cells.insert(Vec3i(q), 0).second;
    ++counted;
  }
  return found > 0 ? counted / found : 1;
}

}  // namespace

double estimate_spacing(std::span<const Vec3d> positions) {
  Box box;
  double count = 0;
  for (const Vec3d& p : positions)
    if (is_finite(p)) box.add(p), ++count;
  if (count < 2) return 1;
  const double size = std::max({box.size().x, box.size().y, box.size().z});
  if (!(size > 0)) return 1;
  // More particles fit into wider cells: bisection between a guess far too small and the whole box.
  double low = std::log(size / std::cbrt(count) / 64), high = std::log(size);
  for (int i = 0; i < 14; ++i) {
    const double middle = 0.5 * (low + high);
    (crowd(positions, box.min, std::exp(middle)) < 8 ? low : high) = middle;
  }
  return 0.5 * std::exp(0.5 * (low + high));
}

}  // namespace aegir
