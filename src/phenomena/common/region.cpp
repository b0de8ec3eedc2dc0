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

Box moved(const Box& box, const Pose& pose) {
  Box r;
  for (int c = 0; c < 8; ++c)
    r.add(pose.apply({c & 1 ? box.max.x : box.min.x, c & 2 ? box.max.y : box.min.y, c & 4 ? box.max.z : box.min.z}));
  return r;
}

double projected_area(const Region& region, const Vec3d& along) {
  if (region.bounds.empty() || !(length(along) > 0)) return 0;
  const Vec3d d = normalized(along), helper = std::abs(d.x) < 0.6 ? Vec3d{1, 0, 0} : Vec3d{0, 1, 0};
  const Vec3d u = normalized(cross(d, helper)), v = cross(d, u), center = region.bounds.center();
  // The shadow of the bounds, and their depth.
  const auto half = [size = region.bounds.size()](const Vec3d& axis) {
    return 0.5 * (std::abs(axis.x) * size.x + std::abs(axis.y) * size.y + std::abs(axis.z) * size.z);
  };
  const double width = half(u), height = half(v), depth = half(d);
  constexpr int lines = 96, steps = 96;
  std::int64_t entries = 0;
  for (int i = 0; i < lines; ++i)
    for (int j = 0; j < lines; ++j) {
      const Random draw(1, static_cast<std::uint64_t>(i * lines + j), 0, Purpose::seeding);
      const Vec3d line = center + u * (width * (2 * (i + draw.uniform(0)) / lines - 1)) +
                         v * (height * (2 * (j + draw.uniform(1)) / lines - 1));
      bool inside = false;
      for (int k = 0; k < steps; ++k) {
        const Vec3d x = line + d * (depth * (2 * (k + 0.5) / steps - 1));
        const bool now = region.bounds.contains(x) && region.distance(x, depth) < 0;
        entries += now && !inside;
        inside = now;
      }
    }
  return static_cast<double>(entries) * (2 * width / lines) * (2 * height / lines);
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
    std::vector<Where> where(static_cast<std::size_t>(side_ * side_ * side_));
    if (!look(origin_ + Vec3d(bucket) * bucket_width(), {}, side_, where)) return;
    std::size_t n = 0;
    for (int i = 0; i < side_; ++i)
      for (int j = 0; j < side_; ++j)
        for (int k = 0; k < side_; ++k, ++n) {
          if (where[n] == Where::outside) continue;
          if (const auto x = place(bucket * side_ + Vec3i{i, j, k}, where[n] == Where::deep); x && keep_(*x))
            out.push_back(*x);
        }
  }

 private:
  enum class Where : std::uint8_t { outside, near, deep };

  /// Where the points of a cube of `size` points at `first` are, as far as the distance at the middle of the cube, and
  /// of its eighths, tells: distances of meshes are dear. `low` is the bucket's corner. False when all are outside.
  bool look(const Vec3d& low, const Vec3i& first, int size, std::vector<Where>& where) const {
    const double half_diagonal = size * step_ * 0.8661, margin = half_diagonal + 2 * step_;
    const double at_center = region_.distance(low + (Vec3d(first) + Vec3d(0.5 * size)) * step_, margin);
    if (at_center > half_diagonal + (s_.stagger >= 0 ? step_ : 0.0)) return false;  // they are outside to begin with
    const bool deep = at_center <= -margin;
    if (!deep && size > 2 && size % 2 == 0) {
      bool any = false;
      for (int eighth = 0; eighth < 8; ++eighth) {
        const Vec3i shift = Vec3i{eighth >> 2, eighth >> 1 & 1, eighth & 1} * (size / 2);
        any |= look(low, first + shift, size / 2, where);
      }
      return any;
    }
    for (int i = 0; i < size; ++i)
      for (int j = 0; j < size; ++j) {
        const int row = ((first.x + i) * side_ + first.y + j) * side_ + first.z;
        std::fill_n(where.begin() + row, size, deep ? Where::deep : Where::near);
      }
    return true;
  }

  Random draw_at(const Vec3i& index, std::uint64_t what) const {
    const auto bits = [](std::int32_t v) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(v)); };
    return {static_cast<std::uint64_t>(s_.seed), mix(bits(index.x) | bits(index.y) << 32) ^ bits(index.z), what,
            Purpose::seeding};
  }
  std::optional<Vec3d> place(const Vec3i& index, bool deep) const {
    const Random draw = draw_at(index, 0);
    Vec3d x;
    for (int a = 0; a < 3; ++a)
      x[a] = origin_[a] + (index[a] + 0.5 + s_.jitter * (draw.uniform(static_cast<std::uint32_t>(a)) - 0.5)) * step_;
    if (s_.stagger >= 0) x += staggered(index) * step_;
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
  /// Columns along the flow are shifted by a random phase; layers across it by the fractions of two irrational numbers
  /// (Roberts' sequence: powers of the plastic number), so that the edges of the region cut as much from each layer as
  /// is theirs on average.
  Vec3d staggered(const Vec3i& index) const {
    constexpr double irrational[2] = {0.7548776662466927, 0.5698402909980532};
    const int along = s_.stagger;
    Vec3i column = index;
    column[along] = 0;
    Vec3d shift;
    shift[along] = draw_at(column, 1).uniform(0) - 0.5;
    for (int n = 0; n < 2; ++n) {
      const double layers = index[along] * irrational[n];
      shift[(along + 1 + n) % 3] = layers - std::floor(layers) - 0.5;
    }
    return shift;
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
  const double beyond = settings.stagger >= 0 ? 0.5 * settings.spacing / settings.per_axis : 0.0;
  Vec3i low, high;
  for (int a = 0; a < 3; ++a) {
    low[a] = static_cast<int>(std::floor((region.bounds.min[a] - beyond - lattice.origin()[a]) / width));
    high[a] = static_cast<int>(std::floor((region.bounds.max[a] + beyond - lattice.origin()[a]) / width));
  }
  std::vector<BucketKey> keys;
  for (int i = low.x; i <= high.x; ++i)
    for (int j = low.y; j <= high.y; ++j)
      for (int k = low.z; k <= high.z; ++k)
        if (const BucketKey key{{i, j, k}, 0}; addressable(key)) keys.push_back(key);
  sort_unique(keys);
  // The lattice hangs from the surface or moves: whose place its buckets are in is asked in the world.
  const auto owner = [&](const BucketKey& key) {
    const BucketKey place = locate(lattice.origin() + (Vec3d(key.coord) + Vec3d(0.5)) * width, settings.spacing).key;
    return addressable(place) ? partition.owner(curve_position(place)) : 0;
  };
  std::vector<std::vector<Vec3d>> filled;
  const auto fill = [&](std::size_t first, std::size_t last) {
    filled.assign(last - first, {});
    parallel_for(first, last, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b)
        if (owner(keys[b]) == exec.comm.rank()) lattice.fill(keys[b].coord, filled[b - first]);
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
