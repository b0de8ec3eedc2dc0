// Liquid breaks away as droplets and droplets rejoin it: what must stay stays, and what rests does not spray.
#include "base/random.h"
#include "laws/laboratory.h"
#include "liquid/liquid_laboratory.h"
#include "phenomena/coupling/join.h"
#include "phenomena/coupling/register.h"

namespace aegir::test {
namespace {

void register_all(Catalog& catalog) { register_liquid(catalog), register_coupling(catalog); }

class TransitionLaboratory : public Laboratory {
 public:
  TransitionLaboratory(const std::string& timeline, const std::string& nodes)
      : Laboratory(timeline, nodes, "", register_all) {}
  HybridObject& water() { return dynamic_cast<HybridObject&>(*simulation().find("water")); }
  /// Volume inside the surface as the grid has it, m³; exact for a flat one.
  double enclosed() {
    DiscreteVolume& grid = water().grid();
    const double dx = water().spacing();
    const float* distance = grid.store(grid::surface_distance.name).plane<float>(0);
    double cells = 0;
    for (int b = 0; b < grid.topology().local_count(); ++b)
      for (int c = 0; c < bucket_cells; ++c)
        if (!water().obstructed(grid.topology().origin(b) + (Vec3d(c >> 6, c >> 3 & 7, c & 7) + Vec3d(0.5)) * dx))
          cells += std::clamp(0.5 - static_cast<double>(distance[b * bucket_cells + c]), 0.0, 1.0);
    return cells * dx * dx * dx;
  }
  const ObjectAudit& of(const std::string& path) const {
    for (const auto& [name, audit] : report().objects)
      if (name == path) return audit;
    ADD_FAILURE() << "no audit of " << path;
    return report().objects.front().second;
  }
  double added(const std::string& object, const std::string& by) const { return find(of(object).added, by); }
  double removed(const std::string& object, const std::string& by) const { return find(of(object).removed, by); }
  double figure(const std::string& object, const std::string& name) const { return find(of(object).more, name); }

 private:
  template <class List>
  static double find(const List& list, const std::string& name) {
    for (const auto& [key, value] : list)
      if (key == name) return value;
    ADD_FAILURE() << "nothing is told of " << name;
    return 0;
  }
};

std::string pool(double voxel, const std::string& more) {
  return fmt::format(
      "  - gravity: earth\n"
      "  - domain: tray\n    box: {{min: [-0.32, 0, -0.32], max: [0.32, 1.2, 0.32]}}\n    limits: {{top: open}}\n"
      "  - hybrid: water\n    voxel_size: {}\n    fill: {{below: 0.16, in: tray}}\n"
      "  - pressure: incompressible\n  - particles: drops\n    voxel_size: 0.08\n{}",
      voxel, more);
}

const char* const both_ways =
    "  - transition: breakaway\n    from: water\n    to: drops\n    split: {radius: [0.002, 0.006]}\n"
    "  - transition: rejoin\n    from: drops\n    to: water\n";

/// A ball of water falls into a tray at two resolutions: droplets leave and come back, and at every substep the mass of
/// both together, what each transition took and gave, and the momentum that was handed over are the same.
TEST(Transition, ASplashKeepsMassAndMomentum) {
  for (const double voxel : {0.04, 0.02}) {
    TransitionLaboratory lab(
        "{fps: 24, frames: [1, 17], substeps: {cfl: 2, max: 32}}",
        pool(voxel, std::string("  - source: ball\n    shape: {kind: sphere, center: [0, 0.35, 0], "
                                "radius: 0.1}\n    velocity: [0.5, -4, 0]\n") +
                        both_ways));
    ASSERT_TRUE(lab.ok());
    const double mass = lab.of("water").mass, volume = lab.of("water").volume;
    double worst = 0, worst_volume = 0;
    std::int64_t most = 0;
    while (lab.ok() && !lab.simulation().finished()) {
      lab.step();
      worst = std::max(worst, std::abs((lab.of("water").mass + lab.of("drops").mass) / mass - 1));
      worst_volume = std::max(worst_volume, std::abs((lab.of("water").volume + lab.of("drops").volume) / volume - 1));
      most = std::max(most, lab.of("drops").particles);
    }
    const double out = lab.removed("water", "breakaway"), back = lab.added("water", "rejoin");
    std::printf(
        "  %.2f m: %.2f of %.1f kg broke away, %.2f rejoined; %lld droplets at most, %lld at the end; mass %.1e, "
        "volume "
        "%.1e, handed over %.1e and %.1e, momentum %.1e and %.1e\n",
        voxel, out, mass, back, static_cast<long long>(most), static_cast<long long>(lab.of("drops").particles), worst,
        worst_volume, lab.added("drops", "breakaway") / out - 1, back / lab.removed("drops", "rejoin") - 1,
        lab.figure("drops", "breakaway:momentum_error"), lab.figure("drops", "rejoin:momentum_error"));
    EXPECT_GT(out, 0.005 * mass) << "the splash does not break away";
    EXPECT_GT(back, 0.2 * out) << "nothing falls back";
    EXPECT_LT(worst, 1e-6);
    EXPECT_LT(worst_volume, 1e-5);
    EXPECT_NEAR(lab.added("drops", "breakaway") / out, 1, 1e-6);
    EXPECT_NEAR(back / lab.removed("drops", "rejoin"), 1, 1e-6);
    EXPECT_NEAR(out - back, lab.of("drops").mass, 1e-6 * out);
    EXPECT_LT(lab.figure("drops", "breakaway:momentum_error"), 1e-6);
    EXPECT_LT(lab.figure("drops", "rejoin:momentum_error"), 1e-6);
  }
}

/// Water at rest has droplets neither at its surface nor at its walls.
TEST(Transition, WaterAtRestDoesNotSpray) {
  for (const double voxel : {0.04, 0.02}) {
    TransitionLaboratory lab("{fps: 24, frames: [1, 25], substeps: {cfl: 2, max: 32}}", pool(voxel, both_ways));
    ASSERT_TRUE(lab.ok());
    lab.run();
    std::printf("  %.2f m: %.2e kg of %.1f\n", voxel, lab.removed("water", "breakaway"), lab.of("water").mass);
    EXPECT_EQ(lab.removed("water", "breakaway"), 0);
  }
}

/// Rain on a pool: all of it becomes water, and the level rises by its volume.
TEST(Transition, RainRaisesTheLevel) {
  for (const double voxel : {0.04, 0.02}) {
    TransitionLaboratory lab(
        "{fps: 24, frames: [1, 49], substeps: {cfl: 2, max: 32}}",
        pool(voxel,
             "  - emitter: rain\n    shape: {kind: box, center: [0, 0.5, 0], size: [0.6, 0.3, 0.6]}\n    count: 4000\n"
             "    radius: [0.003, 0.009]\n    velocity: [0, -1, 0]\n"
             "  - transition: rejoin\n    from: drops\n    to: water\n"));
    ASSERT_TRUE(lab.ok());
    const double water = lab.of("water").mass, rain = lab.of("drops").mass;
    const auto particles = static_cast<double>(lab.of("water").particles);
    const double enclosed = lab.enclosed();
    lab.run();
    const double rise = (lab.enclosed() - enclosed) * 1000 / rain;
    const double gained = lab.of("water").mass - water;
    std::printf(
        "  %.2f m: %.3f of %.3f kg of rain in %.1f of water; volume %.6f, particles %.4f, mass %.4f of before, "
        "enclosed %.3f of it\n",
        voxel, gained, rain, water, lab.of("water").volume * 1000 / lab.of("water").mass,
        static_cast<double>(lab.of("water").particles) / particles, lab.of("water").mass / water, rise);
    EXPECT_EQ(lab.of("drops").particles, 0);
    EXPECT_NEAR(rise, 1, 0.15);  // of 0.27 and 0.54 cells
    EXPECT_NEAR(gained / rain, 1, 1e-6);
    EXPECT_NEAR(lab.of("water").volume * 1000 / lab.of("water").mass, 1, 1e-5);
    // Particles keep about the mass that they are made with.
    const double mean = lab.of("water").mass / static_cast<double>(lab.of("water").particles);
    EXPECT_NEAR(mean / lab.water().particle_mass(), 1, 0.3);
    for (const auto& [id, p] : lab.particles("water")) ASSERT_LT(p.mass, 2 * lab.water().particle_mass());
  }
}

/// Droplets of any mass and velocity join: nothing is lost, also where there is no particle near.
TEST(Transition, JoiningKeepsMassMomentumAndVolume) {
  LiquidLaboratory lab("{fps: 24, frames: [0, 1]}",
                       "  - hybrid: water\n    voxel_size: 0.05\n    fill: {shape: {kind: sphere, radius: 0.4}}\n"
                       "    velocity: [0.3, 2, -1]\n");
  ASSERT_TRUE(lab.ok());
  auto comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  const auto totals = [&] {
    double mass = 0, volume = 0;
    Vec3d momentum;
    for (const auto& [id, p] : lab.particles("water"))
      mass += p.mass, momentum += p.v * p.mass, volume += 4188.7902047863905 * std::pow(p.radius, 3);
    return std::tuple(mass, momentum, volume);
  };
  const auto [mass, momentum, volume] = totals();
  std::vector<Fallen> rain;
  double fallen = 0;
  Vec3d brought;
  for (std::uint64_t n = 0; n < 20000; ++n) {
    const Random draw(1, n, 0, Purpose::test);
    Fallen f;
    f.position = draw.direction(0) * (0.6 * std::cbrt(draw.uniform(2)));
    f.velocity = Vec3f(draw.direction(3) * draw.uniform(5, 0, 10));
    f.radius = static_cast<float>(std::pow(10.0, draw.uniform(6, -4, -1.4)));
    f.mass = static_cast<float>(4188.7902047863905 * std::pow(static_cast<double>(f.radius), 3));
    f.id = static_cast<std::int64_t>(n);
    rain.push_back(f);
    fallen += static_cast<double>(f.mass), brought += Vec3d(f.velocity) * static_cast<double>(f.mass);
  }
  Handover handover;
  join(exec, lab.water(), rain, 1, 0, handover);
  ASSERT_TRUE(lab.water().particles()->rebucket(exec, HybridObject::padding));
  const auto [mass_after, momentum_after, volume_after] = totals();
  std::printf("  mass %.1e, momentum %.1e, volume %.1e\n", mass_after / (mass + fallen) - 1,
              length(momentum_after - momentum - brought) / handover.left(exec).momentum_size,
              volume_after / (volume + fallen) - 1);
  EXPECT_NEAR(mass_after / (mass + fallen), 1, 1e-7);
  EXPECT_NEAR(volume_after / (volume + fallen), 1, 1e-6);
  EXPECT_LT(length(momentum_after - momentum - brought), 1e-7 * handover.left(exec).momentum_size);
  EXPECT_NEAR(handover.left(exec).mass, fallen, 1e-9 * fallen);
  EXPECT_NEAR(handover.entered(exec).mass, fallen, 1e-6 * fallen);
}

}  // namespace
}  // namespace aegir::test
