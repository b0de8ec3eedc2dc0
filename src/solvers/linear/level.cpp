#include "solvers/linear/level.h"

#include <algorithm>
#include <atomic>
#include <cstring>
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

/// Writes 4×4×4 values into an octant of a bucket.
void write_octant(float* bucket, int octant, const float* block) {
  const int x = (octant >> 2) * 4, y = ((octant >> 1) & 1) * 4, z = (octant & 1) * 4;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      std::memcpy(bucket + cell_offset(x + i, y + j, z), block + (i * 4 + j) * 4, 4 * sizeof(float));
}

constexpr int block_floats = sizeof(NetworkBlock) / sizeof(float);

}  // namespace

BucketField::BucketField(int buckets, int values_per_bucket) : stride_(static_cast<std::size_t>(values_per_bucket)) {
  const std::size_t bytes = static_cast<std::size_t>(buckets) * stride_ * sizeof(float);
  memory_.reserve(bytes, 0);
  parallel_for(0, static_cast<std::size_t>(buckets), 64, [&](std::size_t begin, std::size_t end) {
    std::memset(data() + begin * stride_, 0, (end - begin) * stride_ * sizeof(float));
  });
}

void BucketField::exchange(Exec& exec, const Topology& topology) {
  if (exec.comm.size() > 1) exchange_halo(exec.comm, topology, memory_.data(), stride_ * sizeof(float));
}

NetworkFields::NetworkFields(const Topology& topology) {
  for (int a = 0; a < 3; ++a) {
    link[a] = BucketField(topology.total_count(), bucket_cells);
    sink[a] = BucketField(topology.total_count(), bucket_cells);
  }
}

void NetworkFields::exchange(Exec& exec, const Topology& topology) {
  for (int a = 0; a < 3; ++a) link[a].exchange(exec, topology), sink[a].exchange(exec, topology);
}

void NetworkFields::load(const Topology& topology, int bucket, NetworkTile& tile) const {
  const auto& neighbours = topology.neighbours(bucket);
  constexpr int first[3] = {-4, 0, 8}, count[3] = {4, 8, 4}, start[3] = {4, 0, 0};
  for (int n = 0; n < 27; ++n) {
    const int x = n / 9, y = n / 3 % 3, z = n % 3, other = neighbours[static_cast<std::size_t>(n)];
    for (int a = 0; a < 6; ++a) {
      const float* from = other < 0 ? nullptr : (a < 3 ? link[a] : sink[a - 3]).at(other);
      float* to = a < 3 ? tile.link[a] : tile.sink[a - 3];
      for (int i = 0; i < count[x]; ++i)
        for (int j = 0; j < count[y]; ++j) {
          float* row = to + NetworkTile::at(first[x] + i, first[y] + j, first[z]);
          const std::size_t bytes = static_cast<std::size_t>(count[z]) * sizeof(float);
          if (from)
            std::memcpy(row, from + cell_offset(start[x] + i, start[y] + j, start[z]), bytes);
          else
            std::memset(row, 0, bytes);
        }
    }
  }
}

ParentPlan::ParentPlan(Exec& exec, const Topology& fine, const Topology& coarse, std::span<const BucketKind> kinds)
    : parent_(static_cast<std::size_t>(fine.local_count()), -1) {
  std::map<int, std::vector<std::int32_t>> away;
  for (int b = 0; b < fine.local_count(); ++b) {
    if (kinds[static_cast<std::size_t>(b)] == BucketKind::empty) continue;
    const BucketKey& k = fine.key(b);
    const BucketKey up{{k.coord.x >> 1, k.coord.y >> 1, k.coord.z >> 1}, k.level + 1};
    const int owner = fine.partition().owner(curve_position(up));
    if (owner == exec.comm.rank())
      parent_[static_cast<std::size_t>(b)] = coarse.find(up);
    else
      away[owner].push_back(b);
  }
  if (exec.comm.size() == 1) return;
  std::vector<Message> messages;
  for (const auto& [rank, buckets] : away) {
    Message m{rank, Bytes(buckets.size() * sizeof(BucketKey))};
    for (std::size_t i = 0; i < buckets.size(); ++i)
      std::memcpy(m.bytes.data() + i * sizeof(BucketKey), &fine.key(buckets[i]), sizeof(BucketKey));
    messages.push_back(std::move(m));
  }
  std::map<int, Peer> peers;
  for (auto& [rank, buckets] : away) peers[rank] = {rank, std::move(buckets), {}};
  for (const Message& m : exec.comm.exchange(std::move(messages))) {
    Peer& peer = peers[m.rank];
    peer.rank = m.rank;
    for (std::size_t at = 0; at < m.bytes.size(); at += sizeof(BucketKey)) {
      BucketKey k;
      std::memcpy(&k, m.bytes.data() + at, sizeof k);
      const int up = coarse.find({{k.coord.x >> 1, k.coord.y >> 1, k.coord.z >> 1}, k.level + 1});
      peer.coarse.emplace_back(up, octant_of(k));
    }
  }
  for (auto& [rank, peer] : peers) peers_.push_back(std::move(peer));
}

void ParentPlan::send_up(Exec& exec, int count, FunctionRef<void(int, float*)> out,
                         FunctionRef<void(int, int, const float*)> in) const {
  if (exec.comm.size() == 1) return;
  const auto n = static_cast<std::size_t>(count);
  std::vector<std::vector<float>> sent(peers_.size()), received(peers_.size());
  std::vector<Transfer> sends, receives;
  for (std::size_t p = 0; p < peers_.size(); ++p) {
    const Peer& peer = peers_[p];
    sent[p].resize(peer.fine.size() * n), received[p].resize(peer.coarse.size() * n);
    for (std::size_t i = 0; i < peer.fine.size(); ++i) out(peer.fine[i], sent[p].data() + i * n);
    const auto bytes = [](std::vector<float>& v) { return reinterpret_cast<std::byte*>(v.data()); };
    if (!sent[p].empty()) sends.push_back({peer.rank, bytes(sent[p]), sent[p].size() * sizeof(float)});
    if (!received[p].empty()) receives.push_back({peer.rank, bytes(received[p]), received[p].size() * sizeof(float)});
  }
  exec.comm.exchange(sends, receives);
  for (std::size_t p = 0; p < peers_.size(); ++p)
    for (std::size_t i = 0; i < peers_[p].coarse.size(); ++i)
      in(peers_[p].coarse[i].first, peers_[p].coarse[i].second, received[p].data() + i * n);
}

void ParentPlan::send_down(Exec& exec, int count, FunctionRef<void(int, int, float*)> out,
                           FunctionRef<void(int, const float*)> in) const {
  if (exec.comm.size() == 1) return;
  const auto n = static_cast<std::size_t>(count);
  std::vector<std::vector<float>> sent(peers_.size()), received(peers_.size());
  std::vector<Transfer> sends, receives;
  for (std::size_t p = 0; p < peers_.size(); ++p) {
    const Peer& peer = peers_[p];
    sent[p].resize(peer.coarse.size() * n), received[p].resize(peer.fine.size() * n);
    for (std::size_t i = 0; i < peer.coarse.size(); ++i)
      out(peer.coarse[i].first, peer.coarse[i].second, sent[p].data() + i * n);
    const auto bytes = [](std::vector<float>& v) { return reinterpret_cast<std::byte*>(v.data()); };
    if (!sent[p].empty()) sends.push_back({peer.rank, bytes(sent[p]), sent[p].size() * sizeof(float)});
    if (!received[p].empty()) receives.push_back({peer.rank, bytes(received[p]), received[p].size() * sizeof(float)});
  }
  exec.comm.exchange(sends, receives);
  for (std::size_t p = 0; p < peers_.size(); ++p)
    for (std::size_t i = 0; i < peers_[p].fine.size(); ++i) in(peers_[p].fine[i], received[p].data() + i * n);
}

Level::Level(Exec& exec, std::shared_ptr<const Topology> topology, std::vector<BucketKind> kinds, float unit, bool last,
             TileLoader load)
    : topology_(std::move(topology)), kinds_(std::move(kinds)), unit_(unit) {
  const Topology& t = *topology_;
  for (int b = 0; b < t.local_count(); ++b) {
    const Vec3i c = t.key(b).coord;
    if (kind(b) != BucketKind::empty) colours_[(c.x + c.y + c.z) & 1].push_back(b);
  }
  std::vector<std::uint8_t> deep;
  if (!last) {
    find_deep(exec, deep);
    std::vector<BucketKey> keys;
    for (int b = 0; b < t.local_count(); ++b) {
      const BucketKey& k = t.key(b);
      if (kind(b) != BucketKind::empty) keys.push_back({{k.coord.x >> 1, k.coord.y >> 1, k.coord.z >> 1}, k.level + 1});
    }
    coarse_topology = Topology::build(t.spacing(), keys, t.partition(), exec.comm);
    coarse_network = std::make_unique<NetworkFields>(*coarse_topology);
    parents = ParentPlan(exec, t, *coarse_topology, kinds_);
    partial = BucketField(t.total_count(), coarse_pitch);
  }
  unknown = BucketField(t.total_count(), bucket_cells);
  build_operators(exec, deep, last, load);
}

void Level::find_deep(Exec& exec, std::vector<std::uint8_t>& deep) const {
  const Topology& t = *topology_;
  std::vector<std::uint8_t> uniform(static_cast<std::size_t>(t.total_count()), 0);
  for (int b = 0; b < t.local_count(); ++b) uniform[static_cast<std::size_t>(b)] = kind(b) == BucketKind::uniform;
  if (exec.comm.size() > 1) exchange_halo(exec.comm, t, reinterpret_cast<std::byte*>(uniform.data()), 1);
  deep.assign(static_cast<std::size_t>(t.local_count()), 0);
  for_local(t, [&](int b) {
    deep[static_cast<std::size_t>(b)] = std::ranges::all_of(
        t.neighbours(b), [&](std::int32_t n) { return n >= 0 && uniform[static_cast<std::size_t>(n)]; });
  });
}

void Level::build_operators(Exec& exec, const std::vector<std::uint8_t>& deep, bool last, TileLoader load) {
  const Topology& t = *topology_;
  const auto count = static_cast<std::size_t>(t.local_count());
  network_of_.assign(count, -1), transfer_of_.assign(count, -1);
  std::vector<std::int32_t> work;
  for (std::size_t b = 0; b < count; ++b) {
    if (kinds_[b] == BucketKind::empty) continue;
    if (kinds_[b] == BucketKind::mixed || last) network_of_[b] = static_cast<std::int32_t>(network_count_++);
    if (!last && !deep[b]) transfer_of_[b] = static_cast<std::int32_t>(transfer_count_++);
    if (network_of_[b] >= 0 || transfer_of_[b] >= 0) work.push_back(static_cast<std::int32_t>(b));
  }
  networks_.reserve(network_count_ * sizeof(NetworkBucket), 0);
  transfers_.reserve(transfer_count_ * sizeof(TransferWeights), 0);
  BucketField away;
  if (!last && exec.comm.size() > 1) away = BucketField(t.local_count(), block_floats);
  parallel_for(0, work.size(), grain, [&](std::size_t begin, std::size_t end) {
    const auto tile = std::make_unique<NetworkTile>();
    NetworkBlock block;
    for (std::size_t w = begin; w < end; ++w) {
      const int b = work[w];
      load(b, *tile);
      if (const int n = network_of_[static_cast<std::size_t>(b)]; n >= 0)
        extract(*tile, reinterpret_cast<NetworkBucket*>(networks_.data())[n]);
      if (const int n = transfer_of_[static_cast<std::size_t>(b)]; n >= 0) {
        coarsen(*tile, block, reinterpret_cast<TransferWeights*>(transfers_.data())[n]);
        place(b, block, away);
      }
    }
  });
  if (last) return;
  NetworkBlock inner{};
  for (auto& axis : inner.link) std::ranges::fill(axis, 2 * unit_);
  for_local(t, [&](int b) {
    if (deep[static_cast<std::size_t>(b)]) place(b, inner, away);
  });
  parents.send_up(
      exec, block_floats, [&](int b, float* out) { std::memcpy(out, away.at(b), sizeof(NetworkBlock)); },
      [&](int coarse, int octant, const float* in) {
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

BucketOperator Level::bucket_operator(int b) const {
  const int n = network_of_[static_cast<std::size_t>(b)];
  return {n < 0 ? nullptr : reinterpret_cast<const NetworkBucket*>(networks_.data()) + n, unit_};
}

const TransferWeights* Level::transfer(int b) const {
  const int n = transfer_of_[static_cast<std::size_t>(b)];
  return n < 0 ? nullptr : reinterpret_cast<const TransferWeights*>(transfers_.data()) + n;
}

std::vector<BucketKind> classify(const Topology& topology, const NetworkFields& network, float unit,
                                 std::int64_t& unknowns) {
  std::vector<BucketKind> kinds(static_cast<std::size_t>(topology.local_count()));
  std::atomic<std::int64_t> sum{0};
  for_local(topology, [&](int b) {
    const auto& neighbours = topology.neighbours(b);
    int count = 0;
    bool uniform = true;
    const float *link[3], *sink[3], *above[3];
    for (int a = 0; a < 3; ++a) {
      link[a] = network.link[a].at(b), sink[a] = network.sink[a].at(b);
      const int up = neighbours[static_cast<std::size_t>(neighbour_index(a == 0, a == 1, a == 2))];
      above[a] = up < 0 ? nullptr : network.link[a].at(up);
    }
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j)
        for (int k = 0; k < 8; ++k) {
          const int c = cell_offset(i, j, k), at[3] = {i, j, k};
          float sinks = sink[0][c] + sink[1][c] + sink[2][c], links = 0;
          bool plain = sinks == 0;
          for (int a = 0; a < 3; ++a) {
            constexpr int step[3] = {64, 8, 1};
            const float low = link[a][c];
            const float high = at[a] < 7 ? link[a][c + step[a]] : above[a] ? above[a][c - 7 * step[a]] : 0.0f;
            plain &= low == unit && high == unit;
            links += low + high;
          }
          uniform &= plain;
          count += sinks + links > least_diagonal;
        }
    kinds[static_cast<std::size_t>(b)] = count == 0 ? BucketKind::empty
                                         : uniform  ? BucketKind::uniform
                                                    : BucketKind::mixed;
    sum += count;
  });
  unknowns = sum;
  return kinds;
}

}  // namespace aegir
