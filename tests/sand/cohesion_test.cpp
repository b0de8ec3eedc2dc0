// How high a cut damp sand holds.
#include "sand/settings.h"

namespace aegir::test {
namespace {

/// A cut stands where Coulomb's wedge holds, and falls above. Sand that yields in a plane without dilating is stronger
/// than that, the more the steeper its angle: it stands up to 4 c / (ρ g (1 - tan φ)), 1.10, 1.37 and 2.9 times
/// Coulomb's height, if nothing gives way before. `falls` is at most what those leave, with a quarter to spare.
void expect_critical_height(double phi, double falls, const Setting& s) {
  const Options o = at(Options{{"cells", "24"}, {"voxel", "0.005"}}.with("phi", phi), s, {"cells", "voxel"});
  const Figures low = measured(cliff, o.with("ratio", "0.9"));
  EXPECT_LT(low["most"], 0.5) << low.line();
  EXPECT_LT(low["creep"], 0.1) << low.line();
  const Figures high = measured(cliff, o.with("ratio", falls));
  EXPECT_GT(high["sunk"], 4) << high.line();
}

TEST(SandCohesion, ACutStandsUpToItsCriticalHeight) { expect_critical_height(30, 1.7, coarse); }

TEST(SandCohesion, LongACutStandsUpToItsCriticalHeight) {
  for (const Setting& s : {coarse, fine, short_steps}) {
    expect_critical_height(20, 1.4, s);
    expect_critical_height(30, 1.7, s);
    expect_critical_height(40, 2.0, s);
  }
}

}  // namespace
}  // namespace aegir::test
