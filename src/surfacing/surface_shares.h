// Whose part of a surface is where, in a run over several ranks: every rank makes the surface around its own blocks of
// particles, of its particles and of copies of what lies around.
//
//   auto shares = std::make_shared<SurfaceShares>(comm, lattice, cut_surface(comm, lattice, positions));
//   shares->send_particles(positions, radii, points, parts);
//   if (shares->mine(bucket)) …
//
// A bucket of the level set belongs to the rank of the block that holds its lower corner.
#pragma once

#include <span>
#include <vector>

#include "domain/grid/partition.h"
#include "surfacing/bucket_map.h"
#include "surfacing/carried_particles.h"
#include "surfacing/particle_blocks.h"

namespace aegir {

/// Cuts the curve through the blocks so that every rank has about the same work. What particles near the surface cost is
/// guessed from what this rank sees; no result depends on the cut. Collective.
Partition cut_surface(Comm& comm, const SurfaceLattice& lattice, std::span<const Vec3d> positions);

/// Particles of several Objects: positions and radii in metres, and where each was in the input.
struct SurfaceParticles {
  std::vector<Vec3d> position;
  std::vector<float> radius;
  std::vector<std::uint32_t> source;  ///< empty: all, in order
};

class SurfaceShares {
 public:
  SurfaceShares(Comm& comm, const SurfaceLattice& lattice, Partition partition)
      : comm_(comm), lattice_(lattice), partition_(std::move(partition)) {}

  Comm& comm() const { return comm_; }
  /// By one thread at a time: what was found is remembered.
  int rank_of_block(const Vec3i& block);
  int rank_of_bucket(const Vec3i& bucket) {
    const int edge = lattice_.block_voxels();
    return rank_of_block(
        {floor_divide(bucket.x * 8, edge), floor_divide(bucket.y * 8, edge), floor_divide(bucket.z * 8, edge)});
  }
  bool mine(const Vec3i& bucket) { return rank_of_bucket(bucket) == comm_.rank(); }

  /// Every particle goes to the rank of its block; those of a rank keep the order of all: part by part, as the ranks
  /// have them. `parts`: where each Object ends in `points`. Afterwards `carried` has their attributes. Collective.
  SurfaceParticles send_particles(const SurfaceParticles& particles, const PointSet& points,
                                  std::span<const std::size_t> parts);

  CarriedParticles carried;
  std::int64_t copied = 0;  ///< particles of other ranks that were copied for their neighbourhood

 private:
  Comm& comm_;
  SurfaceLattice lattice_;
  Partition partition_;
  BucketMap ranks_;
};

}  // namespace aegir
