#include "solvers/linear/side_exchange.h"

#include <array>
#include <cstring>

namespace aegir {
namespace {

constexpr std::size_t layer = 64;

constexpr std::array<Vec3i, 6> offsets{Vec3i{-1, 0, 0}, Vec3i{1, 0, 0},  Vec3i{0, -1, 0},
                                       Vec3i{0, 1, 0},  Vec3i{0, 0, -1}, Vec3i{0, 0, 1}};

int colour_of(const BucketKey& key) { return (key.coord.x + key.coord.y + key.coord.z) & 1; }

/// Calls visit(number, cell) for the 64 cells of a bucket next to its side.
template <class Visit>
void for_layer(int direction, const Visit& visit) {
  const int last = direction % 2 ? 7 : 0;
  std::size_t n = 0;
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b)
      visit(n++, direction < 2   ? cell_offset(last, a, b)
                 : direction < 4 ? cell_offset(a, last, b)
                                 : cell_offset(a, b, last));
}

}  // namespace

SideExchange::SideExchange(const Topology& t) {
  for (const HaloPeer& p : t.peers()) {
    Peer& peer = peers_.emplace_back();
    peer.rank = p.rank;
    const int first = p.first_ghost, last = p.first_ghost + p.ghost_count;
    for (const std::int32_t b : p.send)
      for (std::int32_t d = 0; d < 6; ++d) {
        const Vec3i& o = offsets[static_cast<std::size_t>(d)];
        const int other = t.neighbours(b)[static_cast<std::size_t>(neighbour_index(o.x, o.y, o.z))];
        if (other >= first && other < last) peer.send[colour_of(t.key(b))].push_back({b, d});
      }
    for (std::int32_t g = first; g < last; ++g)
      for (std::int32_t d = 0; d < 6; ++d) {
        const Vec3i& o = offsets[static_cast<std::size_t>(d)];
        if (t.local_around(g) >> neighbour_index(o.x, o.y, o.z) & 1u)
          peer.receive[colour_of(t.key(g))].push_back({g, d});
      }
  }
}

SideExchange::Flight SideExchange::begin(Comm& comm, float* values, int colour) const {
  Flight f;
  f.sides_ = this, f.values_ = values;
  f.begin_ = colour < 0 ? 0 : colour, f.end_ = colour < 0 ? 2 : colour + 1;
  const auto count = [&](const std::vector<Side>* sides) {
    std::size_t n = 0;
    for (int c = f.begin_; c < f.end_; ++c) n += sides[c].size();
    return n;
  };
  std::vector<Transfer> sends, receives;
  for (const Peer& peer : peers_) {
    const std::size_t out = count(peer.send) * layer * sizeof(float), in = count(peer.receive) * layer * sizeof(float);
    f.out_.emplace_back(out), f.in_.emplace_back(in);
    auto* to = reinterpret_cast<float*>(f.out_.back().data());
    for (int c = f.begin_; c < f.end_; ++c)
      for (const Side& s : peer.send[c]) {
        const float* from = values + static_cast<std::size_t>(s.bucket) * bucket_cells;
        for_layer(s.direction, [&](std::size_t n, int cell) { to[n] = from[cell]; });
        to += layer;
      }
    if (out) sends.push_back({peer.rank, f.out_.back().data(), out});
    if (in) receives.push_back({peer.rank, f.in_.back().data(), in});
  }
  f.pending_ = comm.begin_exchange(sends, receives);
  return f;
}

void SideExchange::Flight::end() {
  pending_->end();
  for (std::size_t p = 0; p < sides_->peers_.size(); ++p) {
    const auto* from = reinterpret_cast<const float*>(in_[p].data());
    for (int c = begin_; c < end_; ++c)
      for (const Side& s : sides_->peers_[p].receive[c]) {
        float* to = values_ + static_cast<std::size_t>(s.bucket) * bucket_cells;
        for_layer(s.direction, [&](std::size_t n, int cell) { to[cell] = from[n]; });
        from += layer;
      }
  }
}

}  // namespace aegir
