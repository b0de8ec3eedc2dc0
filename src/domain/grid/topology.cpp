#include "domain/grid/topology.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/assert.h"
#include "base/random.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

std::uint64_t hash(const BucketKey& k) {
  return mix((static_cast<std::uint64_t>(static_cast<std::uint32_t>(k.coord.x)) << 42) ^
             (static_cast<std::uint64_t>(static_cast<std::uint32_t>(k.coord.y)) << 21) ^
             static_cast<std::uint64_t>(static_cast<std::uint32_t>(k.coord.z)) ^
             (static_cast<std::uint64_t>(k.level) << 59));
}

Bytes pack(std::span<const BucketKey> keys) {
  Bytes bytes(keys.size_bytes());
  if (!keys.empty()) std::memcpy(bytes.data(), keys.data(), bytes.size());
  return bytes;
}

std::vector<BucketKey> unpack(const Bytes& bytes) {
  std::vector<BucketKey> keys(bytes.size() / sizeof(BucketKey));
  if (!keys.empty()) std::memcpy(keys.data(), bytes.data(), bytes.size());
  return keys;
}

/// Keeps the first of equal keys: places on the curve cost more than a look into a hash table.
void drop_repetitions(std::vector<BucketKey>& keys) {
  std::vector<std::int32_t> slots(
      std::bit_ceil(std::max<std::size_t>(16, std::min<std::size_t>(keys.size() * 2, 4096))), -1);
  std::size_t kept = 0;
  const auto slot_of = [&](const BucketKey& k) {
    std::size_t slot = hash(k) & (slots.size() - 1);
    while (slots[slot] >= 0 && !(keys[static_cast<std::size_t>(slots[slot])] == k))
      slot = (slot + 1) & (slots.size() - 1);
    return slot;
  };
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t slot = slot_of(keys[i]);
    if (slots[slot] >= 0) continue;
    slots[slot] = static_cast<std::int32_t>(kept);
    keys[kept++] = keys[i];
    if (2 * kept <= slots.size()) continue;
    slots.assign(2 * slots.size(), -1);
    for (std::size_t k = 0; k < kept; ++k) slots[slot_of(keys[k])] = static_cast<std::int32_t>(k);
  }
  keys.resize(kept);
}

/// Sends each key to its owner; returns those owned here.
std::vector<BucketKey> route(std::span<const BucketKey> wanted, const Partition& partition, Comm& comm) {
  if (comm.size() == 1) return {wanted.begin(), wanted.end()};
  std::vector<std::vector<BucketKey>> by_rank(static_cast<std::size_t>(comm.size()));
  for (const BucketKey& k : wanted) by_rank[static_cast<std::size_t>(partition.owner(curve_position(k)))].push_back(k);
  std::vector<Message> outgoing;
  for (int r = 0; r < comm.size(); ++r) {
    auto& keys = by_rank[static_cast<std::size_t>(r)];
    if (!keys.empty()) outgoing.push_back({r, pack(keys)});
  }
  std::vector<BucketKey> mine;
  for (const Message& m : comm.exchange(std::move(outgoing))) {
    const auto keys = unpack(m.bytes);
    mine.insert(mine.end(), keys.begin(), keys.end());
  }
  return mine;
}

}  // namespace

std::vector<std::uint64_t> sort_unique(std::vector<BucketKey>& keys) {
  drop_repetitions(keys);
  struct Entry {
    CurveOrder order;
    BucketKey key;
  };
  std::vector<Entry> entries(keys.size());
  parallel_for(0, keys.size(), 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) entries[i] = {{curve_position(keys[i]), keys[i].level}, keys[i]};
  });
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.order < b.order; });
  keys.resize(entries.size());
  std::vector<std::uint64_t> curve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) keys[i] = entries[i].key, curve[i] = entries[i].order.position;
  return curve;
}

std::vector<BucketKey> padded(std::span<const BucketKey> keys, int layers) {
  std::vector<BucketKey> all;
  for (const BucketKey& k : keys)
    for (int x = -layers; x <= layers; ++x)
      for (int y = -layers; y <= layers; ++y)
        for (int z = -layers; z <= layers; ++z) {
          const BucketKey n{k.coord + Vec3i{x, y, z}, k.level};
          if (addressable(n)) all.push_back(n);
        }
  sort_unique(all);
  return all;
}

std::vector<BucketKey> covering_keys(const Topology& other, double spacing) {
  std::vector<BucketKey> keys;
  const double width = spacing * bucket_size;
  for (int b = 0; b < other.local_count(); ++b) {
    const Box box = other.box(b);
    const auto cell = [&](double x) { return static_cast<std::int32_t>(std::floor(x / width)); };
    // Upper faces belong to the next bucket; a hair less keeps aligned lattices one to one.
    const double inset = 1e-9 * width;
    for (int x = cell(box.min.x + inset); x <= cell(box.max.x - inset); ++x)
      for (int y = cell(box.min.y + inset); y <= cell(box.max.y - inset); ++y)
        for (int z = cell(box.min.z + inset); z <= cell(box.max.z - inset); ++z)
          if (const BucketKey k{{x, y, z}, 0}; addressable(k)) keys.push_back(k);
  }
  sort_unique(keys);
  return keys;
}

BucketPosition locate(const Vec3d& world, double spacing) {
  BucketPosition p;
  for (int a = 0; a < 3; ++a) {
    const double cells = world[a] / spacing;
    const double bucket = std::floor(cells / bucket_size);
    if (!(std::abs(bucket) <= coordinate_limit)) {  // also NaN: a key that nobody can address
      p.key.coord[a] = 2 * coordinate_limit;
      continue;
    }
    p.key.coord[a] = static_cast<std::int32_t>(bucket);
    float inside = static_cast<float>(cells - bucket * bucket_size);
    if (inside >= static_cast<float>(bucket_size)) inside = std::nextafter(static_cast<float>(bucket_size), 0.0f);
    p.cell[a] = std::max(inside, 0.0f);
  }
  return p;
}

std::shared_ptr<const Topology> Topology::empty(double spacing, const Partition& partition) {
  auto t = std::make_shared<Topology>();
  t->spacing_ = spacing;
  t->partition_ = partition;
  t->index_keys();
  return t;
}

std::shared_ptr<const Topology> Topology::build(double spacing, std::span<const BucketKey> wanted,
                                                const Partition& partition, Comm& comm) {
  auto t = std::make_shared<Topology>();
  t->spacing_ = spacing;
  t->partition_ = partition;
  t->keys_ = route(wanted, partition, comm);
  t->curve_ = sort_unique(t->keys_);
  t->local_count_ = static_cast<int>(t->keys_.size());
  for (const BucketKey& k : t->keys_) t->levels_ = std::max(t->levels_, k.level + 1);
  t->levels_ = static_cast<int>(comm.max(static_cast<std::int64_t>(t->levels_)));
  t->index_keys();
  if (comm.size() > 1) {
    t->add_ghosts(comm);
    t->index_keys();
  }
  t->link_neighbours();
  return t;
}

void Topology::add_ghosts(Comm& comm) {
  for (const BucketKey& k : keys_)
    AEGIR_ASSERT(k.level == levels_ - 1, "graded levels over several ranks come with the gas solver");
  // Places around a bucket where this rank has no bucket may belong to others, who then need this one.
  std::vector<std::vector<int>> ranks(static_cast<std::size_t>(local_count_));
  parallel_for(0, ranks.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      for (int n = 0; n < 27; ++n) {
        const BucketKey neighbour{keys_[b].coord + neighbour_offset(n), keys_[b].level};
        if (find(neighbour) >= 0 || !addressable(neighbour)) continue;
        const int owner = partition_.owner(curve_position(neighbour));
        if (owner != comm.rank() && std::find(ranks[b].begin(), ranks[b].end(), owner) == ranks[b].end())
          ranks[b].push_back(owner);
      }
  });
  border_.resize(ranks.size());
  for (std::size_t b = 0; b < ranks.size(); ++b) border_[b] = !ranks[b].empty();
  std::vector<std::vector<std::int32_t>> send(static_cast<std::size_t>(comm.size()));
  for (int b = 0; b < local_count_; ++b)
    for (int r : ranks[static_cast<std::size_t>(b)]) send[static_cast<std::size_t>(r)].push_back(b);
  std::vector<Message> outgoing;
  for (int r = 0; r < comm.size(); ++r) {
    std::vector<BucketKey> boundary;
    for (int b : send[static_cast<std::size_t>(r)]) boundary.push_back(key(b));
    if (!boundary.empty()) outgoing.push_back({r, pack(boundary)});
  }
  std::vector<HaloPeer> peers(static_cast<std::size_t>(comm.size()));
  for (int r = 0; r < comm.size(); ++r)
    peers[static_cast<std::size_t>(r)].rank = r,
    peers[static_cast<std::size_t>(r)].send = std::move(send[static_cast<std::size_t>(r)]);
  // Ranks own increasing stretches of the curve, so arrivals in rank order are in curve order.
  for (const Message& m : comm.exchange(std::move(outgoing))) {
    HaloPeer& peer = peers[static_cast<std::size_t>(m.rank)];
    const auto ghosts = unpack(m.bytes);
    peer.first_ghost = static_cast<std::int32_t>(keys_.size());
    peer.ghost_count = static_cast<std::int32_t>(ghosts.size());
    for (const BucketKey& k : ghosts) keys_.push_back(k), curve_.push_back(curve_position(k));
  }
  for (HaloPeer& p : peers)
    if (!p.send.empty() || p.ghost_count) peers_.push_back(std::move(p));
}

void Topology::index_keys() {
  slots_.assign(std::bit_ceil(std::max<std::size_t>(16, keys_.size() * 2)), -1);
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    std::size_t slot = hash(keys_[i]) & (slots_.size() - 1);
    while (slots_[slot] >= 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<std::int32_t>(i);
  }
}

int Topology::find(const BucketKey& k) const {
  for (std::size_t slot = hash(k) & (slots_.size() - 1); slots_[slot] >= 0; slot = (slot + 1) & (slots_.size() - 1))
    if (keys_[static_cast<std::size_t>(slots_[slot])] == k) return slots_[slot];
  return -1;
}

void Topology::link_neighbours() {
  neighbours_.resize(static_cast<std::size_t>(local_count_));
  parallel_for(0, neighbours_.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      for (int n = 0; n < 27; ++n) {
        const BucketKey k{keys_[b].coord + neighbour_offset(n), keys_[b].level};
        int found = find(k);
        // Graded neighbours: the bucket that holds this place one level up, or the one at its corner one level down.
        if (found < 0 && k.level + 1 < levels_)
          found = find({{k.coord.x >> 1, k.coord.y >> 1, k.coord.z >> 1}, k.level + 1});
        if (found < 0 && k.level > 0) {
          const Vec3i o = neighbour_offset(n);
          found =
              find({{2 * k.coord.x + (o.x < 0), 2 * k.coord.y + (o.y < 0), 2 * k.coord.z + (o.z < 0)}, k.level - 1});
        }
        neighbours_[b][static_cast<std::size_t>(n)] = found;
      }
  });
  local_around_.assign(keys_.size() - neighbours_.size(), 0);
  for (std::size_t b = 0; b < (local_around_.empty() ? 0 : neighbours_.size()); ++b)
    for (int n = 0; n < 27; ++n)
      if (const int other = neighbours_[b][static_cast<std::size_t>(n)]; other >= local_count_)
        local_around_[static_cast<std::size_t>(other - local_count_)] |= 1u << (26 - n);
}

const std::vector<PeerLayers>& Topology::layers(int width) const {
  AEGIR_ASSERT(width >= 1 && width <= 4, "halos are 1 to 4 cells wide");
  auto& found = layers_[static_cast<std::size_t>(width - 1)];
  if (!found) found = std::make_unique<const std::vector<PeerLayers>>(halo_layers(*this, width));
  return *found;
}

Relation Topology::relation(int b, int n) const {
  const int other = neighbours(b)[static_cast<std::size_t>(n)];
  if (other < 0) return Relation::absent;
  const int difference = key(other).level - key(b).level;
  return difference == 0 ? Relation::same : difference > 0 ? Relation::coarser : Relation::finer;
}

bool Topology::same_buckets(const Topology& o) const {
  return spacing_ == o.spacing_ && partition_ == o.partition_ && local_count_ == o.local_count_ &&
         std::equal(keys_.begin(), keys_.begin() + local_count_, o.keys_.begin());
}

std::size_t Topology::memory_bytes() const {
  std::size_t bytes = keys_.capacity() * sizeof(BucketKey) + curve_.capacity() * sizeof(std::uint64_t) +
                      neighbours_.capacity() * sizeof(neighbours_[0]) + slots_.capacity() * sizeof(std::int32_t) +
                      local_around_.capacity() * sizeof(std::uint32_t);
  for (const auto& layers : layers_)
    if (layers)
      for (const PeerLayers& peer : *layers)
        bytes += (peer.send.capacity() + peer.receive.capacity()) * sizeof(LayerRun);
  return bytes;
}

}  // namespace aegir
