#include "expressions/apply.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/random.h"
#include "parallel/threads.h"

namespace aegir::expression {
namespace {

struct Fixture {
  std::unique_ptr<Comm> comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
};

/// Particles over several buckets, with a velocity.
ParticleSystem make_particles(Fixture& f) {
  ParticleSystem particles("water", 0.1, Partition::even(1));
  particles.declare(ParticleChannel<Vec3f>{"v"});
  ParticleBatch batch = particles.batch(500);
  for (std::size_t i = 0; i < 500; ++i) {
    const Random random(1, i, 0, Purpose::test);
    batch.position[i] = Vec3d(random.uniform(0), random.uniform(1), random.uniform(2)) * 4 - Vec3d(2.0);
    batch.id[i] = static_cast<std::int64_t>(i);
    batch.set("v", i, Vec3d(1, 2, 3));
  }
  particles.add(batch);
  EXPECT_TRUE(particles.rebucket(f.exec));
  return particles;
}

std::shared_ptr<const Program> made(const std::string& text, const ParticleSystem& particles) {
  CompileOptions options;
  options.channels = channels_of(particles);
  const Compiled compiled = compile({text}, options);
  EXPECT_TRUE(compiled.program) << (compiled.program ? "" : compiled.error({text}).text());
  return compiled.program;
}

std::vector<float> heat_by_id(const ParticleSystem& particles) {
  std::vector<float> heat(500, -1);
  const float* from = particles.store("heat").plane<float>(0);
  const std::int64_t* id = particles.store("id").plane<std::int64_t>(0);
  for (std::size_t i = 0; i < particles.size(); ++i) heat[static_cast<std::size_t>(id[i])] = from[i];
  return heat;
}

TEST(Apply, CreatesMovesAndDeletesParticles) {
  Fixture f;
  ParticleSystem particles = make_particles(f);
  const auto program = made("f@heat = @P.y; if (@P.x > 0) deletepoint(); v@P += {0, 10, 0};", particles);
  ASSERT_TRUE(program);
  ASSERT_TRUE(apply(f.exec, "expression", *program, particles));
  ASSERT_TRUE(particles.has("heat"));
  ASSERT_TRUE(particles.rebucket(f.exec));
  EXPECT_GT(particles.size(), 150u);
  EXPECT_LT(particles.size(), 350u);
  for (int b = 0; b < particles.topology().local_count(); ++b)
    for (std::uint64_t i = particles.first(b); i < particles.first(b) + particles.count(b); ++i) {
      const ParticleStore& p = particles.store("P");
      const Vec3d at = particles.world(b, {p.plane<float>(0)[i], p.plane<float>(1)[i], p.plane<float>(2)[i]});
      EXPECT_LE(at.x, 0);
      EXPECT_NEAR(at.y, particles.store("heat").plane<float>(0)[i] + 10, 2e-5);
    }
}

TEST(Apply, SameBitsForAnyNumberOfThreads) {
  std::vector<float> first;
  for (int threads : {1, 2, 7}) {
    Fixture f;
    ParticleSystem particles = make_particles(f);
    const auto program =
        made("f@heat = rand() + simplexnoise(v@P) + length(v@P); for (int i = 0; i < int@id; ++i) @heat += 0.1f;",
             particles);
    ThreadScope scope(threads);
    Application how;
    how.seed = 3, how.step = 4;
    scope.run([&] { ASSERT_TRUE(apply(f.exec, "expression", *program, particles, how)); });
    const std::vector<float> heat = heat_by_id(particles);
    if (first.empty()) first = heat;
    EXPECT_EQ(heat, first) << threads;
  }
}

TEST(Apply, ARehearsalAsksAndChangesNothing) {
  Fixture f;
  ParticleSystem particles = make_particles(f);
  CompileOptions options;
  options.channels = channels_of(particles);
  options.samples = {{"air", "heat", ValueType::float32}};
  const auto program =
      compile({"f@heat += sample(\"air\", \"heat\", v@P) + 1; v@P += {1, 0, 0}; deletepoint();"}, options).program;
  ASSERT_TRUE(program);
  ASSERT_TRUE(declare_created(*program, particles));
  std::atomic<int> asked{0};
  Services services;
  services.sample_context = &asked;
  services.sample = [](void* context, int, const double*, float* value) {
    ++*static_cast<std::atomic<int>*>(context), value[0] = 2;
  };
  services.begin = [](void*, std::int64_t, std::int64_t element) { return element % 2 == 0; };
  Application how;
  how.services = &services;
  const auto bytes = [&] {
    std::vector<std::byte> all;
    for (const ParticleStore& s : particles.channels())
      for (const Buffer& p : s.planes)
        all.insert(all.end(), p.data(), p.data() + particles.size() * scalar_size(s.info.scalar));
    return all;
  };
  const auto before = bytes();
  rehearse(*program, particles, how);
  EXPECT_EQ(bytes(), before);
  int even = 0;
  for (int b = 0; b < particles.topology().local_count(); ++b) even += static_cast<int>(particles.count(b) + 1) / 2;
  EXPECT_EQ(asked, even);
  ASSERT_TRUE(apply(f.exec, "e", *program, particles, how));
  EXPECT_EQ(asked, 2 * even);
  EXPECT_NE(bytes(), before);
}

TEST(Apply, AnEndlessLoopIsAnError) {
  Fixture f;
  ParticleSystem particles = make_particles(f);
  const auto program = made("while (true) { @heat += 1; }", particles);
  Application how;
  how.loop_budget = 500;
  const Status done = apply(f.exec, "expression.heat", *program, particles, how);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, Failure::simulation);
  EXPECT_NE(done.error().message.find("500 turns"), std::string::npos);
}

TEST(Apply, ChannelsOfOtherTypesOrTooManyPartsAreRefused) {
  Fixture f;
  ParticleSystem particles = make_particles(f);
  const auto program = made("i@heat = 1;", particles);
  particles.declare(ParticleChannel<float>{"heat"});
  EXPECT_FALSE(apply(f.exec, "e", *program, particles));
  const auto wide = made("vec4f@q = 1;", particles);
  const Status status = apply(f.exec, "e", *wide, particles);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("three components"), std::string::npos);
}

TEST(Apply, AGrantThatLacksAChannelStopsIt) {
  Fixture f;
  ParticleSystem particles = make_particles(f);
  const auto program = made("v@v = 0;", particles);
  const Grant grant{"expression", {{"water", "P", AccessMode::read, 0}}};
  GrantScope scope(grant);
  EXPECT_THROW((void)apply(f.exec, "e", *program, particles), BugFound);
}

TEST(Apply, VolumesCellByCell) {
  Fixture f;
  const std::vector<BucketKey> keys = {{{0, 0, 0}}, {{-1, 0, 2}}};
  DiscreteVolume volume("air", Topology::build(0.5, keys, Partition::even(1), *f.comm));
  volume.declare(CellChannel<float>{"density", {}, 2.0f});
  CompileOptions options;
  options.channels = channels_of(volume);
  const Compiled compiled = compile({"@density *= @P.x; vec3i@cell = getcoord();", Elements::voxels}, options);
  ASSERT_TRUE(compiled.program);
  ASSERT_TRUE(apply(f.exec, "e", *compiled.program, volume));
  for (int b = 0; b < volume.topology().local_count(); ++b) {
    const Vec3d origin = volume.topology().origin(b);
    const std::size_t at = static_cast<std::size_t>(b) * bucket_cells + cell_offset(3, 0, 5);
    EXPECT_EQ(volume.store("density").plane<float>(0)[at], 2 * static_cast<float>(origin.x + 0.5 * 3.5));
    EXPECT_EQ(volume.store("cell").plane<std::int32_t>(2)[at], volume.topology().key(b).coord.z * 8 + 5);
  }
}

}  // namespace
}  // namespace aegir::expression
