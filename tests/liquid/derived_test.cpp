// Derived channels against laws: rigid rotation has a vorticity of 2ω, water at rest a pressure gradient of ρ g, …
#include <cstring>

#include "liquid/liquid_laboratory.h"

namespace aegir::test {
namespace {

const char* everything =
    "outputs:\n  - points: all\n    attributes: [surface_distance, density, vorticity, pressure_gradient, neighbours, "
    "travelled]\n  - volumes: grids\n    fields: [surface, vorticity, density, pressure_gradient]\n";

class DerivedLaboratory : public LiquidLaboratory {
 public:
  DerivedLaboratory(const std::string& timeline, const std::string& nodes, const std::string& head = everything)
      : LiquidLaboratory(timeline, nodes, head) {}

  /// Calls fn(place, value) for every particle.
  template <class T, class Fn>
  void for_each(const ParticleChannel<T>& channel, Fn&& fn) {
    ParticleSystem& s = *water().particles();
    const auto p = s.read(particle::position);
    const auto value = s.read(channel);
    for (int b = 0; b < s.topology().local_count(); ++b)
      for (std::size_t i = 0; i < s.count(b); ++i) fn(s.world(b, p(b)[i]), value(b)[i]);
  }
  /// Gives every particle the value of its place.
  template <class Value>
  void set(const ParticleChannel<Vec3f>& channel, Value&& value) {
    ParticleSystem& s = *water().particles();
    auto p = s.read(particle::position);
    auto v = s.write(channel);
    ParticleWrite<Vec3f>::View view;
    for (int b = 0; b < s.topology().local_count(); ++b) {
      v.load(view, b);
      for (std::size_t i = 0; i < s.count(b); ++i) view.span.set(i, Vec3f(value(s.world(b, p(b)[i]))));
    }
  }
};

/// Water 0.4 m deep in a box of one metre.
std::string pool(int cells, double jitter, double level = 0.4) {
  return fmt::format(
      "  - gravity: g\n  - domain: box\n    box: {{min: [0, 0, 0], max: [1, 1, 0.5]}}\n  - hybrid: water\n    "
      "voxel_size: {}\n    jitter: {}\n    fill: {{below: {}}}\n  - pressure: p\n",
      1.0 / cells, jitter, level);
}

/// A ball of water around (0.5, 0.5, 0.5) with nothing that acts on it.
std::string ball(double voxel, const std::string& more = "") {
  return fmt::format(
      "  - hybrid: water\n    voxel_size: {}\n    jitter: 0\n    flip_ratio: 0\n    fill: {{shape: {{kind: sphere, "
      "center: [0.5, 0.5, 0.5], radius: 0.4}}}}\n{}",
      voxel, more);
}
constexpr Vec3d centre{0.5, 0.5, 0.5};

TEST(Vorticity, OfRigidRotationIsTwiceItsRate) {
  const Vec3d rate{0.7, 2.0, -0.4};
  const Vec3d rows[3] = {{0, -rate.z, rate.y}, {rate.z, 0, -rate.x}, {-rate.y, rate.x, 0}};
  for (const double voxel : {0.05, 0.025}) {
    DerivedLaboratory lab("{fps: 24, frames: [0, 1], substeps: 4}", ball(voxel, "    transfer: apic\n"));
    while (lab.ok() && !lab.simulation().finished()) {
      lab.set(particle::velocity, [&](const Vec3d& x) { return cross(rate, x - centre); });
      for (int a = 0; a < 3; ++a) lab.set(particle::affine[a], [&](const Vec3d&) { return rows[a]; });
      lab.step();
    }
    // The outermost cells may have faces that no particle reaches: velocities there are extended, not known.
    double worst = 0, on_cells = 0, off = 0, count = 0;
    const auto inside = [&](const Vec3d& x) { return length(x - centre) < 0.4 - 1.5 * voxel; };
    lab.for_each(particle::vorticity, [&](const Vec3d& x, const Vec3f& w) {
      const double error = length(Vec3d(w) - rate * 2.0) / length(rate * 2.0);
      if (inside(x)) worst = std::max(worst, error);
      off += error > 0.01, count += 1;
    });
    const GridStore& cells = lab.water().grid().store("vorticity");
    lab.for_each_liquid_cell([&](int b, int c, const Vec3d& x) {
      const int at = b * bucket_cells + c;
      const Vec3d w(cells.plane<float>(0)[at], cells.plane<float>(1)[at], cells.plane<float>(2)[at]);
      if (inside(x)) on_cells = std::max(on_cells, length(w - rate * 2.0) / length(rate * 2.0));
    });
    printf("vorticity, %.3f m: greatest error %.2g on particles, %.2g on cells; at the surface %.2g of all are off\n",
           voxel, worst, on_cells, off / count);
    EXPECT_LT(worst, 1e-5);
    EXPECT_LT(on_cells, 1e-5);
    EXPECT_LT(off, 0.02 * count);
  }
}

TEST(Travelled, OnACircleIsItsArc) {
  const double rate = 6.2831853071795862;  // one turn in a second
  DerivedLaboratory lab("{fps: 24, frames: [0, 24], substeps: 4}", ball(0.05));
  std::map<std::int64_t, Particle> before = lab.particles("water");
  while (lab.ok() && !lab.simulation().finished())
    lab.set(particle::velocity, [&](const Vec3d& x) { return cross(Vec3d{0, rate, 0}, x - centre); }), lab.step();
  int compared = 0;
  double worst = 0, gap = 0;
  const auto after = lab.particles("water");
  ParticleSystem& s = *lab.water().particles();
  for (int b = 0; b < s.topology().local_count(); ++b)
    for (std::size_t i = 0; i < s.count(b); ++i) {
      const std::int64_t id = s.read(particle::id)(b)[i];
      const Vec3d start = before.at(id).x - centre;
      const double radius = std::hypot(start.x, start.z);
      if (length(start) > 0.25 || radius < 0.05) continue;
      worst = std::max(worst, std::abs(static_cast<double>(s.read(particle::travelled)(b)[i]) / (rate * radius) - 1));
      gap = std::max(gap, length(after.at(id).x - before.at(id).x) / (rate * radius)), ++compared;
    }
  printf("travelled: %d particles after one turn, greatest error of the arc %.2g; they came back to %.2g of it\n",
         compared, worst, gap);
  EXPECT_GT(compared, 2000);
  EXPECT_LT(worst, 5e-3);
  EXPECT_LT(gap, 0.05);
}

TEST(PressureGradient, OfWaterAtRestIsItsWeight) {
  const double weight = 1000 * 9.80665;
  for (const int cells : {16, 32})
    for (const double jitter : {0.0, 0.5}) {
      DerivedLaboratory lab("{fps: 24, frames: [0, 6], substeps: 4}", pool(cells, jitter));
      EXPECT_EQ(lab.water().grid().store("pressure_gradient").info.unit, unit::pascal / unit::metre);
      lab.run();
      double worst = 0, sum = 0, count = 0;
      lab.for_each(particle::pressure_gradient, [&](const Vec3d&, const Vec3f& g) {
        const double error = length(Vec3d(g) - Vec3d{0, -weight, 0}) / weight;
        worst = std::max(worst, error), sum += error * error, count += 1;
      });
      const double rms = std::sqrt(sum / count);
      printf("pressure gradient, %d cells, jitter %.1f: rms error %.2g, greatest %.2g\n", cells, jitter, rms, worst);
      EXPECT_LT(rms, jitter > 0 ? 0.01 : 1e-4);
      EXPECT_LT(worst, jitter > 0 ? 0.05 : 1e-3);
    }
}

TEST(Density, OfWaterAtRestIsItsOwn) {
  for (const int cells : {16, 32})
    for (const double jitter : {0.0, 0.5})
      for (const double level : {0.375, 0.40625}) {  // whole layers of particles, or the lowest one crowds
        DerivedLaboratory lab("{fps: 24, frames: [0, 6], substeps: 4}", pool(cells, jitter, level));
        lab.run();
        double worst = 0, sum = 0, squares = 0, count = 0;
        lab.for_each(particle::density, [&](const Vec3d&, float density) {
          const double error = static_cast<double>(density) / 1000 - 1;
          worst = std::max(worst, std::abs(error)), sum += error, squares += error * error, count += 1;
        });
        printf("density, %d cells, jitter %.1f, level %.3f: mean error %.2g, rms %.2g, greatest %.2g\n", cells, jitter,
               level, sum / count, std::sqrt(squares / count), worst);
        EXPECT_LT(std::abs(sum / count), 0.005);
        EXPECT_LT(std::sqrt(squares / count), 0.01);
        EXPECT_LT(worst, 0.04);
      }
}

TEST(SurfaceDistance, OfWaterAtRestIsTheDepth) {
  for (const int cells : {16, 32})
    for (const double jitter : {0.0, 0.5}) {
      const double dx = 1.0 / cells, reach = 2.4 * dx, level = 0.40625;  // whole layers of particles
      DerivedLaboratory lab("{fps: 24, frames: [0, 6], substeps: 4}", pool(cells, jitter, level));
      lab.run();
      double worst = 0, sum = 0, count = 0;
      lab.for_each(particle::surface_distance, [&](const Vec3d& x, float d) {
        const double depth = x.y - level;
        EXPECT_LT(static_cast<double>(d), 0.25 * dx);
        EXPECT_GE(static_cast<double>(d), -3.01 * dx);
        if (depth < -reach) {
          EXPECT_LT(static_cast<double>(d), -0.8 * reach);
          return;
        }
        worst = std::max(worst, std::abs(static_cast<double>(d) - depth) / dx);
        sum += std::pow((static_cast<double>(d) - depth) / dx, 2), count += 1;
      });
      printf("surface distance, %d cells, jitter %.1f: rms error %.2g cells, greatest %.2g\n", cells, jitter,
             std::sqrt(sum / count), worst);
      EXPECT_LT(std::sqrt(sum / count), jitter > 0 ? 0.06 : 0.01);
      EXPECT_LT(worst, 0.1);  // in the corners of the box, where the surface has few cells to be found from
    }
}

TEST(Neighbours, AreAllWithinOneCell) {
  DerivedLaboratory lab(
      "{fps: 24, frames: [0, 1]}",
      "  - hybrid: water\n    voxel_size: 0.1\n    jitter: 1\n    fill: {shape: {kind: sphere, center: "
      "[0.03, 0.8, 0.21], radius: 0.45}}\n");
  std::vector<Vec3d> places;
  std::vector<int> counts;
  lab.for_each(particle::neighbours, [&](const Vec3d& x, int n) { places.push_back(x), counts.push_back(n); });
  ASSERT_GT(places.size(), 2500u);
  int most = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    int sure = 0, possible = 0;  // positions have rounding of their own
    for (std::size_t j = 0; j < places.size(); ++j) {
      const double d = length(places[i] - places[j]);
      sure += i != j && d < 0.1 - 1e-7, possible += i != j && d < 0.1 + 1e-7;
    }
    ASSERT_GE(counts[i], sure);
    ASSERT_LE(counts[i], possible);
    most = std::max(most, counts[i]);
  }
  EXPECT_GT(most, 25);  // 4π/3 · 8 = 33 on average inside
}

TEST(Derived, LeaveTheSimulationAlone) {
  const std::string nodes =
      pool(16, 0.5) + "  - source: drop\n    shape: {kind: sphere, center: [0.5, 0.7, 0.25], radius: 0.1}\n";
  DerivedLaboratory with("{fps: 24, frames: [0, 6], substeps: {cfl: 1}}", nodes),
      without("{fps: 24, frames: [0, 6], substeps: {cfl: 1}}", nodes, "");
  with.run(), without.run();
  EXPECT_FALSE(without.water().particles()->has("travelled"));
  const auto a = with.particles("water"), b = without.particles("water");
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [id, p] : a) {
    ASSERT_EQ(std::memcmp(&p.x, &b.at(id).x, sizeof p.x), 0);
    ASSERT_EQ(std::memcmp(&p.v, &b.at(id).v, sizeof p.v), 0);
  }
}

TEST(Derived, OfADropThatFallsAlone) {
  DerivedLaboratory lab(
      "{fps: 24, frames: [0, 3], substeps: 4}",
      "  - gravity: g\n  - hybrid: water\n    voxel_size: 0.1\n    jitter: 0\n    fill: {shape: {kind: box, "
      "center: [0.075, 0.075, 0.075], size: [0.04, 0.04, 0.04]}}\n  - pressure: p\n");
  lab.run();
  ASSERT_EQ(lab.particles("water").size(), 1u);
  const double fallen = 0.5 * 9.80665 * std::pow(3.0 / 24, 2);
  lab.for_each(particle::travelled, [&](const Vec3d&, float way) { EXPECT_NEAR(way, fallen, 0.1 * fallen); });
  lab.for_each(particle::neighbours, [&](const Vec3d&, int n) { EXPECT_EQ(n, 0); });
  lab.for_each(particle::pressure_gradient, [&](const Vec3d&, const Vec3f& g) { EXPECT_LT(length(g), 0.1f * 9806); });
  lab.for_each(particle::vorticity, [&](const Vec3d&, const Vec3f& w) { EXPECT_LT(length(w), 0.1f); });
  lab.for_each(particle::density, [&](const Vec3d&, float d) {
    EXPECT_GT(d, 0);
    EXPECT_LE(d, 1001);
  });
}

}  // namespace
}  // namespace aegir::test
