// Expressions in a setup: what they write is there, in order, at their stage, and what they delete is gone.
#include <cmath>
#include <set>

#include "laws/laboratory.h"
#include "phenomena/common/hybrid_object.h"

namespace aegir::test {
namespace {

/// A float channel of all particles by id.
std::map<std::int64_t, float> channel(Laboratory& lab, const std::string& name, const std::string& object = "dust") {
  std::map<std::int64_t, float> all;
  ParticleSystem& s = *lab.simulation().find(object)->particles();
  EXPECT_TRUE(s.has(name));
  if (!s.has(name)) return all;
  const auto id = s.read(particle::id);
  const float* values = s.store(name).plane<float>(0);
  for (int b = 0; b < s.topology().local_count(); ++b)
    for (std::size_t i = 0; i < s.count(b); ++i) all[id(b)[i]] = values[s.first(b) + i];
  return all;
}

std::string cloud(int count, const std::string& more) {
  return fmt::format(
      "  - particles: dust\n    voxel_size: 0.1 m\n  - emitter: once\n    shape: {{kind: box, center: [0.5, 0.5, 0.5], "
      "size: [1, 1, 1]}}\n    count: {}\n{}",
      count, more);
}

TEST(Expressions, CreateChannelsAndRunInTheOrderWritten) {
  // By path `a` would come first.
  Laboratory lab(timeline(1, 2), one_particle({}, {},
                                              "  - expression: b\n    code: f@heat = 3;\n"
                                              "  - expression: a\n    code: f@heat = f@heat * 10 + $substep;\n"));
  ASSERT_TRUE(lab.ok());
  lab.run();
  EXPECT_EQ(channel(lab, "heat").at(0), 31.0f);

  Laboratory other(timeline(1, 2), one_particle({}, {},
                                                "  - expression: a\n    code: f@heat = f@heat * 10 + 1;\n"
                                                "  - expression: b\n    code: f@heat += 3;\n"));
  ASSERT_TRUE(other.ok());
  other.run();
  EXPECT_EQ(channel(other, "heat").at(0), 44.0f);
}

TEST(Expressions, KnowWhatThoseBeforeThemCreate) {
  Laboratory lab(timeline(1, 1), one_particle({}, {},
                                              "  - expression: z\n    stage: frame_begin\n    code: 'v@c = {1, 2, 3};'\n"
                                              "  - expression: a\n    stage: after_solve\n    code: |\n"
                                              "      vec3f mean = neighbouraverage(\"c\", 0.1);\n"
                                              "      f@size = dot(@c, mean);\n"));
  ASSERT_TRUE(lab.ok());
  lab.run();
  EXPECT_EQ(channel(lab, "size").at(0), 14.0f);
}

TEST(Expressions, SeeTimeAndKeyedVariables) {
  Laboratory lab(
      timeline(4, 1),
      one_particle(
          {}, {},
          "  - expression: e\n    stage: frame_end\n    variables: {k: {keys: {1: 0, 5: 8}}, c: 2}\n"
          "    vectors: {w: {keys: {1: [0, 0, 0], 5: [4, 8, 12]}}}\n"
          "    code: 'f@k = $k; f@c = $c; vec3f w = v$w; f@w = w.y; f@frame = $frame; f@dt = $dt; f@time = $time;'\n"));
  ASSERT_TRUE(lab.ok());
  for (int f = 2; f <= 5; ++f) {
    lab.step();
    const auto one = [&](const char* name) { return channel(lab, name).at(0); };
    EXPECT_FLOAT_EQ(one("k"), 2.0f * static_cast<float>(f - 1));
    EXPECT_FLOAT_EQ(one("w"), 2.0f * static_cast<float>(f - 1));
    EXPECT_EQ(one("c"), 2.0f);
    EXPECT_EQ(one("frame"), static_cast<float>(f));
    EXPECT_FLOAT_EQ(one("dt"), 1.0f / 24);
    EXPECT_FLOAT_EQ(one("time"), static_cast<float>(f - 1) / 24);
  }
}

TEST(Expressions, AfterForcesChangeWhatMoves) {
  // v' = v + g dt is doubled before it moves things; x' = x + dt (v + v') / 2.
  Laboratory lab(timeline(1, 1), one_particle({}, {1, 0, 0},
                                              "  - gravity: g\n    acceleration: [0, -10 m/s^2, 0]\n"
                                              "  - expression: double\n    stage: after_forces\n    code: v@v *= 2;\n"));
  ASSERT_TRUE(lab.ok());
  lab.step();
  const double dt = 1.0 / 24;
  EXPECT_NEAR(lab.only().v.y, -20 * dt, 1e-6);
  EXPECT_NEAR(lab.only().x.y, -10 * dt * dt, 1e-6);
  EXPECT_NEAR(lab.only().x.x, 1.5 * dt, 1e-6);
}

TEST(Expressions, DeleteByAgeAndCountIt) {
  Laboratory lab(timeline(3, 2),
                 cloud(1000, "  - expression: old\n    code: 'if (@age > 0.05 && @P.x < 0.5) deletepoint();'\n"));
  ASSERT_TRUE(lab.ok());
  const double mass = lab.audit().mass;
  lab.step(), lab.step();
  EXPECT_EQ(lab.audit().particles, 1000);
  lab.step();
  const auto rest = lab.particles();
  EXPECT_GT(rest.size(), 400u);
  EXPECT_LT(rest.size(), 600u);
  for (const auto& [id, p] : rest) {
    EXPECT_GE(id, 0);
    EXPECT_GE(p.x.x, 0.5 - 1e-6);
  }
  EXPECT_EQ(lab.audit().particles, static_cast<std::int64_t>(rest.size()));
  ASSERT_EQ(lab.audit().removed.size(), 1u);
  EXPECT_EQ(lab.audit().removed[0].first, "old");
  EXPECT_NEAR(lab.audit().removed[0].second + lab.audit().mass, mass, 1e-9 * mass);
}

TEST(Expressions, AfterEmissionSeeTheNewborn) {
  Laboratory lab(timeline(1, 1), cloud(50, "  - expression: mark\n    stage: after_emission\n    code: f@born = 1;\n"));
  ASSERT_TRUE(lab.ok());
  const auto born = channel(lab, "born");
  ASSERT_EQ(born.size(), 50u);
  for (const auto& [id, b] : born) EXPECT_EQ(b, 1.0f);
}

TEST(Expressions, CountNeighboursAsACountOfPairsDoes) {
  Laboratory lab(timeline(1, 1), cloud(600,
                                       "  - expression: near\n    stage: after_solve\n    code: |\n"
                                       "      f@near = neighbourcount(0.15);\n"
                                       "      vec3f mean = neighbouraverage(\"P\", 0.15);\n      f@x = mean.x;\n"));
  ASSERT_TRUE(lab.ok());
  const auto places = lab.particles();
  lab.step();
  const auto near = channel(lab, "near"), x = channel(lab, "x");
  ASSERT_EQ(near.size(), 600u);
  int greatest = 0;
  for (const auto& [id, p] : places) {
    int count = 0, doubtful = 0;
    double sum = p.x.x;
    for (const auto& [other, q] : places) {
      const double distance = length(q.x - p.x);
      if (other == id) continue;
      if (distance < 0.15) ++count, sum += q.x.x;
      if (std::abs(distance - 0.15) < 1e-6) ++doubtful;
    }
    if (doubtful) continue;
    EXPECT_EQ(near.at(id), static_cast<float>(count));
    EXPECT_NEAR(x.at(id), sum / (count + 1), 1e-5);
    greatest = std::max(greatest, count);
  }
  EXPECT_GT(greatest, 10);
}

TEST(Expressions, RandomNumbersDifferByStepAndId) {
  Laboratory lab(timeline(2, 1), cloud(200, "  - expression: r\n    code: f@r = rand();\n"));
  ASSERT_TRUE(lab.ok());
  lab.step();
  const auto first = channel(lab, "r");
  lab.step();
  const auto second = channel(lab, "r");
  std::set<float> seen;
  for (const auto& [id, r] : first) {
    seen.insert(r);
    EXPECT_NE(r, second.at(id));
  }
  EXPECT_GT(seen.size(), 195u);
}

TEST(Expressions, OverVoxelsTurnALiquid) {
  const std::string nodes =
      "  - hybrid: water\n    voxel_size: 0.1 m\n  - source: fill\n    shape: {kind: box, center: [0, 0.3, 0], size: "
      "[1, "
      "0.6, 1]}\n  - expression: swirl\n    over: voxels\n    stage: after_forces\n    vectors: {turn: [0, 3, 0]}\n"
      "    code: |\n      v@vel += cross(v$turn, getvoxelpws()) * $dt;\n      f@visits += 1;\n";
  Laboratory lab("{fps: 24, frames: [1, 3], substeps: 1}", nodes);
  ASSERT_TRUE(lab.ok());
  lab.run();
  double turning = 0, mass = 0;
  for (const auto& [id, p] : lab.particles("water"))
    turning += p.mass * (p.x.z * p.v.x - p.x.x * p.v.z), mass += p.mass * (p.x.x * p.x.x + p.x.z * p.x.z);
  // Two substeps of ω dt = 3/24 each, as solid rotation; faces take the centre of their cell for their place.
  EXPECT_NEAR(turning / mass, 2 * 3.0 / 24, 0.1 * 2 * 3.0 / 24);
  auto& grid = dynamic_cast<HybridObject&>(*lab.simulation().find("water")).grid();
  EXPECT_EQ(grid.store("visits").info.name, "visits");
}

TEST(Expressions, EndlessLoopsStopTheRunAndSaySo) {
  Catalog catalog;
  register_common(catalog);
  Messages messages;
  const std::string text =
      "aegir: 1\ntimeline: " + timeline(1, 1) + "\nsetup:\n" +
      one_particle({}, {}, "  - expression: loop\n    loop_limit: 1000\n    code: 'while (true) f@x += 1;'\n");
  auto setup = parse_setup(text, "law.yaml", {}, catalog, messages);
  ASSERT_TRUE(setup);
  const auto comm = make_single_comm();
  Profile profile;
  auto made = Simulation::create(std::move(*setup), Exec{*comm, profile}, messages);
  ASSERT_TRUE(made) << made.error().text();
  ASSERT_TRUE((*made)->start());
  const auto step = (*made)->advance();
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().kind, Failure::simulation);
  EXPECT_NE(step.error().message.find("'loop' took more than 1000 turns"), std::string::npos) << step.error().text();
}

}  // namespace
}  // namespace aegir::test
