#include "pipeline/schema/parameter.h"

#include <gtest/gtest.h>

namespace aegir {
namespace {

using Keys = std::vector<Parameter<double>::Key>;

TEST(Parameter, ConstantIsTheSameAlways) {
  const Parameter<double> p = 3;
  EXPECT_EQ(p.at(-5), 3);
  EXPECT_EQ(p.at(1e6), 3);
  EXPECT_FALSE(p.animated());
  EXPECT_FALSE(p.attribute());
  EXPECT_EQ(p, Parameter<double>(3.0));
  EXPECT_FALSE(p == Parameter<double>(4.0));
}

TEST(Parameter, LinearKeysMeetTheirValuesAndHoldOutside) {
  const auto p = Parameter<double>::animation(Keys{{20, 4}, {10, 2}, {40, 0}}, Interpolation::linear);
  EXPECT_TRUE(p.animated());
  EXPECT_EQ(p.at(0), 2);
  EXPECT_EQ(p.at(10), 2);
  EXPECT_EQ(p.at(15), 3);
  EXPECT_EQ(p.at(20), 4);
  EXPECT_EQ(p.at(30), 2);
  EXPECT_EQ(p.at(99), 0);
}

TEST(Parameter, StepHoldsTheKeyBefore) {
  const auto p = Parameter<int>::animation({{1, 5}, {2, 7}}, Interpolation::step);
  EXPECT_EQ(p.at(1.99), 5);
  EXPECT_EQ(p.at(2), 7);
  const auto b = Parameter<bool>::animation({{1, false}, {2, true}}, Interpolation::linear);
  EXPECT_FALSE(b.at(1.99));
  EXPECT_TRUE(b.at(2));
}

TEST(Parameter, IntegersRoundBetweenKeys) {
  const auto p = Parameter<int>::animation({{0, 0}, {10, 10}}, Interpolation::linear);
  EXPECT_EQ(p.at(2.4), 2);
  EXPECT_EQ(p.at(2.6), 3);
}

TEST(Parameter, SmoothWithTwoKeysIsFlatAtBothEnds) {
  const auto p = Parameter<double>::animation(Keys{{0, 0}, {1, 1}}, Interpolation::smooth);
  for (const double t : {0.1, 0.25, 0.5, 0.9}) EXPECT_NEAR(p.at(t), t * t * (3 - 2 * t), 1e-15);
}

TEST(Parameter, SmoothNeverOvershootsAndHasNoKinks) {
  const Keys keys = {{0, 0}, {1, 1}, {2, 1.1}, {5, 9}, {6, 9}, {7, -3}};
  const auto p = Parameter<double>::animation(keys, Interpolation::smooth);
  for (std::size_t k = 0; k + 1 < keys.size(); ++k) {
    const double low = std::min(keys[k].value, keys[k + 1].value), high = std::max(keys[k].value, keys[k + 1].value);
    EXPECT_DOUBLE_EQ(p.at(keys[k].frame), keys[k].value);
    for (int i = 0; i <= 100; ++i) {
      const double value = p.at(keys[k].frame + (keys[k + 1].frame - keys[k].frame) * i / 100);
      EXPECT_GE(value, low - 1e-12);
      EXPECT_LE(value, high + 1e-12);
    }
    const double e = 1e-6, left = (p.at(keys[k].frame) - p.at(keys[k].frame - e)) / e;
    const double right = (p.at(keys[k].frame + e) - p.at(keys[k].frame)) / e;
    EXPECT_NEAR(left, right, 1e-3) << "kink at frame " << keys[k].frame;
  }
}

TEST(Parameter, VectorsInterpolateByComponent) {
  const auto p = Parameter<Vec3d>::animation({{0, {0, 2, 4}}, {10, {10, 2, 0}}}, Interpolation::linear);
  EXPECT_EQ(p.at(5), (Vec3d{5, 2, 2}));
  const auto s = Parameter<Vec3d>::animation({{0, {0, 2, 4}}, {10, {10, 2, 0}}}, Interpolation::smooth);
  EXPECT_EQ(s.at(5), (Vec3d{5, 2, 2}));
}

TEST(Parameter, AttributeMapsZeroToOneOntoItsRange) {
  const auto p = Parameter<double>::bound({"wet", 0.6, 0.1, true}, 0.3);
  EXPECT_EQ(p.at(7), 0.3);
  EXPECT_FALSE(p.animated());
  EXPECT_EQ(p.attribute()->map(0), 0.6);
  EXPECT_EQ(p.attribute()->map(1), 0.1);
  EXPECT_EQ(p.attribute()->map(9), 0.1);
  EXPECT_EQ((AttributeBinding{"raw"}.map(9)), 9);
}

}  // namespace
}  // namespace aegir
