#include "engine/text.h"

#include <gtest/gtest.h>

namespace aegir {
namespace {

TEST(Text, CountsAreShort) {
  EXPECT_EQ(short_count(0), "0");
  EXPECT_EQ(short_count(9999), "9999");
  EXPECT_EQ(short_count(12345), "12.3k");
  EXPECT_EQ(short_count(212000), "212k");
  EXPECT_EQ(short_count(999600), "1.0M");
  EXPECT_EQ(short_count(14'200'000), "14.2M");
}

TEST(Text, BytesAndTimes) {
  EXPECT_EQ(short_bytes(512), "512 B");
  EXPECT_EQ(short_bytes(1'900'000'000), "1.8 GiB");
  EXPECT_EQ(short_bytes(std::uint64_t{24} << 30), "24 GiB");
  EXPECT_EQ(short_time(7), "0:07");
  EXPECT_EQ(short_time(3271), "54:31");
  EXPECT_EQ(short_time(6600), "1:50:00");
  EXPECT_EQ(short_time(0.83, true), "0.8 s");
}

TEST(Text, RangesOfFrames) {
  EXPECT_EQ(frame_ranges({}), "");
  EXPECT_EQ(frame_ranges({1, 2, 3, 5, 7, 8}), "1–3, 5, 7–8");
  EXPECT_EQ(frame_ranges({-2, -1}), "-2–-1");
}

TEST(Text, TablesAlignAndDropEmptyColumns) {
  TextTable table({"a", "empty", "b"});
  table.row({"longer", "", "x"});
  table.line("across");
  table.row({"ü", "", "y"});
  EXPECT_EQ(table.text(), "a       b\nlonger  x\nacross\nü       y\n");
}

}  // namespace
}  // namespace aegir
