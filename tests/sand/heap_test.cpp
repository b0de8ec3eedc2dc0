// The flank of a heap that was poured slowly has the angle of internal friction; it comes to rest and stays.
#include "sand/settings.h"

namespace aegir::test {
namespace {

double angle(double phi, const Setting& s) {
  const Options o = Options{{"height", "20"}, {"spout", "3"}, {"voxel", "0.01"}, {"speed", "0.3"}, {"rest", "4"}};
  const Figures f = measured(heap, at(o.with("phi", phi), s, {"height", "spout", "voxel"}));
  EXPECT_NEAR(f["error"], 0, 5) << f.line();
  EXPECT_LT(f["moving"], 0.01) << "it does not come to rest: " << f.line();
  EXPECT_LT(f["moved"], 0.03) << "it does not stay: " << f.line();
  EXPECT_NEAR(f["drift"], 0, 0.01) << "its volume changes: " << f.line();
  return f["angle"];
}

TEST(SandHeap, AngleOfReposeRisesWithFriction) {
  const double low = angle(20, coarse), middle = angle(30, coarse), high = angle(40, coarse);
  EXPECT_LT(low + 4, middle);
  EXPECT_LT(middle + 4, high);
}

TEST(SandHeap, LongAngleOfReposeAtOtherResolutionAndSubsteps) {
  for (const Setting& s : {fine, short_steps})
    for (const double phi : {20.0, 30.0, 40.0}) angle(phi, s);
}

}  // namespace
}  // namespace aegir::test
