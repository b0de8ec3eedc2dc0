#include "solvers/linear/level.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "domain/transport/halo.h"
#include "parallel/threads.h"
#include "solvers/linear/coarsen.h"

namespace aegir {
namespace {

constexpr std::size_t grain = 4;

/// Calls body(bucket) for the local buckets on all threads.
template <class Body>
void for_local(const Topology& topology, const Body& body) {
  parallel_for(0, static_cast<std::size_t>(topology.local_count()), grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) body(static_cast<int>(b));
  });
}

constexpr int block_floats = sizeof(NetworkBlock) / sizeof(float);

}  // namespace

void write_octant(float* bucket, int octant, const float* block) {
  const int x = (octant >> 2) * 4, y = ((octant >> 1) & 1) * 4, z = (octant & 1) * 4;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      std::memcpy(bucket + cell_offset(x + i, y + j, z), block + (i * 4 + j) * 4, 4 * sizeof(float));
}

BucketField::BucketField(int buckets, int values_per_bucket, BufferPool* pool, bool zeroed)
    : memory_(static_cast<std::size_t>(buckets) * static_cast<std::size_t>(values_per_bucket) * sizeof(float), pool),
      stride_(static_cast<std::size_t>(values_per_bucket)) {
  if (!zeroed) return;
  parallel_for(0, static_cast<std::size_t>(buckets), 64, [&](std::size_t begin, std::size_t end) {
    std::memset(data() + begin * stride_, 0, (end - begin) * stride_ * sizeof(float));
  });
}

void BucketField::copy_from(const BucketField& other, int buckets) {
  parallel_for(0, static_cast<std::size_t>(buckets), 64, [&](std::size_t begin, std::size_t end) {
    std::memcpy(data() + begin * stride_, other.data() + begin * stride_, (end - begin) * stride_ * sizeof(float));
  });
}

void BucketField::exchange(Exec& exec, const Topology& topology) {
  if (exec.comm.size() > 1) exchange_halo(exec.comm, topology, memory_.data(), stride_ * sizeof(float));
}

void BucketField::exchange_layers(Exec& exec, const Topology& topology, int width) {
  HaloFlight flight(exec.comm);
  flight.add_layers(topology, memory_.data(), sizeof(float), width);
  flight.end();
}

NetworkFields::NetworkFields(const Topology& topology, BufferPool* pool, bool zeroed) {
  for (int a = 0; a < 3; ++a) {
    link[a] = BucketField(topology.total_count(), bucket_cells, pool, zeroed);
    sink[a] = BucketField(topology.total_count(), bucket_cells, pool, zeroed);
  }
}

void NetworkFields::exchange(Exec& exec, const Topology& topology) {
  HaloFlight flight(exec.comm);
  for (int a = 0; a < 3; ++a)
    for (BucketField* field : {&link[a], &sink[a]})
      flight.add_layers(topology, reinterpret_cast<std::byte*>(field->data()), sizeof(float), NetworkTile::lead);
  flight.end();
}

void NetworkFields::load(const Topology& topology, int bucket, NetworkTile& tile) const {
  using Part = PaddedTile<float, NetworkTile::lead>;
  static_assert(sizeof(Part) == NetworkTile::cells * sizeof(float) && NetworkTile::pitch % 16 == 0);
  for (int a = 0; a < 6; ++a) {
    auto* part = reinterpret_cast<Part*>(a < 3 ? tile.link[a] : tile.sink[a - 3]);  // laid out alike
    load_tile<Halo<4>>(*part, topology, bucket, (a < 3 ? link[a] : sink[a - 3]).data(), 0.0f);
  }
}

/// By bucket: itself where it is coarsened on its own, another one that is the same, or one of these.
struct Level::Plan {
  static constexpr std::int32_t trilinear = -1, as_in_base = -2;
  std::vector<std::int32_t> like;
  const Level* base = nullptr;
  bool operators = true;  // else those of base
  const HeldCells* held = nullptr;
  std::vector<std::uint8_t> holds;  // by bucket: held cells are within reach of its coarsening
};

Level::Level(Exec& exec, std::shared_ptr<const Topology> topology, std::vector<BucketShape> shapes, float unit,
             bool last, TileLoader load, BufferPool* pool, const HeldCells* held)
    : topology_(std::move(topology)), shapes_(std::move(shapes)), unit_(unit), pool_(pool) {
  const Topology& t = *topology_;
  colour_buckets();
  if (!last) {
    std::vector<BucketKey> keys;
    for (int b = 0; b < t.local_count(); ++b) {
      const BucketKey& k = t.key(b);
      if (kind(b) != BucketKind::empty) keys.push_back({{k.coord.x >> 1, k.coord.y >> 1, k.coord.z >> 1}, k.level + 1});
    }
    coarse_topology = Topology::build(t.spacing(), keys, t.partition(), exec.comm);
    coarse_network = std::make_unique<NetworkFields>(*coarse_topology, pool);
    parents = ParentPlan(exec, t, *coarse_topology, shapes_);
    partial = BucketField(t.total_count(), coarse_pitch, pool);
  }
  make_unknown(last);
  build_operators(exec, plan_alike(exec, last, held, nullptr), last, load);
}

/// Memory of the unknowns. Cycles write all cells of buckets with unknowns before they read them, but for the last
/// level: there, and elsewhere, they stay 0 where there is none.
void Level::make_unknown(bool last) {
  const Topology& t = *topology_;
  unknown = BucketField(t.total_count(), bucket_cells, pool_, last);
  if (last) return;
  parallel_for(0, static_cast<std::size_t>(t.total_count()), 64, [&](std::size_t begin, std::size_t end) {
    for (int b = static_cast<int>(begin); b < static_cast<int>(end); ++b)
      if (b >= t.local_count() || kind(b) == BucketKind::empty) std::fill_n(unknown.at(b), bucket_cells, 0.0f);
  });
}

const SideExchange& Level::sides() {
  if (!sides_) sides_ = std::make_unique<SideExchange>(*topology_);
  return *sides_;
}

void Level::colour_buckets() {
  for (const bool border : {true, false})
    for (int b = 0; b < topology_->local_count(); ++b) {
      if (kind(b) == BucketKind::empty || topology_->on_border(b) != border) continue;
      const Vec3i c = topology_->key(b).coord;
      const int colour = (c.x + c.y + c.z) & 1;
      colours_[colour].push_back(b);
      border_[colour] += border;
    }
}

namespace {

constexpr std::uint8_t code_mixed = 0xff, code_uniform = 0x40;
using Surroundings = std::array<std::uint8_t, 27>;

/// True when a box of the n-th neighbour reaches within `distance` cells of a bucket.
bool in_reach(const ChangeBox& box, int n, int distance = NetworkTile::lead) {
  if (box.empty()) return false;
  bool meets = true;
  for (int a = 0; a < 3; ++a) {
    const int shift = bucket_size * neighbour_offset(n)[a];
    meets &= box.low[a] + shift < bucket_size + distance && box.high[a] + shift >= -distance;
  }
  return meets;
}

/// The same for any of the boxes around a bucket.
bool any_in_reach(std::span<const ChangeBox> boxes, const Topology& topology, int bucket) {
  bool any = false;
  for (int n = 0; n < 27; ++n)
    if (const int other = topology.neighbours(bucket)[static_cast<std::size_t>(n)]; other >= 0)
      any |= in_reach(boxes[static_cast<std::size_t>(other)], n);
  return any;
}

std::uint8_t code(const BucketShape& s) {
  return s.kind == BucketKind::mixed   ? code_mixed
         : s.kind == BucketKind::empty ? std::uint8_t{0}
                                       : static_cast<std::uint8_t>(code_uniform | s.closed);
}

/// True when all that coarsening looks at is uniform.
bool all_uniform(const NetworkTile& tile, float unit) {
  Row<std::int32_t> good = Row<std::int32_t>{} - 1;
  for (int i = -3; i < 11; ++i)
    for (int j = -3; j < 11; ++j)
      for (const int k : {-3, 3}) {
        const int c = NetworkTile::at(i, j, k);
        for (int a = 0; a < 3; ++a) good &= (load_row(tile.link[a] + c) == unit) & (load_row(tile.sink[a] + c) == 0.0f);
      }
  for (int k = 0; k < 8; ++k)
    if (!good[k]) return false;
  return true;
}

}  // namespace

Level::Plan Level::plan_alike(Exec& exec, bool last, const HeldCells* held, const Level* base) const {
  const Topology& t = *topology_;
  Plan plan;
  plan.like.assign(static_cast<std::size_t>(t.local_count()), base ? Plan::as_in_base : Plan::trilinear);
  plan.base = base, plan.operators = !base, plan.held = held;
  if (last) return plan;
  if (held) plan.holds.assign(plan.like.size(), 0);
  if (held)
    for_local(t, [&](int b) {
      const auto at = static_cast<std::size_t>(b);
      if (kind(b) != BucketKind::empty && any_in_reach(held->changed, t, b)) plan.holds[at] = 1, plan.like[at] = b;
    });
  if (base) return plan;
  std::vector<BucketShape> all = shapes_;
  all.resize(static_cast<std::size_t>(t.total_count()));
  if (exec.comm.size() > 1) exchange_halo(exec.comm, t, reinterpret_cast<std::byte*>(all.data()), sizeof(BucketShape));
  // All that coarsening looks at lies within three cells: what is not uniform further away does not matter.
  const auto seen_from = [&](int b, int other, int n) {
    const BucketShape& s = all[static_cast<std::size_t>(other)];
    return s.kind == BucketKind::mixed && other != b && !in_reach(s.unlike, n, 3) ? code_uniform : code(s);
  };
  std::map<Surroundings, std::int32_t> seen;  // of buckets among uniform ones
  for (int b = 0; b < t.local_count(); ++b) {
    if (kind(b) == BucketKind::empty || (held && plan.holds[static_cast<std::size_t>(b)])) continue;
    Surroundings around;
    bool plain = true, deep = true;
    for (std::size_t n = 0; n < 27; ++n) {
      const int other = t.neighbours(b)[n];
      around[n] = other < 0 ? std::uint8_t{0} : seen_from(b, other, static_cast<int>(n));
      plain &= around[n] != code_mixed;
      deep &= around[n] == code_uniform;
    }
    if (deep) continue;
    plan.like[static_cast<std::size_t>(b)] = plain ? seen.try_emplace(around, b).first->second : b;
  }
  return plan;
}

void Level::share_coarse(const NetworkFields& coarse) {
  coarse_network = std::make_unique<NetworkFields>(*coarse_topology, pool_, false);
  for (int a = 0; a < 3; ++a) {
    coarse_network->link[a].copy_from(coarse.link[a], coarse_topology->total_count());
    coarse_network->sink[a].copy_from(coarse.sink[a], coarse_topology->total_count());
  }
  partial = BucketField(topology_->total_count(), coarse_pitch, pool_);
}

Level::Level(Exec& exec, const Level& base, const NetworkFields& coarse, const HeldCells& held, TileLoader load,
             BufferPool* pool)
    : coarse_topology(base.coarse_topology),
      parents(base.parents),
      topology_(base.topology_),
      shapes_(base.shapes_),
      unit_(base.unit_),
      pool_(pool) {
  colour_buckets();
  share_coarse(coarse);
  make_unknown(false);
  build_operators(exec, plan_alike(exec, false, &held, &base), false, load);
}

Level::Level(Exec& exec, const Level& base, const NetworkFields* coarse, std::vector<BucketShape> shapes,
             std::span<const ChangeBox> changed, TileLoader load, BufferPool* pool)
    : coarse_topology(base.coarse_topology),
      parents(base.parents),
      topology_(base.topology_),
      shapes_(std::move(shapes)),
      unit_(base.unit_),
      pool_(pool) {
  const Topology& t = *topology_;
  colour_buckets();
  if (coarse) share_coarse(*coarse);
  make_unknown(!coarse);
  Plan plan;
  plan.base = &base;
  plan.like.resize(static_cast<std::size_t>(t.local_count()));
  for_local(
      t, [&](int b) { plan.like[static_cast<std::size_t>(b)] = any_in_reach(changed, t, b) ? b : Plan::as_in_base; });
  build_operators(exec, plan, !coarse, load);
}

namespace {

/// The coefficients of a bucket that is uniform but for closed sides.
void fill_uniform(NetworkBucket& n, float unit, Sides closed) {
  const auto link = [&](int axis, int face) {
    const bool shut = (face == 0 && (closed >> (2 * axis) & 1)) || (face == 8 && (closed >> (2 * axis + 1) & 1));
    return shut ? 0.0f : unit;
  };
  for (int f = 0; f < 9; ++f)
    for (int u = 0; u < 8; ++u) {
      std::fill_n(n.x + (f * 8 + u) * 8, 8, link(0, f));
      std::fill_n(n.y + (u * 9 + f) * 8, 8, link(1, f));
      for (int v = 0; v < 8; ++v) n.z[(u * 8 + v) * 9 + f] = link(2, f);
    }
  std::fill_n(n.z + 64 * 9, 8, 0.0f);
  for (int c = 0; c < bucket_cells; ++c) {
    const int i = c >> 6, j = c >> 3 & 7, k = c & 7;
    const float along_z = link(2, k) + link(2, k + 1);
    const float diagonal = link(0, i) + link(0, i + 1) + link(1, j) + link(1, j + 1) + along_z;
    n.sink[c] = 0;
    set_relaxation(n, c, diagonal, along_z);
  }
}

}  // namespace

void Level::hold(const Level& base, const BucketField& held, std::span<const std::int32_t> buckets) {
  std::vector<std::uint8_t> holds(buckets.size());
  parallel_for(0, buckets.size(), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const float* values = held.at(buckets[i]);
      holds[i] = kind(buckets[i]) != BucketKind::empty &&
                 std::any_of(values, values + bucket_cells, [](float v) { return v != 0; });
    }
  });
  std::vector<std::int32_t> masked;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const auto b = static_cast<std::size_t>(buckets[i]);
    if (shapes_[b].kind == BucketKind::empty) continue;
    if (holds[i])
      masked.push_back(buckets[i]);
    else
      network_of_[b] = base.network_of_[b], shapes_[b] = base.shapes_[b];
  }
  auto* networks = reinterpret_cast<NetworkBucket*>(
      held_networks_.emplace_back(masked.size() * sizeof(NetworkBucket), pool_).data());
  parallel_for(0, masked.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const int b = masked[i];
      NetworkBucket& n = networks[i];
      const BucketOperator a = base.bucket_operator(b);
      if (a.network)
        n = *a.network;
      else
        fill_uniform(n, a.unit, a.closed);
      for (int c = 0; c < bucket_cells; ++c)
        if (held.at(b)[c] != 0) n.relax[c] = n.keep[c] = 0;
      network_of_[static_cast<std::size_t>(b)] = &n;
      shapes_[static_cast<std::size_t>(b)] = {BucketKind::mixed, 0};
    }
  });
}

void Level::build_operators(Exec& exec, const Plan& plan, bool last, TileLoader load) {
  const auto count = static_cast<std::size_t>(topology_->local_count());
  network_of_.assign(count, nullptr), transfer_of_.assign(count, nullptr);
  // Buckets that need their tile, for their own network or to be coarsened.
  struct Work {
    std::int32_t bucket, network, block;
  };
  std::vector<Work> work;
  std::vector<std::int32_t> block_of(count, -1);
  std::int32_t networks = 0, blocks_wanted = 0;
  for (std::size_t b = 0; b < count; ++b) {
    if (plan.like[b] == Plan::as_in_base) {
      network_of_[b] = plan.base->network_of_[b], transfer_of_[b] = plan.base->transfer_of_[b];
      continue;
    }
    if (!plan.operators) network_of_[b] = plan.base->network_of_[b];
    const bool mixed =
        plan.operators && (shapes_[b].kind == BucketKind::mixed || (last && shapes_[b].kind != BucketKind::empty));
    const bool coarsened =
        !last && plan.like[b] == static_cast<std::int32_t>(b) && shapes_[b].kind != BucketKind::empty;
    if (coarsened) block_of[b] = blocks_wanted++;
    if (mixed || coarsened) work.push_back({static_cast<std::int32_t>(b), mixed ? networks++ : -1, block_of[b]});
  }
  networks_ = PooledBuffer(static_cast<std::size_t>(networks) * sizeof(NetworkBucket), pool_);
  transfers_ = PooledBuffer(static_cast<std::size_t>(blocks_wanted) * sizeof(TransferWeights), pool_);
  PooledBuffer block_memory(static_cast<std::size_t>(blocks_wanted) * sizeof(NetworkBlock), pool_);
  auto* blocks = reinterpret_cast<NetworkBlock*>(block_memory.data());
  NetworkBlock inner{};
  const NetworkBlock nothing{};
  for (auto& axis : inner.link) std::ranges::fill(axis, 2 * unit_);
  parallel_for(0, work.size(), grain, [&](std::size_t begin, std::size_t end) {
    const auto tile = std::make_unique_for_overwrite<NetworkTile>();
    for (std::size_t w = begin; w < end; ++w) {
      const auto [b, own, block] = work[w];
      load(b, *tile);
      if (own >= 0) {
        NetworkBucket* to = reinterpret_cast<NetworkBucket*>(networks_.data()) + own;
        extract(*tile, *to);
        network_of_[static_cast<std::size_t>(b)] = to;
      }
      if (block < 0) continue;
      if (plan.held && plan.holds[static_cast<std::size_t>(b)]) plan.held->hold(b, *tile);
      if (own < 0 && all_uniform(*tile, unit_)) {
        blocks[static_cast<std::size_t>(block)] = inner;
      } else {
        TransferWeights* to = reinterpret_cast<TransferWeights*>(transfers_.data()) + block;
        coarsen(*tile, blocks[static_cast<std::size_t>(block)], *to);
        transfer_of_[static_cast<std::size_t>(b)] = to;
      }
    }
  });
  if (last) return;
  place_blocks(exec, [&](int b) -> const NetworkBlock* {
    const int like = plan.like[static_cast<std::size_t>(b)];
    if (like == Plan::as_in_base) return nullptr;
    if (kind(b) == BucketKind::empty) return plan.base && plan.base->kind(b) != BucketKind::empty ? &nothing : nullptr;
    if (like == Plan::trilinear) return &inner;
    if (like != b) transfer_of_[static_cast<std::size_t>(b)] = transfer_of_[static_cast<std::size_t>(like)];
    return &blocks[static_cast<std::size_t>(block_of[static_cast<std::size_t>(like)])];
  });
}

void Level::place_blocks(Exec& exec, FunctionRef<const NetworkBlock*(int)> block_of) {
  const Topology& t = *topology_;
  BucketField away;  // blocks with parents on other ranks; a NaN ahead says that there is none
  if (exec.comm.size() > 1) away = BucketField(t.local_count(), block_floats);
  for_local(t, [&](int b) {
    const NetworkBlock* block = block_of(b);
    if (block) place(b, *block, away);
    if (!block && exec.comm.size() > 1) away.at(b)[0] = std::numeric_limits<float>::quiet_NaN();
  });
  parents.send_up(
      exec, block_floats, [&](int b, float* out) { std::memcpy(out, away.at(b), sizeof(NetworkBlock)); },
      [&](int coarse, int octant, const float* in) {
        if (std::isnan(in[0])) return;
        for (int a = 0; a < 3; ++a) {
          write_octant(coarse_network->link[a].at(coarse), octant, in + 64 * a);
          write_octant(coarse_network->sink[a].at(coarse), octant, in + 64 * (3 + a));
        }
      });
  coarse_network->exchange(exec, *coarse_topology);
}

void Level::place(int fine, const NetworkBlock& block, BucketField& remote) {
  const int up = parents.parent(fine), octant = octant_of(topology_->key(fine));
  if (up < 0) {
    std::memcpy(remote.at(fine), &block, sizeof block);
    return;
  }
  for (int a = 0; a < 3; ++a) {
    write_octant(coarse_network->link[a].at(up), octant, block.link[a]);
    write_octant(coarse_network->sink[a].at(up), octant, block.sink[a]);
  }
}

void Level::to_parents(Exec& exec, int count, FunctionRef<void(int, float*)> out,
                       FunctionRef<void(int, int, const float*)> in) const {
  for (const auto& buckets : colours_)
    parallel_for(0, buckets.size(), 8, [&](std::size_t begin, std::size_t end) {
      std::vector<float> values(static_cast<std::size_t>(count));
      for (std::size_t i = begin; i < end; ++i)
        if (const int b = buckets[i], up = parents.parent(b); up >= 0) {
          out(b, values.data());
          in(up, octant_of(topology_->key(b)), values.data());
        }
    });
  parents.send_up(exec, count, out, in);
}

BucketOperator Level::bucket_operator(int b) const {
  const NetworkBucket* network_here = network_of_[static_cast<std::size_t>(b)];
  return {network_here, unit_, network_here ? Sides{0} : shape(b).closed};
}

std::int64_t Level::pass_bytes(std::int64_t per_cell) const {
  const auto buckets = static_cast<std::int64_t>(colours_[0].size() + colours_[1].size());
  const auto networks = std::ranges::count_if(network_of_, [](const NetworkBucket* n) { return n != nullptr; });
  return buckets * bucket_cells * per_cell + networks * static_cast<std::int64_t>(sizeof(NetworkBucket));
}

const TransferWeights* Level::transfer(int b) const { return transfer_of_[static_cast<std::size_t>(b)]; }

}  // namespace aegir
