#include "surfacing/redistance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "numerics/transfer/lanes.h"
#include "parallel/threads.h"
#include "surfacing/surface_shares.h"

namespace aegir {
namespace {

using lanes::Line;
using Tile = PaddedTile<float, 1>;

constexpr float far = 1000;  // voxels: not known yet
constexpr std::size_t grain = 16;
constexpr int sweeps = 3;

/// How fast |φ| falls towards a neighbour, over |φ|: 1 / t where the sign changes after the way t; 0 where it rises.
AEGIR_INLINE Line fall(const Line& here, const Line& there) {
  const Line size = lanes::magnitude(here) + lanes::spread(1e-6f);
  // The neighbour as seen from our side: negative beyond the level.
  const Line sign = _mm256_and_ps(lanes::spread(-0.0f), _mm256_cmp_ps(here, Line{}, _CMP_LT_OQ));
  return lanes::positive(lanes::spread(1) - Line(_mm256_xor_ps(there, sign)) / size);
}

AEGIR_INLINE __m256 below(const Line& v) { return _mm256_cmp_ps(v, Line{}, _CMP_LT_OQ); }

/// Distances beside the zero level, ± far elsewhere; bit n of the result: the band around them may reach neighbour n.
std::uint32_t find_level(const Tile& t, float band, bool nearly, float* out) {
  Vec3i low(8), high(-1);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const Line c = t.line(i, j);
      const Line near[6] = {t.line(i - 1, j), t.line(i + 1, j), t.line(i, j - 1),
                            t.line(i, j + 1), t.line(i, j, -1), t.line(i, j, 1)};
      Line sum{};
      __m256 beside{};
      for (int a = 0; a < 6; a += 2) {
        const Line most = _mm256_max_ps(fall(c, near[a]), fall(c, near[a + 1]));
        sum += most * most;
        beside = _mm256_or_ps(
            beside, _mm256_or_ps(_mm256_xor_ps(below(c), below(near[a])), _mm256_xor_ps(below(c), below(near[a + 1]))));
      }
      // |φ| / |∇φ|, of which the sum holds (|∇φ| / |φ|)².
      Line found = lanes::spread(1) / Line(_mm256_sqrt_ps(sum));
      if (nearly) {
        const Line size = lanes::magnitude(c), slope = size / found;
        const __m256 good = _mm256_and_ps(_mm256_cmp_ps(slope, lanes::spread(0.7f), _CMP_GT_OQ),
                                          _mm256_cmp_ps(slope, lanes::spread(1.4f), _CMP_LT_OQ));
        found = _mm256_blendv_ps(found, Line(_mm256_max_ps(size, lanes::spread(1e-6f))), good);
      }
      const Line distance = _mm256_blendv_ps(lanes::spread(far), found, beside);
      const Line sign = _mm256_and_ps(lanes::spread(-0.0f), _mm256_cmp_ps(c, Line{}, _CMP_LT_OQ));
      store_row(out + (i * 8 + j) * 8, Line(_mm256_or_ps(distance, sign)));
      if (const int lanes_beside = _mm256_movemask_ps(beside)) {
        low = min(low, Vec3i{i, j, __builtin_ctz(static_cast<unsigned>(lanes_beside))});
        high = max(high, Vec3i{i, j, 31 - __builtin_clz(static_cast<unsigned>(lanes_beside))});
      }
    }
  if (high.x < 0) return 0;
  const int reach = static_cast<int>(std::ceil(band));
  std::uint32_t bits = 0;
  for (int n = 0; n < 27; ++n) {
    const Vec3i at{n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1};
    bool reached = true;
    for (int a = 0; a < 3; ++a) reached &= at[a] == 0 || (at[a] < 0 ? low[a] - reach < 0 : high[a] + reach > 7);
    bits |= static_cast<std::uint32_t>(reached) << n;
  }
  return bits;
}

/// Solution of |∇u| = 1 from the least neighbour along each axis: one, two or three of them count.
AEGIR_INLINE Line upwind(const Line& x, const Line& y, const Line& z) {
  const Line a0 = _mm256_min_ps(x, y), b0 = _mm256_max_ps(x, y);
  const Line a = _mm256_min_ps(a0, z), rest = _mm256_max_ps(a0, z);
  const Line b = _mm256_min_ps(b0, rest), c = _mm256_max_ps(b0, rest);
  const Line one = a + lanes::spread(1);
  const Line gap = b - a;
  const Line two = lanes::spread(0.5f) * (a + b + Line(_mm256_sqrt_ps(lanes::positive(lanes::spread(2) - gap * gap))));
  const Line sum = a + b + c, squares = a * a + b * b + c * c;
  const Line three =
      (sum + Line(_mm256_sqrt_ps(lanes::positive(sum * sum - lanes::spread(3) * (squares - lanes::spread(1)))))) *
      lanes::spread(1.0f / 3);
  const Line u = _mm256_blendv_ps(one, two, _mm256_cmp_ps(one, b, _CMP_GT_OQ));
  return _mm256_blendv_ps(u, three, _mm256_cmp_ps(u, c, _CMP_GT_OQ));
}

/// One row; voxels beside another sign keep their distance.
AEGIR_INLINE void update_row(Tile& t, int i, int j) {
  const Line c = t.line(i, j), x0 = t.line(i - 1, j), x1 = t.line(i + 1, j), y0 = t.line(i, j - 1),
             y1 = t.line(i, j + 1), z0 = t.line(i, j, -1), z1 = t.line(i, j, 1);
  const auto differs = [&](const Line& n) { return _mm256_xor_ps(c, n); };
  const __m256 fixed =
      _mm256_or_ps(_mm256_or_ps(_mm256_or_ps(differs(x0), differs(x1)), _mm256_or_ps(differs(y0), differs(y1))),
                   _mm256_or_ps(differs(z0), differs(z1)));
  const auto least = [](const Line& a, const Line& b) {
    return Line(_mm256_min_ps(lanes::magnitude(a), lanes::magnitude(b)));
  };
  const Line size = lanes::magnitude(c);
  const Line found = _mm256_min_ps(size, upwind(least(x0, x1), least(y0, y1), least(z0, z1)));
  const Line kept = _mm256_blendv_ps(found, size, fixed);
  store_row(t.row(i, j), Line(_mm256_or_ps(kept, _mm256_and_ps(lanes::spread(-0.0f), c))));
}

/// Rows along z that can still change: those with a voxel, or a neighbour of one, that is nearer than the band.
class Front {
 public:
  explicit Front(const Tile& t) {
    for (int i = -1; i < 9; ++i)
      for (int j = -1; j < 9; ++j) look(t, i, j);
  }
  void look(const Tile& t, int i, int j) {
    const float* row = t.row(i, j);
    const Line v = lanes::magnitude(load_row(row));
    const __m128 half = _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 pair = _mm_min_ps(half, _mm_movehl_ps(half, half));
    const float inner = std::min(pair[0], pair[1]);
    // The two voxels at the ends, in the neighbours.
    least_[i + 1][j + 1] = std::min(inner, std::min(std::abs(row[-1]), std::abs(row[8])));
  }
  bool reaches(int i, int j, float band) const {
    const float* c = &least_[i + 1][j + 1];
    return std::min({c[0], c[1], c[-1], c[10], c[-10]}) < band;
  }

 private:
  float least_[10][10];
};

void sweep(Tile& t, Front& front, float band, bool backwards) {
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b) {
      const int i = backwards ? 7 - a : a, j = backwards ? 7 - b : b;
      if (!front.reaches(i, j, band)) continue;
      update_row(t, i, j);
      front.look(t, i, j);
    }
}

/// The buckets of the band around the level, and those inside of it.
struct Layout {
  std::vector<Vec3i> keys, inside;
};

/// Keys to the ranks that own them: those of this rank, also the ones that others ask for, are left.
void send_home(SurfaceShares& shares, std::vector<Vec3i>& keys, BucketMap& wanted) {
  Parcels parcels(shares.comm());
  std::erase_if(keys, [&](const Vec3i& key) {
    const int rank = shares.rank_of_bucket(key);
    if (rank != shares.comm().rank()) parcels.put(rank, key);
    return rank != shares.comm().rank();
  });
  for (Parcel& parcel : parcels.exchange())
    while (!parcel.at_end())
      if (const auto key = parcel.take<Vec3i>(); wanted.insert(key, 0).second) keys.push_back(key);
}

Layout lay_out(const BandGrid& field, const std::vector<std::uint32_t>& reached) {
  Layout layout;
  BucketMap wanted(2 * field.size());
  for (std::size_t s = 0; s < field.size(); ++s)
    for (std::uint32_t bits = reached[s]; bits != 0; bits &= bits - 1) {
      const int n = __builtin_ctz(bits);
      const Vec3i key = field.keys()[s] + Vec3i{n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1};
      if (wanted.insert(key, 0).second) layout.keys.push_back(key);
    }
  if (field.shares()) send_home(*field.shares(), layout.keys, wanted);
  std::sort(layout.keys.begin(), layout.keys.end(), key_less);
  for (const Vec3i& key : field.inside_keys())
    if (wanted.find(key) == BucketMap::none) layout.inside.push_back(key);
  for (std::size_t s = 0; s < field.size(); ++s)
    if (field.bucket(s)[0] < 0 && wanted.find(field.keys()[s]) == BucketMap::none)
      layout.inside.push_back(field.keys()[s]);
  std::sort(layout.inside.begin(), layout.inside.end(), key_less);
  return layout;
}

/// The new grid, with what is known of the distances.
BandGrid move_over(const BandGrid& field, const PooledBuffer& level, Layout layout) {
  BandGrid grid(field.voxel(), static_cast<int>(field.band()), std::move(layout.keys), std::move(layout.inside),
                field.has_owners(), field.pool(), field.shares());
  const auto* from = reinterpret_cast<const float*>(level.data());
  parallel_for(0, grid.size(), grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      const std::int32_t old = field.find(grid.keys()[s]);
      const auto o = static_cast<std::size_t>(old);
      if (old >= 0)
        std::memcpy(grid.bucket(s), from + o * 512, 512 * sizeof(float));
      else
        std::fill_n(grid.bucket(s), 512, old == BandGrid::inside ? -far : far);
      if (!grid.has_owners()) continue;
      if (old >= 0)
        std::memcpy(grid.owners(s), field.owners(o), 512 * sizeof(std::int32_t));
      else
        std::fill_n(grid.owners(s), 512, -1);
    }
  });
  grid.update_values(), grid.update_owners();
  return grid;
}

}  // namespace

BandGrid redistance(BandGrid field, const RedistanceOptions& options) {
  std::vector<std::uint32_t> reached(field.size());
  PooledBuffer level = field.more_values();
  parallel_for(0, field.size(), grain, [&](std::size_t begin, std::size_t end) {
    Tile tile;
    for (std::size_t s = begin; s < end; ++s) {
      field.load(field.values(), s, tile);
      reached[s] = find_level(tile, field.band(), options.nearly, reinterpret_cast<float*>(level.data()) + s * 512);
    }
  });
  BandGrid grid = move_over(field, level, lay_out(field, reached));
  field = BandGrid();
  level = grid.more_values();
  const int passes = options.whole_band ? 1 + static_cast<int>(std::ceil(grid.band() / 3)) : 1;
  for (int pass = 0; pass < passes; ++pass) {
    parallel_for(0, grid.size(), grain, [&](std::size_t begin, std::size_t end) {
      Tile tile;
      const Line band = lanes::spread(grid.band());
      for (std::size_t s = begin; s < end; ++s) {
        grid.load(grid.values(), s, tile);
        Front front(tile);
        for (int k = 0; k < sweeps; ++k) sweep(tile, front, grid.band(), k % 2 == 1);
        float* out = reinterpret_cast<float*>(level.data()) + s * 512;
        for (int i = 0; i < 8; ++i)
          for (int j = 0; j < 8; ++j) {
            const Line v = tile.line(i, j);
            store_row(out + (i * 8 + j) * 8, pass + 1 < passes ? v : lanes::clamped(v, -band, band));
          }
      }
    });
    grid.swap_values(level);
  }
  return grid;
}

namespace {

/// The owner of the neighbour, across a face, that is nearest to the surface; -1 where none is known.
std::int32_t owner_beside(const BandGrid& grid, std::size_t s, int v) {
  const std::int32_t* near = grid.around(s);
  std::int32_t found = -1;
  float least = 1e30f;
  for (int a = 0; a < 3; ++a)
    for (const int step : {-1, 1}) {
      Vec3i at{v >> 6, v >> 3 & 7, v & 7};
      at[a] += step;
      const std::int32_t other = near[(at.x >> 3) * 9 + (at.y >> 3) * 3 + (at.z >> 3) + 13];
      if (other < 0) continue;
      const auto o = static_cast<std::size_t>(other);
      const int w = ((at.x & 7) * 8 + (at.y & 7)) * 8 + (at.z & 7);
      const float size = std::abs(grid.bucket(o)[w]);
      if (grid.owners(o)[w] >= 0 && size < least) least = size, found = grid.owners(o)[w];
    }
  return found;
}

}  // namespace

void extend_owners(BandGrid& grid) {
  if (!grid.has_owners()) return;
  // Voxels that still lack an owner; what a layer finds is written when the whole layer has been looked at.
  std::vector<std::vector<std::uint16_t>> open(grid.size());
  std::vector<std::vector<OwnerChange>> found(grid.size());
  parallel_for(0, grid.size(), grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s)
      for (int v = 0; v < 512; ++v)
        if (grid.owners(s)[v] < 0 && std::abs(grid.bucket(s)[v]) < grid.band())
          open[s].push_back(static_cast<std::uint16_t>(v));
  });
  const int layers = static_cast<int>(grid.band()) + 1;
  for (int layer = 0; layer < layers; ++layer) {
    parallel_for(0, grid.size(), grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t s = begin; s < end; ++s) {
        found[s].clear();
        for (const std::uint16_t v : open[s])
          if (const std::int32_t owner = owner_beside(grid, s, v); owner >= 0) found[s].push_back({v, owner});
      }
    });
    parallel_for(0, grid.size(), grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t s = begin; s < end; ++s) {
        if (found[s].empty()) continue;
        for (const OwnerChange& f : found[s]) grid.owners(s)[f.voxel] = f.owner;
        std::erase_if(open[s], [&](std::uint16_t v) { return grid.owners(s)[v] >= 0; });
      }
    });
    grid.update_owners(found);
  }
}

}  // namespace aegir
