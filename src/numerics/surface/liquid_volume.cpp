#include "numerics/surface/liquid_volume.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "domain/for_each_bucket.h"

namespace aegir {

double share_below(const Vec3d& n, double distance) {
  // Inclusion and exclusion of the corners: V = Σ ± max(0, a - Σ m)³ / (6 m1 m2 m3), a the plane's height over the
  // lowest corner. Widths are kept off zero, where the quotient has no digits left.
  double m[3], sum = 0;
  for (int i = 0; i < 3; ++i) m[i] = std::max(std::abs(n[i]), 1e-4), sum += m[i];
  const double height = 0.5 * sum - distance;
  if (height <= 0) return 0;
  if (height >= sum) return 1;
  // From the nearer side, where fewer terms cancel.
  const bool upper = height > 0.5 * sum;
  const double a = upper ? sum - height : height;
  double cubes = 0;
  for (int corner = 0; corner < 8; ++corner) {
    const double t = a - (corner & 1 ? m[0] : 0) - (corner & 2 ? m[1] : 0) - (corner & 4 ? m[2] : 0);
    if (t > 0) cubes += (__builtin_popcount(static_cast<unsigned>(corner)) & 1 ? -1 : 1) * t * t * t;
  }
  const double share = std::clamp(cubes / (6 * m[0] * m[1] * m[2]), 0.0, 1.0);
  return upper ? 1 - share : share;
}

double liquid_share(const PaddedTile<float, 1>& tile, int i, int j, int k) {
  const double own = static_cast<double>(tile(i, j, k));
  if (own <= -0.9 || own >= 0.9) return own < 0;
  const auto at = [&](int x, int y, int z) { return std::clamp(static_cast<double>(tile(x, y, z)), -1.5, 1.5); };
  const Vec3d slope{at(i + 1, j, k) - at(i - 1, j, k), at(i, j + 1, k) - at(i, j - 1, k),
                    at(i, j, k + 1) - at(i, j, k - 1)};
  return share_below(normalized(slope), own);
}

namespace {

/// Share of a cell outside solids.
double open_share(const PaddedTile<float, 1>& nodes, int i, int j, int k) {
  double mean = 0;
  Vec3d slope;
  for (int n = 0; n < 8; ++n) {
    const int x = n >> 2, y = (n >> 1) & 1, z = n & 1;
    const double d = static_cast<double>(nodes(i + x, j + y, k + z));
    mean += d / 8, slope += Vec3d(2 * x - 1, 2 * y - 1, 2 * z - 1) * d;
  }
  if (mean <= -0.9 || mean >= 0.9) return mean > 0;
  return 1 - share_below(normalized(slope), mean);
}

}  // namespace

double liquid_volume(Exec& exec, DiscreteVolume& volume, const CellChannel<float>& distance,
                     const NodeChannel<float>* solid_distance) {
  const Topology& topology = volume.topology();
  auto distances = volume.read<Halo<1>>(distance);
  distances.prepare(exec);
  using Access = GridReadHalo<float, 1, Halo<1>>;
  std::optional<Access> solids;
  if (solid_distance) solids.emplace(volume.read<Halo<1>>(*solid_distance)), solids->prepare(exec);
  Stopwatch watch;
  const double cells = exact_sum(exec, topology, [&](const Bucket& b) {
    Access::View tile, nodes;
    distances.load(tile, b.index);
    if (solids) solids->load(nodes, b.index);
    double sum = 0;
    for (int c = 0; c < bucket_cells; ++c) {
      const int i = c >> 6, j = (c >> 3) & 7, k = c & 7;
      if (tile.plane[0](i, j, k) >= 0.9f) continue;
      sum += liquid_share(tile.plane[0], i, j, k) * (solids ? open_share(nodes.plane[0], i, j, k) : 1.0);
    }
    return sum;
  });
  exec.profile.kernel("liquid volume", watch.seconds(), distances.bytes() + (solids ? solids->bytes() : 0));
  const double h = topology.spacing();
  return cells * h * h * h;
}

}  // namespace aegir
