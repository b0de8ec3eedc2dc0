#include "io/piece_file.h"

#include <chrono>
#include <numeric>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "base/random.h"
#include "io/test_support.h"

/// HDF5 loses blocks of its free lists when damaged metadata stops it half way; the leak sanitizer asks here.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace aegir {
namespace {

Status write_sample(const std::string& path, const PieceOptions& options = {}, std::size_t rows = 100000) {
  std::vector<double> position(rows * 3);
  std::iota(position.begin(), position.end(), -5.5);
  std::vector<std::int64_t> id(rows, std::int64_t{1} << 50);
  auto writer = PieceWriter::create(path, options);
  if (!writer) return writer.error();
  (void)writer->array("water/P", position.data(), PieceType::f64, rows, 3);
  (void)writer->array("water/id", id.data(), PieceType::i64, rows);
  (void)writer->array("water/deep/down/none", nullptr, PieceType::f32, 0, 9);
  (void)writer->text("setup", "a: 1\n\xc3\xa4");
  return writer->close();
}

TEST(PieceFile, RoundTripWithPartialRows) {
  TestFolder folder;
  for (const bool compress : {false, true}) {
    const std::string path = folder / (compress ? "a.h5" : "b.h5");
    const Status s = write_sample(path, {.compress = compress});
    ASSERT_TRUE(s) << s.error().text();
    const auto reader = PieceReader::open(path);
    ASSERT_TRUE(reader) << reader.error().text();
    EXPECT_EQ(*reader->list(), (std::vector<std::string>{"setup", "water/"}));
    EXPECT_EQ(*reader->list("water"), (std::vector<std::string>{"P", "deep/", "id"}));
    EXPECT_EQ(*reader->text("setup"), "a: 1\n\xc3\xa4");
    const auto info = reader->info("water/P");
    ASSERT_TRUE(info);
    EXPECT_EQ(info->type, PieceType::f64);
    EXPECT_EQ(info->rows, 100000u);
    EXPECT_EQ(info->columns, 3u);
    std::vector<double> part(50 * 3);
    ASSERT_TRUE(reader->read("water/P", 99950, 50, part.data()));
    EXPECT_EQ(part.front(), 99950 * 3 - 5.5);
    EXPECT_EQ(part.back(), 300000 - 6.5);
    EXPECT_EQ(reader->info("water/deep/down/none")->rows, 0u);
    EXPECT_TRUE(reader->read("water/deep/down/none", 0, 0, nullptr));
    EXPECT_TRUE(reader->has("water/deep"));
    EXPECT_FALSE(reader->has("fire/deep"));
  }
  EXPECT_LT(bytes_of(folder / "a.h5").size(), bytes_of(folder / "b.h5").size());
}

TEST(PieceFile, WrongQuestionsAreErrors) {
  TestFolder folder;
  ASSERT_TRUE(write_sample(folder / "a.h5"));
  const auto reader = PieceReader::open(folder / "a.h5");
  ASSERT_TRUE(reader);
  double value = 0;
  EXPECT_FALSE(reader->read("water/P", 100000, 1, &value));
  EXPECT_FALSE(reader->read("water/P", ~std::size_t{0}, 2, &value));
  EXPECT_FALSE(reader->info("water"));
  EXPECT_FALSE(reader->info("no/such"));
  EXPECT_FALSE(reader->list("no"));
  EXPECT_FALSE(reader->text("water/P"));
  EXPECT_FALSE(PieceReader::open(folder / "none.h5"));
  EXPECT_FALSE(PieceReader::open(folder.path()));
}

TEST(PieceFile, SameContentGivesSameBytes) {
  TestFolder folder;
  ASSERT_TRUE(write_sample(folder / "a.h5"));
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // HDF5 notes times in whole seconds
  ASSERT_TRUE(write_sample(folder / "b.h5"));
  EXPECT_TRUE(bytes_of(folder / "a.h5") == bytes_of(folder / "b.h5"));
}

TEST(PieceFile, FailedWritesAreReportedAndLeaveNothing) {
  TestFolder folder;
  for (const std::size_t limit : {std::size_t{50}, std::size_t{5000}, std::size_t{2000000}, std::size_t{3300000}}) {
    const FileSizeLimit limited(limit);
    const Status s = write_atomically(folder / "a.h5", [](const std::string& t) { return write_sample(t); });
    ASSERT_FALSE(s) << limit;
    EXPECT_NE(s.error().message.find("File too large"), std::string::npos) << s.error().message;
    EXPECT_TRUE(folder.names().empty());
  }
  EXPECT_FALSE(PieceWriter::create(folder / "missing/a.h5"));
  EXPECT_TRUE(write_sample(folder / "a.h5"));
}

TEST(PieceFile, WriterLeftOpenIsNoTrouble) {
  TestFolder folder;
  auto writer = PieceWriter::create(folder / "a.h5");
  ASSERT_TRUE(writer);
  const int value = 3;
  ASSERT_TRUE(writer->array("x", &value, PieceType::i32, 1));
  PieceWriter moved = std::move(*writer);
}

/// Everything stored, one after the other; nothing when a call reported an error.
std::optional<std::string> read_all(const std::string& path) {
  const auto reader = PieceReader::open(path);
  if (!reader) return {};
  std::string all;
  for (const char* name : {"water/P", "water/id"}) {
    const auto info = reader->info(name);
    if (!info || info->bytes() > 10000000) return {};
    std::string data(info->bytes(), '\0');
    if (!reader->read(name, 0, info->rows, data.data())) return {};
    all += data;
  }
  const auto names = reader->list("water");
  const auto text = reader->text("setup");
  if (!names || !text) return {};
  for (const auto& name : *names) all += name;
  return all + *text;
}

TEST(PieceFile, CutAndGarbageFilesAreDamaged) {
  TestFolder folder;
  ASSERT_TRUE(write_sample(folder / "a.h5", {}, 1000));
  EXPECT_TRUE(read_all(folder / "a.h5"));
  const std::string whole = bytes_of(folder / "a.h5");
  for (std::size_t k = 0; k < 50; ++k) {
    write_bytes(folder / "b.h5", whole.substr(0, whole.size() * k / 50));
    const auto reader = PieceReader::open(folder / "b.h5");
    ASSERT_FALSE(reader) << k;
    EXPECT_NE(reader.error().message.find("is damaged"), std::string::npos);
  }
  write_bytes(folder / "c.h5", std::string(10000, 'x'));
  EXPECT_FALSE(PieceReader::open(folder / "c.h5"));
}

TEST(PieceFile, FlippedBitsInDataAreFound) {
  TestFolder folder;
  ASSERT_TRUE(write_sample(folder / "a.h5", {}, 1000));
  const std::string whole = bytes_of(folder / "a.h5");
  const auto intact = read_all(folder / "a.h5");
  ASSERT_TRUE(intact);
  int noticed = 0, harmless = 0, wrong = 0;
  for (std::uint32_t k = 0; k < 300; ++k) {
    const Random r(9, k, 0, Purpose::test);
    std::string broken = whole;
    const std::size_t at = r.bits(0) % broken.size();
    broken[at] = static_cast<char>(broken[at] ^ (1u << (r.bits(1) % 8)));
    write_bytes(folder / "b.h5", broken);
    const auto read = read_all(folder / "b.h5");
    ++(!read ? noticed : *read == *intact ? harmless : wrong);
  }
  EXPECT_EQ(wrong, 0) << "read without an error, but not what was written";
  EXPECT_GT(noticed, 200);
  RecordProperty("noticed", noticed);
  RecordProperty("harmless", harmless);
}

}  // namespace
}  // namespace aegir
