#include "phenomena/common/region.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "domain/grid/bucket_key.h"
#include "domain/grid/topology.h"
#include "parallel/threads.h"

namespace aegir {

Region below_level(double level, const Box& box) {
  Box bounds = box;
  bounds.max.y = std::min(bounds.max.y, level);
  return {bounds, [level](const Vec3d& x, double) { return x.y - level; }, level};
}

Region inside(const Shape& shape) {
  return {shape.bounds(), [shape](const Vec3d& x, double) { return shape.distance(x); }, {}};
}

Region inside(std::shared_ptr<const Surface> surface) {
  const Box bounds = surface->bounds();
  return {bounds,
          [surface = std::move(surface)](const Vec3d& x, double reach) { return surface->signed_distance(x, reach); },
          {}};
}

Region inside(std::shared_ptr<const VolumeField> level_set) {
  const Box bounds = level_set->bounds();
  return {bounds,
          [field = std::move(level_set)](const Vec3d& x, double) { return static_cast<double>(field->value(x)); },
          {}};
}

Region both(Region a, Region b) {
  Region r;
  r.bounds = {max(a.bounds.min, b.bounds.min), min(a.bounds.max, b.bounds.max)};
  r.level = a.level ? a.level : b.level;
  r.distance = [f = std::move(a.distance), g = std::move(b.distance)](const Vec3d& x, double reach) {
    return std::max(f(x, reach), g(x, reach));
  };
  return r;
}

namespace {

/// Lattice points of one bucket, tested and moved into place.
class Lattice {
 public:
  Lattice(const Region& region, const SeedSettings& s, FunctionRef<bool(const Vec3d&)> keep)
      : region_(region),
        s_(s),
        keep_(keep),
        step_(s.spacing / s.per_axis),
        side_(bucket_size * s.per_axis),
        origin_(s.offset) {
    if (region.level) origin_.y = *region.level;
  }

  double bucket_width() const { return side_ * step_; }
  const Vec3d& origin() const { return origin_; }

  void fill(const Vec3i& bucket, std::vector<Vec3d>& out) const {
    const Vec3d low = origin_ + Vec3d(bucket) * bucket_width();
    const double half_diagonal = bucket_width() * 0.8661;
    const double at_center = region_.distance(low + Vec3d(0.5 * bucket_width()), half_diagonal + step_);
    if (at_center > half_diagonal) return;
    const bool deep = at_center < -half_diagonal - step_;
    for (int i = 0; i < side_; ++i)
      for (int j = 0; j < side_; ++j)
        for (int k = 0; k < side_; ++k)
          if (const auto x = place(bucket * side_ + Vec3i{i, j, k}, deep); x && keep_(*x)) out.push_back(*x);
  }

 private:
  std::optional<Vec3d> place(const Vec3i& index, bool deep) const {
    const auto bits = [](std::int32_t v) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(v)); };
    const Random draw(static_cast<std::uint64_t>(s_.seed), mix(bits(index.x) | bits(index.y) << 32) ^ bits(index.z), 0,
                      Purpose::seeding);
    Vec3d x;
    for (int a = 0; a < 3; ++a)
      x[a] = origin_[a] + (index[a] + 0.5 + s_.jitter * (draw.uniform(static_cast<std::uint32_t>(a)) - 0.5)) * step_;
    if (!region_.bounds.contains(x)) return {};
    if (deep) return x;
    const double d = region_.distance(x, 2 * step_);
    if (!(d < 0)) return {};
    if (d > -step_ && s_.jitter > 0 && s_.smooth_surface) {
      const Vec3d moved = x - gradient(x) * (d + 0.5 * step_);
      if (region_.bounds.contains(moved)) x = moved;
    }
    return x;
  }
  Vec3d gradient(const Vec3d& x) const {
    const double e = 0.01 * step_;
    Vec3d g;
    for (int a = 0; a < 3; ++a) {
      Vec3d up = x, down = x;
      up[a] += e, down[a] -= e;
      g[a] = region_.distance(up, 2 * step_) - region_.distance(down, 2 * step_);
    }
    return normalized(g);
  }

  const Region& region_;
  const SeedSettings& s_;
  FunctionRef<bool(const Vec3d&)> keep_;
  double step_;
  int side_;
  Vec3d origin_;
};

}  // namespace

std::int64_t seed(Exec& exec, const Partition& partition, const Region& region, const SeedSettings& settings,
                  FunctionRef<bool(const Vec3d&)> keep, FunctionRef<void(const Seeds&)> take) {
  if (region.bounds.empty()) return 0;
  const Lattice lattice(region, settings, keep);
  const double width = lattice.bucket_width();
  Vec3i low, high;
  for (int a = 0; a < 3; ++a) {
    low[a] = static_cast<int>(std::floor((region.bounds.min[a] - lattice.origin()[a]) / width));
    high[a] = static_cast<int>(std::floor((region.bounds.max[a] - lattice.origin()[a]) / width));
  }
  std::vector<BucketKey> keys;
  for (int i = low.x; i <= high.x; ++i)
    for (int j = low.y; j <= high.y; ++j)
      for (int k = low.z; k <= high.z; ++k)
        if (const BucketKey key{{i, j, k}, 0}; addressable(key)) keys.push_back(key);
  sort_unique(keys);
  std::vector<std::vector<Vec3d>> filled;
  const auto fill = [&](std::size_t first, std::size_t last) {
    filled.assign(last - first, {});
    parallel_for(first, last, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b)
        if (partition.owner(curve_position(keys[b])) == exec.comm.rank())
          lattice.fill(keys[b].coord, filled[b - first]);
    });
  };
  constexpr std::size_t chunk = 256;
  std::int64_t numbered = 0;
  for (std::size_t first = 0; first < keys.size(); first += chunk) {
    fill(first, std::min(first + chunk, keys.size()));
    std::vector<std::int64_t> counts(filled.size());
    for (std::size_t b = 0; b < filled.size(); ++b) counts[b] = static_cast<std::int64_t>(filled[b].size());
    exec.comm.sum(std::span<std::int64_t>(counts));  // each bucket has one owner
    for (std::size_t b = 0; b < filled.size(); ++b) {
      if (!filled[b].empty()) take({filled[b], numbered});
      numbered += counts[b];
    }
  }
  return numbered;
}

double expected_seeds(const Region& region, const SeedSettings& settings) {
  if (region.bounds.empty()) return 0;
  // A coarse count of where the region is: enough for a forecast.
  constexpr int n = 24;
  int hits = 0;
  const Vec3d size = region.bounds.size();
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k)
        hits += region.distance(region.bounds.min + multiply(size, Vec3d(i + 0.5, j + 0.5, k + 0.5) / n), 1e300) < 0;
  const double volume = size.x * size.y * size.z * hits / (n * n * n);
  return volume * std::pow(settings.per_axis / settings.spacing, 3);
}

}  // namespace aegir
