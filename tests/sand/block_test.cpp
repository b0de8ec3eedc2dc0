// A block of sand on a plane: Coulomb.
#include "sand/settings.h"

namespace aegir::test {
namespace {

/// A block four times as long as high: its rim, where the pressure falls to zero within a cell, counts for little.
void expect_coulomb(const Options& how, const Setting& s) {
  const Options o = at(how.with("cells", 8).with("long", 32).with("voxel", 0.01), s, {"cells", "long", "voxel"});
  const Figures rest = measured(block, o.with("ratio", "0.95").with("time", 0.8));
  EXPECT_LT(std::abs(rest["distance"]), 0.01) << rest.line();
  EXPECT_LT(std::abs(rest["late"]), 0.005) << rest.line();
  EXPECT_LT(std::abs(rest["speed"]), 1e-4) << rest.line();
  // A twentieth of what is left of the weight, which is a twentieth of the friction.
  const Figures slow = measured(block, o.with("ratio", "1.05"));
  EXPECT_NEAR(slow["error"], 0, 0.05) << slow.line();
  const Figures fast = measured(block, o.with("ratio", "2"));
  EXPECT_NEAR(fast["error"], 0, 0.05) << fast.line();
}

void expect_coulomb_on_a_floor(const Setting& s) {
  for (const char* mu : {"0.2", "0.4"}) expect_coulomb({{"tilt", "gravity"}, {"mu", mu}}, s);
}

/// A plane across the grid: of 11 to 22 degrees, and of 21 to 39.
void expect_coulomb_across_the_grid(const Setting& s) {
  for (const char* mu : {"0.2", "0.4"}) expect_coulomb({{"tilt", "plane"}, {"mu", mu}}, s);
}

TEST(SandBlock, SlidesAsCoulombSays) { expect_coulomb_on_a_floor(coarse); }
TEST(SandBlock, LongSlidesAsCoulombSaysFine) { expect_coulomb_on_a_floor(fine); }
TEST(SandBlock, SlidesAsCoulombSaysInShortSteps) { expect_coulomb_on_a_floor(short_steps); }
TEST(SandBlock, SlidesOnATiltedPlane) { expect_coulomb_across_the_grid(coarse); }
TEST(SandBlock, LongSlidesOnATiltedPlaneFine) { expect_coulomb_across_the_grid(fine); }
TEST(SandBlock, LongSlidesOnATiltedPlaneInShortSteps) { expect_coulomb_across_the_grid(short_steps); }

}  // namespace
}  // namespace aegir::test
