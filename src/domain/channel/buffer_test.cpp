#include "domain/channel/buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace aegir {
namespace {

constexpr std::size_t mega = std::size_t{1} << 20;

void number(Buffer& b, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); ++i)
    std::memcpy(b.data() + i * sizeof i, &i, sizeof(std::uint64_t));
}

std::size_t wrong_numbers(const Buffer& b, std::size_t bytes) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); ++i) {
    std::uint64_t found = 0;
    std::memcpy(&found, b.data() + i * sizeof i, sizeof found);
    wrong += found != i;
  }
  return wrong;
}

// Small ones come from the heap, large ones are mapped; content survives growth within each and from one to the other.
TEST(Buffer, KeepsWhatItHoldsWhileItGrows) {
  Buffer b;
  std::size_t held = 0;
  for (const std::size_t bytes : {1000 * std::size_t{8}, mega, 3 * mega, 5 * mega, 6 * mega, 31 * mega, 100 * mega}) {
    b.reserve(bytes, held);
    ASSERT_GE(b.capacity(), bytes);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(b.data()) % 64, 0u);
    EXPECT_EQ(wrong_numbers(b, held), 0u) << bytes;
    number(b, held = bytes);
    std::memset(b.data() + b.capacity(), 0, 64);  // the vector beyond the end is there
  }
  const std::byte* before = b.data();
  b.reserve(mega, held);
  EXPECT_EQ(b.data(), before);  // it does not shrink
}

// Growing into whatever lies behind must not touch it.
TEST(Buffer, ThatGrowsLeavesOthersAlone) {
  std::vector<Buffer> many(8);
  for (std::size_t bytes = 4 * mega; bytes <= 16 * mega; bytes += 3 * mega)
    for (Buffer& b : many) b.reserve(bytes, bytes > 4 * mega ? bytes - 3 * mega : 0), number(b, bytes);
  for (const Buffer& b : many) EXPECT_EQ(wrong_numbers(b, 16 * mega), 0u);
}

TEST(BufferPool, GivesTheBestFitAndGrowsTheLargestWhereNoneFits) {
  BufferPool pool;
  pool.give(Buffer(6 * mega)), pool.give(Buffer(10 * mega)), pool.give(Buffer(20 * mega));
  const std::size_t small = pool.take(5 * mega).capacity();
  EXPECT_GE(small, 6 * mega);
  EXPECT_LT(small, 10 * mega);
  Buffer grown = pool.take(21 * mega);  // 10 and 20 are left: 20 becomes 21
  EXPECT_GE(grown.capacity(), 21 * mega);
  const std::size_t left = pool.take(9 * mega).capacity();
  EXPECT_GE(left, 10 * mega);
  EXPECT_LT(left, 20 * mega);
  pool.give(std::move(grown));
  EXPECT_LT(pool.take(mega).capacity(), 4 * mega);  // far too large a one is not given
}

}  // namespace
}  // namespace aegir
