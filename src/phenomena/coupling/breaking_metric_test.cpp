// The metric: ramps either way, their product, and how far beyond the threshold.
#include "phenomena/coupling/breaking_metric.h"

#include <gtest/gtest.h>

#include "phenomena/common/channels.h"
#include "phenomena/common/derived_channels.h"

namespace aegir {
namespace {

TEST(Ramp, GoesEitherWay) {
  const Ramp up{2, 4}, down{4, 2};
  for (const float x : {-1.0f, 2.0f, 2.5f, 3.0f, 3.5f, 4.0f, 9.0f}) EXPECT_NEAR(up(x) + down(x), 1, 1e-6);
  EXPECT_EQ(up(2), 0);
  EXPECT_EQ(up(1), 0);
  EXPECT_EQ(up(4), 1);
  EXPECT_EQ(up(7), 1);
  EXPECT_FLOAT_EQ(up(3), 0.5f);
  EXPECT_FLOAT_EQ(up(2.5f), 0.15625f);
}

TEST(BreakingMetric, IsTheProductOfItsCriteria) {
  auto comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  ParticleSystem particles("water", 0.1, Partition::even(1));
  particles.declare(particle::velocity), particles.declare(particle::surface_distance);
  particles.declare(particle::neighbours), particles.declare(particle::pressure_gradient);
  ParticleBatch batch = particles.batch(3);
  for (std::size_t i = 0; i < 3; ++i) {
    batch.position[i] = {0.01 + 0.02 * static_cast<double>(i), 0, 0}, batch.id[i] = static_cast<std::int64_t>(i);
    batch.set("v", i, Vec3d(0, i == 1 ? 3 : 10, 0)), batch.set("surface_distance", i, 0.5);
    batch.set("neighbours", i, i == 2 ? 30 : 0), batch.set("pressure_gradient", i, Vec3d(0, -100, 0));
  }
  particles.add(batch);
  ASSERT_TRUE(particles.rebucket(exec));
  BreakingCriteria criteria;
  EXPECT_TRUE(criteria.none());
  criteria.speed = Ramp{2, 4}, criteria.surface_distance = Ramp{-1, 0}, criteria.neighbours = Ramp{20, 10},
  criteria.pressure_gradient = Ramp{200, 150};
  float values[3];
  BreakingMetric(criteria, particles).evaluate(0, values);
  EXPECT_EQ(values[0], 1);
  EXPECT_FLOAT_EQ(values[1], 0.5f);
  EXPECT_EQ(values[2], 0);
  criteria.pressure_gradient = Ramp{50, 20};
  BreakingMetric(criteria, particles).evaluate(0, values);
  for (const float v : values) EXPECT_EQ(v, 0);
}

TEST(BreakingCriteria, ExcessStartsAtTheThreshold) {
  BreakingCriteria c;
  c.threshold = 0.6;
  EXPECT_EQ(c.excess(0.6), 0);
  EXPECT_NEAR(c.excess(0.8), 0.5, 1e-12);
  EXPECT_EQ(c.excess(1), 1);
  c.threshold = 1;
  EXPECT_EQ(c.excess(1), 1);
}

}  // namespace
}  // namespace aegir
