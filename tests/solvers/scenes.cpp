#include "tests/solvers/scenes.h"

#include <cmath>
#include <numbers>

#include "base/random.h"
#include "domain/for_each_bucket.h"
#include "solvers/linear/free_surface.h"

namespace aegir {
namespace {

constexpr std::array<Vec3i, 3> step{Vec3i{1, 0, 0}, Vec3i{0, 1, 0}, Vec3i{0, 0, 1}};

/// Share of a segment on which a linear function with these end values is positive.
double open_length(double a, double b) {
  if (a >= 0 && b >= 0) return 1;
  if (a < 0 && b < 0) return 0;
  return a >= 0 ? a / (a - b) : b / (b - a);
}

/// Share of the unit square on which the distance is positive, from its corners in circular order: marching squares,
/// where opposite corners of one sign are taken as separate.
double open_share(const std::array<double, 4>& corner) {
  int inside = 0;
  for (const double d : corner) inside += d < 0;
  if (inside == 0) return 1;
  if (inside == 4) return 0;
  if (inside == 2 && (corner[0] < 0) != (corner[1] < 0) && (corner[0] < 0) == (corner[3] < 0))
    return 0.5 * (open_length(corner[0], corner[1]) + open_length(corner[3], corner[2]));
  if (inside == 2 && (corner[0] < 0) == (corner[1] < 0))
    return 0.5 * (open_length(corner[0], corner[3]) + open_length(corner[1], corner[2]));
  double cut = 0;  // triangles at the corners whose sign is alone
  const bool alone = inside != 3;
  for (std::size_t i = 0; i < 4; ++i) {
    if ((corner[i] < 0) != alone) continue;
    const double next = corner[(i + 1) % 4], last = corner[(i + 3) % 4];
    const double a = open_length(corner[i], next), b = open_length(corner[i], last);
    cut += alone ? 0.5 * (1 - a) * (1 - b) : 0.5 * a * b;
  }
  return alone ? 1 - cut : cut;
}

}  // namespace

PressureScene::PressureScene(Kind kind, int n) : kind_(kind), n_(n) {
  wave_x_.resize(static_cast<std::size_t>(n)), wave_z_.resize(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    const double angle = 2 * std::numbers::pi * (i + 0.5) / n;
    wave_x_[static_cast<std::size_t>(i)] = std::sin(angle);
    wave_z_[static_cast<std::size_t>(i)] = std::cos(angle);
  }
}

float PressureScene::area(int axis, const Vec3i& cell) const {
  const Vec3i below = cell - step[static_cast<std::size_t>(axis)];
  if (!inside(cell) || !inside(below)) return 0;
  if (!solid_.empty() && (solid_[at(cell)] || solid_[at(below)])) return 0;
  return radius_ > 0 ? sphere_area(axis, cell) : 1.0f;
}

float PressureScene::sphere_area(int axis, const Vec3i& cell) const {
  Vec3d centre = Vec3d(cell) + Vec3d(0.5);
  centre[axis] -= 0.5;
  const Vec3d apart = centre - sphere_;
  const double squared = dot(apart, apart);
  if (squared > (radius_ + 1) * (radius_ + 1)) return 1;
  if (radius_ > 1 && squared < (radius_ - 1) * (radius_ - 1)) return 0;
  const int u = (axis + 1) % 3, v = (axis + 2) % 3;
  std::array<double, 4> corner;
  for (int i = 0; i < 4; ++i) {
    Vec3d at_corner = apart;
    at_corner[u] += (i == 1 || i == 2) ? 0.5 : -0.5;
    at_corner[v] += i >= 2 ? 0.5 : -0.5;
    corner[static_cast<std::size_t>(i)] = length(at_corner) - radius_;
  }
  const double open = open_share(corner);
  return open < 1e-3 ? 0.0f : static_cast<float>(open);
}

float PressureScene::surface_distance(const Vec3i& cell) const {
  const double wave = wave_x_[static_cast<std::size_t>(cell.x)] * wave_z_[static_cast<std::size_t>(cell.z)];
  return static_cast<float>(cell.y + 0.5 - n_ * (0.5 + 0.05 * wave));
}

float PressureScene::distance(const Vec3i& cell) const {
  if (!inside(cell)) return 1;
  if (kind_ == Kind::dam) return static_cast<float>(std::max(cell.x + 0.5 - 0.4 * n_, cell.y + 0.5 - 0.75 * n_));
  return distance_.empty() ? surface_distance(cell) : distance_[at(cell)];
}

/// Minus the flux out of the open faces.
float PressureScene::dam_source(const Vec3i& cell) const {
  const double q = 2.5 / n_, wave = 1 + 0.5 * wave_z_[static_cast<std::size_t>(cell.z)];
  const double u = q * (cell.y + 0.5 - 0.225 * n_) * wave, v = -1 - q * (cell.x + 0.5 - 0.2 * n_);
  const double below = 0.5 - static_cast<double>(cell.z) / n_, above = below - 1.0 / n_;
  return static_cast<float>(u * (area(0, cell) - area(0, cell + step[0])) +
                            v * (area(1, cell) - area(1, cell + step[1])) + below * area(2, cell) -
                            above * area(2, cell + step[2]));
}

float PressureScene::source(const Vec3i& cell) const {
  if (kind_ == Kind::dam) return dam_source(cell);
  const double smooth = wave_x_[static_cast<std::size_t>(cell.x)] * wave_z_[static_cast<std::size_t>(cell.z)] +
                        static_cast<double>(cell.y) / n_ - 0.25;
  return static_cast<float>(smooth + Random(3, at(cell), 0, Purpose::test).uniform(0, -1, 1));
}

bool PressureScene::any_open(const Vec3i& cell) const {
  for (int axis = 0; axis < 3; ++axis)
    if (area(axis, cell) > 0 || area(axis, cell + step[static_cast<std::size_t>(axis)]) > 0) return true;
  return false;
}

SceneRow PressureScene::row(const Vec3i& cell) const {
  SceneRow r;
  const float here = distance(cell);
  for (int f = 0; f < 6; ++f) {
    const int axis = f / 2;
    const Vec3i up = cell + step[static_cast<std::size_t>(axis)];
    const Vec3i other = f % 2 ? up : cell - step[static_cast<std::size_t>(axis)];
    const float open = area(axis, f % 2 ? up : cell);
    if (!(open > 0)) continue;
    // An open face makes a liquid neighbour an unknown, so the weight needs no further test.
    if (const float there = distance(other); there < 0)
      r.weight[static_cast<std::size_t>(f)] = open;
    else
      r.sink += ghost_fluid_sink(open, here, there);
  }
  return r;
}

bool PressureScene::constrained(const Vec3i& cell) const {
  if (!unknown(cell)) return false;
  for (int axis = 0; axis < 3; ++axis)
    if (!(area(axis, cell) > 0) || !(area(axis, cell + step[static_cast<std::size_t>(axis)]) > 0)) return true;
  return false;
}

/// Fills the cells between two corners given as shares of n; a plate has equal shares along its axis.
void PressureScene::add_plate(Vec3d low, Vec3d high) {
  Vec3i a, b;
  for (int axis = 0; axis < 3; ++axis) {
    a[axis] = static_cast<int>(low[axis] * n_);
    b[axis] = std::min(n_, std::max(a[axis] + 1, static_cast<int>(high[axis] * n_)));
  }
  for (int x = a.x; x < b.x; ++x)
    for (int y = a.y; y < b.y; ++y)
      for (int z = a.z; z < b.z; ++z) solid_[at({x, y, z})] = 1;
}

/// A wall across the whole box, 15 % of which is holes of one to three cells each way.
void PressureScene::add_perforated_wall(int axis, int position, std::uint64_t seed) {
  const std::size_t side = static_cast<std::size_t>(n_);
  std::vector<std::uint8_t> hole(side * side);
  const auto holes = static_cast<std::uint64_t>(-std::log(1 - 0.15) * n_ * n_ / 4);
  for (std::uint64_t h = 0; h < holes; ++h) {
    const Random random(seed, h, 0, Purpose::test);
    const std::size_t u = random.bits(0) % side, v = random.bits(1) % side;
    const std::size_t u_end = std::min(side, u + 1 + random.bits(2) % 3),
                      v_end = std::min(side, v + 1 + random.bits(3) % 3);
    for (std::size_t i = u; i < u_end; ++i)
      for (std::size_t j = v; j < v_end; ++j) hole[i * side + j] = 1;
  }
  for (int i = 0; i < n_; ++i)
    for (int j = 0; j < n_; ++j) {
      Vec3i cell;
      cell[axis] = position, cell[(axis + 1) % 3] = i, cell[(axis + 2) % 3] = j;
      if (!hole[static_cast<std::size_t>(i) * side + static_cast<std::size_t>(j)]) solid_[at(cell)] = 1;
    }
}

/// A hollow solid box; `low` and `high` are the first and last cells of its shell.
void PressureScene::add_chamber(Vec3i low, Vec3i high) {
  for (int x = low.x; x <= high.x; ++x)
    for (int y = low.y; y <= high.y; ++y)
      for (int z = low.z; z <= high.z; ++z) {
        const bool shell = x == low.x || x == high.x || y == low.y || y == high.y || z == low.z || z == high.z;
        solid_[at({x, y, z})] = shell;
        if (!shell) distance_[at({x, y, z})] = -4.0f;
      }
}

/// Balls of radius 1 to 4 cells, every tenth drop a single cell; as many per volume at every n as 600 at n = 128.
void PressureScene::add_drops_and_bubbles() {
  distance_.resize(static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_));
  for (int x = 0; x < n_; ++x)
    for (int y = 0; y < n_; ++y)
      for (int z = 0; z < n_; ++z) distance_[at({x, y, z})] = surface_distance({x, y, z});
  const int count = std::max(10, static_cast<int>(600 * std::pow(n_ / 128.0, 3)));
  for (int b = 0; b < count; ++b) {
    const Random random(7, static_cast<std::uint64_t>(b), 0, Purpose::test);
    const bool drop = b % 2;
    Vec3d centre{random.uniform(0), drop ? random.uniform(1, 0.56, 1) : random.uniform(1, 0, 0.44), random.uniform(2)};
    centre *= n_;
    double r = random.uniform(3, 1, 4);
    if (b % 20 == 1) {
      centre = {std::floor(centre.x) + 0.5, std::floor(centre.y) + 0.5, std::floor(centre.z) + 0.5};
      r = 0.6;
    }
    const int reach = static_cast<int>(r) + 3;
    for (int x = static_cast<int>(centre.x) - reach; x <= static_cast<int>(centre.x) + reach; ++x)
      for (int y = static_cast<int>(centre.y) - reach; y <= static_cast<int>(centre.y) + reach; ++y)
        for (int z = static_cast<int>(centre.z) - reach; z <= static_cast<int>(centre.z) + reach; ++z) {
          if (!inside({x, y, z})) continue;
          float& d = distance_[at({x, y, z})];
          const auto ball = static_cast<float>(length(Vec3d(x + 0.5, y + 0.5, z + 0.5) - centre) - r);
          d = drop ? std::min(d, ball) : std::max(d, -ball);
        }
  }
}

void PressureScene::add_obstacles() {
  solid_.assign(static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_), 0);
  const double e = 1.0 / n_;  // one cell further: an odd position
  add_plate({0.25, 0, 0.1}, {0.25, 0.35, 0.6});
  add_plate({0.375 + e, 0.1, 0.4}, {0.375 + e, 0.7, 1});
  add_plate({0.75, 0.2, 0.3}, {0.75, 0.6, 1});
  add_plate({0.3, 0, 0.75}, {0.9, 0.3, 0.75});
  add_plate({0.5, 0.15, 0.375 + e}, {0.85, 0.6, 0.375 + e});
  add_plate({0.55, 0.125, 0.05}, {0.95, 0.125, 0.5});
  add_plate({0.05, 0.25 + e, 0.6}, {0.3, 0.25 + e, 0.95});
  add_plate({0.6, 0.375, 0.6}, {0.9, 0.375, 0.95});
  add_perforated_wall(0, n_ * 5 / 8 + 1, 11);
  add_perforated_wall(2, n_ / 8 + 1, 12);
  add_perforated_wall(2, n_ * 7 / 8, 13);
  add_perforated_wall(1, n_ * 5 / 16, 14);
}

PressureScene sloshing_box(int n) {
  PressureScene scene(PressureScene::Kind::sloshing, n);
  scene.sphere_ = Vec3d(0.47, 0.26, 0.53) * n;
  scene.radius_ = 0.15 * n;
  return scene;
}

PressureScene dam_column(int n) { return PressureScene(PressureScene::Kind::dam, n); }

PressureScene hard_box(int n) {
  PressureScene scene = sloshing_box(n);
  scene.add_obstacles();
  scene.add_drops_and_bubbles();
  return scene;
}

PressureScene sealed_box(int n) {
  PressureScene scene = hard_box(n);
  const Vec3i low = Vec3i(n / 16);
  scene.add_chamber(low, low + Vec3i(n / 8 + 1));
  const Vec3i pair{n / 2, n - 8, n / 2};  // two cells of liquid high in the air
  scene.add_chamber(pair, pair + Vec3i{3, 2, 2});
  return scene;
}

std::unique_ptr<DiscreteVolume> make_volume(Exec& exec, const PressureScene& scene, const Partition& partition) {
  const int buckets = (scene.n() + bucket_size - 1) / bucket_size;
  // A bucket is wanted for its own liquid or for a layer of liquid cells just outside one of its sides.
  const auto wanted = [&](const Vec3i& key) {
    const Vec3i first = key * bucket_size;
    for (int i = -1; i <= bucket_size; ++i)
      for (int j = -1; j <= bucket_size; ++j)
        for (int k = -1; k <= bucket_size; ++k) {
          const int beyond = (i < 0 || i == bucket_size) + (j < 0 || j == bucket_size) + (k < 0 || k == bucket_size);
          if (beyond < 2 && scene.distance(first + Vec3i{i, j, k}) < 0) return true;
        }
    return false;
  };
  std::vector<BucketKey> keys;
  for (int x = 0; x < buckets; ++x)
    for (int y = 0; y < buckets; ++y)
      for (int z = 0; z < buckets; ++z) {
        const BucketKey key{{x, y, z}, 0};
        if (partition.owner(curve_position(key)) == exec.comm.rank() && wanted(key.coord)) keys.push_back(key);
      }
  auto volume = std::make_unique<DiscreteVolume>("scene", Topology::build(1.0, keys, partition, exec.comm));
  volume->declare(scene_area), volume->declare(scene_distance);
  volume->declare(scene_rhs), volume->declare(scene_pressure);
  for_each_bucket(
      exec, "fill scene", volume->topology(),
      [&scene](const Bucket& bucket, auto& area, auto& distance, auto& rhs) {
        const Vec3i first = bucket.topology.key(bucket.index).coord * bucket_size;
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j)
            for (int k = 0; k < bucket_size; ++k) {
              const Vec3i cell = first + Vec3i{i, j, k};
              for (int axis = 0; axis < 3; ++axis)
                area[static_cast<std::size_t>(axis)](i, j, k) = scene.area(axis, cell);
              distance(i, j, k) = scene.distance(cell);
              rhs(i, j, k) = scene.rhs(cell);
            }
      },
      volume->write(scene_area), volume->write(scene_distance), volume->write(scene_rhs));
  return volume;
}

void fill_lower(Exec& exec, const PressureScene& scene, DiscreteVolume& volume) {
  volume.declare(scene_lower);
  for_each_bucket(
      exec, "fill lower", volume.topology(),
      [&scene](const Bucket& bucket, auto& lower) {
        const Vec3i first = bucket.topology.key(bucket.index).coord * bucket_size;
        for (int c = 0; c < bucket_cells; ++c)
          if (scene.constrained(first + Vec3i{c >> 6, (c >> 3) & 7, c & 7})) lower[c] = 0;
      },
      volume.write(scene_lower));
}

SceneCount count_scene(const PressureScene& scene) {
  const int n = scene.n();
  const std::size_t side = static_cast<std::size_t>(n);
  const auto index = [&](const Vec3i& c) {
    return (static_cast<std::size_t>(c.x) * side + static_cast<std::size_t>(c.y)) * side +
           static_cast<std::size_t>(c.z);
  };
  SceneCount count;
  std::vector<std::uint8_t> seen(side * side * side);
  std::vector<Vec3i> open;
  for (int x = 0; x < n; ++x)
    for (int y = 0; y < n; ++y)
      for (int z = 0; z < n; ++z) {
        if (seen[index({x, y, z})] || !scene.unknown({x, y, z})) continue;
        bool closed = true;
        open.push_back({x, y, z});
        seen[index({x, y, z})] = 1;
        while (!open.empty()) {
          const Vec3i cell = open.back();
          open.pop_back();
          ++count.unknowns;
          const SceneRow row = scene.row(cell);
          closed &= !(row.sink > 0);
          for (int f = 0; f < 6; ++f) {
            const Vec3i away = step[static_cast<std::size_t>(f / 2)], next = f % 2 ? cell + away : cell - away;
            if (!(row.weight[static_cast<std::size_t>(f)] > 0) || seen[index(next)]) continue;
            seen[index(next)] = 1;
            open.push_back(next);
          }
        }
        ++count.pools, count.closed_pools += closed;
      }
  return count;
}

}  // namespace aegir
