// A layer on a slope rests up to the angle of internal friction and flows above.
#include "sand/settings.h"

namespace aegir::test {
namespace {

/// Looked at where the slump of the lower end does not arrive in that time. Short layers are cheaper and yield a little
/// sooner; in short steps the slump of one of 220 cells is felt everywhere.
constexpr int long_layer = 300, short_layer = 160;
Options layer(double phi, const Setting& s, int length = long_layer) {
  const Options o = Options{{"depth", "8"}, {"time", "0.5"}, {"voxel", "0.01"}, {"from", "0.1"}, {"to", "0.4"}}
                        .with("phi", phi)
                        .with("length", length);
  return at(o, s, {"depth", "length", "voxel"});
}

/// The critical angle is between two degrees below phi and two above.
void expect_critical_angle(const Options& o) {
  const double phi = o.number("phi", 0);
  const Figures below = measured(slope, o.with("theta", phi - 2));
  EXPECT_EQ(below["flows"], 0) << below.line();
  const Figures above = measured(slope, o.with("theta", phi + 2));
  EXPECT_EQ(above["flows"], 1) << above.line();
}

/// Five degrees below phi the part that the slump of the lower end does not reach drifts less than a cell from the
/// start on, and at the rate of the second half would not in 10 s either.
void expect_rest(double phi, const Setting& s, double seconds) {
  const Options o = Options{{"depth", "6"}, {"length", "110"}, {"voxel", "0.01"}, {"from", "0.1"}, {"to", "0.35"}};
  const Figures f = measured(
      slope, at(o.with("phi", phi).with("time", seconds), s, {"depth", "length", "voxel"}).with("theta", phi - 5));
  EXPECT_LT(f["drift_max"], 1) << f.line();
  EXPECT_LT(std::abs(f["speed"]) * 10, 0.01) << f.line();
}

void expect_flow(const Options& o) {
  const Figures f = measured(slope, o.with("theta", o.number("phi", 0) + 5));
  EXPECT_EQ(f["flows"], 1) << f.line();
  EXPECT_GT(f["speed"], 1.5 * f["early"]) << "it does not gain speed: " << f.line();
}

TEST(SandSlope, CriticalAngleIsThatOfFriction) {
  for (const double phi : {20.0, 30.0, 40.0}) expect_critical_angle(layer(phi, coarse));
}

TEST(SandSlope, CriticalAngleInShortSteps) { expect_critical_angle(layer(30, short_steps)); }

TEST(SandSlope, LongCriticalAngle) {
  for (const Setting& s : {coarse, fine}) expect_critical_angle(layer(30, s));
}

TEST(SandSlope, FlowsFiveDegreesAbove) { expect_flow(layer(30, coarse, short_layer)); }

TEST(SandSlope, StaysFiveDegreesBelow) { expect_rest(30, coarse, 3); }

TEST(SandSlope, LongFlowsFiveDegreesAbove) {
  for (const double phi : {20.0, 30.0, 40.0})
    for (const Setting& s : {coarse, fine, short_steps}) expect_flow(layer(phi, s));
}

TEST(SandSlope, LongStaysFiveDegreesBelow) {
  for (const double phi : {20.0, 30.0, 40.0})
    for (const Setting& s : {coarse, fine, short_steps}) expect_rest(phi, s, 10);
}

TEST(SandSlope, LongCriticalAngleByHalving) {
  for (const double phi : {20.0, 30.0, 40.0})
    for (const Setting& s : {coarse, fine, short_steps, fine_short_steps}) {
      const Figures f = measured(critical_slope, layer(phi, s));
      EXPECT_NEAR(f["error"], 0, 2) << f.line();
    }
}

}  // namespace
}  // namespace aegir::test
