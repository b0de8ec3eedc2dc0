// Copies of other ranks' particles around local buckets: all of the buckets beside, or those near enough to matter.
#include <algorithm>
#include <array>

#include "base/simd.h"
#include "domain/particles/particle_system.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

/// What a rank tells another about one bucket.
struct GhostCount {
  std::uint64_t sent, held;
};

template <class T>
void gather(const std::vector<std::uint32_t>& from, const std::byte* plane, std::byte* packed) {
  const T* in = reinterpret_cast<const T*>(plane);
  T* out = reinterpret_cast<T*>(packed);
  for (const std::uint32_t i : from) *out++ = in[i];
}

}  // namespace

void ParticleSystem::update_ghosts(Exec& exec, ParticleStore& s) {
  HaloFlight flight(exec.comm);
  update_ghosts(exec, flight, s);
  flight.end();
}

void ParticleSystem::update_ghosts(Exec& exec, HaloFlight& flight, ParticleStore& s, int width) {
  if (exec.comm.size() == 1 || s.valid_ghosts >= width) return;
  // Which particles are near follows from positions: who gets some of them gets their positions first.
  ParticleStore& places = store(particle::position.name);
  if (ghost_width_ < width || (ghost_width_ < whole_buckets && places.valid_ghosts == 0)) {
    plan_ghosts(exec, width);
    if (width < whole_buckets) send_ghosts(flight, places);
  }
  if (s.valid_ghosts < width) send_ghosts(flight, s);
}

void ParticleSystem::send_ghosts(HaloFlight& flight, ParticleStore& s) {
  // Only channels that are asked for get room for copies.
  const std::size_t bytes = scalar_size(s.info.scalar);
  const auto peers = topology_->peers();
  for (Buffer& plane : s.planes) {
    plane.reserve(first_.back() * bytes, size() * bytes);
    if (ghost_width_ == whole_buckets) {
      flight.add(*topology_, plane.data(), first_, bytes);
      continue;
    }
    std::vector<FlightBuffer> packed;
    std::vector<Transfer> sends, receives;
    for (std::size_t p = 0; p < peers.size(); ++p) {
      if (const auto& parcel = ghost_parcels_[p]; !parcel.empty()) {
        packed.emplace_back(parcel.size() * bytes);
        (bytes == 4 ? gather<std::uint32_t> : gather<std::uint64_t>)(parcel, plane.data(), packed.back().data());
        sends.push_back({peers[p].rank, packed.back().data(), parcel.size() * bytes});
      }
      const auto begin = first_[static_cast<std::size_t>(peers[p].first_ghost)],
                 end = first_[static_cast<std::size_t>(peers[p].first_ghost + peers[p].ghost_count)];
      if (end > begin) receives.push_back({peers[p].rank, plane.data() + begin * bytes, (end - begin) * bytes});
    }
    flight.add(sends, receives, std::move(packed));
  }
  s.valid_ghosts = ghost_width_;
}

/// Finds out who gets which particles, and how many come.
void ParticleSystem::plan_ghosts(Exec& exec, int width) {
  const auto peers = topology_->peers();
  const auto locals = static_cast<std::size_t>(topology_->local_count()),
             total = static_cast<std::size_t>(topology_->total_count());
  for (ParticleStore& s : channels_) s.valid_ghosts = 0;
  ghost_parcels_.assign(width == whole_buckets ? 0 : peers.size(), {});
  std::vector<std::vector<GhostCount>> told(peers.size()), heard(peers.size());
  std::vector<Transfer> sends, receives;
  const auto transfer = [](int rank, std::vector<GhostCount>& counts) {
    return Transfer{rank, reinterpret_cast<std::byte*>(counts.data()), counts.size() * sizeof(GhostCount)};
  };
  for (std::size_t p = 0; p < peers.size(); ++p) {
    const HaloPeer& peer = peers[p];
    std::vector<std::uint64_t> counts;
    if (width != whole_buckets) ghost_parcels_[p] = near_border(topology_->layers(width)[p], peer, counts);
    for (std::size_t n = 0; n < peer.send.size(); ++n) {
      const std::uint64_t held = count(peer.send[n]);
      told[p].push_back({width == whole_buckets ? held : counts[n], held});
    }
    heard[p].resize(static_cast<std::size_t>(peer.ghost_count));
    if (!told[p].empty()) sends.push_back(transfer(peer.rank, told[p]));
    if (!heard[p].empty()) receives.push_back(transfer(peer.rank, heard[p]));
  }
  exec.comm.exchange(sends, receives);
  first_.resize(total + 1);
  occupied_ghosts_.assign(total - locals, 0);
  for (std::size_t p = 0; p < peers.size(); ++p)
    for (std::size_t n = 0; n < heard[p].size(); ++n) {
      const std::size_t ghost = static_cast<std::size_t>(peers[p].first_ghost) + n;
      first_[ghost + 1] = first_[ghost] + heard[p][n].sent;
      occupied_ghosts_[ghost - locals] = heard[p][n].held > 0;
    }
  ghost_width_ = width;
}

namespace {

/// Cells of a bucket's particles; the nearest one of what has left it. 12 bytes in, 4 out, 15 operations per particle.
AEGIR_HOT void cells_of(const float* __restrict x, const float* __restrict y, const float* __restrict z, std::size_t n,
                        std::int32_t* __restrict cell) {
  const auto inside = [](float v) { return std::clamp(static_cast<std::int32_t>(v), 0, bucket_size - 1); };
  for (std::size_t i = 0; i < n; ++i) cell[i] = inside(x[i]) << 6 | inside(y[i]) << 3 | inside(z[i]);
}

}  // namespace

/// Particles that lie in the cells that a peer reads, bucket by bucket in the order they are stored in; and how many of
/// each bucket it gets. Reads 12 bytes of each particle of a bucket at the border.
std::vector<std::uint32_t> ParticleSystem::near_border(const PeerLayers& layers, const HaloPeer& peer,
                                                       std::vector<std::uint64_t>& counts) const {
  std::vector<std::array<char, bucket_cells>> wanted(peer.send.size());
  std::size_t n = 0;
  for (const LayerRun& r : layers.send)
    for (std::uint32_t c = r.first; c < r.first + r.count; ++c) {
      while (static_cast<std::uint32_t>(peer.send[n]) != c / bucket_cells) ++n;
      wanted[n][c % bucket_cells] = 1;
    }
  const ParticleStore& store = this->store(particle::position.name);
  const float *x = store.plane<float>(0), *y = store.plane<float>(1), *z = store.plane<float>(2);
  std::vector<std::vector<std::uint32_t>> chosen(peer.send.size());
  parallel_for(0, chosen.size(), 4, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int32_t> cell;
    std::vector<std::uint32_t> found;
    for (std::size_t b = begin; b < end; ++b) {
      const std::size_t first = this->first(peer.send[b]), held = count(peer.send[b]);
      cell.resize(held), found.resize(held + 1);
      cells_of(x + first, y + first, z + first, held, cell.data());
      std::size_t chosen_here = 0;
      for (std::size_t i = 0; i < held; ++i) {
        found[chosen_here] = static_cast<std::uint32_t>(first + i);
        chosen_here += wanted[b][static_cast<std::size_t>(cell[i])] != 0;
      }
      chosen[b].assign(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(chosen_here));
    }
  });
  std::vector<std::uint32_t> all;
  for (const auto& part : chosen) {
    counts.push_back(part.size());
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace aegir
