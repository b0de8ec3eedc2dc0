#include "solvers/linear/pressure_network.h"

#include <fmt/format.h>
#include <immintrin.h>

#include <bit>
#include <cmath>

#include "base/simd.h"
#include "domain/for_each_bucket.h"
#include "domain/volume/upper_access.h"
#include "solvers/linear/free_surface.h"

namespace aegir {
namespace {

/// Sums and reciprocals of weights up to here stay numbers in single precision.
constexpr float greatest_area = 1e15f;

/// What is wrong with the first bad cell of a bucket.
enum class Wrong : std::uint8_t { nothing, area, distance, rhs };

struct Look {
  BucketShape shape;
  Wrong wrong = Wrong::nothing;
  std::int16_t cell = 0;
  std::int32_t unknowns = 0;
};

/// Lanes that are set, as bits.
inline unsigned lanes(const Row<std::int32_t>& m) {
  return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(m)));
}

bool all(const Row<std::int32_t>& m) { return lanes(m) == 0xff; }

/// True when a side is open to liquid or closed as a whole; then `closed` says which. `row(n)` is the n-th row of
/// areas, of distances beyond.
template <class Area, class Distance>
bool plain_side(const Area& area, const Distance& beyond, int side, Sides& closed) {
  Row<std::int32_t> open = Row<std::int32_t>{} - 1, shut = open;
  for (int n = 0; n < 8; ++n) {
    open &= (area(n) == 1.0f) & (beyond(n) < 0.0f);
    shut &= area(n) == 0.0f;
  }
  if (all(open)) return true;
  closed = static_cast<Sides>(closed | (1 << side));
  return all(shut);
}

/// The eight values at (n, 0 … 7, k) of a tile.
template <class Tile>
Row<float> column(const Tile& t, int n, int k) {
  Row<float> v;
  for (int j = 0; j < 8; ++j) v[j] = t.row(n, j)[k];
  return v;
}

/// The eight values at (n, 0 … 7, 0) of a bucket.
Row<float> first_faces(const float* bucket, int n) {
  Row<float> v;
  for (int j = 0; j < 8; ++j) v[j] = bucket[cell_offset(n, j, 0)];
  return v;
}

template <class Distance, class Areas>
bool is_uniform(const Distance& d, const Areas& area, Sides& closed) {
  Row<std::int32_t> good = Row<std::int32_t>{} - 1;
  Row<std::int32_t> inner = good;  // along z, all but the bucket's first face
  inner[0] = 0;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      good &= d.line(i, j) < 0.0f;
      if (i > 0) good &= area[0].line(i, j) == 1.0f;
      if (j > 0) good &= area[1].line(i, j) == 1.0f;
      good &= (area[2].line(i, j) == 1.0f) | ~inner;
    }
  closed = 0;
  return all(good) &&
         plain_side([&](int n) { return area[0].line(0, n); }, [&](int n) { return d.line(-1, n); }, 0, closed) &&
         plain_side([&](int n) { return area[0].upper(7, n); }, [&](int n) { return d.line(8, n); }, 1, closed) &&
         plain_side([&](int n) { return area[1].line(n, 0); }, [&](int n) { return d.line(n, -1); }, 2, closed) &&
         plain_side([&](int n) { return area[1].upper(n, 7); }, [&](int n) { return d.line(n, 8); }, 3, closed) &&
         plain_side([&](int n) { return first_faces(area[2].own, n); }, [&](int n) { return column(d, n, -1); }, 4,
                    closed) &&
         plain_side([&](int n) { return first_faces(area[2].next, n); }, [&](int n) { return column(d, n, 8); }, 5,
                    closed);
}

template <class Rhs>
bool finite(const Rhs& rhs) {
  Row<float> sum{};
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) sum += rhs.line(i, j) * 0.0f;
  for (int k = 0; k < 8; ++k)
    if (sum[k] != 0) return false;
  return true;
}

/// Cells that are not liquid among liquid with open faces below.
template <class Distance, class Areas>
ChangeBox unlike(const Distance& d, const Areas& area) {
  BoxOfCells box;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      Row<std::int32_t> plain = (d.line(i, j) < 0.0f) & (d.line(i - 1, j) < 0.0f) & (d.line(i + 1, j) < 0.0f) &
                                (d.line(i, j - 1) < 0.0f) & (d.line(i, j + 1) < 0.0f);
      plain &= (load_row(d.row(i, j) - 1) < 0.0f) & (load_row(d.row(i, j) + 1) < 0.0f);
      for (std::size_t a = 0; a < 3; ++a) plain &= area[a].line(i, j) == 1.0f;
      box.add_row(i, j, ~lanes(plain) & 0xffu);
    }
  return box.box();
}

/// Counts the unknowns of a bucket; -1 when anything is wrong with it.
template <class Distance, class Areas, class Rhs>
std::int32_t count_unknowns(const Distance& d, const Areas& area, const Rhs& rhs) {
  const Row<float> zero{}, least = zero + least_diagonal;
  Row<std::int32_t> good = Row<std::int32_t>{} - 1;
  std::int32_t count = 0;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const Row<float> own = d.line(i, j), load = rhs.line(i, j);
      Row<float> open = zero;
      for (std::size_t a = 0; a < 3; ++a) {
        const Row<float> low = area[a].line(i, j), high = area[a].upper(i, j);
        good &= (low >= zero) & (low <= zero + greatest_area);
        open += (low > least ? low : zero) + (high > least ? high : zero);
      }
      const Row<std::int32_t> unknown = (own < zero) & (open > least);
      good &= (own - own == zero) & (~unknown | (load - load == zero));
      count += std::popcount(lanes(unknown));
    }
  return all(good) ? count : -1;
}

template <class Distance, class Areas, class Rhs>
Look find_wrong(const Distance& d, const Areas& area, const Rhs& rhs) {
  Look look;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const Row<float> lows[3] = {area[0].line(i, j), area[1].line(i, j), area[2].line(i, j)};
      const Row<float> highs[3] = {area[0].upper(i, j), area[1].upper(i, j), area[2].upper(i, j)};
      for (int k = 0; k < 8; ++k) {
        const float own = d(i, j, k);
        Wrong wrong = std::isfinite(own) ? Wrong::nothing : Wrong::distance;
        float open = 0;
        for (int a = 0; a < 3; ++a) {
          const float low = lows[a][k], high = highs[a][k];
          if (!(low >= 0 && low <= greatest_area)) wrong = Wrong::area;
          open += (low > least_diagonal ? low : 0.0f) + (high > least_diagonal ? high : 0.0f);
        }
        const bool unknown = own < 0 && open > least_diagonal;
        if (unknown && !std::isfinite(rhs(i, j, k))) wrong = Wrong::rhs;
        if (wrong != Wrong::nothing && look.wrong == Wrong::nothing) {
          look.wrong = wrong;
          look.cell = static_cast<std::int16_t>(cell_offset(i, j, k));
        }
        look.unknowns += unknown;
      }
    }
  return look;
}

template <class Distance, class Areas, class Rhs>
Look look_closely(const Distance& d, const Areas& area, const Rhs& rhs) {
  Look look;
  look.unknowns = count_unknowns(d, area, rhs);
  if (look.unknowns < 0) look = find_wrong(d, area, rhs);
  look.shape.unlike = unlike(d, area);
  look.shape.kind = look.unknowns ? BucketKind::mixed : BucketKind::empty;
  return look;
}

std::string describe(const Look& look, const BucketKey& key, const PressureChannels& channels) {
  const int c = look.cell;
  const Vec3i cell = key.coord * bucket_size + Vec3i{c >> 6, (c >> 3) & 7, c & 7};
  const char* channel = look.wrong == Wrong::area       ? channels.area.name
                        : look.wrong == Wrong::distance ? channels.distance.name
                                                        : channels.rhs.name;
  return fmt::format("'{}' of cell ({}, {}, {}) is {}", channel, cell.x, cell.y, cell.z,
                     look.wrong == Wrong::area ? "negative, beyond 1e15 or not a number" : "not a finite number");
}

// Eight lanes: what every CPU we run on has; the compiler takes comparisons of longer vectors apart.
using Line = Row<float>;
using Mask = Row<std::int32_t>;

/// True when any lane is set.
inline __attribute__((always_inline)) bool any(const Mask& m) {
  typedef std::int64_t Words __attribute__((vector_size(32)));
  const Words w = reinterpret_cast<Words>(m);
  return ((w[0] | w[1]) | (w[2] | w[3])) != 0;
}

/// ghost_fluid_sink() for eight cells at once; 0 where the cell is no liquid or its neighbour is.
inline __attribute__((always_inline)) Line sink_towards(const Line& area, const Line& own, const Line& other) {
  const Line zero{}, theta = own / (own - other);
  return own < zero && !(other < zero) ? area / (theta > least_theta ? theta : zero + least_theta) : zero;
}

/// Areas too small to count are closed.
inline __attribute__((always_inline)) Line open(const Line& area) {
  return area > Line{} + least_diagonal ? area : Line{};
}

/// Links and sinks along one axis: eight cells at a time; nothing is divided where there is no surface.
AEGIR_HOT void axis_network(const float* __restrict d, const float* __restrict area, int stride, float* __restrict link,
                            float* __restrict sink) {
  constexpr int row = bucket_size, last = NetworkTile::cells - row;
  const Line zero{};
  for (int c = 0; c <= last; c += row) {
    const Line own = load_row(d + c), below = c >= stride ? load_row(d + c - stride) : zero;
    const Line above = c + stride <= last ? load_row(d + c + stride) : zero - 1.0f;
    const Line low = open(load_row(area + c));
    store_row(link + c, own < zero && below < zero ? low : zero);
    Line sinks = zero;
    if (any(own < zero && !(below < zero)) && c >= stride) sinks = sink_towards(low, own, below);
    if (any(own < zero && !(above < zero))) sinks += sink_towards(open(load_row(area + c + stride)), own, above);
    store_row(sink + c, sinks);
  }
}

}  // namespace

PressureOutline outline(Exec& exec, DiscreteVolume& volume, const PressureChannels& channels) {
  const Topology& t = volume.topology();
  std::vector<Look> looks(static_cast<std::size_t>(t.local_count()));
  for_each_bucket(
      exec, "pressure.outline", t,
      [&](const Bucket& bucket, auto& distance, auto& area, auto& rhs) {
        Look& look = looks[static_cast<std::size_t>(bucket.index)];
        Sides closed = 0;
        if (is_uniform(distance, area, closed) && finite(rhs))
          look = {{BucketKind::uniform, closed}, Wrong::nothing, 0, bucket_cells};
        else
          look = look_closely(distance, area, rhs);
      },
      volume.read<Star<1>>(channels.distance), read_upper(volume, channels.area), volume.read(channels.rhs));
  PressureOutline result;
  Status found;
  if (volume.store(channels.distance.name).info.background[0] < 0)
    found = simulation_error("the background of '{}' is negative: outside all buckets there can be no liquid",
                             channels.distance.name);
  for (std::size_t b = 0; b < looks.size(); ++b) {
    result.shapes.push_back(looks[b].shape);
    result.unknowns += looks[b].unknowns;
    if (found && looks[b].wrong != Wrong::nothing)
      found = simulation_error("{}", describe(looks[b], t.key(static_cast<int>(b)), channels));
  }
  found = exec.comm.agree(found);
  if (!found) result.trouble = found.error().message;
  result.unknowns = exec.comm.sum(result.unknowns);
  return result;
}

PressureTiles::PressureTiles(Exec& exec, DiscreteVolume& volume, const PressureChannels& channels)
    : distance_(volume.read<Halo<4>>(channels.distance)), area_(volume.read<Halo<4>>(channels.area)) {
  distance_.prepare(exec), area_.prepare(exec);
}

void PressureTiles::load(int bucket, NetworkTile& tile) const {
  static_assert(PaddedTile<float, 4>::side == NetworkTile::side && PaddedTile<float, 4>::pitch == NetworkTile::side);
  GridReadHalo<float, 1, Halo<4>>::View distance;
  GridReadHalo<float, 3, Halo<4>>::View area;
  distance_.load(distance, bucket), area_.load(area, bucket);
  for (int a = 0; a < 3; ++a)
    axis_network(distance.plane[0].values, area.plane[static_cast<std::size_t>(a)].values, NetworkTile::stride[a],
                 tile.link[a], tile.sink[a]);
}

}  // namespace aegir
