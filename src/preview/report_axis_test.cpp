#include "preview/report_axis.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace aegir {
namespace {

TEST(ReportAxis, TicksAreRoundAndInside) {
  EXPECT_EQ(axis_ticks(0, 4.2, 5), (std::vector<double>{0, 1, 2, 3, 4}));
  EXPECT_EQ(axis_ticks(-30, 30, 3), (std::vector<double>{-20, 0, 20}));
  EXPECT_EQ(axis_ticks(3, 3, 5), (std::vector<double>{3}));
  for (const double size : {1e-12, 3.7e-3, 1.0, 8.1e9}) {
    const std::vector<double> ticks = axis_ticks(-0.31 * size, 0.77 * size, 5);
    ASSERT_GE(ticks.size(), 3u);
    EXPECT_LE(ticks.size(), 8u);
    EXPECT_GE(ticks.front(), -0.31 * size);
    EXPECT_LE(ticks.back(), 0.77 * size * (1 + 1e-8));
  }
}

TEST(ReportAxis, TicksEndWhereNumbersHaveNoMoreDigits) {
  const double high = std::nextafter(1e16, 1e17);
  EXPECT_LE(axis_ticks(1e16, high, 5).size(), 3u);
}

TEST(ReportAxis, TickTextHasTheDecimalsOfTheDistance) {
  EXPECT_EQ(tick_text(0.6, 0.005), "0.600");
  EXPECT_EQ(tick_text(20, 10), "20");
  EXPECT_EQ(tick_text(-1e-17, 0.1), "0.0");
}

TEST(ReportAxis, UnitsFollowTheSizeOfValues) {
  EXPECT_EQ(axis_scale(2207, "J").unit, "kJ");
  EXPECT_EQ(axis_scale(0.6, "m³").unit, "m³");
  EXPECT_EQ(axis_scale(0.004, "m³").unit, "L");
  EXPECT_EQ(axis_scale(2e-14, "m³").unit, "10⁻¹⁵ m³");
  EXPECT_EQ(axis_scale(0.041, "s").unit, "ms");
  EXPECT_EQ(axis_scale(5e7, "B").unit, "MiB");
  EXPECT_EQ(axis_scale(307200, "").suffix, "k");
  EXPECT_EQ(axis_scale(40, "").suffix, "");
  EXPECT_EQ(axis_scale(7.5e5, "kg m/s").unit, "10³ kg m/s");
  EXPECT_EQ(axis_scale(0, "J").unit, "J");
  EXPECT_EQ(axis_scale(0.001, "%").unit, "%");
}

TEST(ReportAxis, FewPointsAreAllKept) {
  EXPECT_EQ(thinned({1, 2, 3}, {5, 5, 5}, 2), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_TRUE(thinned({}, {}, 5).empty());
}

TEST(ReportAxis, ThinningKeepsEveryPeak) {
  std::vector<double> x, y;
  for (int i = 0; i < 100000; ++i) {
    x.push_back(i);
    y.push_back(std::sin(1e-3 * i));
  }
  y[31415] = 40;
  y[77777] = -40;
  constexpr int columns = 300;
  const std::vector<std::size_t> kept = thinned(x, y, columns);
  EXPECT_LE(kept.size(), 2u * columns + 2);
  EXPECT_GE(kept.size(), 1u * columns);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_TRUE(std::adjacent_find(kept.begin(), kept.end()) == kept.end());
  for (const std::size_t must : {0ul, 31415ul, 77777ul, 99999ul})
    EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), must)) << must;
}

TEST(ReportAxis, ThinningKeepsGaps) {
  std::vector<double> x, y;
  for (int i = 0; i < 1000; ++i) {
    x.push_back(i);
    y.push_back(i >= 400 && i < 500 ? std::numeric_limits<double>::quiet_NaN() : 1);
  }
  const std::vector<std::size_t> kept = thinned(x, y, 50);
  EXPECT_TRUE(std::any_of(kept.begin(), kept.end(), [&](std::size_t i) { return std::isnan(y[i]); }));
}

}  // namespace
}  // namespace aegir
