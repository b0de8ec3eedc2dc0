// Copies of what lies around a rank's blocks or buckets: one item per key of its own, then the copies.
//
//   std::vector<Vec3i> copies = halo.build(comm, keys, 1, rank_of, deep);     // keys of the others within one of ours
//   halo.update(values.data(), 512 * sizeof(float));              // own items first, then those of the copies
#pragma once

#include <cstdint>
#include <vector>

#include "base/vec.h"
#include "surfacing/parcels.h"

namespace aegir {

class SurfaceHalo {
 public:
  struct Peer {
    int rank = 0;
    std::vector<std::uint32_t> send;   ///< own items that it copies
    std::size_t first = 0, count = 0;  ///< copies of its items
  };

  /// Tells every rank the keys of this one that lie within `ring` of the share of that; returns those of the others, in
  /// the order of the copies. `rank_of` says whose a key is, `deep` that all around it is this rank's. Collective.
  template <class RankOf, class Deep>
  std::vector<Vec3i> build(Comm& comm, const std::vector<Vec3i>& keys, int ring, const RankOf& rank_of,
                           const Deep& deep);

  /// Brings the copies up to date; items are of `size` bytes. Collective.
  void update(void* items, std::size_t size) const;
  const std::vector<Peer>& peers() const { return peers_; }

 private:
  Peer& peer(int rank) {
    for (Peer& p : peers_)
      if (p.rank == rank) return p;
    peers_.push_back({rank, {}, 0, 0});
    return peers_.back();
  }

  Comm* comm_ = nullptr;
  std::vector<Peer> peers_;
};

template <class RankOf, class Deep>
std::vector<Vec3i> SurfaceHalo::build(Comm& comm, const std::vector<Vec3i>& keys, int ring, const RankOf& rank_of,
                                      const Deep& deep) {
  comm_ = &comm;
  peers_.clear();
  std::vector<std::vector<std::uint32_t>> sent(static_cast<std::size_t>(comm.size()));
  for (std::size_t n = 0; n < keys.size(); ++n) {
    if (deep(keys[n])) continue;
    for (int i = -ring; i <= ring; ++i)
      for (int j = -ring; j <= ring; ++j)
        for (int k = -ring; k <= ring; ++k) {
          const int rank = rank_of(keys[n] + Vec3i{i, j, k});
          auto& list = sent[static_cast<std::size_t>(rank)];
          if (rank != comm.rank() && (list.empty() || list.back() != n)) list.push_back(static_cast<std::uint32_t>(n));
        }
  }
  Parcels parcels(comm);
  for (int r = 0; r < comm.size(); ++r)
    for (const std::uint32_t n : sent[static_cast<std::size_t>(r)]) parcels.put(r, keys[n]);
  for (int r = 0; r < comm.size(); ++r)
    if (auto& list = sent[static_cast<std::size_t>(r)]; !list.empty()) peer(r).send = std::move(list);
  std::vector<Vec3i> copies;
  for (Parcel& parcel : parcels.exchange()) {
    Peer& p = peer(parcel.rank());
    p.first = keys.size() + copies.size();
    while (!parcel.at_end()) copies.push_back(parcel.take<Vec3i>());
    p.count = keys.size() + copies.size() - p.first;
  }
  return copies;
}

}  // namespace aegir
