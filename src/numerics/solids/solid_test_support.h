// Solids and a small volume for the tests of this folder.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "geometry/shapes.h"
#include "geometry/surface.h"
#include "numerics/solids/solid_grid.h"
#include "parallel/comm.h"

namespace aegir {

inline const SolidChannels solid_channels{
    {"solid_distance", {}, 1000.0f}, {"open_area", {}, 1.0f}, {"solid_velocity", unit::metre_per_second, 0.0f}};

/// Any solid, from functions.
class TestSolid : public Solid {
 public:
  std::function<double(const Vec3d&)> distance_of;
  std::function<bool(const Vec3d&, const Vec3d&)> blocks_of = [](const Vec3d&, const Vec3d&) { return false; };
  std::function<Vec3d(const Vec3d&, const Vec3d&)> around_of = [](const Vec3d&, const Vec3d&) { return Vec3d{}; };
  std::function<Vec3d(const Vec3d&)> velocity_of = [](const Vec3d&) { return Vec3d{}; };
  Box box{Vec3d(-1e300), Vec3d(1e300)};
  double mu = 0;
  bool thin = false, moving = false;

  Box bounds() const override { return box; }
  double distance(const Vec3d& x, double max) const override { return std::clamp(distance_of(x), -max, max); }
  Vec3d velocity(const Vec3d& x) const override { return velocity_of(x); }
  double friction(const Vec3d&) const override { return mu; }
  bool blocks(const Vec3d& a, const Vec3d& b) const override { return blocks_of(a, b); }
  Vec3d way_around(const Vec3d& a, const Vec3d& b) const override { return around_of(a, b); }
  bool may_be_thin() const override { return thin; }
  bool moved() const override { return moving; }
};

inline TestSolid ball(const Vec3d& center, double radius) {
  TestSolid s;
  s.distance_of = [=](const Vec3d& x) { return length(x - center) - radius; };
  s.box = {center - Vec3d(radius), center + Vec3d(radius)};
  return s;
}
/// The half space below a plane with unit normal n.
inline TestSolid half_space(const Vec3d& n, double offset) {
  TestSolid s;
  s.distance_of = [=](const Vec3d& x) { return dot(x, n) - offset; };
  return s;
}
/// Mean of the normals of what a segment meets first from either end.
template <class Body>
Vec3d mean_normal(const Body& body, const Vec3d& a, const Vec3d& b) {
  const auto there = body.ray(a, b - a, 1), back = body.ray(b, a - b, 1);
  return there && back ? (there->normal + back->normal) * 0.5 : Vec3d{};
}
inline TestSolid solid_of(const Shape& shape) {
  TestSolid s;
  s.distance_of = [=](const Vec3d& x) { return shape.distance(x); };
  s.blocks_of = [=](const Vec3d& a, const Vec3d& b) { return shape.ray(a, b - a, 1).has_value(); };
  if (!shape.thin()) s.around_of = [=](const Vec3d& a, const Vec3d& b) { return mean_normal(shape, a, b); };
  s.box = shape.bounds();
  s.thin = true;
  return s;
}
inline TestSolid solid_of(std::shared_ptr<const Surface> surface) {
  TestSolid s;
  s.distance_of = [=](const Vec3d& x) { return surface->signed_distance(x); };
  s.blocks_of = [=](const Vec3d& a, const Vec3d& b) { return surface->ray(a, b - a, 1).has_value(); };
  if (surface->report().sheets == 0)
    s.around_of = [=](const Vec3d& a, const Vec3d& b) { return mean_normal(*surface, a, b); };
  s.box = surface->bounds();
  s.thin = true;
  return s;
}

inline std::vector<BucketKey> block_of_keys(const Vec3i& from, const Vec3i& to) {
  std::vector<BucketKey> keys;
  for (int i = from.x; i < to.x; ++i)
    for (int j = from.y; j < to.y; ++j)
      for (int k = from.z; k < to.z; ++k) keys.push_back({{i, j, k}, 0});
  return keys;
}

/// A volume with the solids' channels over given buckets.
struct SolidScene {
  std::unique_ptr<Comm> comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  double spacing;
  DiscreteVolume volume;
  SolidGrid grid;

  SolidScene(double dx, const std::vector<BucketKey>& keys) : spacing(dx), volume("water", build(keys)) {
    volume.declare(solid_channels.distance), volume.declare(solid_channels.area);
    volume.declare(solid_channels.velocity);
  }
  std::shared_ptr<const Topology> build(const std::vector<BucketKey>& keys) {
    return Topology::build(spacing, keys, Partition(), *comm);
  }
  void update(const std::vector<const Solid*>& solids, const std::optional<Walls>& walls = {}) {
    grid.update(exec, volume, solids, walls, solid_channels);
  }
  /// A value at a cell of the whole grid; NaN outside all buckets.
  float at(const char* channel, int plane, const Vec3i& cell) const {
    const int b = volume.topology().find({{cell.x >> 3, cell.y >> 3, cell.z >> 3}, 0});
    if (b < 0) return NAN;
    return volume.store(channel).plane<float>(
        plane)[b * bucket_cells + cell_offset(cell.x & 7, cell.y & 7, cell.z & 7)];
  }
  void set(const char* channel, int plane, const Vec3i& cell, float value) {
    const int b = volume.topology().find({{cell.x >> 3, cell.y >> 3, cell.z >> 3}, 0});
    volume.store(channel).plane<float>(plane)[b * bucket_cells + cell_offset(cell.x & 7, cell.y & 7, cell.z & 7)] =
        value;
  }
  float area(int axis, const Vec3i& cell) const { return at("open_area", axis, cell); }
  float distance(const Vec3i& node) const { return at("solid_distance", 0, node); }
  float velocity(int axis, const Vec3i& cell) const { return at("solid_velocity", axis, cell); }
  /// All bytes of all channels, and what the barrier says.
  std::string bits() const {
    std::string all;
    for (const GridStore& c : volume.channels())
      for (const Buffer& p : c.planes)
        all.append(reinterpret_cast<const char*>(p.data()),
                   c.bucket_bytes() * static_cast<std::size_t>(volume.topology().local_count()));
    for (int b = 0; b < volume.topology().local_count(); ++b) {
      all.push_back(grid.near(b) ? 1 : 0), all.push_back(grid.cut(b) ? 1 : 0);
      for (int c = 0; c < bucket_cells; ++c) all.push_back(grid.near(b, c) ? 1 : 0);
    }
    return all;
  }
};

template <class Visit>
void for_box(const Vec3i& from, const Vec3i& to, Visit visit) {
  for (int i = from.x; i < to.x; ++i)
    for (int j = from.y; j < to.y; ++j)
      for (int k = from.z; k < to.z; ++k) visit(Vec3i(i, j, k));
}
inline Vec3i step(const Vec3i& cell, int axis, int by) {
  Vec3i c = cell;
  c[axis] += by;
  return c;
}

}  // namespace aegir
