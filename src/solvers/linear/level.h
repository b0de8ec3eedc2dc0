// One level of the multigrid hierarchy: buckets, their operators and transfers, and the memory of a cycle.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/function_ref.h"
#include "domain/channel/buffer.h"
#include "domain/exec.h"
#include "domain/grid/topology.h"
#include "domain/transport/halo.h"
#include "parallel/threads.h"
#include "solvers/linear/bucket_kernels.h"
#include "solvers/linear/network.h"
#include "solvers/linear/parent_plan.h"
#include "solvers/linear/side_exchange.h"

namespace aegir {

/// Fills a tile with the network around a bucket.
using TileLoader = FunctionRef<void(int bucket, NetworkTile& tile)>;

/// Cells that are held at zero as far as coarser levels are concerned; the level's own operators do not know of it.
struct HeldCells {
  std::span<const ChangeBox> changed;  ///< by bucket, ghosts included: cells held or beside a held one
  FunctionRef<void(int bucket, NetworkTile& tile)> hold;  ///< turns links to held cells around a bucket into sinks
};

/// Memory of floats by bucket, zeroed unless asked for as it comes.
class BucketField {
 public:
  BucketField() = default;
  BucketField(int buckets, int values_per_bucket, BufferPool* pool = nullptr, bool zeroed = true);
  float* at(int bucket) { return data() + static_cast<std::size_t>(bucket) * stride_; }
  const float* at(int bucket) const { return const_cast<BucketField*>(this)->at(bucket); }
  float* data() { return reinterpret_cast<float*>(memory_.data()); }
  const float* data() const { return reinterpret_cast<const float*>(memory_.data()); }
  /// Copies all values of another field over the same buckets.
  void copy_from(const BucketField& other, int buckets);
  /// Brings the ghosts from their owners. Collective.
  void exchange(Exec& exec, const Topology& topology);
  /// The same for ghosts within some cells of local buckets, of a field with 512 values per bucket. Collective.
  void exchange_layers(Exec& exec, const Topology& topology, int width);
  void begin_exchange(const Topology& topology, HaloFlight& flight) {
    flight.add(topology, memory_.data(), stride_ * sizeof(float));
  }

 private:
  PooledBuffer memory_;
  std::size_t stride_ = 0;
};

/// Links and sinks of all buckets of a level while it is being built.
struct NetworkFields {
  BucketField link[3], sink[3];
  NetworkFields(const Topology& topology, BufferPool* pool, bool zeroed = true);
  void exchange(Exec& exec, const Topology& topology);
  /// The network around one bucket, zero where there is none.
  void load(const Topology& topology, int bucket, NetworkTile& tile) const;
};

/// Writes 4×4×4 values into an octant of a bucket.
void write_octant(float* bucket, int octant, const float* block);

/// Calls body(bucket) for some buckets, on all threads.
template <class Body>
void for_buckets(std::span<const std::int32_t> buckets, const Body& body) {
  parallel_for(0, buckets.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) body(buckets[i]);
  });
}

/// The same, while something travels between ranks.
template <class Flight, class Body>
void for_buckets(std::span<const std::int32_t> buckets, Flight& flight, const Body& body) {
  const auto caller = std::this_thread::get_id();
  for_buckets(buckets, [&](int b) {
    body(b);
    if (std::this_thread::get_id() == caller) flight.poke();
  });
}

/// Buckets of one level, what joins their cells, and how they become the next level.
class Level {
 public:
  /// `shapes` of the local buckets, `load` for the network around one. Unless it is the last, also makes the coarse
  /// topology and its network, with the cells in `held` held. Collective.
  Level(Exec& exec, std::shared_ptr<const Topology> topology, std::vector<BucketShape> shapes, float unit, bool last,
        TileLoader load, BufferPool* pool = nullptr, const HeldCells* held = nullptr);

  /// A level like `base`, which must outlive it, but for cells whose network `changed`, by bucket, ghosts included.
  /// `coarse` is the network of the level below `base`, null where there is none. Collective.
  Level(Exec& exec, const Level& base, const NetworkFields* coarse, std::vector<BucketShape> shapes,
        std::span<const ChangeBox> changed, TileLoader load, BufferPool* pool = nullptr);

  /// A level with the operators of `base`, which must outlive it and not be a last level, but coarsened with cells
  /// held. Collective.
  Level(Exec& exec, const Level& base, const NetworkFields& coarse, const HeldCells& held, TileLoader load,
        BufferPool* pool = nullptr);

  /// Makes the cells of some local buckets unknowns as in `base`, but for those where `held`, 512 values per bucket, is
  /// not 0: they stay 0, and links to them work as sinks. Transfers and coarse levels stay as they are, and a bucket
  /// without unknowns stays one.
  void hold(const Level& base, const BucketField& held, std::span<const std::int32_t> buckets);

  const Topology& topology() const { return *topology_; }
  float unit() const { return unit_; }
  const BucketShape& shape(int b) const { return shapes_[static_cast<std::size_t>(b)]; }
  BucketKind kind(int b) const { return shapes_[static_cast<std::size_t>(b)].kind; }
  /// Buckets with unknowns of one colour: 0 where the sum of the key's coordinates is even. Those that other ranks have
  /// copies of come first.
  std::span<const std::int32_t> buckets(int colour) const { return colours_[colour]; }
  std::span<const std::int32_t> border(int colour) const { return buckets(colour).first(border_[colour]); }
  std::span<const std::int32_t> inner(int colour) const { return buckets(colour).subspan(border_[colour]); }
  /// Calls body(bucket) for the buckets with unknowns, on all threads; those of colour 0 before those of colour 1.
  template <class Body>
  void for_unknowns(const Body& body) const {
    for (const int colour : {0, 1}) for_buckets(buckets(colour), body);
  }
  /// The same for a body that makes the values of a field, for buckets of one colour or (-1) of both; the layers of
  /// ghosts that touch local buckets across their sides come meanwhile. Collective.
  template <class Body>
  void for_unknowns(Exec& exec, BucketField& field, int colour, const Body& body) {
    const int first = colour < 0 ? 0 : colour, last = colour < 0 ? 1 : colour;
    for (int c = first; c <= last; ++c) for_buckets(border(c), body);
    if (exec.comm.size() == 1) {
      for (int c = first; c <= last; ++c) for_buckets(inner(c), body);
      return;
    }
    SideExchange::Flight flight = sides().begin(exec.comm, field.data(), colour);
    for (int c = first; c <= last; ++c) for_buckets(inner(c), flight, body);
    flight.end();
  }
  BucketOperator bucket_operator(int b) const;
  /// What a pass over the buckets with unknowns moves: so many bytes per cell, and the networks.
  std::int64_t pass_bytes(std::int64_t per_cell) const;
  const TransferWeights* transfer(int b) const;

  /// Parents' topology, and the links and sinks of the coarse network; only where this is not the last level.
  std::shared_ptr<const Topology> coarse_topology;
  std::unique_ptr<NetworkFields> coarse_network;
  ParentPlan parents;
  std::unique_ptr<NetworkFields> network;  ///< of this level, where others are built from the hierarchy

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
  const SideExchange& sides();
  void make_unknown(bool last);
  Plan plan_alike(Exec& exec, bool last, const HeldCells* held, const Level* base) const;
  void share_coarse(const NetworkFields& coarse);
  void build_operators(Exec& exec, const Plan& plan, bool last, TileLoader load);
  void place_blocks(Exec& exec, FunctionRef<const NetworkBlock*(int)> block_of);
  void place(int fine, const NetworkBlock& block, BucketField& remote);

  std::shared_ptr<const Topology> topology_;
  std::vector<BucketShape> shapes_;
  float unit_;
  std::vector<const NetworkBucket*> network_of_;     // null: uniform
  std::vector<const TransferWeights*> transfer_of_;  // null: trilinear
  PooledBuffer networks_, transfers_;
  std::vector<PooledBuffer> held_networks_;  // one by call of hold()
  BufferPool* pool_;
  std::vector<std::int32_t> colours_[2];
  std::size_t border_[2] = {0, 0};       // how many of them others have copies of
  std::unique_ptr<SideExchange> sides_;  // made when it is first asked for
};

/// Shapes of the buckets of a coarse level, and how many unknowns they hold on this rank.
std::vector<BucketShape> classify(const Topology& topology, const NetworkFields& network, float unit,
                                  std::int64_t& unknowns);

}  // namespace aegir
