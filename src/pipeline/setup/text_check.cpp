#include "pipeline/setup/text_check.h"

#include <algorithm>

namespace aegir {
namespace {

/// Length of the UTF-8 character that starts here; 0 if it is none (overlong, surrogate or cut off).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const std::size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if (byte(0) == 0xE0 && byte(1) < 0xA0) return 0;
  if (byte(0) == 0xED && byte(1) > 0x9F) return 0;
  if (byte(0) == 0xF0 && byte(1) < 0x90) return 0;
  if (byte(0) == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

}  // namespace

Result<std::string> clean_text(std::string_view text, const std::string& file) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return usage_error({file, 1, 1}, "the file is UTF-16; save it as UTF-8");
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::string clean;
  clean.reserve(text.size());
  Location where{file, 1, 1};
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = character_length(text.substr(i));
    if (length == 0) return usage_error(where, "this is not UTF-8 text (byte 0x{:02x})", byte);
    if ((byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t') || byte == 0x7f)
      return usage_error(where, "this is binary data or a control character (byte 0x{:02x})", byte);
    if (byte == '\n' || byte == '\r') {
      if (byte == '\r' && i + 1 < text.size() && text[i + 1] == '\n') ++i;
      clean += '\n';
      ++where.line, where.column = 1;
    } else {
      clean.append(text.substr(i, length));
      ++where.column;
    }
    i += length;
  }
  return clean;
}

TextLines::TextLines(std::string_view text, std::string file) : text_(text), file_(std::move(file)), starts_{0} {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') starts_.push_back(i + 1);
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continuations_.push_back(i);
  }
}

std::size_t TextLines::offset(int line_index, int byte_column) const {
  const std::size_t start = starts_[std::min(starts_.size() - 1, static_cast<std::size_t>(std::max(0, line_index)))];
  return std::min(text_.size(), start + static_cast<std::size_t>(std::max(0, byte_column)));
}

Location TextLines::place(int line_index, int byte_column) const {
  const std::size_t begin = offset(line_index, 0), end = offset(line_index, byte_column);
  const auto inside = std::lower_bound(continuations_.begin(), continuations_.end(), end) -
                      std::lower_bound(continuations_.begin(), continuations_.end(), begin);
  return {file_, std::max(1, line_index + 1), static_cast<int>(end - begin) - static_cast<int>(inside) + 1};
}

std::string_view TextLines::line(int number) const {
  if (number < 1 || static_cast<std::size_t>(number) > starts_.size()) return {};
  const std::size_t begin = starts_[static_cast<std::size_t>(number) - 1];
  const std::size_t end = text_.find('\n', begin);
  return text_.substr(begin, end == std::string_view::npos ? end : end - begin);
}

}  // namespace aegir
