#include "surfacing/band_grid.h"

#include <cstring>

#include "base/assert.h"
#include "parallel/threads.h"
#include "surfacing/surface_shares.h"

namespace aegir {

BandGrid::BandGrid(double voxel, int band, std::vector<Vec3i> keys, std::vector<Vec3i> inside_keys, bool owners,
                   std::shared_ptr<BufferPool> pool, std::shared_ptr<SurfaceShares> shares)
    : voxel_(voxel),
      band_(static_cast<float>(band)),
      keys_(std::move(keys)),
      inside_keys_(std::move(inside_keys)),
      map_(keys_.size() + inside_keys_.size()),
      around_(keys_.size() * 27),
      shares_(std::move(shares)),
      pool_(std::move(pool)),
      has_owners_(owners) {
  for (std::size_t s = 0; s < keys_.size(); ++s)
    AEGIR_ASSERT(map_.insert(keys_[s], static_cast<std::int32_t>(s)).second, "a bucket of the surface is there twice");
  for (const Vec3i& key : inside_keys_)
    AEGIR_ASSERT(map_.insert(key, inside).second, "a bucket is inside and in the band");
  if (shares_) add_copies();
  values_ = PooledBuffer(bytes(), pool_.get());
  if (owners) owners_ = PooledBuffer(bytes(), pool_.get());
  parallel_for(0, keys_.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s)
      for (int n = 0; n < 27; ++n)
        around_[s * 27 + static_cast<std::size_t>(n)] =
            n == 13 ? static_cast<std::int32_t>(s) : find(keys_[s] + Vec3i{n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1});
  });
}

void BandGrid::add_copies() {
  const auto rank_of = [&](const Vec3i& key) { return shares_->rank_of_bucket(key); };
  const auto deep = [&](const Vec3i& key) { return shares_->deep(shares_->block_of(key)); };
  for (const Vec3i& key : halo_.build(shares_->comm(), keys_, 1, rank_of, deep))
    map_.insert(key, static_cast<std::int32_t>(keys_.size() + copies_++));
  for (const Vec3i& key : SurfaceHalo().build(shares_->comm(), inside_keys_, 1, rank_of, deep))
    map_.insert(key, inside);
}

void BandGrid::swap_values(PooledBuffer& other) {
  std::swap(values_, other);
  if (shares_) halo_.update(values_.data(), bucket_values * sizeof(float));
}

void BandGrid::update_values() {
  if (shares_) halo_.update(values_.data(), bucket_values * sizeof(float));
}

void BandGrid::update_owners() {
  if (!shares_ || !has_owners_) return;
  Parcels parcels(shares_->comm());
  for (const SurfaceHalo::Peer& p : halo_.peers()) {
    if (p.send.empty()) continue;
    std::vector<std::int32_t> numbers(p.send.size() * bucket_values);
    for (std::size_t i = 0; i < p.send.size(); ++i)
      std::memcpy(&numbers[i * bucket_values], owners(p.send[i]), bucket_values * sizeof(std::int32_t));
    shares_->carried.pack(numbers, parcels.to(p.rank));
  }
  for (Parcel& parcel : parcels.exchange())
    for (const SurfaceHalo::Peer& p : halo_.peers())
      if (p.rank == parcel.rank()) {
        const auto numbers = shares_->carried.unpack(parcel, p.count * bucket_values);
        std::memcpy(owners(p.first), numbers.data(), numbers.size() * sizeof(std::int32_t));
      }
}

void BandGrid::update_owners(const std::vector<std::vector<OwnerChange>>& changed) {
  if (!shares_ || !has_owners_) return;
  Parcels parcels(shares_->comm());
  for (const SurfaceHalo::Peer& p : halo_.peers()) {
    std::vector<std::uint32_t> places;  // of the voxel among those of all buckets that are sent
    std::vector<std::int32_t> numbers;
    for (std::size_t i = 0; i < p.send.size(); ++i)
      for (const OwnerChange& c : changed[p.send[i]])
        places.push_back(static_cast<std::uint32_t>(i * bucket_values + c.voxel)), numbers.push_back(c.owner);
    if (places.empty()) continue;
    parcels.put(p.rank, static_cast<std::uint64_t>(places.size()));
    parcels.put(p.rank, std::span<const std::uint32_t>(places));
    shares_->carried.pack(numbers, parcels.to(p.rank));
  }
  for (Parcel& parcel : parcels.exchange())
    for (const SurfaceHalo::Peer& p : halo_.peers())
      if (p.rank == parcel.rank()) {
        const auto places = parcel.take_all<std::uint32_t>(parcel.take<std::uint64_t>());
        const auto numbers = shares_->carried.unpack(parcel, places.size());
        for (std::size_t i = 0; i < places.size(); ++i) owners(p.first)[places[i]] = numbers[i];
      }
}

}  // namespace aegir
