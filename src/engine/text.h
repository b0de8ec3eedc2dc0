// Small helpers that turn numbers and tables into text for people.
//
//   short_count(14'200'000);   // "14.2M"
//   short_bytes(1'900'000'000);  // "1.8 GiB"
//   short_time(3271);          // "54:31"
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace aegir {

/// 950, 12.3k, 212k, 14.2M, 3.1G.
std::string short_count(std::int64_t count);

/// 512 B, 1.8 MiB, 24 GiB.
std::string short_bytes(std::uint64_t bytes);

/// 0:07, 54:31, 1:50:00; 0.8 s below ten seconds when `fine`.
std::string short_time(double seconds, bool fine = false);

/// "1 frame", "7 frames".
std::string plural(std::int64_t count, const std::string& noun);

/// Printed columns that a text takes; bytes inside a UTF-8 character do not count.
std::size_t text_columns(const std::string& text);

/// Frames as ranges: "1001–1043, 1045".
std::string frame_ranges(const std::vector<int>& sorted_frames);

/// Left-aligned columns as wide as their widest cell; columns that stay empty are left out.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) : header_(std::move(header)) {}
  void row(std::vector<std::string> cells) { rows_.push_back({std::move(cells), {}}); }
  /// A line across all columns.
  void line(std::string text) { rows_.push_back({{}, std::move(text)}); }
  std::string text() const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string line;
  };
  std::vector<std::string> header_;
  std::vector<Row> rows_;
};

}  // namespace aegir
