// Vectors run along the rows of a tile, whatever axis is being coarsened: along z the rows are first split into even
// and odd cells.
#include "solvers/linear/coarsen.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include <immintrin.h>

#include "domain/volume/tile.h"

namespace aegir {
namespace {

constexpr int side = NetworkTile::side, plane = side * side, pitch = NetworkTile::pitch;

/// Shares of what an upper bound by convexity would add for links between cells with unequal weights: towards a sink,
/// and diagonally. Whole shares make the coarse network too stiff, none too weak; measured over waves, plates,
/// perforated walls and random mazes, 0.3 needs the fewest iterations.
constexpr float sink_share = 0.3f, diagonal_share = 0.3f;

// Eight lanes: what every CPU we run on has; the compiler takes comparisons of longer vectors apart.
typedef float Lanes __attribute__((vector_size(32)));

/// What the links across the coarsened axis between eliminated cells are shared out to, by the upper cell of each link.
struct Shares {
  alignas(64) float own_link[pitch], next_link[pitch];
  alignas(64) float own_sink[pitch], next_sink[pitch];              // of the upper cell
  alignas(64) float own_sink_below[pitch], next_sink_below[pitch];  // of the lower cell
  alignas(64) float along[pitch], along_below[pitch];
  std::uint8_t uneven[pitch / 8];  // by eight cells: all but the links may differ from zero
};

struct Scratch {
  alignas(64) float own[pitch], next[pitch];
  Shares shares[2];
  NetworkTile tile[2];
};

/// One step: in `from`, the kept cell of a pair lies at e, the eliminated one at e + Odd, the next kept one at e +
/// Next. Rows run across pairs, except along z, where they run along them. B and C are the other axes, StrideB and
/// StrideC the ways to their next cells.
template <int Axis, int Odd, int Next, int B, int StrideB, int C, int StrideC>
struct Step {
  using V = Lanes;
  const NetworkTile& from;
  Scratch& s;

  static inline __attribute__((always_inline)) V at(const float* p) {
    V v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
  static inline __attribute__((always_inline)) void put(float* p, const V& v) { __builtin_memcpy(p, &v, sizeof v); }
  static inline __attribute__((always_inline)) V least(const V& a, const V& b) { return _mm256_min_ps(a, b); }

  /// own and next of the eliminated cells of a row.
  inline __attribute__((always_inline)) void weigh(int e) const {
    const int o = e + Odd;
    const V zero{}, one = zero + 1.0f;
    const V below = at(from.link[Axis] + o), above = at(from.link[Axis] + e + Next), sink = at(from.sink[Axis] + o);
    // All that makes the kept cell an unknown; where it is none, the eliminated cell takes its place.
    const V even =
        ((below + at(from.link[Axis] + e)) + (at(from.sink[0] + e) + at(from.sink[1] + e))) +
        ((at(from.sink[2] + e) + at(from.link[B] + e)) + (at(from.link[B] + e + StrideB) + at(from.link[C] + e))) +
        at(from.link[C] + e + StrideC);
    const V sum = below + above + sink, scale = sum > zero + least_diagonal ? one / sum : zero;
    const auto exists = even > zero + least_diagonal;
    put(s.own + o, exists ? below * scale : one);
    put(s.next + o, exists ? above * scale : zero);
  }

  /// Shares out the links across along one axis between the eliminated cells of a row and those `stride` below.
  template <int Across, int Stride>
  inline __attribute__((always_inline)) void share(int e, Shares& out) const {
    const int q = e + Odd, p = q - Stride;
    const V zero{}, one = zero + 1.0f;
    const V link = at(from.link[Across] + q);
    const V own_q = at(s.own + q), next_q = at(s.next + q), own_p = at(s.own + p), next_p = at(s.next + p);
    // Mostly both have the same weights: then their link goes to the links of the kept cells as it is.
    std::uint8_t& uneven = out.uneven[q / 8];
    const auto even = ((own_q == own_p) & (next_q == next_p)) | (link == zero);
    if (_mm256_movemask_ps(reinterpret_cast<__m256>(even)) == 0xff) {
      put(out.own_link + q, link * own_q);
      put(out.next_link + q, link * next_q);
      if (!uneven) return;
      for (float* rest :
           {out.own_sink, out.next_sink, out.own_sink_below, out.next_sink_below, out.along, out.along_below})
        put(rest + q, zero);
      uneven = 0;
      return;
    }
    uneven = 1;
    const V sum_q = own_q + next_q, sum_p = own_p + next_p;
    // What rounding makes of 1 is 1: a pool without a sink must not get one.
    const V nearly = zero + (1 - 1e-6f);
    const V none_q = sum_q < nearly ? one - sum_q : zero, none_p = sum_p < nearly ? one - sum_p : zero;
    const V own = least(own_q, own_p), next = least(next_q, next_p), none = least(none_q, none_p);
    const V carried = least(sum_q, sum_p) > zero ? link : zero;
    // What is left on one side meets what is left on the other: first the sink, then the diagonal.
    const V lost_p = none_p - none, lost_q = none_q - none;
    const V own_sink_q = least(own_q - own, lost_p), next_sink_q = least(next_q - next, lost_p - own_sink_q);
    const V own_sink_p = least(own_p - own, lost_q), next_sink_p = least(next_p - next, lost_q - own_sink_p);
    const V diagonal = least(own_q - own - own_sink_q, next_p - next - next_sink_p) +
                       least(next_q - next - next_sink_q, own_p - own - own_sink_p);
    const V skew = carried * diagonal * diagonal_share;
    put(out.own_link + q, link * own + (own > zero ? skew : zero));
    put(out.next_link + q, link * next + (next > zero ? skew : zero));
    put(out.own_sink + q, carried * own_sink_q * sink_share);
    put(out.next_sink + q, carried * next_sink_q * sink_share);
    put(out.own_sink_below + q, carried * own_sink_p * sink_share);
    put(out.next_sink_below + q, carried * next_sink_p * sink_share);
    // Only where the row has a way along the axis: else it would lead through a wall. The other row then gets both.
    const V along = carried * diagonal * diagonal_share, twice = along + along;
    const auto open_q = least(own_q, next_q) > zero, open_p = least(own_p, next_p) > zero;
    put(out.along + q, open_q ? (open_p ? along : twice) : zero);
    put(out.along_below + q, open_p ? (open_q ? along : twice) : zero);
  }
  inline __attribute__((always_inline)) void share(int e) const {
    share<B, StrideB>(e, s.shares[0]);
    share<C, StrideC>(e, s.shares[1]);
  }

  template <int Across, int Stride>
  inline __attribute__((always_inline)) V gather_across(int e, int to, const Shares& in, NetworkTile& coarse) const {
    const int o = e + Odd, l = o - Next;
    put(coarse.link[Across] + to, at(from.link[Across] + e) + (at(in.own_link + o) + at(in.next_link + l)));
    const V sink = at(from.sink[Across] + e) +
                   (at(s.own + o) * at(from.sink[Across] + o) + at(s.next + l) * at(from.sink[Across] + l));
    constexpr int beyond = Stride < 8 ? 8 : Stride;  // a row shifted by one cell ends in the next eight
    if (!(in.uneven[o / 8] | in.uneven[l / 8] | in.uneven[(o + beyond) / 8] | in.uneven[(l + beyond) / 8])) {
      put(coarse.sink[Across] + to, sink);
      return V{};
    }
    put(coarse.sink[Across] + to, sink + ((at(in.own_sink + o) + at(in.next_sink + l)) +
                                          (at(in.own_sink_below + o + Stride) + at(in.next_sink_below + l + Stride))));
    return at(in.along + l) + at(in.along_below + l + Stride);
  }
  /// The coarse network of the kept cells of a row.
  inline __attribute__((always_inline)) void gather(int e, int to, NetworkTile& coarse) const {
    const int o = e + Odd, l = o - Next;
    const V along =
        gather_across<B, StrideB>(e, to, s.shares[0], coarse) + gather_across<C, StrideC>(e, to, s.shares[1], coarse);
    put(coarse.link[Axis] + to, at(s.own + l) * at(from.link[Axis] + e) + along);
    put(coarse.sink[Axis] + to,
        at(from.sink[Axis] + e) + (at(s.own + o) * at(from.sink[Axis] + o) + at(s.next + l) * at(from.sink[Axis] + l)));
  }
};

// Tile index i = 4 is the bucket's first cell, slot 2 its first coarse cell. Slots 2 … 5 are wanted, with weights up to
// slot 6 and everything one slot around.

void coarsen_x(const NetworkTile& tile, Scratch& s) {
  using X = Step<0, plane, 2 * plane, 1, side, 2, 1>;
  const X x{tile, s};
  for (int i = 0; i < 14; i += 2) {
    const int e = i * plane;
    for (int h = 0; h < 2 * side; ++h) x.weigh(e + 8 * h);
    for (int h = 2; h < 2 * side; ++h) x.share(e + 8 * h);
    if (i > 0)
      for (int h = 2; h < 30; ++h) x.gather(e + 8 * h, e / 2 + 8 * h, s.tile[0]);
  }
}

void coarsen_y(Scratch& s) {
  using Y = Step<1, side, 2 * side, 0, plane, 2, 1>;
  const Y y{s.tile[0], s};
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 14; j += 2) y.weigh(i * plane + j * side), y.weigh(i * plane + j * side + 8);
  for (int i = 1; i < 8; ++i)
    for (int j = 0; j < 14; j += 2) y.share(i * plane + j * side), y.share(i * plane + j * side + 8);
  for (int i = 1; i < 7; ++i)
    for (int j = 1; j < 7; ++j)
      for (int h = 0; h < 16; h += 8) y.gather(i * plane + 2 * j * side + h, i * plane + j * side + h, s.tile[1]);
}

/// Even cells of each row first, odd ones after them.
void split_z(const float* __restrict from, float* __restrict to) {
  for (int i = 1; i < 8; ++i)
    for (int j = 1; j < 8; ++j) {
      const int row = i * plane + j * side;
      for (int k = 0; k < 8; ++k) to[row + k] = from[row + 2 * k], to[row + 8 + k] = from[row + 2 * k + 1];
    }
}

void coarsen_z(Scratch& s) {
  using Z = Step<2, 8, 1, 0, plane, 1, side>;
  const Z z{s.tile[0], s};
  for (int i = 1; i < 7; ++i)
    for (int j = 1; j < 7; ++j) z.weigh(i * plane + j * side);
  for (int i = 2; i < 7; ++i)
    for (int j = 2; j < 7; ++j) z.share(i * plane + j * side);
  for (int i = 2; i < 6; ++i)
    for (int j = 2; j < 6; ++j) z.gather(i * plane + j * side, i * plane + j * side, s.tile[1]);
}

constexpr int lead = NetworkTile::lead;

void keep_x(const Scratch& s, TransferWeights& out) {
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j) {
      const int from = ((lead + 2 * i + 1) * side + j + lead) * side + lead;
      std::memcpy(out.own_x + (i * 8 + j) * 8, s.own + from, 8 * sizeof(float));
      std::memcpy(out.next_x + (i * 8 + j) * 8, s.next + from, 8 * sizeof(float));
    }
}
void keep_y(const Scratch& s, TransferWeights& out) {
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j) {
      const int from = ((lead / 2 + i) * side + lead + 2 * j + 1) * side + lead;
      std::memcpy(out.own_y + (i * 4 + j) * 8, s.own + from, 8 * sizeof(float));
      std::memcpy(out.next_y + (i * 4 + j) * 8, s.next + from, 8 * sizeof(float));
    }
}
void keep_z(const Scratch& s, TransferWeights& out) {
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) {
      const int from = ((lead / 2 + i) * side + lead / 2 + j) * side + 8 + lead / 2;
      std::memcpy(out.own_z + (i * 5 + j) * 4, s.own + from, 4 * sizeof(float));
      std::memcpy(out.next_z + (i * 5 + j) * 4, s.next + from, 4 * sizeof(float));
    }
}

}  // namespace

void coarsen(const NetworkTile& tile, NetworkBlock& block, TransferWeights& weights) {
  thread_local const auto scratch = std::make_unique<Scratch>();  // zeroed: the rows around those computed are read
  Scratch& s = *scratch;
  coarsen_x(tile, s);
  keep_x(s, weights);
  coarsen_y(s);
  keep_y(s, weights);
  for (int a = 0; a < 3; ++a)
    split_z(s.tile[1].link[a], s.tile[0].link[a]), split_z(s.tile[1].sink[a], s.tile[0].sink[a]);
  coarsen_z(s);
  keep_z(s, weights);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      for (int a = 0; a < 3; ++a) {
        const int from = ((i + 2) * side + j + 2) * side + 2, to = (i * 4 + j) * 4;
        std::memcpy(block.link[a] + to, s.tile[1].link[a] + from, 4 * sizeof(float));
        std::memcpy(block.sink[a] + to, s.tile[1].sink[a] + from, 4 * sizeof(float));
      }
}

bool extract(const NetworkTile& tile, NetworkBucket& bucket) {
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 8; ++j)
      std::memcpy(bucket.x + (i * 8 + j) * 8, tile.link[0] + NetworkTile::at(i, j, 0), 8 * sizeof(float));
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 9; ++j)
      std::memcpy(bucket.y + (i * 9 + j) * 8, tile.link[1] + NetworkTile::at(i, j, 0), 8 * sizeof(float));
  std::memset(bucket.z + 64 * 9, 0, 8 * sizeof(float));
  int any = 0;
  const auto row = [](const float* from, int at) { return load_row(from + at); };
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const int c = NetworkTile::at(i, j, 0), to = cell_offset(i, j, 0);
      std::memcpy(bucket.z + (i * 8 + j) * 9, tile.link[2] + c, 9 * sizeof(float));
      const Lanes sink = row(tile.sink[0], c) + row(tile.sink[1], c) + row(tile.sink[2], c);
      const Lanes along_z = row(tile.link[2], c) + row(tile.link[2], c + 1);
      const Lanes diagonal = sink + row(tile.link[0], c) + row(tile.link[0], c + NetworkTile::stride[0]) +
                             row(tile.link[1], c) + row(tile.link[1], c + NetworkTile::stride[1]) + along_z;
      const Lanes zero{}, damped = damped_diagonal(diagonal, along_z);
      const auto unknown = diagonal > zero + least_diagonal;
      store_row(bucket.sink + to, sink);
      store_row(bucket.relax + to, unknown ? (zero + 1.0f) / damped : zero);
      store_row(bucket.keep + to, unknown ? (damped - diagonal) / damped : zero);
      any |= _mm256_movemask_ps(reinterpret_cast<__m256>(unknown));
    }
  return any != 0;
}

}  // namespace aegir
