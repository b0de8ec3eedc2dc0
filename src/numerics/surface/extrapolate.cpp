#include "numerics/surface/extrapolate.h"

// Rows are handled as two vectors of eight floats, which every CPU we run on has.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "base/assert.h"
#include "domain/for_each_bucket.h"
#include "domain/transport/overlap.h"

namespace aegir {
namespace {

/// One bit per face: rows along z are bytes, [component][i * 8 + j].
struct FaceMasks {
  std::uint8_t source[3][64];  // open and known
  std::uint8_t open[3][64];
  std::uint64_t any_closed;
};

using Bits = std::uint16_t;
/// Sixteen rows of sixteen bits.
typedef Bits BitPlane __attribute__((vector_size(32)));

/// Bits of a bucket and four cells around it: [i + 4][j + 4], bit k + 4.
struct BitTile {
  alignas(32) Bits row[16][16];

  /// The rows (i, -4) … (i, 11), or those `shift` further along y; then the first or last one means nothing.
  BitPlane plane(int i, int shift = 0) const {
    BitPlane p;
    std::memcpy(&p, &row[i + 4][0] + shift, sizeof p);
    return p;
  }
  void set_plane(int i, const BitPlane& p) { std::memcpy(&row[i + 4][0], &p, sizeof p); }
};

using Line = Row<float>;

/// Bit l set where lane l is above zero.
inline std::uint8_t above_zero(const float* values) {
  return static_cast<std::uint8_t>(
      _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(values), _mm256_setzero_ps(), _CMP_GT_OQ)));
}

/// All bits of a lane set where its bit is.
inline __m256i lanes_of(unsigned bits) {
  const __m256i each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), each), each);
}

/// Puts a tile together from 64 bytes per bucket that `rows(bucket)` points to, `absent` where there is no bucket.
template <class RowsOfBucket>
void load_bits(BitTile& tile, const Topology& topology, int b, std::uint8_t absent, const RowsOfBucket& rows) {
  const auto& neighbours = topology.neighbours(b);
  std::uint8_t nothing[64];
  std::memset(nothing, absent, sizeof nothing);
  for (int ox = -1; ox <= 1; ++ox)
    for (int oy = -1; oy <= 1; ++oy) {
      const std::uint8_t* from[3];
      for (int oz = -1; oz <= 1; ++oz) {
        const int other = neighbours[static_cast<std::size_t>(neighbour_index(ox, oy, oz))];
        from[oz + 1] = other < 0 ? nothing : rows(other);
      }
      // Eight rows along y at once; of buckets beside this one along y, four count.
      const int at_j = oy < 0 ? 4 : 0, to_j = oy < 0 ? -4 : 8 * oy;
      for (int i = std::max(-4, 8 * ox); i < std::min(12, 8 * ox + 8); ++i) {
        const auto bytes = [&](int z) {
          return _mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from[z] + 8 * (i - 8 * ox))));
        };
        const __m128i low = _mm_srli_epi16(bytes(0), 4), middle = _mm_slli_epi16(bytes(1), 4);
        const __m128i rows_of_eight = _mm_or_si128(_mm_or_si128(low, middle), _mm_slli_epi16(bytes(2), 12));
        Bits eight[8];
        std::memcpy(eight, &rows_of_eight, sizeof eight);
        std::memcpy(&tile.row[i + 4][to_j + 4], eight + at_j, (oy == 0 ? 8 : 4) * sizeof(Bits));
      }
    }
}

/// What one component of one bucket works on.
struct Work {
  PaddedTile<float, 4> value;
  BitTile valued, open, next, exists;
  BitTile blocked[3];  // no way from the face below along this axis, for open faces
  bool any_blocked = false;

  /// From which of the six neighbours faces may take a value: below and above along x, y, z; for the rows (i, -3) …
  /// (i, 10).
  struct Givers {
    BitPlane of[6];
    BitPlane any() const { return of[0] | of[1] | of[2] | of[3] | of[4] | of[5]; }
  };
  Givers givers(int i) const {
    const BitPlane own = valued.plane(i);
    Givers all{{valued.plane(i - 1), valued.plane(i + 1), valued.plane(i, -1), valued.plane(i, 1), own << 1, own >> 1}};
    if (!any_blocked) return all;
    const BitPlane is_open = open.plane(i), z = blocked[2].plane(i), own_open = own & is_open;
    const Givers free{
        {all.of[0] & open.plane(i - 1) & ~blocked[0].plane(i), all.of[1] & open.plane(i + 1) & ~blocked[0].plane(i + 1),
         all.of[2] & open.plane(i, -1) & ~blocked[1].plane(i), all.of[3] & open.plane(i, 1) & ~blocked[1].plane(i, 1),
         (own_open << 1) & ~z, (own_open & ~z) >> 1}};
    Givers result;
    for (int n = 0; n < 6; ++n) result.of[n] = (free.of[n] & is_open) | (all.of[n] & ~is_open);
    return result;
  }

  /// Means of the given neighbours for the faces `fresh` of a row. 6 loads and 30 operations per eight faces.
  void average(int i, int j, Bits fresh, const Bits (*givers_of)[16]) {
    float* centre = value.row(i, j) - 4;
    const float* at[6] = {value.row(i - 1, j) - 4,
                          value.row(i + 1, j) - 4,
                          value.row(i, j - 1) - 4,
                          value.row(i, j + 1) - 4,
                          centre - 1,
                          centre + 1};
    Line mean[2];
    for (int half = 0; half < 2; ++half) {
      if (((fresh >> (8 * half)) & 255) == 0) continue;
      Line part[3];
      __m256i count = _mm256_setzero_si256();
      for (int a = 0; a < 3; ++a) {
        const __m256i below = lanes_of((givers_of[2 * a][j + 4] >> (8 * half)) & 255u);
        const __m256i above = lanes_of((givers_of[2 * a + 1][j + 4] >> (8 * half)) & 255u);
        part[a] = _mm256_add_ps(_mm256_and_ps(_mm256_loadu_ps(at[2 * a] + 8 * half), _mm256_castsi256_ps(below)),
                                _mm256_and_ps(_mm256_loadu_ps(at[2 * a + 1] + 8 * half), _mm256_castsi256_ps(above)));
        count = _mm256_sub_epi32(count, _mm256_add_epi32(below, above));
      }
      const __m256 number = _mm256_cvtepi32_ps(_mm256_max_epi32(count, _mm256_set1_epi32(1)));
      mean[half] = _mm256_div_ps((part[0] + part[1]) + part[2], number);
    }
    for (int half = 0; half < 2; ++half)
      if ((fresh >> (8 * half)) & 255)
        _mm256_maskstore_ps(centre + 8 * half, lanes_of((fresh >> (8 * half)) & 255u), mean[half]);
  }

  /// Layer after layer, each only as far around the bucket as later ones look.
  void run(int layers) {
    for (int layer = 1; layer <= layers; ++layer) {
      const int m = layers - layer;
      const Bits inside = static_cast<Bits>(((1u << (8 + 2 * m)) - 1) << (4 - m));
      BitPlane window;
      for (int j = -4; j < 12; ++j) window[j + 4] = j >= -m && j < 8 + m ? inside : Bits{0};
      for (int i = -m; i < 8 + m; ++i) {
        const BitPlane old = valued.plane(i);
        const Givers from = givers(i);
        const BitPlane fresh = ~old & exists.plane(i) & window & from.any();
        next.set_plane(i, old | fresh);
        const __m256i test = std::bit_cast<__m256i>(fresh);
        if (_mm256_testz_si256(test, test)) continue;
        alignas(32) Bits rows[16], givers_of[6][16];
        std::memcpy(rows, &fresh, sizeof rows), std::memcpy(givers_of, &from, sizeof givers_of);
        for (int j = -m; j < 8 + m; ++j)
          if (rows[j + 4]) average(i, j, rows[j + 4], givers_of);
      }
      for (int i = -m; i < 8 + m; ++i) valued.set_plane(i, next.plane(i));
    }
  }

  bool nothing_to_give() const {
    BitPlane any{};
    for (int i = -4; i < 12; ++i) any |= valued.plane(i);
    const __m256i test = std::bit_cast<__m256i>(any);
    return _mm256_testz_si256(test, test);
  }

  /// The bucket's faces, 0 where nothing arrived.
  void store(float* out) const {
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j) {
        const __m256i lanes = lanes_of((valued.row[i + 4][j + 4] >> 4) & 255u);
        _mm256_storeu_ps(out + cell_offset(i, j, 0),
                         _mm256_and_ps(_mm256_loadu_ps(value.row(i, j)), _mm256_castsi256_ps(lanes)));
      }
  }
};

/// What becomes of a component of a bucket.
enum Fate : std::int32_t { keep = -2, clear = -1 };  // or the number of its result

class Extrapolation {
 public:
  Extrapolation(Exec& exec, DiscreteVolume& volume, const ExtrapolateChannels& channels, BufferPool* pool)
      : exec_(exec), volume_(volume), topology_(volume.topology()), channels_(channels), pool_(pool) {}

  void run(int layers) {
    Stopwatch watch;
    HaloFlight flight(exec_.comm);
    require_access(volume_.owner(), channels_.velocity.name, AccessMode::read, layers);
    begin_ghosts(exec_, flight, topology_, volume_.store(channels_.velocity.name), layers);
    const BorderSplit split(topology_);
    masks_ = PooledBuffer(static_cast<std::size_t>(topology_.total_count()) * sizeof(FaceMasks), pool_);
    find_masks(split.border);
    flight.add(topology_, masks_.data(), sizeof(FaceMasks));
    find_masks(split.inner);
    fate_.resize(static_cast<std::size_t>(topology_.local_count()));
    std::size_t results = decide(split.inner, 0);
    results_ = PooledBuffer((results + 3 * split.border.size()) * bucket_cells * sizeof(float), pool_);
    work(layers, flight);
    flight.end();
    results = decide(split.border, results);
    work(layers, flight);
    commit();
    // Read 16 KB of neighbours and write 2 KB twice for each result; the scan reads what is known and the areas.
    const auto faces = 3 * std::int64_t{topology_.local_count()} * bucket_cells;
    exec_.profile.kernel("extrapolate", watch.seconds(),
                         4 * faces * (channels_.area ? 2 : 1) + static_cast<std::int64_t>(results) * 22 * 1024);
  }

 private:
  const FaceMasks& masks(int b) const { return reinterpret_cast<const FaceMasks*>(masks_.data())[b]; }
  float* result(std::int32_t number) {
    return reinterpret_cast<float*>(results_.data()) + static_cast<std::size_t>(number) * bucket_cells;
  }
  void find_masks(std::span<const int> buckets);
  std::size_t decide(std::span<const int> buckets, std::size_t results);
  Fate fate(int b, int axis) const;
  void prepare(Work& w, int b, int axis) const;
  void work(int layers, HaloFlight& flight);
  void commit();

  Exec& exec_;
  DiscreteVolume& volume_;
  const Topology& topology_;
  const ExtrapolateChannels& channels_;
  BufferPool* pool_;
  PooledBuffer masks_, results_;
  std::vector<std::array<std::int32_t, 3>> fate_;
  std::vector<int> busy_;  // buckets with results, of those decided upon last
};

void Extrapolation::find_masks(std::span<const int> buckets) {
  auto* all = reinterpret_cast<FaceMasks*>(masks_.data());
  const auto scan = [&](const Bucket& b, auto& known, const auto* area) {
    FaceMasks& m = all[b.index];
    m.any_closed = 0;
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (int r = 0; r < 64; ++r) {
        m.open[axis][r] = area ? above_zero((*area)[axis].values + 8 * r) : 255;
        m.any_closed |= m.open[axis][r] != 255;
        m.source[axis][r] = static_cast<std::uint8_t>(m.open[axis][r] & above_zero(known[axis].values + 8 * r));
      }
  };
  using Area = std::array<CellSpan<const float>, 3>;
  if (channels_.area)
    for_buckets(
        exec_, "find known faces", topology_, buckets,
        [&](const Bucket& b, auto& known, auto& area) { scan(b, known, &area); }, volume_.read(channels_.known),
        volume_.read(*channels_.area));
  else
    for_buckets(
        exec_, "find known faces", topology_, buckets,
        [&](const Bucket& b, auto& known) { scan(b, known, static_cast<const Area*>(nullptr)); },
        volume_.read(channels_.known));
}

Fate Extrapolation::fate(int b, int axis) const {
  const auto all = [&](const std::uint8_t* rows) {
    std::uint64_t both = ~std::uint64_t{0}, words[8];
    std::memcpy(words, rows, 64);
    for (const std::uint64_t w : words) both &= w;
    return both == ~std::uint64_t{0};
  };
  const auto none = [&](const std::uint8_t* rows) {
    std::uint64_t any = 0, words[8];
    std::memcpy(words, rows, 64);
    for (const std::uint64_t w : words) any |= w;
    return any == 0;
  };
  if (all(masks(b).source[axis])) return keep;
  for (const int n : topology_.neighbours(b))
    if (n >= 0 && !none(masks(n).source[axis])) return Fate{0};
  return clear;
}

/// What becomes of some buckets. Their results are numbered from `results` on; returns the number of the next one.
std::size_t Extrapolation::decide(std::span<const int> buckets, std::size_t results) {
  parallel_for(0, buckets.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (const int b : buckets.subspan(begin, end - begin))
      for (int axis = 0; axis < 3; ++axis)
        fate_[static_cast<std::size_t>(b)][static_cast<std::size_t>(axis)] = fate(b, axis);
  });
  busy_.clear();
  for (const int b : buckets) {
    const std::size_t before = results;
    for (std::int32_t& f : fate_[static_cast<std::size_t>(b)])
      if (f == 0) f = static_cast<std::int32_t>(results++);
    if (results > before) busy_.push_back(b);
  }
  return results;
}

/// Every row takes the bits of the row before it along y.
inline BitPlane before(const BitPlane& p) {
  Bits rows[17] = {};
  std::memcpy(rows + 1, &p, sizeof p);
  BitPlane result;
  std::memcpy(&result, rows, sizeof result);
  return result;
}

void Extrapolation::prepare(Work& w, int b, int axis) const {
  load_bits(w.valued, topology_, b, 0, [&](int other) { return masks(other).source[axis]; });
  w.any_blocked = false;
  if (w.nothing_to_give()) return;
  static constexpr std::array<std::uint8_t, 64> all = [] {
    std::array<std::uint8_t, 64> bytes{};
    for (auto& byte : bytes) byte = 255;
    return bytes;
  }();
  load_bits(w.exists, topology_, b, 0, [](int) { return all.data(); });
  for (const int n : topology_.neighbours(b)) w.any_blocked |= n >= 0 && masks(n).any_closed;
  if (!w.any_blocked) return;
  load_bits(w.open, topology_, b, 255, [&](int other) { return masks(other).open[axis]; });
  BitTile open;
  for (int a = 0; a < 3; ++a) {
    if (a == axis) {
      std::memset(&w.blocked[a], 0, sizeof(BitTile));
      continue;
    }
    // A step along a crosses the faces a of the two cells that the face lies between: blocked if both are closed.
    load_bits(open, topology_, b, 255, [&](int other) { return masks(other).open[a]; });
    for (int i = -4; i < 12; ++i) {
      const BitPlane own = ~open.plane(i);
      const BitPlane below = axis == 0   ? (i > -4 ? ~open.plane(i - 1) : BitPlane{})
                             : axis == 1 ? before(own)
                                         : own << 1;
      w.blocked[a].set_plane(i, own & below);
    }
  }
}

void Extrapolation::work(int layers, HaloFlight& flight) {
  const auto& store = std::as_const(volume_).store(channels_.velocity.name);
  for_parts(busy_, flight, [&](std::span<const int> buckets) {
    const auto w = std::make_unique<Work>();
    for (const int b : buckets)
      for (int axis = 0; axis < 3; ++axis) {
        const std::int32_t number = fate_[static_cast<std::size_t>(b)][static_cast<std::size_t>(axis)];
        if (number < 0) continue;
        prepare(*w, b, axis);
        if (w->nothing_to_give()) {
          std::memset(result(number), 0, bucket_cells * sizeof(float));
          continue;
        }
        load_tile<Halo<4>>(w->value, topology_, b, store.plane<float>(axis), 0.0f);
        w->run(layers);
        w->store(result(number));
      }
  });
}

void Extrapolation::commit() {
  auto access = volume_.write(channels_.velocity);
  access.prepare(exec_);
  using Access = decltype(access);
  parallel_for(0, fate_.size(), 8, [&](std::size_t begin, std::size_t end) {
    typename Access::View view;
    for (std::size_t b = begin; b < end; ++b) {
      access.load(view, static_cast<int>(b));
      for (std::size_t axis = 0; axis < 3; ++axis) {
        float* out = view.plane[axis].values;
        const std::int32_t number = fate_[b][axis];
        if (number >= 0)
          std::memcpy(out, result(number), bucket_cells * sizeof(float));
        else if (number == clear)
          std::memset(out, 0, bucket_cells * sizeof(float));
      }
    }
  });
  access.finish(exec_);
}

}  // namespace

void extrapolate(Exec& exec, DiscreteVolume& volume, const ExtrapolateChannels& channels, int layers,
                 BufferPool* pool) {
  AEGIR_ASSERT(layers >= 1 && layers <= 4, "extrapolation reaches one to four faces far");
  Extrapolation(exec, volume, channels, pool).run(layers);
}

}  // namespace aegir
