// Who is near: all particles within a radius of one, in its bucket and the 26 around it.
//
//   for_each_bucket(exec, "density", particles.topology(), [=](const Bucket&, auto& near, auto& density) {
//     NeighbourSearch search(near);
//     for (std::size_t i = 0; i < density.size(); ++i) {
//       float sum = 0;
//       search.within(i, radius, [&](int, std::size_t, float distance2) { sum += weight(distance2); });
//       density.set(i, sum);
//     }
//   }, particles.read_neighbours(particle::position), particles.write(density));
//
// Holds between a rebucket() and the next change of positions: it relies on particles being sorted by cell.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "base/assert.h"
#include "domain/particles/particle_system.h"

namespace aegir {

class NeighbourSearch {
 public:
  explicit NeighbourSearch(const NeighbourSpans<Vec3f>& positions)
      : positions_(positions), tables_(std::make_unique<Table[]>(27)) {}

  /// Calls fn(neighbour_index, particle index in that bucket, squared distance in cells²) for every other particle at
  /// most `radius` cells (0 to 8) from particle i: by neighbour_index, then in canonical order. Two particles see each
  /// other at the same distance, bit for bit.
  template <class Fn>
  void within(std::size_t i, float radius, Fn&& fn) {
    around(positions_.self()[i], radius, [&](int n, std::size_t j, float distance2) {
      if (n != neighbour_self || j != i) fn(n, j, distance2);
    });
  }

  /// The same around a point of the bucket, in cells; leaves nobody out.
  template <class Fn>
  void around(const Vec3f& point, float radius, Fn&& fn) {
    AEGIR_CHECK(radius >= 0 && radius <= bucket_size, "the neighbouring buckets reach eight cells far");
    // Cells that can hold a neighbour, counted from the bucket's corner; the margin outweighs rounding.
    const float reach = radius + 1e-4f;
    Vec3i low, high;
    for (int a = 0; a < 3; ++a) {
      low[a] = std::max(-bucket_size, static_cast<int>(std::floor(point[a] - reach)));
      high[a] = std::min(2 * bucket_size - 1, static_cast<int>(std::floor(point[a] + reach)));
    }
    const auto bucket_of = [](int cell) { return cell < 0 ? -1 : cell >= bucket_size ? 1 : 0; };
    for (int x = bucket_of(low.x); x <= bucket_of(high.x); ++x)
      for (int y = bucket_of(low.y); y <= bucket_of(high.y); ++y)
        for (int z = bucket_of(low.z); z <= bucket_of(high.z); ++z)
          visit({x, y, z}, low, high, point, radius * radius, fn);
  }

 private:
  /// Where each cell's particles start in a bucket.
  struct Table {
    bool made = false;
    std::uint32_t first[bucket_cells + 1];
  };

  static int cell_of(const ParticleSpan<const Vec3f>& p, std::size_t j) {
    return cell_offset(static_cast<int>(p.plane[0][j]), static_cast<int>(p.plane[1][j]),
                       static_cast<int>(p.plane[2][j]));
  }

  const Table& table(int n) {
    Table& t = tables_[static_cast<std::size_t>(n)];
    if (t.made) return t;
    const auto& p = positions_.at[static_cast<std::size_t>(n)];
    std::size_t j = 0;
    for (int c = 0; c < bucket_cells; ++c) {
      t.first[c] = static_cast<std::uint32_t>(j);
      while (j < p.count && cell_of(p, j) <= c) ++j;
    }
    t.first[bucket_cells] = static_cast<std::uint32_t>(p.count);
    t.made = true;
    return t;
  }

  template <class Fn>
  void visit(const Vec3i& offset, const Vec3i& low, const Vec3i& high, const Vec3f& point, float radius2, Fn&& fn) {
    const int n = neighbour_index(offset.x, offset.y, offset.z);
    const auto& p = positions_.at[static_cast<std::size_t>(n)];
    if (p.count == 0) return;
    const Table& cells = table(n);
    Vec3i first, last;
    for (int a = 0; a < 3; ++a) {
      first[a] = std::max(0, low[a] - bucket_size * offset[a]);
      last[a] = std::min(bucket_size - 1, high[a] - bucket_size * offset[a]);
    }
    const Vec3f shift = Vec3f(offset) * float{bucket_size};
    for (int i = first.x; i <= last.x; ++i)
      for (int j = first.y; j <= last.y; ++j) {
        const std::uint32_t end = cells.first[cell_offset(i, j, last.z) + 1];
        for (std::uint32_t q = cells.first[cell_offset(i, j, first.z)]; q < end; ++q) {
          // Difference first, then the shift: both change only their sign when seen from the other particle.
          const float x = (p.plane[0][q] - point.x) + shift.x, y = (p.plane[1][q] - point.y) + shift.y,
                      z = (p.plane[2][q] - point.z) + shift.z;
          const float distance2 = x * x + y * y + z * z;
          if (distance2 <= radius2) fn(n, std::size_t{q}, distance2);
        }
      }
  }

  const NeighbourSpans<Vec3f>& positions_;
  std::unique_ptr<Table[]> tables_;
};

}  // namespace aegir
