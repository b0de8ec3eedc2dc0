// Droplets are taken where the particles around them are those of a half space, at the depth that is asked for.
#include "phenomena/coupling/swallow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/random.h"

namespace aegir {
namespace {

static_assert(share_of_ball(0) == 0.5 && share_of_ball(1) == 1 && share_of_ball(-1) == 0);

/// Water that is only looked at: a lattice of `per_axis` particles per cell below y = 0.
class Lattice final : public Object {
 public:
  Lattice(Exec& exec, double spacing, int per_axis) : Object("sea"), particles_("sea", spacing, Partition::even(1)) {
    for (const auto& c : {particle::radius, particle::mass, particle::age}) particles_.declare(c);
    particles_.declare(particle::velocity);
    const int n = 8 * per_axis;
    const double step = spacing / per_axis, radius = step * std::cbrt(3 / (4 * 3.14159265358979324));
    ParticleBatch batch = particles_.batch(static_cast<std::size_t>(n * n * n));
    for (int i = 0; i < n * n * n; ++i) {
      const auto slot = static_cast<std::size_t>(i);
      batch.position[slot] = (Vec3d(i / (n * n) - n / 2, i / n % n - n, i % n - n / 2) + Vec3d(0.5)) * step;
      batch.id[slot] = i, batch.set("pscale", slot, radius);
    }
    particles_.add(batch);
    EXPECT_TRUE(particles_.rebucket(exec));
  }
  bool simulated() const override { return false; }
  void plan(TaskList&) override {}
  ParticleSystem* particles() override { return &particles_; }

 private:
  ParticleSystem particles_;
};

TEST(Swallow, TakesDropletsThatAreDeepEnough) {
  auto comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  const double dx = 0.1;
  for (const int per_axis : {2, 3})
    for (const double depth : {0.0, 0.5}) {
      Lattice sea(exec, dx, per_axis);
      ParticleObject drops("drops", 0.07, Partition::even(1));
      ParticleBatch batch = drops.particles()->batch(41);
      for (std::size_t i = 0; i < 41;
           ++i) {  // from two cells above the surface to two below, at random beside the middle
        const Random draw(1, i, 0, Purpose::test);
        batch.position[i] = {draw.uniform(0, -dx, dx), dx * (2 - 0.1 * static_cast<double>(i)),
                             draw.uniform(1, -dx, dx)};
        batch.id[i] = static_cast<std::int64_t>(i), batch.set("age", i, i == 40 ? 0.0 : 1.0), batch.set("mass", i, 2.0);
      }
      drops.particles()->add(batch);
      ASSERT_TRUE(drops.particles()->rebucket(exec));
      Swallow swallow("sink_in", drops, sea, {depth, 0.5});
      TaskList tasks;
      swallow.plan(tasks);
      StepContext context{exec};
      ASSERT_TRUE(tasks.tasks()[0].run(context));
      ASSERT_TRUE(drops.particles()->rebucket(exec));
      std::set<std::int64_t> left;
      for (std::size_t i = 0; i < drops.particles()->size(); ++i)
        left.insert(drops.particles()->store("id").plane<std::int64_t>(0)[i]);
      // A lattice is not a continuum: a quarter of a cell either way.
      for (int i = 0; i < 40; ++i) {
        const double below = 0.1 * i - 2;
        if (below < depth - 0.25) {
          EXPECT_TRUE(left.contains(i)) << below << " cells deep, asked for " << depth;
        }
        if (below > depth + 0.25) {
          EXPECT_FALSE(left.contains(i)) << below << " cells deep, asked for " << depth;
        }
      }
      EXPECT_TRUE(left.contains(40)) << "too young";
      EXPECT_EQ(drops.audit(exec).removed[0].second, 2.0 * static_cast<double>(41 - left.size()));
    }
}

}  // namespace
}  // namespace aegir
