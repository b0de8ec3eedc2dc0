// What must hold of a text before YAML sees it, and how bytes relate to lines and columns.
//
//   Result<std::string> clean = clean_text(bytes, "dam.yaml");
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aegir {

/// The text as UTF-8 with plain line ends and without a byte order mark; binary data is refused at its place.
Result<std::string> clean_text(std::string_view text, const std::string& file);

/// Lines of a text, for places and messages; columns count characters, not bytes.
class TextLines {
 public:
  /// The text must outlive this.
  TextLines(std::string_view text, std::string file);
  /// From a line and a byte column that count from 0.
  Location place(int line, int byte_column) const;
  /// Where this is in the text, in bytes.
  std::size_t offset(int line, int byte_column) const;
  std::string_view text() const { return text_; }
  /// A line that counts from 1; empty outside the text.
  std::string_view line(int number) const;

 private:
  std::string_view text_;
  std::string file_;
  std::vector<std::size_t> starts_;
  std::vector<std::size_t> continuations_;  // bytes of characters after their first
};

}  // namespace aegir
