// The sparse set of buckets that exists at one moment: the Grid Domain's shape, without data.
//
// A Topology never changes. Channels are laid out over one; when the fluid moves, a new one is built and channels move
// over. Because buckets are in curve order, the layout is a function of which buckets exist and of nothing else.
//
//   index:   0 … local_count()-1            local_count() … total_count()-1
//            owned here, curve order        ghosts: neighbours owned by other ranks, curve order
//
//   auto topology = Topology::build(spacing, wanted_keys, partition, comm);
//   for (int b = 0; b < topology->local_count(); ++b) use(topology->origin(b));
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/vec.h"
#include "domain/grid/bucket_key.h"
#include "domain/grid/partition.h"
#include "domain/transport/halo_layers.h"
#include "parallel/comm.h"

namespace aegir {

/// How a neighbouring bucket lies to a bucket.
enum class Relation : std::uint8_t { absent, same, coarser, finer };

/// Which buckets travel between this rank and one other in a halo exchange; both sides list them in curve order.
struct HaloPeer {
  int rank = 0;
  std::vector<std::int32_t> send;  ///< local buckets
  std::int32_t first_ghost = 0;    ///< ghosts of one peer are contiguous
  std::int32_t ghost_count = 0;
};

class Topology {
 public:
  /// The buckets that any rank wants, each kept by its owner. Collective. Duplicates are fine; order does not matter.
  static std::shared_ptr<const Topology> build(double spacing, std::span<const BucketKey> wanted,
                                               const Partition& partition, Comm& comm);

  /// No buckets yet.
  static std::shared_ptr<const Topology> empty(double spacing, const Partition& partition);

  double spacing() const { return spacing_; }  ///< cell size of level 0
  double bucket_width(int b) const {
    return spacing_ * bucket_size * static_cast<double>(1 << keys_[static_cast<std::size_t>(b)].level);
  }
  int local_count() const { return local_count_; }
  int total_count() const { return static_cast<int>(keys_.size()); }
  const BucketKey& key(int b) const { return keys_[static_cast<std::size_t>(b)]; }
  std::uint64_t curve(int b) const { return curve_[static_cast<std::size_t>(b)]; }
  std::span<const BucketKey> local_keys() const { return {keys_.data(), static_cast<std::size_t>(local_count_)}; }
  std::span<const std::uint64_t> local_curve() const { return {curve_.data(), static_cast<std::size_t>(local_count_)}; }
  const Partition& partition() const { return partition_; }
  std::span<const HaloPeer> peers() const { return peers_; }
  /// Which cells of them are read within 1 to 4 cells of buckets on the other side; found when first asked for, by one
  /// thread at a time.
  const std::vector<PeerLayers>& layers(int width) const;
  /// Whether a local bucket may have ghosts around it; it then is one of those that are sent.
  bool on_border(int b) const { return !border_.empty() && border_[static_cast<std::size_t>(b)]; }

  /// World position of the bucket's lower corner.
  Vec3d origin(int b) const {
    const BucketKey& k = key(b);
    return Vec3d(k.coord) * (spacing_ * bucket_size * static_cast<double>(1 << k.level));
  }
  Box box(int b) const { return {origin(b), origin(b) + Vec3d(bucket_width(b))}; }

  /// The 27 neighbours of a local bucket, by neighbour_index(); -1 where there is none.
  const std::array<std::int32_t, 27>& neighbours(int b) const { return neighbours_[static_cast<std::size_t>(b)]; }
  Relation relation(int b, int n) const;
  /// Which of the 27 places around a ghost hold local buckets: one bit each, by neighbour_index().
  std::uint32_t local_around(int ghost) const { return local_around_[static_cast<std::size_t>(ghost - local_count_)]; }

  /// Index of a bucket, local or ghost, or -1.
  int find(const BucketKey& key) const;

  std::size_t memory_bytes() const;
  /// True when both hold the same local buckets under the same partition.
  bool same_buckets(const Topology& other) const;

 private:
  void index_keys();
  void link_neighbours();
  void add_ghosts(Comm& comm);

  double spacing_ = 1;
  int local_count_ = 0;
  int levels_ = 1;  // 1 + the coarsest level present
  Partition partition_;
  std::vector<BucketKey> keys_;
  std::vector<std::uint64_t> curve_;
  std::vector<std::array<std::int32_t, 27>> neighbours_;
  std::vector<HaloPeer> peers_;
  mutable std::array<std::unique_ptr<const std::vector<PeerLayers>>, 4> layers_;  // by width
  std::vector<char> border_;                 // per local bucket, where there are other ranks
  std::vector<std::uint32_t> local_around_;  // per ghost
  std::vector<std::int32_t> slots_;          // open-addressing hash of keys_
};

/// The keys and every bucket within `layers` of them, sorted along the curve, each once.
std::vector<BucketKey> padded(std::span<const BucketKey> keys, int layers);

/// Sorts along the curve and drops repetitions; returns the curve positions.
std::vector<std::uint64_t> sort_unique(std::vector<BucketKey>& keys);

/// Keys on a lattice of `spacing` whose buckets touch buckets of another Object's topology (local ones).
std::vector<BucketKey> covering_keys(const Topology& other, double spacing);

/// The bucket of level 0 that holds a world position, and the position inside it in cells.
struct BucketPosition {
  BucketKey key;
  Vec3f cell;
};
BucketPosition locate(const Vec3d& world, double spacing);

}  // namespace aegir
