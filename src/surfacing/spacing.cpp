#include "surfacing/spacing.h"

#include <algorithm>
#include <cmath>

#include "surfacing/bucket_map.h"
#include "surfacing/parcels.h"

namespace aegir {
namespace {

/// How many different cells there are on all ranks: each is counted by one of them.
std::int64_t count_together(const std::vector<Vec3i>& mine, Comm& comm) {
  Parcels parcels(comm);
  const auto part = [](std::int32_t v) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(v)); };
  for (const Vec3i& c : mine)
    parcels.put(static_cast<int>(mix(part(c.x) * 0x9e3779b97f4a7c15ull + (part(c.y) << 32 | part(c.z))) %
                                 static_cast<std::uint64_t>(comm.size())),
                c);
  BucketMap cells;
  for (Parcel& parcel : parcels.exchange())
    while (!parcel.at_end()) cells.insert(parcel.take<Vec3i>(), 0);
  return comm.sum(static_cast<std::int64_t>(cells.size()));
}

/// Particles per occupied cell of a width.
double crowd(std::span<const Vec3d> positions, const Vec3d& corner, double width, Comm* comm) {
  BucketMap cells(positions.size() / 4);
  std::vector<Vec3i> mine;
  std::int64_t found = 0, counted = 0;
  for (const Vec3d& p : positions) {
    if (!is_finite(p)) continue;
    const Vec3d q = (p - corner) / width;
    if (std::max({q.x, q.y, q.z}) > 1e9) continue;
    const bool fresh = cells.insert(Vec3i(q), 0).second;
    if (fresh && comm) mine.push_back(Vec3i(q));
    found += fresh;
    ++counted;
  }
  if (comm) found = count_together(mine, *comm), counted = comm->sum(counted);
  return found > 0 ? static_cast<double>(counted) / static_cast<double>(found) : 1;
}

}  // namespace

double estimate_spacing(std::span<const Vec3d> positions, Comm* comm) {
  Box box;
  std::int64_t counted = 0;
  for (const Vec3d& p : positions)
    if (is_finite(p)) box.add(p), ++counted;
  if (comm) {
    counted = comm->sum(counted);
    double far[6] = {-box.min.x, -box.min.y, -box.min.z, box.max.x, box.max.y, box.max.z};
    comm->max(far);
    box = {{-far[0], -far[1], -far[2]}, {far[3], far[4], far[5]}};
  }
  const auto count = static_cast<double>(counted);
  if (count < 2) return 1;
  const double size = std::max({box.size().x, box.size().y, box.size().z});
  if (!(size > 0)) return 1;
  // More particles fit into wider cells: bisection between a guess far too small and the whole box.
  double low = std::log(size / std::cbrt(count) / 64), high = std::log(size);
  for (int i = 0; i < 14; ++i) {
    const double middle = 0.5 * (low + high);
    (crowd(positions, box.min, std::exp(middle), comm) < 8 ? low : high) = middle;
  }
  return 0.5 * std::exp(0.5 * (low + high));
}

}  // namespace aegir
