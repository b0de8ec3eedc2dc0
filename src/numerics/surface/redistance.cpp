#include "numerics/surface/redistance.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/assert.h"
#include "domain/for_each_bucket.h"

namespace aegir {
namespace {

using Tile = PaddedTile<float, 4>;

/// A piece of the surface: its point nearest to a cell beside it, and its normal.
struct Facet {
  Vec3f point, normal;
};

bool beside_surface(const Tile& t, int i, int j, int k) {
  const bool inside = t(i, j, k) < 0;
  return inside != (t(i - 1, j, k) < 0) || inside != (t(i + 1, j, k) < 0) || inside != (t(i, j - 1, k) < 0) ||
         inside != (t(i, j + 1, k) < 0) || inside != (t(i, j, k - 1) < 0) || inside != (t(i, j, k + 1) < 0);
}

/// All facets within reach of the bucket, in order of their cells; `open` leaves out those in solids.
void find_facets(const Tile& t, const Tile* open, std::vector<Facet>& facets) {
  facets.clear();
  for (int i = -3; i < 11; ++i)
    for (int j = -3; j < 11; ++j)
      for (int k = -3; k < 11; ++k) {
        if (!beside_surface(t, i, j, k) || (open && !((*open)(i, j, k) > 0))) continue;
        const float own = std::clamp(t(i, j, k), -1.0f, 1.0f);
        const auto at = [&](int x, int y, int z) { return std::clamp(t(x, y, z), own - 1, own + 1); };
        const Vec3f slope = Vec3f{at(i + 1, j, k) - at(i - 1, j, k), at(i, j + 1, k) - at(i, j - 1, k),
                                  at(i, j, k + 1) - at(i, j, k - 1)} *
                            0.5f;
        const float steepness = length(slope);
        if (steepness < 0.1f) continue;  // a single cell: no side to look at
        const Vec3f normal = slope / steepness;
        const float away = own / steepness;
        if (std::abs(away) > 0.6f) continue;  // of two cells on both sides one is nearer, and tells more exactly
        facets.push_back(
            {Vec3f(static_cast<float>(i), static_cast<float>(j), static_cast<float>(k)) - normal * away, normal});
      }
}

float signed_distance(const Vec3f& x, bool inside, const std::vector<Facet>& facets, float band) {
  const Facet* nearest = nullptr;
  float least = band * band + 1;
  for (const Facet& f : facets) {
    const Vec3f d = x - f.point;
    if (const float r2 = dot(d, d); r2 < least) least = r2, nearest = &f;
  }
  if (!nearest) return inside ? -band : band;
  // Beyond its rim a facet is a point.
  const Vec3f d = x - nearest->point;
  const float height = std::abs(dot(d, nearest->normal)), aside2 = std::max(0.0f, dot(d, d) - height * height);
  const float rim = std::max(0.0f, std::sqrt(aside2) - 0.9f);
  const float distance = std::min(std::sqrt(height * height + rim * rim), band);
  return inside ? -distance : distance;
}

}  // namespace

void redistance(Exec& exec, DiscreteVolume& volume, const CellChannel<float>& distance, int band, BufferPool* pool,
                const CellChannel<float>* open) {
  AEGIR_ASSERT(band >= 1 && band <= 3, "a band is one to three cells wide");
  const Topology& topology = volume.topology();
  const std::size_t bytes = static_cast<std::size_t>(topology.local_count()) * bucket_cells * sizeof(float);
  PooledBuffer result(bytes, pool);
  auto* values = reinterpret_cast<float*>(result.data());
  for_each_bucket(
      exec, "redistance", topology,
      [&](const Bucket& b, auto& tile, auto& room) {
        std::vector<Facet> facets;
        find_facets(tile, open ? &room : nullptr, facets);
        float* out = values + static_cast<std::size_t>(b.index) * bucket_cells;
        for (int c = 0; c < bucket_cells; ++c) {
          const Vec3i x{c >> 6, (c >> 3) & 7, c & 7};
          out[c] = signed_distance(Vec3f(x), tile(x.x, x.y, x.z) < 0, facets, static_cast<float>(band));
        }
      },
      volume.read<Halo<4>>(distance), volume.read<Halo<4>>(open ? *open : distance));
  for_each_bucket(
      exec, "redistance", topology,
      [&](const Bucket& b, auto& out) {
        std::memcpy(out.values, values + static_cast<std::size_t>(b.index) * bucket_cells,
                    bucket_cells * sizeof(float));
      },
      volume.overwrite(distance));
}

}  // namespace aegir
