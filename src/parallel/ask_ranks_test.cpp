#include "parallel/ask_ranks.h"

#include <gtest/gtest.h>

namespace aegir {
namespace {

TEST(AskRanks, OneRankAnswersItselfAndNobodyAnswersTheRest) {
  const auto comm = make_comm();
  if (comm->size() != 1) GTEST_SKIP();
  const std::vector<int> questions{3, 4, 5}, owners{0, -1, 0};
  int calls = 0;
  const auto answers = ask_ranks<double>(*comm, std::span<const int>(questions), owners, [&](const auto& asked) {
    ++calls;
    EXPECT_EQ(asked, (std::vector<int>{3, 5}));
    std::vector<double> found;
    for (const int q : asked) found.push_back(q * 0.5);
    return found;
  });
  EXPECT_EQ(answers, (std::vector<double>{1.5, 0, 2.5}));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace aegir
