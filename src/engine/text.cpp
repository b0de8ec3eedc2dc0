#include "engine/text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace aegir {

std::string short_count(std::int64_t count) {
  if (std::abs(count) < 10000) return std::to_string(count);
  double value = static_cast<double>(count);
  const char* suffix = "";
  for (const char* next : {"k", "M", "G", "T"}) {
    if (std::abs(value) < 999.5) break;
    value /= 1000;
    suffix = next;
  }
  return std::abs(value) < 99.95 ? fmt::format("{:.1f}{}", value, suffix) : fmt::format("{:.0f}{}", value, suffix);
}

std::string short_bytes(std::uint64_t bytes) {
  double value = static_cast<double>(bytes);
  const char* suffix = "B";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < 999.5) break;
    value /= 1024;
    suffix = next;
  }
  const bool fine = value < 9.95 && bytes >= 1000;
  return fine ? fmt::format("{:.1f} {}", value, suffix) : fmt::format("{:.0f} {}", value, suffix);
}

std::string short_time(double seconds, bool fine) {
  if (!std::isfinite(seconds) || seconds < 0) seconds = 0;
  if (fine && seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(std::min(seconds, 1e15)));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string plural(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::size_t text_columns(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string frame_ranges(const std::vector<int>& frames) {
  std::string text;
  for (std::size_t i = 0; i < frames.size();) {
    std::size_t end = i;
    while (end + 1 < frames.size() && frames[end + 1] == frames[end] + 1) ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(frames[i]);
    if (end > i) text += "–" + std::to_string(frames[end]);
    i = end + 1;
  }
  return text;
}

std::string TextTable::text() const {
  std::vector<std::size_t> width(header_.size(), 0);
  for (const Row& row : rows_)
    for (std::size_t c = 0; c < row.cells.size() && c < width.size(); ++c)
      width[c] = std::max(width[c], text_columns(row.cells[c]));
  for (std::size_t c = 0; c < width.size(); ++c)
    if (width[c] > 0) width[c] = std::max(width[c], text_columns(header_[c]));
  const auto print = [&](const std::vector<std::string>& cells) {
    std::string line;
    std::size_t at = 0;  // where the next column begins
    for (std::size_t c = 0; c < cells.size() && c < width.size(); ++c) {
      if (width[c] == 0) continue;
      line.append(at - std::min(at, text_columns(line)), ' ');
      line += cells[c];
      at += width[c] + 2;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  };
  std::string all = print(header_);
  for (const Row& row : rows_) all += row.cells.empty() ? row.line + "\n" : print(row.cells);
  return all;
}

}  // namespace aegir
