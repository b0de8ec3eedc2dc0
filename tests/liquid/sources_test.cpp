// Sources emit the volume they are asked for; sinks count what they take.
#include "liquid/liquid_laboratory.h"
#include "numerics/surface/liquid_volume.h"

namespace aegir::test {
namespace {

/// Volume of all particles that are or were there.
double volume_ever(LiquidLaboratory& lab) {
  double removed = 0;
  for (const auto& [name, value] : lab.audit().more)
    if (std::string(name) == "removed_particles") removed = value;
  const HybridObject& water = lab.water();
  return (static_cast<double>(lab.audit().particles) + removed) * water.particle_mass() / water.settings().density;
}

/// Volume that the surface encloses, outside solids.
double enclosed(LiquidLaboratory& lab) {
  const auto comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  return liquid_volume(exec, lab.water().grid(), grid::surface_distance, &grid::solid_distance);
}

struct Stream {
  std::string flux = "0.18";
  std::string shape = "kind: box, size: [0.2, 0.3, 0.3]";
  std::string velocity = "[1, 0, 0]";
  std::string more = "";  // nodes around it
  std::string fill = "";  // what else is in the liquid
  int cells = 16;         // per metre
  std::string substeps = "2";
  int frames = 48;
  double start = 0.5;  // of measuring

  std::string timeline() const { return fmt::format("{{fps: 24, frames: [0, {}], substeps: {}}}", frames, substeps); }
  std::string nodes() const {
    return fmt::format(
        "{}  - hybrid: water\n    voxel_size: {}\n{}  - source: pipe\n    mode: continuous\n    shape: {{{}}}\n"
        "    velocity: {}\n    flux: {}\n  - pressure: p\n",
        more, 1.0 / cells, fill, shape, velocity, flux);
  }
};

/// What was emitted between half a second and two seconds over what was asked for.
double emitted(const Stream& s, double asked) {
  LiquidLaboratory lab(s.timeline(), s.nodes());
  if (!lab.ok()) return 0;
  while (lab.ok() && lab.time() < 0.5 - 1e-9) lab.step();
  const double first = volume_ever(lab);
  lab.run();
  const double ratio = (volume_ever(lab) - first) / asked;
  std::printf("%d cells per metre, substeps %s, flux %s: %.4f of the volume asked for, %lld particles\n", s.cells,
              s.substeps.c_str(), s.flux.c_str(), ratio, static_cast<long long>(lab.audit().particles));
  return ratio;
}

TEST(SourceFlux, FreeJet) {
  for (const int cells : {16, 32})
    for (const char* substeps : {"1", "{cfl: 1, max: 40}"})
      EXPECT_NEAR(emitted({.cells = cells, .substeps = substeps}, 0.18 * 1.5), 1, 0.01);
}

TEST(SourceFlux, ObliqueJetFromABall) {
  for (const int cells : {16, 32})
    EXPECT_NEAR(emitted({.shape = "kind: sphere, radius: 0.2", .velocity = "[1, 2, 0.5]", .cells = cells}, 0.18 * 1.5),
                1, 0.01);
}

TEST(SourceFlux, FillsATank) {
  const char* tank = "  - gravity: earth\n  - domain: tank\n    box: {min: [-0.5, -1, -0.5], max: [0.5, 0.5, 0.5]}\n";
  for (const int cells : {16, 32})
    for (const char* substeps : {"2", "{cfl: 2, max: 40}"})
      EXPECT_NEAR(emitted({.velocity = "[0, -1, 0]", .more = tank, .cells = cells, .substeps = substeps}, 0.18 * 1.5),
                  1, 0.01);
}

/// The slope of the line through points (t, y) that is nearest in the mean square.
double slope(const std::vector<std::pair<double, double>>& points) {
  double t = 0, y = 0, tt = 0, ty = 0;
  const auto n = static_cast<double>(points.size());
  for (const auto& [time, value] : points) t += time / n, y += value / n;
  for (const auto& [time, value] : points) tt += (time - t) * (time - t), ty += (time - t) * (value - y);
  return ty / tt;
}

/// Volume per second from `start` on, over what was asked for.
struct Delivered {
  double particles = 0;  // by their number
  double enclosed = 0;   // by the volume that the surface encloses
};
Delivered rates(const Stream& s, double asked) {
  LiquidLaboratory lab(s.timeline(), s.nodes());
  std::vector<std::pair<double, double>> particles, volumes;
  while (lab.ok() && !lab.simulation().finished()) {
    const double begin = lab.time();
    lab.step();
    if (begin < s.start) continue;
    volumes.emplace_back(begin, enclosed(lab));  // the grid shows the begin of the substep
    particles.emplace_back(lab.time(), volume_ever(lab));
  }
  const Delivered d{slope(particles) / asked, slope(volumes) / asked};
  std::printf("%d cells per metre, substeps %s, flux %s: of the flux asked for %.4f as particles, %.4f enclosed\n",
              s.cells, s.substeps.c_str(), s.flux.c_str(), d.particles, d.enclosed);
  return d;
}

/// A pipe in air, wide enough that the surface is known to a per cent of it.
TEST(SourceFlux, EnclosedInAir) {
  for (const int cells : {16, 32})
    for (const char* substeps : {"1", "3"}) {
      const Delivered d = rates(
          {.flux = "0.64", .shape = "kind: box, size: [0.2, 0.8, 0.8]", .cells = cells, .substeps = substeps}, 0.64);
      EXPECT_NEAR(d.particles, 1, 0.01);
      EXPECT_NEAR(d.enclosed, 1, 0.01);
    }
}

/// A pipe at the floor of a tank, whose water would resist. Measured from when the first fountain has fallen back.
TEST(SourceFlux, EnclosedUnderWater) {
  const char* tank =
      "  - gravity: earth\n  - domain: tank\n    box: {min: [-0.5, -0.5, -0.5], max: [0.5, 1, 0.5]}\n"
      "    limits: {sides: wall, bottom: wall, top: open}\n";
  for (const int cells : {24, 32})
    for (const char* substeps : {"2", "4"}) {
      const Delivered d = rates({.flux = "0.2",
                                 .shape = "kind: box, center: [0, -0.4, 0], size: [0.7, 0.15, 0.7]",
                                 .velocity = "[0, 1, 0]",
                                 .more = tank,
                                 .fill = "    fill: {below: -0.1}\n",
                                 .cells = cells,
                                 .substeps = substeps,
                                 .frames = 96,
                                 .start = 1},
                                0.2);
      EXPECT_NEAR(d.particles, 1, 0.01);
      EXPECT_NEAR(d.enclosed, 1, 0.01);
    }
}

/// A pipe that is carried sideways and turned: what it delivers is the same, and what leaves it has the pipe's own
/// velocity besides the stream's.
TEST(SourceFlux, MovingPipe) {
  for (const int cells : {16, 32})
    for (const char* substeps : {"1", "4"}) {
      LiquidLaboratory moving(
          Stream{.substeps = substeps}.timeline(),
          fmt::format(
              "  - hybrid: water\n    voxel_size: {}\n  - source: pipe\n    mode: continuous\n    shape: {{kind: "
              "box, size: [0.2, 0.3, 0.3]}}\n    velocity: [1, 0, 0]\n    flux: 0.09\n    translate: {{keys: {{0: "
              "[0, 0, 0], 48: [0, 1, 0]}}}}\n    rotate: {{keys: {{0: [0, 0, 0], 48: [90 deg, 0, 0]}}}}\n",
              1.0 / cells));
      ASSERT_TRUE(moving.ok());
      while (moving.ok() && moving.time() < 0.5 - 1e-9) moving.step();
      const double first = volume_ever(moving);
      moving.run();
      const double ratio = (volume_ever(moving) - first) / (0.09 * 1.5);
      Vec3d mean;
      double count = 0;
      for (const auto& [id, p] : moving.particles("water"))
        if (p.x.x > -0.05 && p.x.x < 0.05) mean += p.v, count += 1;
      std::printf("%d cells per metre, substeps %s: %.4f of the volume asked for, velocity %.4f %.4f\n", cells,
                  substeps, ratio, mean.x / count, mean.y / count);
      EXPECT_NEAR(ratio, 1, 0.01);
      EXPECT_NEAR(mean.x / count, 1, 0.02);
      EXPECT_NEAR(mean.y / count, 0.5, 0.02);
    }
}

/// A slow thread of honey: in a slice of it there are as many particles as belong there, and they move as the source
/// says, inside the source; below it number times speed is the flux, and viscosity does not let the speed jump.
TEST(SlowThread, LeavesTheSourceWhole) {
  for (const double dx : {5e-3 / 3, 5e-3 / 4}) {
    LiquidLaboratory lab(
        "{fps: 24, frames: [0, 6], substeps: 8}",
        fmt::format("  - gravity: earth\n  - hybrid: water\n    voxel_size: {}\n    density: 1400\n    transfer: apic\n"
                    "  - source: spoon\n    mode: continuous\n    velocity: [0, -0.1, 0]\n    shape: {{kind: cylinder, "
                    "radius: 0.005, height: 0.02}}\n  - pressure: p\n  - viscosity: thick\n    dynamic: 60\n",
                    dx));
    lab.run();
    ASSERT_TRUE(lab.ok());
    struct Slice {
      double low, high, count = 0, speed = 0;
    } inside{-0.008, 0.008}, below{-0.015, -0.011};
    for (const auto& [id, p] : lab.particles("water"))
      for (Slice* s : {&inside, &below})
        if (p.x.y > s->low && p.x.y < s->high) s->count += 1, s->speed -= p.v.y;
    const double full = 3.14159265 * 25e-6 / std::pow(dx / 2, 3);  // particles per metre
    const auto flux = [&](const Slice& s) { return s.speed / (s.high - s.low) / (full * 0.1); };
    std::printf("%.2f mm: inside %.4f of the particles, %.4f of the flux; below %.4f of the speed, %.4f of the flux\n",
                1e3 * dx, inside.count / (inside.high - inside.low) / full, flux(inside),
                below.speed / below.count / 0.1, flux(below));
    EXPECT_NEAR(inside.count / (inside.high - inside.low) / full, 1, 0.01);
    EXPECT_NEAR(flux(inside), 1, 0.01);
    EXPECT_NEAR(flux(below), 1, 0.03);
    EXPECT_NEAR(below.speed / below.count / 0.1, 1.1, 0.1);
  }
}

/// A flux that grows from 0.1 to 0.3 m³/s until one second and stays there.
TEST(SourceFlux, FollowsKeyframes) {
  for (const int cells : {16, 32})
    for (const char* substeps : {"2", "4"})
      EXPECT_NEAR(emitted({.flux = "{keys: {0: 0.1, 24: 0.3, 48: 0.3}}", .cells = cells, .substeps = substeps},
                          0.25 * 0.5 + 0.3 * 1),
                  1, 0.01);
}

/// A stream that ends in a sink: what was emitted is there or was counted.
TEST(Sink, CountsWhatItTakes) {
  for (const int cells : {16, 32}) {
    LiquidLaboratory lab(
        "{fps: 24, frames: [0, 48], substeps: {cfl: 2, max: 20}}",
        fmt::format("  - hybrid: water\n    voxel_size: {}\n  - source: pipe\n    mode: continuous\n    shape: {{kind: "
                    "box, size: [0.2, 0.3, 0.3]}}\n    velocity: [1, 0, 0]\n    flux: 0.18\n"
                    "  - sink: drain\n    shape: {{kind: box, center: [0.8, 0, 0], size: [0.4, 1, 1]}}\n  - pressure: "
                    "p\n",
                    1.0 / cells));
    ASSERT_TRUE(lab.ok());
    while (lab.ok() && lab.time() < 0.5 - 1e-9) lab.step();
    const double first = volume_ever(lab);
    lab.run();
    double removed = 0;
    for (const auto& [name, value] : lab.audit().more)
      if (std::string(name) == "removed_particles") removed = value;
    const auto all = lab.particles("water");
    for (const auto& [id, p] : all) EXPECT_LT(p.x.x, 0.6 + 1e-6);
    std::printf("%d cells per metre: %zu particles left, %.0f removed, %.4f of the volume asked for\n", cells,
                all.size(), removed, (volume_ever(lab) - first) / (0.18 * 1.5));
    EXPECT_GT(removed, 0.3 * static_cast<double>(all.size()));
    // The books: what came from the pipe is there, or went into the drain.
    const ObjectAudit& a = lab.audit();
    ASSERT_EQ(a.added.size(), 1u);
    ASSERT_EQ(a.removed.size(), 1u);
    EXPECT_EQ(a.added[0].first, "pipe");
    EXPECT_EQ(a.removed[0].first, "drain");
    EXPECT_NEAR(a.added[0].second, a.mass + a.removed[0].second, 1e-6 * a.added[0].second);
    EXPECT_NEAR(a.removed[0].second, removed * lab.water().particle_mass(), 1e-6 * a.removed[0].second);
    EXPECT_NEAR((volume_ever(lab) - first) / (0.18 * 1.5), 1, 0.01);
  }
}

/// The drift of volume is told for a pool, and is not a number for a few drops.
TEST(VolumeDrift, IsToldWhereThereIsAnInside) {
  const auto told = [](double size) {
    LiquidLaboratory lab(
        "{fps: 24, frames: [0, 2], substeps: 2}",
        fmt::format("  - hybrid: water\n    voxel_size: 0.05\n    fill: {{shape: {{kind: box, size: [{}, "
                    "{}, {}]}}}}\n  - pressure: p\n",
                    size, size, size));
    lab.run();
    for (const auto& [name, value] : lab.audit().more)
      if (std::string(name) == "volume_drift") return value;
    return 1e300;
  };
  EXPECT_TRUE(std::isnan(told(0.15)));
  EXPECT_NEAR(told(0.6), 0, 0.01);
}

}  // namespace
}  // namespace aegir::test
