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

/// Who has which blocks.
struct SurfaceCut {
  Vec3i origin;  ///< of the curve: below all particles, so that it goes through what lies beside them when it is there
  Partition partition;
};

/// Cuts the curve through the blocks so that every rank has about the same work. What particles near the surface cost
/// is guessed from what this rank sees; no result depends on the cut. Collective.
SurfaceCut cut_surface(Comm& comm, const SurfaceLattice& lattice, std::span<const Vec3d> positions);

/// Particles of several Objects: positions and radii in metres, and where each was in the input.
struct SurfaceParticles {
  std::vector<Vec3d> position;
  std::vector<float> radius;
  std::vector<std::uint32_t> source;  ///< empty: all, in order
};

class SurfaceShares {
 public:
  SurfaceShares(Comm& comm, const SurfaceLattice& lattice, SurfaceCut cut)
      : comm_(comm), lattice_(lattice), cut_(std::move(cut)) {}

  Comm& comm() const { return comm_; }
  /// By one thread at a time: what was found is remembered.
  int rank_of_block(const Vec3i& block);
  int rank_of_bucket(const Vec3i& bucket) { return rank_of_block(block_of(bucket)); }
  bool mine(const Vec3i& bucket) { return rank_of_bucket(bucket) == comm_.rank(); }
  /// How many blocks away from its own one, at most, a bucket may overlap blocks or have neighbours.
  int ring() const { return lattice_.block_voxels() < 8 ? 2 : 1; }
  /// Whether all blocks within the ring of one are this rank's: nobody else looks at what is there.
  bool deep(const Vec3i& block);
  /// The block that holds the lower corner of a bucket.
  Vec3i block_of(const Vec3i& bucket) const {
    const int edge = lattice_.block_voxels();
    return {floor_divide(bucket.x * 8, edge), floor_divide(bucket.y * 8, edge), floor_divide(bucket.z * 8, edge)};
  }

  /// Every particle goes to the rank of its block; those of a rank keep the order of all: part by part, as the ranks
  /// have them. `parts`: where each Object ends in `points`. Afterwards `carried` has their attributes. Collective.
  SurfaceParticles send_particles(const SurfaceParticles& particles, const PointSet& points,
                                  std::span<const std::size_t> parts);

  CarriedParticles carried;  ///< what the particles on this rank's part of the surface carry
  std::int64_t copied = 0;   ///< particles of other ranks that were copied for their neighbourhood

 private:
  /// The numbers of particles by the rank that they go to.
  std::vector<std::vector<std::uint32_t>> by_rank(std::span<const Vec3d> positions, std::size_t begin, std::size_t end);

  Comm& comm_;
  SurfaceLattice lattice_;
  SurfaceCut cut_;
  BucketMap ranks_, deep_;
};

}  // namespace aegir
