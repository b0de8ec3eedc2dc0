#include <gtest/gtest.h>

#include <limits>

#include "numerics/transfer/test_support.h"

namespace aegir {
namespace {

using namespace transfer_test;

void move(Liquid& liquid, const MoveSettings& settings, const MoveHook* hook = nullptr) {
  move_particles(liquid.exec, liquid.particles, liquid.volume, grid_velocity, settings, hook);
}

/// Places by id, in cells.
std::vector<Vec3d> places(const Liquid& liquid) {
  std::vector<Vec3d> by_id(liquid.particles.size());
  const auto all = particles_of(liquid);
  for (std::size_t i = 0; i < all.size(); ++i)
    by_id[static_cast<std::size_t>(liquid.particles.store("id").plane<std::int64_t>(0)[i])] = all[i].cells;
  return by_id;
}

/// Cells per second; a flow that interpolation represents exactly.
constexpr Vec3d centre{4, 4, 4}, spin{0.3, -0.5, 0.8};
Vec3d rotation(const Vec3d& x) { return cross(spin, x - centre); }
Vec3d rotated(const Vec3d& x, double time) {
  const double rate = length(spin), angle = rate * time;
  const Vec3d axis = spin / rate, r = x - centre;
  return centre + r * std::cos(angle) + cross(axis, r) * std::sin(angle) +
         axis * (dot(axis, r) * (1 - std::cos(angle)));
}

std::vector<Vec3d> ring(std::size_t count) {
  std::vector<Vec3d> cells;
  for (std::size_t i = 0; i < count; ++i) {
    const Random r(2, i, 0, Purpose::test);
    cells.push_back(centre + normalized(Vec3d(r.uniform(0, -1, 1), r.uniform(1, -1, 1), r.uniform(2, -1, 1))) *
                                 r.uniform(3, 3, 7));
  }
  return cells;
}

double error_after(double time, int steps, int order) {
  Liquid liquid(ring(500));
  const std::vector<Vec3d> start = places(liquid);
  for (int s = 0; s < steps; ++s) {
    liquid.fill(grid_velocity, [](int a, const Vec3d& x) { return rotation(x)[a] * spacing; });
    move(liquid, {.dt = time / steps, .order = order});
    liquid.rebucket();
  }
  const std::vector<Vec3d> end = places(liquid);
  double worst = 0;
  for (std::size_t i = 0; i < end.size(); ++i) worst = std::max(worst, length(end[i] - rotated(start[i], time)));
  return worst;
}

TEST(Move, ConvergesWithItsOrderInARotation) {
  for (const int order : {2, 3}) {
    const double coarse = error_after(1.6, 4, order), fine = error_after(1.6, 8, order);
    EXPECT_GT(std::log2(coarse / fine), order == 3 ? 2.8 : 1.9) << coarse << " " << fine;
    EXPECT_LT(fine, 0.1);
  }
}

TEST(Move, EqualsTheDefinition) {
  const auto flow = [](int a, const Vec3d& x) {
    return spacing * (2 * std::sin(0.5 * x.x + a) + std::cos(0.8 * x.y - x.z));
  };
  for (const int order : {2, 3}) {
    Liquid liquid(cloud(4000));
    liquid.fill(grid_velocity, flow);
    const std::vector<Vec3d> start = places(liquid);
    const auto u = [&](const Vec3d& x) {
      return sample_velocity<double>([&](int a, const Vec3i& f) { return liquid.face(grid_velocity, a, f); }, x) /
             spacing;
    };
    std::vector<Vec3d> expected;
    const double dt = 1.2;
    for (const Vec3d& x : start) {
      const Vec3d k1 = u(x), k2 = u(x + k1 * (0.5 * dt)), k3 = u(x + k2 * (0.75 * dt));
      expected.push_back(order == 2 ? x + k2 * dt : x + (k1 * 2 + k2 * 3 + k3 * 4) * (dt / 9));
    }
    move(liquid, {.dt = dt, .order = order});
    const std::vector<Vec3d> end = places(liquid);
    for (std::size_t i = 0; i < end.size(); ++i) EXPECT_NEAR(length(end[i] - expected[i]), 0, 3e-5) << i;
  }
}

TEST(Move, UniformFlowBeyondTheHaloIsStillExact) {
  Liquid liquid(cloud(2000));
  const std::vector<Vec3d> start = places(liquid);
  liquid.fill(grid_velocity, [](int a, const Vec3d&) { return a == 1 ? -4.5 * spacing : 0.0; });
  move(liquid, {.dt = 1});
  const std::vector<Vec3d> end = places(liquid);
  for (std::size_t i = 0; i < end.size(); ++i) EXPECT_NEAR(length(end[i] - start[i] - Vec3d(0, -4.5, 0)), 0, 1e-5);
}

TEST(Move, NoPositionBecomesWhatIsNoNumber) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 3e38}) {
    Liquid liquid(cloud(2000));
    const std::vector<Vec3d> start = places(liquid);
    liquid.fill(grid_velocity, [&](int, const Vec3d& x) { return x.x > 2 && x.x < 3 ? bad : 0.0; });
    for (const int order : {2, 3}) move(liquid, {.dt = 100, .order = order});
    std::size_t rest = 0;
    const std::vector<Vec3d> end = places(liquid);
    for (std::size_t i = 0; i < end.size(); ++i) {
      EXPECT_TRUE(is_finite(end[i]));
      rest += end[i] == start[i];
    }
    EXPECT_GT(rest, 1000u);
  }
}

TEST(Move, TheHookSeesEveryParticleOnceAndDecidesWhereItEnds) {
  Liquid liquid(cloud(3000));
  const std::vector<Vec3d> start = places(liquid);
  liquid.fill(grid_velocity, [](int a, const Vec3d&) { return a == 0 ? spacing : 0.0; });
  std::vector<int> seen(liquid.particles.size());
  const auto lift = [&](const Bucket& b, std::size_t first, std::size_t count, const float* const from[3],
                        float* const to[3]) {
    EXPECT_LE(count, 256u);
    for (std::size_t i = 0; i < count; ++i) {
      ++seen[liquid.particles.first(b.index) + first + i];
      EXPECT_NEAR(to[0][i] - from[0][i], 0.5, 1e-6);
      to[2][i] += 0.25f;
    }
  };
  const MoveHook hook(lift);
  move(liquid, {.dt = 0.5}, &hook);
  for (int s : seen) EXPECT_EQ(s, 1);
  const std::vector<Vec3d> end = places(liquid);
  for (std::size_t i = 0; i < end.size(); ++i) EXPECT_NEAR(length(end[i] - start[i] - Vec3d(0.5, 0, 0.25)), 0, 2e-6);
}

/// A sheet at x = 3.3 cells across the whole cloud.
class Sheet : public Barrier {
 public:
  static constexpr double at = 3.3;
  Sheet(const Topology& topology) : topology_(topology) {}
  bool near(int bucket, int cell) const override {
    return std::abs(topology_.key(bucket).coord.x * 8 + (cell >> 6) + 0.5 - at) < 2;
  }
  bool near(int bucket) const override {
    const int x = topology_.key(bucket).coord.x;
    return x == 0;
  }
  bool blocks(const Vec3d& a, const Vec3d& b) const override { return (a.x < at * spacing) != (b.x < at * spacing); }

 private:
  const Topology& topology_;
};

/// Nothing is seen from anywhere.
class Fog : public Barrier {
 public:
  bool near(int, int) const override { return true; }
  bool near(int) const override { return true; }
  bool blocks(const Vec3d&, const Vec3d&) const override { return true; }
};

double side(double x) { return x < Sheet::at ? 1.0 : -2.0; }

TEST(Barrier, NothingPassesFromParticlesToFacesBeyondIt) {
  Liquid liquid(cloud(6000));
  const Sheet sheet(liquid.volume.topology());
  const auto all = particles_of(liquid);
  for (int a = 0; a < 3; ++a)
    for (std::size_t i = 0; i < all.size(); ++i)
      liquid.particles.store("v").plane<float>(a)[i] = static_cast<float>(side(all[i].cells.x));
  for (const char* row : {"cx", "cy", "cz"})
    for (int a = 0; a < 3; ++a) std::fill_n(liquid.particles.store(row).plane<float>(a), all.size(), 0.0f);
  for (const bool affine : {false, true}) {
    liquid.to_grid(affine, &sheet);
    std::size_t reached = 0;
    for (const auto& [key, sum] : reference_to_grid(all, false)) {
      const auto& [axis, i, j, k] = key;
      if (liquid.face(grid_mass, axis, {i, j, k}) < 1e-4) continue;
      ++reached;
      EXPECT_NEAR(liquid.face(grid_velocity, axis, {i, j, k}), side(i + (axis == 0 ? 0 : 0.5)), 1e-5);
    }
    EXPECT_GT(reached, 3000u);
  }
}

TEST(Barrier, AwayFromItNothingChanges) {
  Liquid liquid(cloud(6000));
  struct Clear : Sheet {
    using Sheet::Sheet;
    bool blocks(const Vec3d&, const Vec3d&) const override { return false; }
  } clear(liquid.volume.topology());
  liquid.to_grid(true, &clear);
  for (const auto& [key, sum] : reference_to_grid(particles_of(liquid), true)) {
    const auto& [axis, i, j, k] = key;
    if (sum.mass > 1e-3) {
      EXPECT_NEAR(liquid.face(grid_velocity, axis, {i, j, k}), sum.value, 1e-5);
    }
  }
  Liquid other(cloud(6000));
  other.to_grid(true);
  liquid.to_particles({.transfer = TransferMethod::apic, .barrier = &clear});
  other.to_particles({.transfer = TransferMethod::apic});
  move(liquid, {.dt = 0.01, .barrier = &clear});
  move(other, {.dt = 0.01});
  const auto a = particles_of(liquid), b = particles_of(other);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(length(a[i].velocity - b[i].velocity), 0, 2e-5);
    EXPECT_NEAR(length(a[i].affine.row[1] - b[i].affine.row[1]), 0, 5e-5);
    EXPECT_NEAR(length(a[i].cells - b[i].cells), 0, 2e-5);
  }
}

TEST(Barrier, NothingPassesFromFacesToParticlesBeyondIt) {
  const auto flow = [](int, const Vec3d& f) { return side(f.x) * spacing; };
  for (const TransferMethod method : {TransferMethod::pic, TransferMethod::flip, TransferMethod::apic}) {
    for (const bool own_ratio : {false, true}) {
      Liquid liquid(cloud(4000));
      const Sheet sheet(liquid.volume.topology());
      liquid.fill(grid_velocity, flow);
      const auto before = particles_of(liquid);
      liquid.to_particles({.transfer = method,
                           .flip_ratio = 0.75f,
                           .flip_ratio_per_particle = own_ratio ? &ratio : nullptr,
                           .previous = grid_before,
                           .barrier = &sheet});
      const auto after = particles_of(liquid);
      for (std::size_t i = 0; i < after.size(); ++i) {
        const double r = method != TransferMethod::flip ? 0 : own_ratio ? before[i].ratio : 0.75;
        for (int a = 0; a < 3; ++a) {
          EXPECT_NEAR(after[i].velocity[a], side(after[i].cells.x) * spacing + r * before[i].velocity[a], 1e-6);
          if (method == TransferMethod::apic) {
            EXPECT_NEAR(length(after[i].affine.row[a]), 0, 1e-6);
          }
        }
      }
    }
  }
  Liquid liquid(cloud(4000));
  const Sheet sheet(liquid.volume.topology());
  liquid.fill(grid_velocity, flow);
  const std::vector<Vec3d> start = places(liquid);
  move(liquid, {.dt = 0.4, .barrier = &sheet});
  const std::vector<Vec3d> end = places(liquid);
  for (std::size_t i = 0; i < end.size(); ++i)
    EXPECT_NEAR(length(end[i] - start[i] - Vec3d(0.4 * side(start[i].x))), 0, 1e-5) << start[i].x;
}

/// The faces that the sheet closes keep their velocity for both sides: what flows towards the sheet ends there.
TEST(Barrier, MovesEndAtFacesThatASheetCloses) {
  Liquid liquid(cloud(4000));
  struct Closing : Sheet {
    explicit Closing(const Topology& topology) : Sheet(topology), topology_(topology) {}
    bool closes(int bucket, int axis, const Vec3i& cell) const override {
      return axis == 0 && topology_.key(bucket).coord.x * 8 + cell.x == 3;
    }
    const Topology& topology_;
  } sheet(liquid.volume.topology());
  // The closed faces stand before the sheet, so those beyond it do not see them; the flow is 0 there.
  liquid.fill(grid_velocity, [](int axis, const Vec3d& f) { return axis == 0 && f.x > 2.5 ? (f.x - 3) * spacing : 0; });
  const std::vector<Vec3d> start = places(liquid);
  move(liquid, {.dt = 1e-3, .barrier = &sheet});
  const std::vector<Vec3d> end = places(liquid);
  int beside = 0;
  for (std::size_t i = 0; i < end.size(); ++i) {
    if (start[i].x < Sheet::at || start[i].x > 4 || start[i].y > 20) continue;
    ++beside;
    EXPECT_NEAR((end[i].x - start[i].x) / 1e-3, start[i].x - 3, 5e-3) << start[i].x;
  }
  EXPECT_GT(beside, 50);
}

TEST(Barrier, WhereNoFaceIsSeenVelocitiesAreKept) {
  const Fog fog;
  for (const TransferMethod method : {TransferMethod::pic, TransferMethod::flip, TransferMethod::apic}) {
    Liquid liquid(cloud(500));
    liquid.fill(grid_velocity, [](int, const Vec3d&) { return 5.0; });
    const auto before = particles_of(liquid);
    liquid.to_particles({.transfer = method, .flip_ratio = 0.9f, .previous = grid_before, .barrier = &fog});
    const auto after = particles_of(liquid);
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(length(after[i].velocity - before[i].velocity), 0, 1e-6);
    move(liquid, {.dt = 0.01, .barrier = &fog, .own_velocity = &velocity});
    const auto moved = particles_of(liquid);
    for (std::size_t i = 0; i < after.size(); ++i)
      EXPECT_NEAR(length(moved[i].cells - after[i].cells - after[i].velocity * (0.01 / spacing)), 0, 1e-5);
    liquid.rebucket();
    liquid.to_grid(false, &fog);
    EXPECT_EQ(liquid.face(grid_mass, 0, {2, 2, 2}), 0);
  }
}

}  // namespace
}  // namespace aegir
