#include <gtest/gtest.h>

#include "base/assert.h"
#include "base/random.h"
#include "base/result.h"
#include "base/vec.h"

namespace aegir {
namespace {

TEST(Vec, InverseTimesMatrixIsIdentity) {
  const Mat3d m{{{2, 1, 0}, {0, 3, 1}, {1, 0, 4}}};
  const Mat3d i = m * inverse(m);
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(i(r, c), r == c, 1e-15);
}

TEST(Random, IsAFunctionOfItsArgumentsAlone) {
  EXPECT_EQ(Random(1, 2, 3, Purpose::test).bits(4), Random(1, 2, 3, Purpose::test).bits(4));
  EXPECT_NE(Random(1, 2, 3, Purpose::test).bits(4), Random(2, 1, 3, Purpose::test).bits(4));
  EXPECT_NE(Random(1, 2, 3, Purpose::test).bits(4), Random(1, 3, 2, Purpose::test).bits(4));
  EXPECT_NE(Random(1, 2, 3, Purpose::test).bits(4), Random(1, 2, 3, Purpose::lifespan).bits(4));
}

TEST(Random, MeanAndVarianceOfTheUniformLaw) {
  double sum = 0, squares = 0;
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double u = Random(7, static_cast<std::uint64_t>(i), 0, Purpose::test).uniform(0);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u, squares += u * u;
  }
  EXPECT_NEAR(sum / n, 0.5, 4 * std::sqrt(1 / 12.0 / n));
  EXPECT_NEAR(squares / n, 1 / 3.0, 0.003);
}

TEST(Result, CarriesPlaceAndReason) {
  const Result<int> bad = usage_error({"dam.yaml", 14, 7}, "'{}' is not a parameter", "viscosty");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().text(), "dam.yaml:14:7: 'viscosty' is not a parameter");
}

TEST(Assert, StopsWithItsText) { EXPECT_THROW(AEGIR_ASSERT(false, "halo"), BugFound); }

}  // namespace
}  // namespace aegir
