#include "domain/volume/discrete_volume.h"

#include <cstring>

#include <fmt/format.h>

#include "base/assert.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

template <class T>
void fill(GridStore& store, int p, int buckets) {
  T* plane = store.plane<T>(p);
  const T value = static_cast<T>(store.info.background[p]);
  parallel_for(0, static_cast<std::size_t>(buckets) * bucket_cells, 64 * bucket_cells,
               [&](std::size_t begin, std::size_t end) { std::fill(plane + begin, plane + end, value); });
}

/// Writes the background into the first so many buckets of a plane.
void fill_background(GridStore& store, int p, int buckets) {
  switch (store.info.scalar) {
    case Scalar::f32:
      return fill<float>(store, p, buckets);
    case Scalar::f64:
      return fill<double>(store, p, buckets);
    case Scalar::i32:
      return fill<std::int32_t>(store, p, buckets);
    case Scalar::i64:
      return fill<std::int64_t>(store, p, buckets);
  }
}

}  // namespace

void DiscreteVolume::declare(const ChannelInfo& info) {
  AEGIR_ASSERT(info.components <= 3, "grid channels have at most three planes");
  for (const GridStore& c : channels_)
    if (c.info.name == info.name) {
      AEGIR_ASSERT(c.info.scalar == info.scalar && c.info.components == info.components && c.info.site == info.site,
                   fmt::format("channel '{}' of '{}' is declared twice with different types", info.name, owner_));
      return;
    }
  GridStore& store = channels_.emplace_back();
  store.info = info;
  for (int p = 0; p < info.components; ++p) {
    store.planes.emplace_back(store.bucket_bytes() * static_cast<std::size_t>(topology_->total_count()));
    fill_background(store, p, topology_->total_count());
  }
}

void DiscreteVolume::relayout(GridStore& store, const Topology& next) {
  store.valid_ghosts = 0;
  const std::size_t bucket = store.bucket_bytes(), wanted = bucket * static_cast<std::size_t>(next.total_count());
  const bool kept = store.info.keep != Keep::scratch;
  for (int p = 0; p < store.info.components; ++p) {
    Buffer& plane = store.planes[static_cast<std::size_t>(p)];
    if (kept) std::swap(plane, spare_);
    plane.reserve(wanted, 0);
    fill_background(store, p, next.total_count());
    if (!kept) continue;
    parallel_for(0, static_cast<std::size_t>(next.local_count()), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b)
        if (const int from = topology_->find(next.key(static_cast<int>(b)));
            from >= 0 && from < topology_->local_count())
          std::memcpy(plane.data() + b * bucket, spare_.data() + static_cast<std::size_t>(from) * bucket, bucket);
    });
  }
}

void DiscreteVolume::adopt(std::shared_ptr<const Topology> next) {
  if (next == topology_) return;
  for (GridStore& store : channels_) relayout(store, *next);
  topology_ = std::move(next);
}

void DiscreteVolume::adopt(Comm& comm, std::shared_ptr<const Topology> next) {
  // Kept buckets whose place now belongs to another rank: their key, then their planes, channel by channel.
  const bool cut_anew = comm.size() > 1 && !(next->partition() == topology_->partition());
  std::vector<Message> outgoing;
  std::size_t record = sizeof(BucketKey);
  for (const GridStore& store : channels_)
    if (store.info.keep == Keep::between_steps) record += store.bucket_bytes() * store.planes.size();
  std::vector<Bytes> away(static_cast<std::size_t>(comm.size()));
  if (cut_anew && record > sizeof(BucketKey))
    for (int b = 0; b < topology_->local_count(); ++b) {
      const int owner = next->partition().owner(topology_->curve(b));
      if (owner == comm.rank()) continue;
      Bytes& bytes = away[static_cast<std::size_t>(owner)];
      const auto append = [&](const void* data, std::size_t size) {
        const auto* from = static_cast<const std::byte*>(data);
        bytes.insert(bytes.end(), from, from + size);
      };
      append(&topology_->key(b), sizeof(BucketKey));
      for (const GridStore& store : channels_)
        if (store.info.keep == Keep::between_steps)
          for (const Buffer& plane : store.planes)
            append(plane.data() + static_cast<std::size_t>(b) * store.bucket_bytes(), store.bucket_bytes());
    }
  for (int r = 0; r < comm.size(); ++r)
    if (!away[static_cast<std::size_t>(r)].empty())
      outgoing.push_back({r, std::move(away[static_cast<std::size_t>(r)])});
  if (next != topology_)
    for (GridStore& store : channels_) relayout(store, *next);
  topology_ = std::move(next);
  if (!cut_anew) return;
  for (const Message& m : comm.exchange(std::move(outgoing)))
    for (std::size_t at = 0; at < m.bytes.size(); at += record) {
      BucketKey key;
      std::memcpy(&key, m.bytes.data() + at, sizeof key);
      const int b = topology_->find(key);
      if (b < 0 || b >= topology_->local_count()) continue;  // no bucket there any more
      const std::byte* from = m.bytes.data() + at + sizeof key;
      for (GridStore& store : channels_)
        if (store.info.keep == Keep::between_steps)
          for (Buffer& plane : store.planes) {
            std::memcpy(plane.data() + static_cast<std::size_t>(b) * store.bucket_bytes(), from, store.bucket_bytes());
            from += store.bucket_bytes();
          }
    }
}

GridStore& DiscreteVolume::store(std::string_view name) {
  for (GridStore& c : channels_)
    if (c.info.name == name) return c;
  bug(fmt::format("'{}' has no channel '{}'", owner_, name), __FILE__, __LINE__);
}
const GridStore& DiscreteVolume::store(std::string_view name) const {
  return const_cast<DiscreteVolume*>(this)->store(name);
}

std::size_t DiscreteVolume::memory_bytes() const {
  std::size_t bytes = spare_.capacity();
  for (const GridStore& c : channels_)
    for (const Buffer& p : c.planes) bytes += p.capacity();
  return bytes;
}

}  // namespace aegir
