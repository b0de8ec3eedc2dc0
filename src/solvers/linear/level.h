// One level of the multigrid hierarchy: buckets, their operators and transfers, and the memory of a cycle.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "domain/channel/buffer.h"
#include "domain/exec.h"
#include "domain/grid/topology.h"
#include "solvers/linear/bucket_kernels.h"
#include "solvers/linear/network.h"

namespace aegir {

/// What a bucket holds: no unknown, 512 of them with equal links and no sink, or anything else.
enum class BucketKind : std::uint8_t { empty, uniform, mixed };

/// A uniform bucket may have whole sides closed.
struct BucketShape {
  BucketKind kind = BucketKind::empty;
  Sides closed = 0;
};

/// Fills a tile with the network around a bucket.
using TileLoader = FunctionRef<void(int bucket, NetworkTile& tile)>;

/// The box of cells of a bucket whose network differs from another's; empty where low > high. May reach one cell beyond
/// the bucket.
struct ChangeBox {
  std::int8_t low[3] = {100, 100, 100}, high[3] = {-100, -100, -100};
  void add(int i, int j, int k);
  bool empty() const { return low[0] > high[0]; }
};

/// Memory of floats by bucket, zeroed.
class BucketField {
 public:
  BucketField() = default;
  BucketField(int buckets, int values_per_bucket, BufferPool* pool = nullptr);
  float* at(int bucket) { return data() + static_cast<std::size_t>(bucket) * stride_; }
  const float* at(int bucket) const { return const_cast<BucketField*>(this)->at(bucket); }
  float* data() { return reinterpret_cast<float*>(memory_.data()); }
  const float* data() const { return reinterpret_cast<const float*>(memory_.data()); }
  /// Copies all values of another field over the same buckets.
  void copy_from(const BucketField& other, int buckets);
  /// Brings the ghosts from their owners. Collective.
  void exchange(Exec& exec, const Topology& topology);

 private:
  PooledBuffer memory_;
  std::size_t stride_ = 0;
};

/// Links and sinks of all buckets of a level while it is being built.
struct NetworkFields {
  BucketField link[3], sink[3];
  NetworkFields(const Topology& topology, BufferPool* pool);
  void exchange(Exec& exec, const Topology& topology);
  /// The network around one bucket, zero where there is none.
  void load(const Topology& topology, int bucket, NetworkTile& tile) const;
};

/// Which coarse bucket a bucket becomes a part of, here or on another rank.
class ParentPlan {
 public:
  ParentPlan() = default;
  /// For the fine buckets that are not empty. Collective.
  ParentPlan(Exec& exec, const Topology& fine, const Topology& coarse, std::span<const BucketShape> shapes);

  /// The coarse bucket of a fine one, -1 where another rank owns it; the octant is that of the fine bucket's
  /// coordinate.
  int parent(int fine) const { return parent_[static_cast<std::size_t>(fine)]; }

  /// `out(fine bucket, values)` writes `count` floats of every bucket whose parent lives elsewhere; `in(coarse bucket,
  /// octant, values)` gets them there. Collective.
  void send_up(Exec& exec, int count, FunctionRef<void(int, float*)> out,
               FunctionRef<void(int, int, const float*)> in) const;
  /// The other way round: coarse owners write, owners of fine buckets read.
  void send_down(Exec& exec, int count, FunctionRef<void(int, int, float*)> out,
                 FunctionRef<void(int, const float*)> in) const;

 private:
  struct Peer {
    int rank = 0;
    std::vector<std::int32_t> fine;                             // ours, with parents there
    std::vector<std::pair<std::int32_t, std::int32_t>> coarse;  // ours, with children there: bucket and octant
  };
  std::vector<std::int32_t> parent_;
  std::vector<Peer> peers_;
};

/// Writes 4×4×4 values into an octant of a bucket.
void write_octant(float* bucket, int octant, const float* block);

/// Octant of a bucket in its parent, x slowest.
constexpr int octant_of(const BucketKey& key) {
  return ((key.coord.x & 1) << 2) | ((key.coord.y & 1) << 1) | (key.coord.z & 1);
}

class Level {
 public:
  /// `shapes` of the local buckets, `load` for the network around one. Unless it is the last, also makes the coarse
  /// topology and its network. Collective.
  Level(Exec& exec, std::shared_ptr<const Topology> topology, std::vector<BucketShape> shapes, float unit, bool last,
        TileLoader load, BufferPool* pool = nullptr);

  /// A level like `base`, which must outlive it, but for cells whose network `changed`, by bucket, ghosts included.
  /// `coarse` is the network of the level below `base`, null where there is none. Collective.
  Level(Exec& exec, const Level& base, const NetworkFields* coarse, std::vector<BucketShape> shapes,
        std::span<const ChangeBox> changed, TileLoader load, BufferPool* pool = nullptr);

  const Topology& topology() const { return *topology_; }
  std::shared_ptr<const Topology> shared_topology() const { return topology_; }
  float unit() const { return unit_; }
  const BucketShape& shape(int b) const { return shapes_[static_cast<std::size_t>(b)]; }
  BucketKind kind(int b) const { return shapes_[static_cast<std::size_t>(b)].kind; }
  /// Buckets with unknowns of one colour: 0 where the sum of the key's coordinates is even.
  std::span<const std::int32_t> buckets(int colour) const { return colours_[static_cast<std::size_t>(colour)]; }
  BucketOperator bucket_operator(int b) const;
  /// What a pass over the buckets with unknowns moves: so many bytes per cell, and the networks.
  std::int64_t pass_bytes(std::int64_t per_cell) const;
  const TransferWeights* transfer(int b) const;

  /// Parents' topology, and the links and sinks of the coarse network; only where this is not the last level.
  std::shared_ptr<const Topology> coarse_topology;
  std::unique_ptr<NetworkFields> coarse_network;
  ParentPlan parents;
  std::unique_ptr<NetworkFields> network;  ///< of this level, where the hierarchy was asked to keep it

  /// `out(bucket, values)` makes `count` floats of every bucket with unknowns; `in(coarse bucket, octant, values)` gets
  /// them where the parent lives. Both are called from several threads. Collective.
  void to_parents(Exec& exec, int count, FunctionRef<void(int, float*)> out,
                  FunctionRef<void(int, int, const float*)> in) const;

  BucketField unknown;  ///< 512 per bucket, with ghosts
  BucketField rhs;      ///< 512 per local bucket; not on the finest level
  BucketField partial;  ///< restricted residuals: 5×5×5 per bucket, with ghosts

 private:
  /// What becomes of a bucket's operators when a level is built.
  struct Plan;
  void colour_buckets();
  Plan plan_alike(Exec& exec, bool last) const;
  void build_operators(Exec& exec, const Plan& plan, bool last, TileLoader load);
  void place_blocks(Exec& exec, FunctionRef<const NetworkBlock*(int)> block_of);
  void place(int fine, const NetworkBlock& block, BucketField& remote);

  std::shared_ptr<const Topology> topology_;
  std::vector<BucketShape> shapes_;
  float unit_;
  std::vector<const NetworkBucket*> network_of_;     // null: uniform
  std::vector<const TransferWeights*> transfer_of_;  // null: trilinear
  PooledBuffer networks_, transfers_;
  BufferPool* pool_;
  std::vector<std::int32_t> colours_[2];
};

/// Shapes of the buckets of a coarse level, and how many unknowns they hold on this rank.
std::vector<BucketShape> classify(const Topology& topology, const NetworkFields& network, float unit,
                                  std::int64_t& unknowns);

}  // namespace aegir
