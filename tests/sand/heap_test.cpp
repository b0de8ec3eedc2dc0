// The flank of a heap that was poured slowly has the angle of internal friction; it comes to rest and stays.
#include "sand/settings.h"

namespace aegir::test {
namespace {

double angle(double phi, const Setting& s, double speed = 0.3) {
  const Options o = Options{{"height", "20"}, {"spout", "3"}, {"voxel", "0.01"}, {"rest", "4"}}.with("speed", speed);
  const Figures f = measured(heap, at(o.with("phi", phi), s, {"height", "spout", "voxel"}));
  EXPECT_NEAR(f["error"], 0, 5) << f.line();
  EXPECT_LT(f["moving"], 0.01) << "it does not come to rest: " << f.line();
  EXPECT_LT(f["moved"], 0.03) << "it does not stay: " << f.line();
  EXPECT_NEAR(f["drift"], 0, 0.01) << "its volume changes: " << f.line();
  return f["angle"];
}

// The last avalanche takes some degrees off a small steep heap, or does not come: a mean tells of the sand.
TEST(SandHeap, AngleOfReposeRisesWithFriction) {
  const double low = angle(20, coarse), middle = (angle(30, coarse) + angle(30, coarse, 0.27)) / 2,
               high = (angle(40, coarse) + angle(40, coarse, 0.28) + angle(40, coarse, 0.26)) / 3;
  EXPECT_LT(low + 4, middle);
  EXPECT_LT(middle + 4, high);
}

TEST(SandHeap, LongAngleOfReposeAtOtherResolutionAndSubsteps) {
  for (const Setting& s : {fine, short_steps})
    for (const double phi : {20.0, 30.0, 40.0}) angle(phi, s);
}

}  // namespace
}  // namespace aegir::test
