// A padded copy of one bucket and the cells around it, so that a stencil is written once and never asks who owns what.
#pragma once

#include <cstring>
#include <utility>

#include "base/assert.h"
#include "domain/grid/topology.h"

namespace aegir {

namespace detail {
template <class T>
struct RowOf {
  typedef T type __attribute__((vector_size(bucket_size * sizeof(T))));
};
}  // namespace detail

/// Scalars of which eight make one vector register of every CPU we run on.
template <class T>
concept FitsRow = sizeof(T) == 4;

/// Eight values along z as one SIMD value: + - * / and comparisons work on all of them, scalars spread.
template <FitsRow T>
using Row = typename detail::RowOf<T>::type;

/// Eight values from anywhere in memory.
template <FitsRow T>
inline Row<T> load_row(const T* from) {
  Row<T> row;
  std::memcpy(&row, from, sizeof row);
  return row;
}
template <FitsRow T>
inline void store_row(T* to, const Row<T>& row) {
  std::memcpy(to, &row, sizeof row);
}

/// Halo<h>: the full cube of neighbours h cells around the bucket.  Star<h>: only across the six faces (7-point
/// stencils).
template <int Width>
struct Halo {
  static constexpr int width = Width;
  static constexpr bool star = false;
};
template <int Width>
struct Star {
  static constexpr int width = Width;
  static constexpr bool star = true;
};

/// (8+2h)×(8+2h) rows of 8+2h values; rows start so that the bucket's own values are aligned.
template <class T, int Width>
struct PaddedTile {
  static_assert(Width >= 1 && Width <= 4, "halos are 1 to 4 cells wide");
  static constexpr int side = bucket_size + 2 * Width;
  static constexpr int pitch = 16;
  static constexpr int lead = 4;
  alignas(64) T values[side * side * pitch];

  PaddedTile() {}  // not zeroed: loading fills what may be read

  /// Value at cell (i, j, k), each in [-Width, 8 + Width).
  T operator()(int i, int j, int k) const {
    AEGIR_CHECK(i >= -Width && i < 8 + Width && j >= -Width && j < 8 + Width && k >= -Width && k < 8 + Width,
                "read beyond the declared halo");
    return row(i, j)[k];
  }
  /// The eight values at (i, j, first) … (i, j, first + 7): `c.line(i, j, 1)` is the bucket's row seen one cell
  /// further.
  auto line(int i, int j, int first = 0) const requires FitsRow<T> {
    AEGIR_CHECK(i >= -Width && i < 8 + Width && j >= -Width && j < 8 + Width && first >= -Width && first <= Width,
                "read beyond the declared halo");
    return load_row(row(i, j) + first);
  }
  /// The row along z; its index runs from -Width to 7 + Width.
  const T* row(int i, int j) const { return values + ((i + Width) * side + (j + Width)) * pitch + lead; }
  T* row(int i, int j) { return values + ((i + Width) * side + (j + Width)) * pitch + lead; }
};

namespace detail {

/// Where a tile finds the values of one neighbour: its bucket, or one run of background that every row reads.
template <class T>
struct TileSource {
  const T* values;
  std::ptrdiff_t mask;  // -1, or 0 for the background
  const T* at(int i, int j, int k) const { return values + (mask & cell_offset(i, j, k)); }
};

template <int Count, class T>
inline void copy_run(T* to, const T* from) {
  if constexpr (Count == bucket_size && FitsRow<T>)
    store_row(to, load_row(from));
  else
    std::memcpy(to, from, Count * sizeof(T));
}

/// Copies the part of a tile that the neighbour at offset (X, Y, Z) covers.
template <int W, int X, int Y, int Z, class T>
inline void copy_part(PaddedTile<T, W>& tile, const TileSource<T>& source) {
  constexpr auto begin = [](int d) { return d < 0 ? -W : d * bucket_size; };
  constexpr auto count = [](int d) { return d == 0 ? bucket_size : W; };
  constexpr auto start = [](int d) { return d < 0 ? bucket_size - W : 0; };
  for (int i = 0; i < count(X); ++i)
    for (int j = 0; j < count(Y); ++j)
      copy_run<count(Z)>(tile.row(begin(X) + i, begin(Y) + j) + begin(Z),
                         source.at(start(X) + i, start(Y) + j, start(Z)));
}

}  // namespace detail

/// How many buckets ahead memory is asked for: 64 along the curve hold four in five of the neighbours still to come.
inline constexpr int read_ahead = 64;

namespace detail {
/// Asks for part `part` of `parts` of a bucket's memory; spread over other work, so that requests do not queue up.
template <class T>
inline void prefetch_part(const T* values, int part, int parts) {
  constexpr int lines = bucket_cells * static_cast<int>(sizeof(T)) / 64;
  const auto* bytes = reinterpret_cast<const char*>(values);
  for (int l = lines * part / parts; l < lines * (part + 1) / parts; ++l) __builtin_prefetch(bytes + 64 * l, 0, 2);
}
}  // namespace detail

/// Fills a tile from one plane of a channel laid out over the topology; where no bucket is, the background.
template <class Pad, class T>
void load_tile(PaddedTile<T, Pad::width>& tile, const Topology& topology, int bucket, const T* plane, T background) {
  constexpr int w = Pad::width;
  const auto& neighbours = topology.neighbours(bucket);
  const T* own = plane + static_cast<std::size_t>(bucket) * bucket_cells;
  const T* ahead = bucket + read_ahead < topology.local_count() ? own + read_ahead * bucket_cells : own;
  T outside[bucket_size];
  for (T& value : outside) value = background;
  const auto source = [&](int n) -> detail::TileSource<T> {
    const int other = neighbours[static_cast<std::size_t>(n)];
    if (other < 0) return {outside, 0};
    AEGIR_CHECK(topology.relation(bucket, n) == Relation::same, "halos across levels come with the gas solver");
    return {plane + static_cast<std::size_t>(other) * bucket_cells, -1};
  };
  if constexpr (Pad::star) {
    // The bucket and its two neighbours along z share rows, which are put together in one pass.
    const auto below = source(neighbour_index(0, 0, -1)), above = source(neighbour_index(0, 0, 1));
    for (int i = 0; i < bucket_size; ++i) {
      detail::prefetch_part(ahead, i, bucket_size);
      for (int j = 0; j < bucket_size; ++j) {
        T* to = tile.row(i, j);
        detail::copy_run<w>(to - w, below.at(i, j, bucket_size - w));
        detail::copy_run<bucket_size>(to, own + cell_offset(i, j, 0));
        detail::copy_run<w>(to + bucket_size, above.at(i, j, 0));
      }
    }
    detail::copy_part<w, -1, 0, 0>(tile, source(neighbour_index(-1, 0, 0)));
    detail::copy_part<w, 1, 0, 0>(tile, source(neighbour_index(1, 0, 0)));
    detail::copy_part<w, 0, -1, 0>(tile, source(neighbour_index(0, -1, 0)));
    detail::copy_part<w, 0, 1, 0>(tile, source(neighbour_index(0, 1, 0)));
  } else {
    [&]<std::size_t... N>(std::index_sequence<N...>) {
      ((detail::prefetch_part(ahead, N, 27),
        detail::copy_part<w, static_cast<int>(N) / 9 - 1, static_cast<int>(N) / 3 % 3 - 1, static_cast<int>(N) % 3 - 1>(
            tile, source(N))),
       ...);
    }
    (std::make_index_sequence<27>{});
  }
}

}  // namespace aegir
