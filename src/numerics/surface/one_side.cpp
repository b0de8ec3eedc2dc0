#include "numerics/surface/one_side.h"

#include <algorithm>
#include <cmath>

namespace aegir {

void OneSide::hide(const PaddedTile<float, 2>& nodes, PaddedTile<float, 2>& out) const {
  for (int x = cell_.x - 1; x < cell_.x + 3; ++x)
    for (int y = cell_.y - 1; y < cell_.y + 3; ++y)
      for (int z = cell_.z - 1; z < cell_.z + 3; ++z) {
        const float d = nodes(x, y, z);
        out.row(x, y)[z] = d > 0 && !seen(Vec3d(Vec3i(x, y, z))) ? -d : d;
      }
}

OneSide::Seen OneSide::around(const ParticleSystem& particles, const CellCounts& counts) const {
  const ParticleStore& store = particles.store(particle::position.name);
  const float *px = store.plane<float>(0), *py = store.plane<float>(1), *pz = store.plane<float>(2);
  const auto spline = [](double d) {
    const double t = std::abs(d), u = std::max(1.5 - t, 0.0), v = std::max(0.5 - t, 0.0);
    return 0.5 * u * u - 1.5 * v * v;
  };
  Seen result;
  double weight = 0;
  Vec3d moment;
  for (int n = 0; n < 27; ++n) {
    const Vec3i beside = cell_ + neighbour_offset(n), o{beside.x >> 3, beside.y >> 3, beside.z >> 3};
    const int other = topology_.neighbours(bucket_)[static_cast<std::size_t>(neighbour_index(o.x, o.y, o.z))];
    if (other < 0) continue;
    const int in = cell_offset(beside.x & 7, beside.y & 7, beside.z & 7);
    for (std::uint32_t p = counts.first(other, in); p < counts.first(other, in + 1); ++p) {
      const std::size_t at = particles.first(other) + p;
      const Vec3d x = Vec3d(px[at], py[at], pz[at]) + Vec3d(o * bucket_size), d = x - Vec3d(cell_) - Vec3d(0.5);
      if (!seen(x)) continue;
      const double w = spline(d.x) * spline(d.y) * spline(d.z);
      weight += w, moment += d * w;
      ++result.particles, result.in_cell += beside == cell_;
    }
  }
  result.sums = {static_cast<float>(weight), Vec3f(moment)};
  return result;
}

float OneSide::open_space(const PaddedTile<float, 2>& nodes) const {
  float cells = 0;
  for (int n = 0; n < 27; ++n) {
    const Vec3i at = cell_ + neighbour_offset(n);
    float mean = 0;
    for (int corner = 0; corner < 8; ++corner)
      mean += 0.125f * nodes(at.x + (corner & 1), at.y + (corner >> 1 & 1), at.z + (corner >> 2));
    const float open = std::clamp(mean + 0.5f, 0.0f, 1.0f);
    if (open > 0 && seen(Vec3d(at) + Vec3d(0.5))) cells += open;
  }
  return cells;
}

}  // namespace aegir
