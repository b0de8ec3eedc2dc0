#include "surfacing/filters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "io/vdb_volumes.h"
#include "numerics/transfer/lanes.h"
#include "parallel/threads.h"
#include "surfacing/redistance.h"
#include "surfacing/surface_attributes.h"
#include "surfacing/surface_shares.h"

namespace aegir {
namespace {

using lanes::Line;

constexpr std::size_t grain = 16;
constexpr int widest = 4;

/// How much of a filter reaches each voxel of a bucket: out has 512 values.
using MaskFunction = std::function<void(const BandGrid&, std::size_t slot, float* out)>;

float share(double value, const FilterMask& mask) {
  const double range = mask.full - mask.none;
  return static_cast<float>(range == 0 ? value >= mask.full : std::clamp((value - mask.none) / range, 0.0, 1.0));
}

Result<MaskFunction> make_mask(const FilterMask& mask, const PointSet& points) {
  if (mask.empty()) return MaskFunction();
  if (!mask.attribute.empty()) {
    const PointAttribute* a = points.find(mask.attribute);
    if (!a) return missing_attribute(points, mask.attribute);
    return MaskFunction([a, mask](const BandGrid& grid, std::size_t slot, float* out) {
      for (int v = 0; v < 512; ++v) {
        const std::int32_t owner = grid.owners(slot)[v];
        out[v] = owner < 0 ? 0.0f : share(magnitude_of(*a, static_cast<std::size_t>(owner)), mask);
      }
    });
  }
  auto field = VolumeField::read(mask.volume, mask.grid);
  if (!field) return field.error();
  if ((*field)->is_vector())
    return usage_error({}, "the mask '{}' of {} holds vectors; a mask is made of numbers", mask.grid, mask.volume);
  return MaskFunction([volume = *field, mask](const BandGrid& grid, std::size_t slot, float* out) {
    std::vector<Vec3d> at(512);
    for (int v = 0; v < 512; ++v)
      at[static_cast<std::size_t>(v)] =
          (Vec3d(grid.keys()[slot] * 8 + Vec3i{v >> 6, v >> 3 & 7, v & 7}) + Vec3d(0.5)) * grid.voxel();
    volume->values(at, {out, 512});
    for (int v = 0; v < 512; ++v)
      out[v] = volume->is_level_set() ? static_cast<float>(out[v] < 0) : share(out[v], mask);
  });
}

/// The mask, less where particles are alone.
MaskFunction sparing_droplets(MaskFunction mask, const std::vector<float>& company) {
  return [mask = std::move(mask), &company](const BandGrid& grid, std::size_t slot, float* out) {
    if (mask)
      mask(grid, slot, out);
    else
      std::fill_n(out, 512, 1.0f);
    for (int v = 0; v < 512; ++v)
      if (const std::int32_t owner = grid.owners(slot)[v]; owner >= 0)
        out[v] *= company[static_cast<std::size_t>(owner)];
  };
}

/// Weighted sum over a cube, axis by axis: 3 (2w + 1) multiplications per voxel and a little around the bucket.
template <int Width>
void smooth(const PaddedTile<float, Width>& tile, const std::array<float, 2 * widest + 1>& weight, float* out) {
  constexpr int side = 8 + 2 * Width;
  Line along_z[side][side], along_y[side][8];
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      Line sum{};
      for (int k = -Width; k <= Width; ++k)
        sum += tile.line(i - Width, j - Width, k) * lanes::spread(weight[static_cast<std::size_t>(k + Width)]);
      along_z[i][j] = sum;
    }
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < 8; ++j) {
      Line sum{};
      for (int k = 0; k <= 2 * Width; ++k)
        sum += along_z[i][j + k] * lanes::spread(weight[static_cast<std::size_t>(k)]);
      along_y[i][j] = sum;
    }
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      Line sum{};
      for (int k = 0; k <= 2 * Width; ++k)
        sum += along_y[i + k][j] * lanes::spread(weight[static_cast<std::size_t>(k)]);
      store_row(out + (i * 8 + j) * 8, sum);
    }
}

std::array<float, 2 * widest + 1> weights(const SurfaceFilter& filter) {
  std::array<float, 2 * widest + 1> weight{};
  float sum = 0;
  for (int k = -filter.width; k <= filter.width; ++k) {
    const double sigma = 0.5 * filter.width;
    const double w = filter.kind == FilterKind::mean ? 1 : std::exp(-k * k / (2 * sigma * sigma));
    sum += weight[static_cast<std::size_t>(k + filter.width)] = static_cast<float>(w);
  }
  for (float& w : weight) w /= sum;
  return weight;
}

void median(const PaddedTile<float, 1>& tile, float band, float* out) {
  std::array<float, 27> values;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 8; ++k) {
        float& to = out[(i * 8 + j) * 8 + k] = tile(i, j, k);
        if (std::abs(to) >= band) continue;
        std::size_t n = 0;
        for (int a = -1; a <= 1; ++a)
          for (int b = -1; b <= 1; ++b)
            for (int c = -1; c <= 1; ++c) values[n++] = tile(i + a, j + b, k + c);
        std::nth_element(values.begin(), values.begin() + 13, values.end());
        to = values[13];
      }
}

/// κ |∇φ| = (Σ_{a≠b} φ_a² φ_bb - 2 Σ_{a<b} φ_a φ_b φ_ab) / |∇φ|², with central differences.
void curvature_step(const PaddedTile<float, 1>& t, float* out) {
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const auto at = [&](int a, int b, int c) { return t.line(i + a, j + b, c); };
      const Line c = at(0, 0, 0), half = lanes::spread(0.5f), quarter = lanes::spread(0.25f);
      const Line x = half * (at(1, 0, 0) - at(-1, 0, 0)), y = half * (at(0, 1, 0) - at(0, -1, 0)),
                 z = half * (at(0, 0, 1) - at(0, 0, -1));
      const Line xx = at(1, 0, 0) + at(-1, 0, 0) - c - c, yy = at(0, 1, 0) + at(0, -1, 0) - c - c,
                 zz = at(0, 0, 1) + at(0, 0, -1) - c - c;
      const Line xy = quarter * (at(1, 1, 0) + at(-1, -1, 0) - at(1, -1, 0) - at(-1, 1, 0)),
                 xz = quarter * (at(1, 0, 1) + at(-1, 0, -1) - at(1, 0, -1) - at(-1, 0, 1)),
                 yz = quarter * (at(0, 1, 1) + at(0, -1, -1) - at(0, 1, -1) - at(0, -1, 1));
      const Line above = x * x * (yy + zz) + y * y * (xx + zz) + z * z * (xx + yy) -
                         lanes::spread(2) * (x * y * xy + x * z * xz + y * z * yz);
      const Line flow = above / (x * x + y * y + z * z + lanes::spread(1e-6f));
      store_row(out + (i * 8 + j) * 8, c + lanes::spread(1.0f / 6) * flow);
    }
}

/// Runs a kernel over all buckets: kernel(tile, out) gives the filtered values of one.
template <int Width, class Kernel>
void over_buckets(BandGrid& grid, bool never_raise, const MaskFunction& mask, const Kernel& kernel) {
  PooledBuffer buffer = grid.more_values();
  parallel_for(0, grid.size(), grain, [&](std::size_t begin, std::size_t end) {
    PaddedTile<float, Width> tile;
    float part[512];
    for (std::size_t s = begin; s < end; ++s) {
      grid.load(grid.values(), s, tile);
      float* out = reinterpret_cast<float*>(buffer.data()) + s * 512;
      kernel(tile, out);
      if (mask) mask(grid, s, part);
      const float* before = grid.bucket(s);
      for (int v = 0; v < 512; ++v) {
        if (mask) out[v] = before[v] + part[v] * (out[v] - before[v]);
        if (never_raise) out[v] = std::min(out[v], before[v]);
      }
    }
  });
  grid.swap_values(buffer);
}

/// Distances again, also where the surface has gone.
void renew(BandGrid& grid, const MaskFunction& mask) {
  grid = redistance(std::move(grid), {.nearly = true});
  if (mask) extend_owners(grid);
}

template <int Width>
void smooth_all(BandGrid& grid, const SurfaceFilter& filter, const MaskFunction& mask) {
  const auto weight = weights(filter);
  over_buckets<Width>(grid, filter.never_raise, mask,
                      [&](const PaddedTile<float, Width>& tile, float* out) { smooth<Width>(tile, weight, out); });
}

void shift(BandGrid& grid, const SurfaceFilter& filter, const MaskFunction& mask) {
  double left = filter.kind == FilterKind::dilate ? filter.distance : -filter.distance;
  while (left != 0) {
    const double step = std::clamp(left, -1.0, 1.0);
    left = std::abs(left) > 1 ? left - step : 0;
    over_buckets<1>(grid, filter.never_raise, mask, [&](const PaddedTile<float, 1>& tile, float* out) {
      for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j)
          store_row(out + (i * 8 + j) * 8, tile.line(i, j) - lanes::spread(static_cast<float>(step)));
    });
    if (left != 0) renew(grid, mask);
  }
}

void filter_once(BandGrid& grid, const SurfaceFilter& filter, const MaskFunction& mask) {
  using Tile = PaddedTile<float, 1>;
  switch (filter.kind) {
    case FilterKind::mean:
    case FilterKind::gaussian:
      if (filter.width == 1) return smooth_all<1>(grid, filter, mask);
      if (filter.width == 2) return smooth_all<2>(grid, filter, mask);
      if (filter.width == 3) return smooth_all<3>(grid, filter, mask);
      return smooth_all<4>(grid, filter, mask);
    case FilterKind::median:
      return over_buckets<1>(grid, filter.never_raise, mask,
                             [&](const Tile& t, float* out) { median(t, grid.band(), out); });
    case FilterKind::mean_curvature:
      return over_buckets<1>(grid, filter.never_raise, mask, [](const Tile& t, float* out) { curvature_step(t, out); });
    case FilterKind::dilate:
    case FilterKind::erode:
      return shift(grid, filter, mask);
  }
}

}  // namespace

Status apply_filter(BandGrid& grid, const SurfaceFilter& filter, const PointSet& points,
                    const std::vector<float>* company) {
  if (filter.width < 1 || filter.width > widest)
    return usage_error({}, "the width of a filter is {} voxels; it must be 1 to {}, more is done by iterations",
                       filter.width, widest);
  if (filter.iterations < 0 || filter.iterations > 10000)
    return usage_error({}, "a filter has {} iterations; it must be 0 to 10000", filter.iterations);
  if (!(filter.distance >= 0 && filter.distance <= 1000))
    return usage_error({}, "the distance of a filter is {} voxels; it must be 0 to 1000", filter.distance);
  auto mask = make_mask(filter.mask, points);
  const Status made = mask ? Status() : Status(mask.error());
  if (Status ok = grid.shares() ? grid.shares()->comm().agree(made) : made; !ok) return ok;
  if (grid.size() == 0 && !grid.shares()) return {};
  if (filter.spare_droplets && company) {
    *mask = sparing_droplets(std::move(*mask), *company);
    extend_owners(grid);
  }
  // Curvature moves the surface by a fraction of a voxel and keeps distances nearly what they are.
  const int between = filter.kind == FilterKind::mean_curvature ? 3 : 1;
  for (int i = 0; i < filter.iterations; ++i) {
    filter_once(grid, filter, *mask);
    if ((i + 1) % between == 0 || i + 1 == filter.iterations) renew(grid, *mask);
  }
  return {};
}

}  // namespace aegir
