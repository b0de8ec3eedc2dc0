#include "phenomena/droplets/meetings.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <tuple>

#include "base/simd.h"
#include "domain/for_each_bucket.h"
#include "domain/transport/halo.h"
#include "phenomena/common/channels.h"
#include "phenomena/droplets/swept_ball.h"

namespace aegir {
namespace {

constexpr int width = SweptLeaf::width;
constexpr std::size_t most_candidates = 16;  // of a droplet, the first ones it meets

// What a droplet says in a round: nobody, the id it names, or that it is taken.
constexpr std::int64_t nobody = -1, taken = -2;

/// Pairs (k << 3 | j) of droplet k of one leaf and droplet j of another that may meet: few more than those that do.
/// Without divisions or roots: k's box reaches b's, d·w < 0, d² ≤ (R + |w|)² ≤ 2 (R² + w²), |d × w|² ≤ R² w². One test
/// of a box for eight droplets, then about 40 flops for eight pairs.
AEGIR_HOT int pairs_of(const SweptLeaf& a, const SweptLeaf& b, const SweptBounds& box, const Vec3f& shift,
                       std::uint8_t* pairs) {
  int near[width], any = 0;
  const Vec3f low = box.low + shift, high = box.high + shift;
  for (int k = 0; k < width; ++k) {
    const float* place[3] = {a.x, a.y, a.z};
    const float* way[3] = {a.u, a.v, a.w};
    bool may = true;
    for (int axis = 0; axis < 3; ++axis) {
      const float p = place[axis][k], u = way[axis][k], r = a.radius[k] + 1e-5f;
      may &= (low[axis] - p + std::min(0.0f, box.slow[axis] - u) <= r) &
             (p - high[axis] + std::min(0.0f, u - box.fast[axis]) <= r);
    }
    near[k] = may, any |= may;
  }
  if (!any) return 0;
  int count = 0;
  for (int k = 0; k < width; ++k) {
    if (!near[k]) continue;
    const float x = a.x[k] - shift.x, y = a.y[k] - shift.y, z = a.z[k] - shift.z, u = a.u[k], v = a.v[k], w = a.w[k],
                r = a.radius[k];
    alignas(32) int may[width];
    int some = 0;
    for (int j = 0; j < width; ++j) {
      const float dx = b.x[j] - x, dy = b.y[j] - y, dz = b.z[j] - z;
      const float wx = b.u[j] - u, wy = b.v[j] - v, wz = b.w[j] - w, reach = (b.radius[j] + r) * 1.0001f + 1e-5f;
      const float cx = dy * wz - dz * wy, cy = dz * wx - dx * wz, cz = dx * wy - dy * wx;
      const float w2 = wx * wx + wy * wy + wz * wz, r2 = reach * reach;
      may[j] = (dx * wx + dy * wy + dz * wz <= 4e-6f * (std::abs(wx) + std::abs(wy) + std::abs(wz))) &
               (dx * dx + dy * dy + dz * dz <= 2.001f * (r2 + w2)) & (cx * cx + cy * cy + cz * cz <= 1.001f * r2 * w2);
      some |= may[j];
    }
    if (!some) continue;
    for (int j = 0; j < width; ++j)
      if (may[j]) pairs[count++] = static_cast<std::uint8_t>(k << 3 | j);
  }
  return count;
}

bool earlier(const Meeting& a, const Meeting& b) {
  return std::tie(a.droplet, a.contact, a.other_id) < std::tie(b.droplet, b.contact, b.other_id);
}

/// Sorts, and keeps the first few of every droplet: only they can matter.
void keep_first(std::vector<Meeting>& all) {
  std::sort(all.begin(), all.end(), earlier);
  std::size_t kept = 0, run = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    run = i > 0 && all[i].droplet == all[kept - 1].droplet ? run + 1 : 0;
    if (run < most_candidates) all[kept++] = all[i];
  }
  all.resize(kept);
}

}  // namespace

MeetingCounts Meetings::find(Exec& exec, ParticleSystem& particles, const MeetingSettings& settings) {
  Stopwatch watch;
  MeetingCounts counts;
  plant(exec, particles, settings);
  search(particles, settings, counts);
  pair_up(exec, particles, settings, counts);
  std::int64_t all[3] = {counts.pairs, counts.crowded, counts.blind};
  exec.comm.sum(std::span<std::int64_t>(all));
  seconds_ = watch.seconds();
  exec.profile.kernel("meetings", seconds_, static_cast<std::int64_t>(100 * particles.size()));
  return {all[0], all[1], all[2]};
}

void Meetings::plant(Exec& exec, ParticleSystem& particles, const MeetingSettings& s) {
  for (const char* channel : {particle::position.name, particle::velocity.name, particle::radius.name,
                              particle::id.name, particle::age.name, particle::collide_after.name})
    particles.update_ghosts(exec, particles.store(channel));
  const auto place = particles.read(particle::position);
  const auto velocity = particles.read(particle::velocity);
  const auto radius = particles.read(particle::radius), age = particles.read(particle::age),
             after = particles.read(particle::collide_after);
  const auto to_cells = static_cast<float>(1 / particles.spacing()),
             to_way = static_cast<float>(s.dt / particles.spacing());
  // Times are stored in single precision; half a step of play keeps droplets from waiting one substep too long.
  const auto now = static_cast<float>(s.time + 1e-3 * s.dt);
  const Topology& topology = particles.topology();
  trees_.build(
      topology.total_count(), [&](int b) { return particles.count(b); },
      [&](int b, std::vector<SweptBall>& balls) {
        const auto p = place(b), v = velocity(b);
        const auto r = radius(b), born = age(b), calm = after(b);
        for (std::size_t i = 0; i < p.count; ++i)
          if (born[i] >= 0 && calm[i] <= now && r[i] > 0)
            balls.push_back({p[i], v[i] * to_way, r[i] * to_cells, static_cast<std::uint32_t>(i)});
      });
  largest_ = maximum(exec, topology, 0.0, [&](const Bucket& bucket) {
    double most = 0;
    for (const SweptLeaf& leaf : trees_.leaves(bucket.index))
      for (const float r : leaf.radius) most = std::max(most, static_cast<double>(r));
    return most;
  });
}

/// Calls meet(leaf of a, k, leaf of b, j, approach, distance²) for the pairs of droplets of two buckets, or of one,
/// that meet; b is neighbour n of a. Each leaf of a looks at `most` leaves of b at most; returns how many would look at
/// more.
template <class Meet>
std::int64_t Meetings::for_each_pair(int a, int b, int n, int most, Meet&& meet) const {
  const Vec3f shift = neighbour_shift(n);
  if (trees_.empty(a) || trees_.empty(b) || !trees_.bounds(a).may_meet(trees_.bounds(b), shift)) return 0;
  std::int64_t limited = 0;
  std::uint8_t pairs[width * width];
  const auto leaves = trees_.leaves(a);
  for (std::uint32_t l = 0; l < leaves.size(); ++l) {
    const SweptLeaf& mine = leaves[l];
    int visited = 0;
    trees_.visit(trees_.bounds(a, l), b, shift, a == b ? l : 0, [&](std::uint32_t leaf, const SweptLeaf& near) {
      const int count = pairs_of(mine, near, trees_.bounds(b, leaf), shift, pairs);
      for (int c = 0; c < count; ++c) {
        const int k = pairs[c] >> 3, j = pairs[c] & 7;
        if (a == b && leaf == l && j <= k) continue;  // itself, or seen from the other side
        const float dx = (near.x[j] - mine.x[k]) + shift.x, dy = (near.y[j] - mine.y[k]) + shift.y,
                    dz = (near.z[j] - mine.z[k]) + shift.z;
        const Approach at = approach(dx, dy, dz, near.u[j] - mine.u[k], near.v[j] - mine.v[k], near.w[j] - mine.w[k],
                                     near.radius[j] + mine.radius[k]);
        if (at.contact <= 1.0f) meet(mine, k, near, j, at, dx * dx + dy * dy + dz * dz);
      }
      return ++visited < most;
    });
    limited += visited >= most;
  }
  return limited;
}

/// Every pair of buckets is searched once, from the one that lies before the other; what its droplets are to those of
/// the other bucket waits in `sent_` until all are searched. Where the one before is a ghost, both ranks search.
void Meetings::search(const ParticleSystem& particles, const MeetingSettings& s, MeetingCounts& counts) {
  const Topology& topology = particles.topology();
  const std::int64_t* ids = particles.store(particle::id.name).plane<std::int64_t>(0);
  const auto buckets = static_cast<std::size_t>(topology.local_count());
  candidates_.resize(buckets), sent_.resize(buckets);
  std::atomic<std::int64_t> crowded = 0, blind = 0;
  const int most_leaves = std::max(1, s.most_tests / width);
  const auto largest = static_cast<float>(largest_);
  /// Lists that `mine` of bucket a meets `other` of bucket b, its neighbour n.
  const auto list = [&](std::vector<Meeting>& to, int a, const SweptLeaf& mine, int k, int b, const SweptLeaf& other,
                        int j, int n, const Approach& at, float distance2) {
    const float reach = mine.radius[k] + largest;
    if (s.neighbourhood == Neighbourhood::overlap && !(distance2 < reach * reach)) return;
    to.push_back({mine.index[k], other.index[j], ids[particles.first(a) + mine.index[k]],
                  ids[particles.first(b) + other.index[j]], n, at.contact, at.closest});
    if (to.size() > (std::size_t{1} << 20) && std::has_single_bit(to.size())) keep_first(to);
  };
  parallel_for(0, buckets, 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t bucket = begin; bucket < end; ++bucket) {
      const int b = static_cast<int>(bucket);
      std::vector<Meeting>& mine = candidates_[bucket];
      mine.clear();
      std::int64_t limited =
          for_each_pair(b, b, neighbour_self, most_leaves, [&](auto& p, int k, auto& q, int j, auto& at, float d2) {
            list(mine, b, p, k, b, q, j, neighbour_self, at, d2);
            list(mine, b, q, j, b, p, k, neighbour_self, at, d2);
          });
      for (int n = 0; n < 27; ++n) {
        const int other = topology.neighbours(b)[static_cast<std::size_t>(n)];
        if (n == neighbour_self) continue;
        if (n > neighbour_self) {
          auto& theirs = sent_[bucket][static_cast<std::size_t>(n - neighbour_self - 1)];
          theirs.clear();
          if (other >= 0)
            limited += for_each_pair(b, other, n, most_leaves, [&](auto& p, int k, auto& q, int j, auto& at, float d2) {
              list(mine, b, p, k, other, q, j, n, at, d2);
              list(theirs, other, q, j, b, p, k, 26 - n, at, d2);
            });
        } else if (other >= topology.local_count()) {
          for_each_pair(other, b, 26 - n, most_leaves, [&](auto& p, int k, auto& q, int j, auto& at, float d2) {
            list(mine, b, q, j, other, p, k, n, at, d2);
          });
        }
      }
      crowded += width * limited;
      blind += s.neighbourhood == Neighbourhood::trajectory && looks_far(topology, b);
    }
  });
  parallel_for(0, buckets, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t bucket = begin; bucket < end; ++bucket) {
      std::vector<Meeting>& mine = candidates_[bucket];
      for (int n = 0; n < neighbour_self; ++n)
        if (const int other = topology.neighbours(static_cast<int>(bucket))[static_cast<std::size_t>(n)];
            other >= 0 && other < topology.local_count()) {
          const auto& sent = sent_[static_cast<std::size_t>(other)][static_cast<std::size_t>(neighbour_self - n - 1)];
          mine.insert(mine.end(), sent.begin(), sent.end());
        }
      keep_first(mine);
    }
  });
  counts.crowded = crowded, counts.blind = blind;
}

/// Whether droplets of a bucket may meet some that are not in the buckets around it: they move too far.
bool Meetings::looks_far(const Topology& topology, int b) const {
  if (trees_.empty(b)) return false;
  const SweptBounds& mine = trees_.bounds(b);
  for (const int other : topology.neighbours(b)) {
    if (other < 0 || trees_.empty(other)) continue;
    const SweptBounds& theirs = trees_.bounds(other);
    float way = 0;
    for (int a = 0; a < 3; ++a) way = std::max({way, theirs.fast[a] - mine.slow[a], mine.fast[a] - theirs.slow[a]});
    if (static_cast<double>(way) + 2 * largest_ > bucket_size) return true;
  }
  return false;
}

void Meetings::pair_up(Exec& exec, const ParticleSystem& particles, const MeetingSettings& s, MeetingCounts& counts) {
  const Topology& topology = particles.topology();
  std::vector<std::uint64_t> first(static_cast<std::size_t>(topology.total_count()) + 1);
  for (int b = 0; b <= topology.total_count(); ++b) first[static_cast<std::size_t>(b)] = particles.first(b);
  word_.assign(first.back(), nobody);
  met_.resize(candidates_.size());
  for (auto& list : met_) list.clear();
  const auto tell = [&] {
    if (exec.comm.size() > 1)
      exchange_halo(exec.comm, topology, reinterpret_cast<std::byte*>(word_.data()), first, sizeof(std::int64_t));
  };
  const auto at = [&](int b, std::uint32_t index) -> std::int64_t& {
    return word_[first[static_cast<std::size_t>(b)] + index];
  };
  /// Calls fn(bucket, droplet's candidates) for each droplet that is not taken.
  const auto for_each_free = [&](auto&& fn) {
    parallel_for(0, candidates_.size(), 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t bucket = begin; bucket < end; ++bucket) {
        const std::span<const Meeting> all = candidates_[bucket];
        for (std::size_t i = 0; i < all.size();) {
          std::size_t last = i + 1;
          while (last < all.size() && all[last].droplet == all[i].droplet) ++last;
          if (at(static_cast<int>(bucket), all[i].droplet) != taken)
            fn(static_cast<int>(bucket), all.subspan(i, last - i));
          i = last;
        }
      }
    });
  };
  const auto partner = [&](int b, const Meeting& m) {
    return topology.neighbours(b)[static_cast<std::size_t>(m.neighbour)];
  };
  for (int round = 0; round < s.rounds; ++round) {
    // Name: words of this round are written while `taken` ones of the last are read, so names go to a list first.
    std::vector<std::vector<const Meeting*>> named(candidates_.size());
    for_each_free([&](int b, std::span<const Meeting> mine) {
      for (const Meeting& m : mine)
        if (at(partner(b, m), m.other) != taken) return named[static_cast<std::size_t>(b)].push_back(&m);
    });
    parallel_for(0, named.size(), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b)
        for (const Meeting* m : named[b]) at(static_cast<int>(b), m->droplet) = m->other_id;
    });
    tell();
    std::atomic<std::int64_t> matched = 0;
    std::vector<std::vector<const Meeting*>> agreed(candidates_.size());
    parallel_for(0, named.size(), 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t bucket = begin; bucket < end; ++bucket) {
        const int b = static_cast<int>(bucket);
        for (const Meeting* m : named[bucket]) {
          if (at(partner(b, *m), m->other) != m->id) continue;
          agreed[bucket].push_back(m);
          matched += m->id < m->other_id;
        }
      }
    });
    parallel_for(0, agreed.size(), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) {
        for (const Meeting* m : named[b]) at(static_cast<int>(b), m->droplet) = nobody;
        for (const Meeting* m : agreed[b]) {
          at(static_cast<int>(b), m->droplet) = taken;
          met_[b].push_back(*m);
        }
      }
    });
    counts.pairs += matched;
    if (!exec.comm.any(matched > 0)) break;
    if (round + 1 < s.rounds) tell();
  }
  parallel_for(0, met_.size(), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) std::sort(met_[b].begin(), met_[b].end(), earlier);
  });
}

}  // namespace aegir
