// Law: what collisions make of a geyser. Less surface tension gives more and smaller droplets; counts order as in Jones
// 2018, Table 4.2: σ × 0.1 > without collisions > σ > σ × 10. A pattern that the emitter leaves in the spray is broken
// up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "parallel/comm.h"
#include "phenomena/common/particle_object.h"
#include "phenomena/common/register.h"
#include "phenomena/droplets/register.h"
#include "pipeline/schedule/simulation.h"
#include "pipeline/schema/catalog.h"

namespace aegir {
namespace {

struct Drop {
  Vec3d place;
  double radius, mass;
};

/// The droplets at the end of a setup.
std::vector<Drop> run(const std::string& text, int last_frame) {
  const auto comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  Catalog catalog;
  register_common(catalog);
  register_droplets(catalog);
  Messages messages;
  auto setup = parse_setup(text, "geyser.yaml", {}, catalog, messages);
  EXPECT_TRUE(setup) << (messages.errors.empty() ? "" : messages.errors.front().text());
  if (!setup) return {};
  auto made = Simulation::create(std::move(*setup), exec, messages);
  EXPECT_TRUE(made);
  Simulation& simulation = **made;
  simulation.set_last_frame(last_frame);
  EXPECT_TRUE(simulation.start());
  while (!simulation.finished())
    if (!simulation.advance()) return ADD_FAILURE(), std::vector<Drop>{};
  const ParticleSystem& particles = *simulation.find("drops")->particles();
  const auto place = particles.read(particle::position);
  const auto radius = particles.read(particle::radius), mass = particles.read(particle::mass);
  std::vector<Drop> drops;
  for (int b = 0; b < particles.topology().local_count(); ++b)
    for (std::size_t i = 0; i < place(b).count; ++i)
      drops.push_back({particles.world(b, place(b)[i]), radius(b)[i], mass(b)[i]});
  return drops;
}

double median_radius(std::vector<Drop> drops) {
  std::nth_element(drops.begin(), drops.begin() + static_cast<std::ptrdiff_t>(drops.size() / 2), drops.end(),
                   [](const Drop& a, const Drop& b) { return a.radius < b.radius; });
  return drops[drops.size() / 2].radius;
}

/// setups/geyser.yaml with other values of what it exposes.
std::string geyser(const std::string& tension, double rate) {
  std::ifstream file(AEGIR_SETUPS "/geyser.yaml");
  std::stringstream text;
  text << file.rdbuf();
  std::string all = text.str();
  const auto replace = [&](const std::string& what, const std::string& with) {
    const auto at = all.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    all.replace(at, what.size(), with);
  };
  replace("rate: 40000", fmt::format("rate: {}", rate));
  if (tension == "none")
    replace("  - droplet_collisions: collisions\n", "  - droplet_collisions: collisions\n    enabled: false\n");
  else
    replace("tension: 0.072 N/m", "tension: " + tension + " N/m");
  replace("outputs:\n  - points: cache\n", "");
  return all;
}

TEST(Geyser, CountsAndSizesOrderBySurfaceTension) {
  // Twice as many droplets in the same jet, twice as many collisions each: the order must not hang on one choice.
  for (const double rate : {20000.0, 40000.0}) {
    const auto weak = run(geyser("0.0072", rate), 54), ballistic = run(geyser("none", rate), 54),
               water = run(geyser("0.072", rate), 54), strong = run(geyser("0.72", rate), 54);
    ASSERT_FALSE(weak.empty() || ballistic.empty() || water.empty() || strong.empty());
    const double radius[] = {median_radius(weak), median_radius(water), median_radius(strong)};
    fmt::print(
        "{} per second: {} droplets at σ × 0.1, {} without collisions, {} at σ, {} at σ × 10; median radius "
        "{:.3f}, {:.3f}, {:.3f} mm\n",
        rate, weak.size(), ballistic.size(), water.size(), strong.size(), 1e3 * radius[0], 1e3 * radius[1],
        1e3 * radius[2]);
    EXPECT_GT(weak.size(), ballistic.size());
    EXPECT_GT(ballistic.size(), water.size());
    EXPECT_GT(water.size(), strong.size());
    EXPECT_LT(radius[0], radius[1]);
    EXPECT_LT(radius[1], radius[2]);
  }
}

/// Eight nozzles in a ring that lean inwards: their jets cross a metre up, and without collisions come out as eight
/// jets.
std::string crossing_jets(bool collisions) {
  std::string text =
      "aegir: 1\ntimeline: {fps: 24, frames: [1, 24], substeps: {cfl: 3, max: 32}}\nsetup:\n  - gravity: earth\n"
      "  - particles: drops\n    voxel_size: 2 cm\n";
  for (int n = 0; n < 8; ++n) {
    const double angle = 2 * 3.14159265358979 * n / 8, x = std::cos(angle), z = std::sin(angle);
    text += fmt::format(
        "  - emitter: nozzle_{}\n    shape: {{kind: disc, center: [{}, 0, {}], radius: 2 cm}}\n    rate: 8000\n"
        "    velocity: [{}, 6, {}]\n    spread: 0.1\n    radius: [1.5 mm, 1.5 mm]\n    seed: {}\n",
        n, 0.2 * x, 0.2 * z, -1.1 * x, -1.1 * z, n);
  }
  return text + (collisions ? "  - droplet_collisions: meet\n" : "");
}

/// How regular droplets stand around the axis, by mass, beyond the crossing: 1 if all are in eight directions, near 0
/// if they are anywhere.
double regularity(const std::vector<Drop>& drops) {
  std::complex<double> sum;
  double mass = 0;
  for (const Drop& d : drops) {
    if (d.place.y < 1.3) continue;
    sum += d.mass * std::exp(std::complex<double>(0, 8 * std::atan2(d.place.z, d.place.x)));
    mass += d.mass;
  }
  return mass > 0 ? std::abs(sum) / mass : 1;
}

TEST(Geyser, CollisionsBreakTheEmittersPatternUp) {
  const double before = regularity(run(crossing_jets(false), 18)), after = regularity(run(crossing_jets(true), 18));
  fmt::print("regularity beyond the crossing: {:.3f} without collisions, {:.3f} with\n", before, after);
  EXPECT_GT(before, 0.3);
  EXPECT_LT(after, 0.5 * before);
}

}  // namespace
}  // namespace aegir
