// Reseeding conserves mass, momentum and volume, and keeps the number of particles between its limits.
#include "phenomena/common/reseed.h"
#include "base/random.h"
#include "liquid/liquid_laboratory.h"
#include "phenomena/common/crowding.h"

namespace aegir::test {
namespace {

/// What must not change, in double.
struct Totals {
  double mass = 0, volume = 0, momentum_size = 0, energy = 0;
  Vec3d momentum, first_moment;
  std::size_t particles = 0;
};

Totals totals(LiquidLaboratory& lab) {
  Totals t;
  for (const auto& [id, p] : lab.particles("water")) {
    t.mass += p.mass, t.volume += 4.1887902047863905 * std::pow(p.radius, 3);
    t.momentum += p.v * p.mass, t.momentum_size += length(p.v) * p.mass, t.first_moment += p.x * p.mass;
    t.energy += 0.5 * p.mass * dot(p.v, p.v);
    ++t.particles;
  }
  return t;
}

/// Particles of cells inside the liquid, as reseed() sees them.
struct Counts {
  int least = 1000, most = 0;
  std::int64_t cells = 0, outside = 0;  // those with fewer or more than the limits
};

Counts counts(LiquidLaboratory& lab, const ReseedSettings& limits) {
  HybridObject& water = lab.water();
  const Topology& topology = water.grid().topology();
  const float* room = water.grid().store(cell_room.name).plane<float>(0);
  const double dx = topology.spacing();
  std::map<std::array<int, 3>, int> by_cell;
  const auto key = [&](const Vec3d& x) {
    return std::array{static_cast<int>(std::floor(x.x / dx)), static_cast<int>(std::floor(x.y / dx)),
                      static_cast<int>(std::floor(x.z / dx))};
  };
  for (const auto& [id, p] : lab.particles("water")) ++by_cell[key(p.x)];
  Counts c;
  for (int b = 0; b < topology.local_count(); ++b)
    for (int cell = 0; cell < bucket_cells; ++cell) {
      const Vec3d centre = topology.origin(b) + (Vec3d(cell >> 6, cell >> 3 & 7, cell & 7) + Vec3d(0.5)) * dx;
      if (room[b * bucket_cells + cell] < 1) continue;
      bool inside = true;
      for (int n = 0; n < 27; ++n) {
        const Vec3d there = centre + Vec3d(n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1) * dx;
        inside &= lab.value("surface_distance", there, 4) < 0 || lab.value(cell_room.name, there, 1) == 0;
      }
      const int here = by_cell[key(centre)];
      if (!inside || here == 0) continue;
      c.least = std::min(c.least, here), c.most = std::max(c.most, here), ++c.cells;
      c.outside += here < limits.minimum || here > limits.maximum;
    }
  return c;
}

/// A box of liquid, in a part of it twice as dense, whose particles have random velocities and unlike masses.
class RandomLiquid : public LiquidLaboratory {
 public:
  RandomLiquid(int cells, const char* transfer)
      : LiquidLaboratory(
            "{fps: 24, frames: [0, 1]}",
            fmt::format("  - hybrid: water\n    voxel_size: {}\n    transfer: {}\n    fill: {{shape: {{kind: "
                        "box, size: [1, 1, 1]}}}}\n  - source: more\n    shape: {{kind: sphere, radius: "
                        "0.3}}\n    seed: 7\n",
                        1.0 / cells, transfer)) {
    ParticleSystem& p = *water().particles();
    for (std::size_t i = 0; i < p.size(); ++i) {
      const Random draw(3, static_cast<std::uint64_t>(p.store("id").plane<std::int64_t>(0)[i]), 0, Purpose::test);
      for (int a = 0; a < 3; ++a)
        p.store("v").plane<float>(a)[i] = static_cast<float>(draw.uniform(static_cast<std::uint32_t>(a), -1, 1));
      const double mass = water().particle_mass() * draw.uniform(3, 0.5, 1.5);
      p.store("mass").plane<float>(0)[i] = static_cast<float>(mass);
      p.store("pscale").plane<float>(0)[i] = static_cast<float>(std::cbrt(mass / 1000 / 4.1887902047863905));
    }
    GridStore& u = water().grid().store("vel");
    for (int a = 0; a < 3; ++a)
      for (std::size_t i = 0; i < static_cast<std::size_t>(water().grid().topology().local_count()) * bucket_cells; ++i)
        u.plane<float>(a)[i] = 0.1f * static_cast<float>(i % 7);
  }

  Reseeded reseed(const ReseedSettings& limits) {
    Reseeded done = aegir::reseed(
        exec_, *water().particles(), water().grid(),
        {.limits = limits, .next_id = 1'000'000, .affine = water().settings().transfer == TransferMethod::apic},
        [](const Vec3d&) { return false; });
    EXPECT_TRUE(water().particles()->rebucket(exec_, HybridObject::padding));
    return done;
  }

 private:
  std::unique_ptr<Comm> comm_ = make_single_comm();
  Profile profile_;
  Exec exec_{*comm_, profile_};
};

void expect_conserved(const Totals& before, const Totals& after) {
  std::printf("  %zu → %zu particles; mass %+.1e, volume %+.1e, momentum %.1e, energy %+.3f\n", before.particles,
              after.particles, after.mass / before.mass - 1, after.volume / before.volume - 1,
              length(after.momentum - before.momentum) / before.momentum_size, after.energy / before.energy - 1);
  EXPECT_NEAR(after.mass / before.mass, 1, 1e-7);
  EXPECT_NEAR(after.volume / before.volume, 1, 1e-6);
  EXPECT_LT(length(after.momentum - before.momentum), 1e-8 * before.momentum_size);
  EXPECT_LT(after.energy, before.energy) << "particles of random velocity lose some of it, and must not gain any";
}

/// Mass, momentum and the particles' volume stay to the rounding of floats when cells are filled up and when they are
/// thinned out; merging keeps the centre of mass too.
TEST(Reseed, ConservesMassMomentumAndVolume) {
  for (const int cells : {12, 24})
    for (const char* transfer : {"flip", "apic"}) {
      RandomLiquid filled(cells, transfer), thinned(cells, transfer);
      ASSERT_TRUE(filled.ok() && thinned.ok());
      const Totals before = totals(filled);
      const Reseeded more = filled.reseed({.minimum = 11, .maximum = 100});
      EXPECT_GT(more.added, 1000);
      EXPECT_EQ(more.merged, 0);
      expect_conserved(before, totals(filled));
      EXPECT_EQ(counts(filled, {11, 100}).outside, 0);
      EXPECT_EQ(counts(filled, {11, 100}).least, 11);
      const Reseeded fewer = thinned.reseed({.minimum = 1, .maximum = 10});
      EXPECT_EQ(fewer.added, 0);
      EXPECT_GT(fewer.merged, 100);
      const Totals after = totals(thinned);
      expect_conserved(before, after);
      EXPECT_LT(length(after.first_moment - before.first_moment), 1e-7 * before.mass);
      EXPECT_EQ(counts(thinned, {1, 10}).outside, 0);
      EXPECT_EQ(counts(thinned, {1, 10}).most, 10);
    }
}

/// A ball falls into a pool. Whatever is reseeded, the mass is that of the first frame. Cells are within the limits
/// when particles start to move; when they have moved, there are far fewer cells beyond wider limits than without
/// reseeding.
TEST(Reseed, KeepsTheMassAndTheLimitsOfASplash) {
  for (const int cells : {16, 24}) {
    constexpr ReseedSettings wider{4, 13};  // one more on both sides
    double beyond[2];
    for (const bool on : {false, true}) {
      LiquidLaboratory lab(
          "{fps: 24, frames: [0, 36], substeps: {cfl: 1, max: 40}}",
          fmt::format("  - gravity: earth\n  - domain: tank\n    box: {{min: [0, 0, 0], max: [1, 2, 1]}}\n  - hybrid: "
                      "water\n    voxel_size: {}\n    fill: {{below: 0.4}}\n{}  - source: ball\n    shape: {{kind: "
                      "sphere, center: [0.5, 0.7, 0.5], radius: 0.2}}\n    velocity: [0, -3, 0]\n  - pressure: p\n    "
                      "density_correction: false\n",
                      1.0 / cells, on ? "    reseed: {minimum: 5, maximum: 12}\n" : ""));
      ASSERT_TRUE(lab.ok());
      const double mass = lab.audit().mass;
      const std::int64_t particles = lab.audit().particles;
      double worst = 0, inside = 0, outside = 0, drift = 0;
      while (lab.ok() && !lab.simulation().finished()) {
        lab.step();
        double all = lab.audit().mass;
        for (const auto& [name, removed] : lab.audit().removed) all += removed;  // drops that left through the top
        worst = std::max(worst, std::abs(all / mass - 1));
        const Counts c = counts(lab, wider);
        inside += static_cast<double>(c.cells), outside += static_cast<double>(c.outside);
        drift = std::max(drift, std::abs(lab.water().volume_drift));
      }
      beyond[on] = outside / inside;
      std::printf(
          "%d cells per metre, reseeding %s: mass changes by %.1e, %.2f %% of the cells inside have fewer than 4 or "
          "more than 13 particles, drift up to %.2f %%, %lld → %lld particles\n",
          cells, on ? "on" : "off", worst, 100 * beyond[on], 100 * drift, static_cast<long long>(particles),
          static_cast<long long>(lab.audit().particles));
      EXPECT_LT(worst, 1e-6);
    }
    EXPECT_LT(beyond[1], 0.4 * beyond[0]);
  }
}

}  // namespace
}  // namespace aegir::test
