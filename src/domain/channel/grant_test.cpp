#include "domain/channel/grant.h"

#include <gtest/gtest.h>

#include <string>

#include "base/assert.h"
#include "domain/particles/particle_system.h"
#include "domain/volume/discrete_volume.h"

namespace aegir {
namespace {

constexpr CellChannel<float> pressure{"pressure", unit::pascal};
constexpr ParticleChannel<float> age{"age", unit::second};

template <class Body>
std::string stopped_with(Body&& body) {
  try {
    body();
  } catch (const BugFound& bug) {
    return bug.what();
  }
  return {};
}

bool names(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* w : words)
    if (text.find(w) == std::string::npos) return false;
  return true;
}

class GrantTest : public ::testing::Test {
 protected:
  GrantTest() : volume("water", Topology::empty(1.0, Partition{})), particles("water", 1.0, Partition{}) {
    volume.declare(pressure);
    particles.declare(age);
  }
  DiscreteVolume volume;
  ParticleSystem particles;
};

TEST_F(GrantTest, WithoutAGrantEverythingIsAllowed) {
  EXPECT_EQ(stopped_with([&] { volume.write(pressure), particles.read(age); }), "");
}

TEST_F(GrantTest, UndeclaredAccessStopsNamingTaskAndChannel) {
  const Grant grant{"divergence", {{"water", "u", AccessMode::read, 1}}};
  const GrantScope scope(grant);
  EXPECT_TRUE(names(stopped_with([&] { volume.read(pressure); }), {"divergence", "read", "pressure", "water"}));
  EXPECT_TRUE(names(stopped_with([&] { volume.write(pressure); }), {"divergence", "write", "pressure"}));
  EXPECT_TRUE(names(stopped_with([&] { volume.overwrite(pressure); }), {"divergence", "write", "pressure"}));
  EXPECT_TRUE(names(stopped_with([&] { volume.add<Halo<1>>(pressure); }), {"divergence", "add", "pressure"}));
  EXPECT_TRUE(names(stopped_with([&] { particles.write(age); }), {"divergence", "write", "age"}));
  EXPECT_TRUE(names(stopped_with([&] { particles.read_neighbours(age); }), {"divergence", "read", "age"}));
}

TEST_F(GrantTest, TooWideAHaloStops) {
  const Grant grant{"smooth", {{"water", "pressure", AccessMode::read, 1}}};
  const GrantScope scope(grant);
  EXPECT_EQ(
      stopped_with([&] { volume.read(pressure), volume.read<Halo<1>>(pressure), volume.read<Star<1>>(pressure); }), "");
  EXPECT_TRUE(names(stopped_with([&] { volume.read<Halo<2>>(pressure); }), {"smooth", "pressure", "2"}));
  EXPECT_TRUE(names(stopped_with([&] { volume.write(pressure); }), {"smooth", "write"}));
}

TEST_F(GrantTest, WriteAllowsReadingTheSameBucketOnly) {
  const Grant grant{"scale", {{"water", "pressure", AccessMode::write}, {"oil", "*", AccessMode::read, 8}}};
  const GrantScope scope(grant);
  EXPECT_EQ(stopped_with([&] { volume.read(pressure), volume.write(pressure); }), "");
  EXPECT_TRUE(names(stopped_with([&] { volume.read<Halo<1>>(pressure); }), {"scale", "read"}));
  EXPECT_TRUE(names(stopped_with([&] { particles.read(age); }), {"scale", "age", "water"}));  // the star is oil's
}

TEST_F(GrantTest, AStarStandsForAllChannelsOfItsOwner) {
  const Grant grant{"export", {{"water", "*", AccessMode::read, 8}}};
  const GrantScope scope(grant);
  EXPECT_EQ(stopped_with([&] { volume.read(pressure), particles.read(age), particles.read_neighbours(age); }), "");
  EXPECT_NE(stopped_with([&] { particles.write(age); }), "");
}

TEST_F(GrantTest, ScopesNestAndEnd) {
  const Grant outer{"outer", {{"water", "pressure", AccessMode::read}}}, inner{"inner", {}};
  const GrantScope a(outer);
  {
    const GrantScope b(inner);
    EXPECT_TRUE(names(stopped_with([&] { volume.read(pressure); }), {"inner"}));
  }
  EXPECT_EQ(stopped_with([&] { volume.read(pressure); }), "");
}

}  // namespace
}  // namespace aegir
