#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "parallel/comm.h"
#include "parallel/exact_sum.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

TEST(ExactSum, IsTheSameInEveryOrderAndGrouping) {
  std::mt19937_64 random(1);
  std::vector<double> numbers;
  for (int i = 0; i < 20000; ++i)
    numbers.push_back(std::ldexp(static_cast<double>(random()) - 9e18, static_cast<int>(random() % 400) - 200));
  ExactSum forward, backward, grouped;
  for (double x : numbers) forward.add(x);
  for (auto i = numbers.rbegin(); i != numbers.rend(); ++i) backward.add(*i);
  for (std::size_t i = 0; i < numbers.size(); i += 100) {
    ExactSum part;
    for (std::size_t j = i; j < i + 100; ++j) part.add(numbers[j]);
    grouped.add(ExactSum::unpacked(part.packed()));
  }
  EXPECT_EQ(forward.value(), backward.value());
  EXPECT_EQ(forward.value(), grouped.value());
}

TEST(ExactSum, CancelsExactly) {
  ExactSum sum;
  for (double x : {1e308, 1.0, -1e308, 1e-300, -1.0}) sum.add(x);
  EXPECT_EQ(sum.value(), 1e-300);
  sum.add(-1e-300);
  EXPECT_EQ(sum.value(), 0.0);
}

TEST(ExactSum, RoundsOnceToNearestEven) {
  ExactSum tie;  // 1 + 2^-53 lies halfway and goes to the even neighbour
  tie.add(1.0), tie.add(0x1p-53);
  EXPECT_EQ(tie.value(), 1.0);
  tie.add(0x1p-1074);
  EXPECT_EQ(tie.value(), 1.0 + 0x1p-52);
}

TEST(ExactSum, TwoNumbersRoundAsTheProcessorRounds) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    const auto draw = [&] {
      return std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())),
                        static_cast<int>(random() % 120) - 60);
    };
    const double a = draw(), b = draw();
    ExactSum sum;
    sum.add(a), sum.add(b);
    ASSERT_EQ(sum.value(), a + b) << a << " " << b;
  }
}

TEST(ExactSum, KeepsSubnormalsExtremesAndNonFinite) {
  ExactSum tiny;
  tiny.add(5e-324), tiny.add(5e-324);
  EXPECT_EQ(tiny.value(), 1e-323);
  ExactSum big;
  big.add(std::numeric_limits<double>::max()), big.add(std::numeric_limits<double>::max());
  EXPECT_EQ(big.value(), std::numeric_limits<double>::infinity());
  ExactSum minus;
  minus.add(-std::numeric_limits<double>::infinity());
  EXPECT_EQ(minus.value(), -std::numeric_limits<double>::infinity());
  minus.add(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(minus.value()));
}

TEST(Threads, CoverTheRangeOnceForAnyCount) {
  for (int count : {1, 2, 7}) {
    ThreadScope scope(count);
    std::vector<int> hits(100000, 0);
    scope.run([&] {
      EXPECT_EQ(current_threads(), count);
      parallel_for(0, hits.size(), 64, [&](std::size_t b, std::size_t e) {
        for (; b < e; ++b) ++hits[b];
      });
    });
    for (int h : hits) ASSERT_EQ(h, 1);
  }
}

TEST(Comm, SingleProcessIsItsOwnWorld) {
  const auto comm = make_single_comm();
  EXPECT_EQ(comm->size(), 1);
  EXPECT_EQ(comm->sum(std::int64_t{5}), 5);
  EXPECT_TRUE(comm->agree({}));
  EXPECT_EQ(comm->agree(io_error("disk")).error().message, "disk");
}

}  // namespace
}  // namespace aegir
