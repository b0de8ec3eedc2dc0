#include "numerics/surface/surface_census.h"

#include <algorithm>

#include "domain/for_each_bucket.h"
#include "numerics/surface/cells_around.h"

namespace aegir {
namespace {

constexpr float solid_reach = 2.5f;  // nodes nearer to a solid than this may belong to a cell that is not free

/// Local buckets with a node near a solid. 2 KiB per bucket.
std::vector<std::uint8_t> near_solids(Exec& exec, DiscreteVolume& volume, const NodeChannel<float>& distance) {
  std::vector<std::uint8_t> near(static_cast<std::size_t>(volume.topology().local_count()), 0);
  volume.read<Halo<2>>(distance).prepare(exec);
  const float* plane = std::as_const(volume).store(distance.name).plane<float>(0);
  parallel_for(0, near.size(), 32, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      const float* values = plane + b * bucket_cells;
      Row<float> nearest = load_row(values);
      for (int c = 8; c < bucket_cells; c += 8) nearest = least(nearest, load_row(values + c));
      for (int l = 0; l < 8; ++l) near[b] |= nearest[l] < solid_reach;
    }
  });
  return near;
}

}  // namespace

SurfaceCensus::SurfaceCensus(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume,
                             const NodeChannel<float>* solid_distance, BufferPool* pool)
    : solid_(solid_distance ? near_solids(exec, volume, *solid_distance) : std::vector<std::uint8_t>()),
      counts_(exec, particles, pool) {
  any_solid_ = exec.comm.any(std::any_of(solid_.begin(), solid_.end(), [](std::uint8_t s) { return s != 0; }));
}

}  // namespace aegir
