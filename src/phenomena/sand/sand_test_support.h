// Sand on a small grid for the tests of this folder: spacing, distances and velocities are set cell by cell.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "base/random.h"
#include "domain/for_each_bucket.h"
#include "parallel/comm.h"
#include "phenomena/sand/friction.h"
#include "phenomena/sand/sand_channels.h"
#include "phenomena/sand/strain.h"

namespace aegir::sand {

inline constexpr FrictionInputs test_inputs{
    {"vel"},      {"open_area", {}, 1.0f},        {"solid_velocity"}, {"surface_distance", {}, 4.0f},
    {"pressure"}, {"solid_distance", {}, 1000.0f}};

/// Strain rate, Δx D, of a velocity at cell centres, as the kernels see it.
inline constexpr CellChannel<Vec3f> test_strain{"strain"}, test_shear_rate{"shear_rate"};

/// A ball of sand, distance in cells.
inline std::function<double(const Vec3d&)> ball_of_sand(const Vec3d& center, double radius) {
  return [=](const Vec3d& x) { return length(x - center) - radius; };
}

/// Linear and angular momentum and kinetic energy, over the mass of a cell.
struct Motion {
  Vec3d linear, angular;
  double energy = 0, size = 0, turn = 0;  ///< size and turn: sums of |m v| and |m x v|, to measure round-off by
};

/// Buckets around the origin; places are in cells.
struct Bed {
  std::unique_ptr<Comm> comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  int reach;
  DiscreteVolume volume;
  std::vector<int> buckets;

  explicit Bed(int half_buckets = 2, double spacing = 0.5)
      : reach(8 * half_buckets), volume("sand", Topology::build(spacing, keys(half_buckets), Partition{}, *comm)) {
    const auto& in = test_inputs;
    volume.declare(in.velocity), volume.declare(in.open_area), volume.declare(in.solid_velocity);
    volume.declare(in.distance), volume.declare(in.pressure), volume.declare(in.solid_distance);
    for (const auto& c : {stress, shear, grip, stress_ahead, shear_ahead, span, test_strain, test_shear_rate})
      volume.declare(c);
    for (const auto& c : {wall, wall_ahead, grip_face, base, ease, edge}) volume.declare(c);
    volume.declare(yield), volume.declare(pace);
  }
  static std::vector<BucketKey> keys(int half) {
    std::vector<BucketKey> all;
    for (int x = -half; x < half; ++x)
      for (int y = -half; y < half; ++y)
        for (int z = -half; z < half; ++z) all.push_back({{x, y, z}, 0});
    return all;
  }

  template <class T = float>
  T& at(const char* channel, int plane, const Vec3i& c) {
    const int b = volume.topology().find({{c.x >> 3, c.y >> 3, c.z >> 3}, 0});
    AEGIR_ASSERT(b >= 0, "a cell of the bed");
    return volume.store(channel).plane<T>(plane)[static_cast<std::size_t>(b) * bucket_cells +
                                                 static_cast<std::size_t>(cell_offset(c.x & 7, c.y & 7, c.z & 7))];
  }
  template <class Visit>
  void cells(Visit visit) const {
    for (int i = -reach; i < reach; ++i)
      for (int j = -reach; j < reach; ++j)
        for (int k = -reach; k < reach; ++k) visit(Vec3i{i, j, k});
  }
  static Vec3d middle(const Vec3i& c) { return Vec3d(c) + Vec3d(0.5); }
  static Vec3d face(const Vec3i& c, int axis) {
    Vec3d x = middle(c);
    x[axis] -= 0.5;
    return x;
  }
  static Random chance(std::uint64_t seed, const Vec3i& c) {
    return {seed, static_cast<std::uint64_t>((c.x + 100) * 1000000 + (c.y + 100) * 1000 + c.z + 100), 0, Purpose::test};
  }

  void fill(const std::function<double(const Vec3d&)>& distance) {
    cells([&](const Vec3i& c) { at("surface_distance", 0, c) = static_cast<float>(distance(middle(c))); });
  }
  /// Closes the faces at and below y = 0 and tells nodes of the floor.
  void floor() {
    cells([&](const Vec3i& c) {
      at("solid_distance", 0, c) = static_cast<float>(c.y);
      for (int a = 0; a < 3; ++a)
        if (c.y < (a == 1 ? 1 : 0)) at("open_area", a, c) = 0;
    });
  }
  void find() {
    buckets = find_faces(exec, volume, test_inputs, [](int) { return false; });
  }
  void move(const std::function<Vec3d(const Vec3d&)>& flow) {
    cells([&](const Vec3i& c) {
      for (int a = 0; a < 3; ++a) at("vel", a, c) = static_cast<float>(flow(face(c, a))[a]);
    });
  }
  /// Velocities by chance; closed faces rest.
  void stir(std::uint64_t seed, double speed = 1) {
    cells([&](const Vec3i& c) {
      for (int a = 0; a < 3; ++a)
        at("vel", a, c) =
            at("open_area", a, c) > 0
                ? static_cast<float>(chance(seed, c).uniform(static_cast<std::uint32_t>(a), -speed, speed))
                : 0.0f;
    });
  }
  void press(const std::function<double(const Vec3d&)>& p) {
    cells([&](const Vec3i& c) { at<double>("pressure", 0, c) = p(middle(c)); });
  }
  bool sand(const Vec3i& c) { return at("surface_distance", 0, c) < 0; }
  /// Cells that move with a face; 0: stress does not act on it.
  double mass(const Vec3i& c, int axis) {
    const double e = at("sand_ease", axis, c);
    return e > 0 ? 1 / e : 0;
  }

  /// Strain rate of the velocity.
  void strain() {
    for_each_bucket(
        exec, "strain", volume.topology(),
        [](const Bucket&, auto& u, auto& e, auto& acts, auto& n, auto& t) {
          for (int i = 0; i < bucket_size; ++i)
            for (int j = 0; j < bucket_size; ++j) {
              Line normal[3], tangential[3];
              strain_rate(u, e, acts, i, j, normal, tangential);
              for (std::size_t a = 0; a < 3; ++a) n[a].set_line(i, j, normal[a]), t[a].set_line(i, j, tangential[a]);
            }
        },
        volume.read<Halo<1>>(test_inputs.velocity), volume.read<Halo<1>>(edge), volume.read(span),
        volume.write(test_strain), volume.write(test_shear_rate));
  }
  /// |T|² of a symmetric tensor with three normal and three shear components.
  double square(const char* normal, const char* tangential, const Vec3i& c) {
    double sum = 0;
    for (int a = 0; a < 3; ++a) {
      const double n = at(normal, a, c), t = at(tangential, a, c);
      sum += n * n + 2 * t * t;
    }
    return sum;
  }

  /// Of the faces that stress acts on and `counts` says yes to.
  Motion motion(const std::function<bool(const Vec3i&, int)>& counts = [](const Vec3i&, int) { return true; }) {
    Motion m;
    cells([&](const Vec3i& c) {
      for (int a = 0; a < 3; ++a) {
        const double kg = mass(c, a), u = at("vel", a, c);
        if (!(kg > 0) || !counts(c, a)) continue;
        Vec3d v;
        v[a] = kg * u;
        const Vec3d around = cross(face(c, a), v);
        m.linear += v, m.angular += around, m.energy += 0.5 * kg * u * u;
        m.size += length(v), m.turn += length(around);
      }
    });
    return m;
  }
  std::vector<float> velocities() {
    std::vector<float> all;
    cells([&](const Vec3i& c) {
      for (int a = 0; a < 3; ++a) all.push_back(at("vel", a, c));
    });
    return all;
  }
};

/// A ball that touches nothing.
inline void free_ball(Bed& bed, double radius = 9) {
  bed.fill(ball_of_sand({0.3, -0.7, 1.1}, radius));
  bed.find();
}

/// A heap on a floor with a post in it: faces that are closed, thin layers, and cells that no stress spans.
inline void heap(Bed& bed) {
  bed.fill([](const Vec3d& x) { return std::max(-x.y, length(x - Vec3d{0.2, 1.3, 0.4}) - 8.6); });
  bed.floor();
  bed.cells([&](const Vec3i& c) {
    if (c.x == 3 && c.y < 5 && c.z > 0 && c.z < 4)
      for (int a = 0; a < 3; ++a) bed.at("open_area", a, c) = 0;
  });
  bed.find();
}

/// Contacts of a floor at y = 0, on the layer of faces along it: friction of at most `bound` under a load of `bound`
/// over `rough`.
inline Contacts floor_contacts(Bed& bed, const std::vector<int>& buckets, float bound, float wall_speed,
                               float rising = 0, float rough = 1) {
  Contacts contacts{buckets, {}};
  for (const int b : buckets) {
    auto& list = contacts.faces.emplace_back();
    for (const int axis : {0, 2})
      for (int c = 0; c < bucket_cells; ++c) {
        const Vec3i cell = bed.volume.topology().key(b).coord * bucket_size + Vec3i{c >> 6, c >> 3 & 7, c & 7};
        if (cell.y != 0 || !(bed.mass(cell, axis) > 0)) continue;
        list.push_back({.cell = static_cast<std::uint16_t>(c),
                        .axis = static_cast<std::uint8_t>(axis),
                        .normal = {0, 1, 0},
                        .solid = {wall_speed, rising, 0},
                        .bound = bound,
                        .rough = rough,
                        .load = bound / rough});
      }
  }
  return contacts;
}

}  // namespace aegir::sand
