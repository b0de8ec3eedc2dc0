#include "io/frame_path.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "io/atomic_file.h"

namespace aegir {

namespace {

constexpr int most_digits = 10;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Token {
  std::size_t begin = std::string_view::npos, length = 0;
  int digits = 0;
};

/// The token that starts at `at`, if one does.
Token token_at(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  if (rest.starts_with("{frame}")) return {at, 7, 4};
  if (rest.starts_with("$F")) {
    if (rest.size() > 2 && rest[2] >= '1' && rest[2] <= '9') return {at, 3, rest[2] - '0'};
    return {at, 2, 1};
  }
  if (rest.starts_with('#')) {
    const std::size_t n = std::min(rest.find_first_not_of('#'), rest.size());
    return {at, n, static_cast<int>(std::min<std::size_t>(n, most_digits))};
  }
  if (rest.starts_with('%')) {
    std::size_t n = 1;
    int digits = 0;
    const bool padded = n < rest.size() && rest[n] == '0';
    while (n < rest.size() && is_digit(rest[n]) && digits <= most_digits) digits = digits * 10 + (rest[n++] - '0');
    if (n < rest.size() && rest[n] == 'd' && digits <= most_digits)
      return {at, n + 1, padded && digits > 0 ? digits : 1};
  }
  return {};
}

std::string last_part(const std::string& object) {
  const auto slash = object.rfind('/');
  return slash == std::string::npos ? object : object.substr(slash + 1);
}

}  // namespace

std::string frame_text(int frame, int digits) {
  const std::int64_t magnitude = frame < 0 ? -static_cast<std::int64_t>(frame) : frame;
  return fmt::format("{}{:0{}}", frame < 0 ? "-" : "", magnitude, std::clamp(digits, 1, most_digits));
}

FramePattern::FramePattern(std::string_view path) : before_(path) {
  const std::size_t slash = path.rfind('/');
  for (std::size_t at = slash == std::string_view::npos ? 0 : slash + 1; at < path.size(); ++at)
    if (const Token token = token_at(path, at); token.digits > 0) {
      before_ = path.substr(0, at);
      after_ = path.substr(at + token.length);
      digits_ = token.digits;
      return;
    }
}

std::string FramePattern::path(int frame) const {
  return animated() ? before_ + frame_text(frame, digits_) + after_ : before_;
}

std::string FramePattern::folder() const {
  const std::size_t slash = before_.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : before_.substr(0, slash);
}

std::optional<int> FramePattern::frame_of(std::string_view file_name) const {
  const std::string_view prefix = std::string_view(before_).substr(before_.rfind('/') + 1);
  if (!animated() || file_name.size() <= prefix.size() + after_.size()) return {};
  if (!file_name.starts_with(prefix) || !file_name.ends_with(after_)) return {};
  const std::string_view middle = file_name.substr(prefix.size(), file_name.size() - prefix.size() - after_.size());
  int frame = 0;
  const auto [end, error] = std::from_chars(middle.data(), middle.data() + middle.size(), frame);
  if (error != std::errc() || end != middle.data() + middle.size()) return {};
  // Only the spelling that path() gives counts, so that a frame has one file.
  if (middle != frame_text(frame, digits_)) return {};
  return frame;
}

Result<std::vector<int>> FramePattern::existing() const {
  std::vector<int> frames;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder(), error), end;
  for (; !error && entry != end; entry.increment(error))
    if (const auto frame = frame_of(entry->path().filename().string())) frames.push_back(*frame);
  if (error) return system_error("cannot list", folder(), error.value());
  std::sort(frames.begin(), frames.end());
  return frames;
}

std::string_view cache_kind_name(CacheKind kind) {
  return kind == CacheKind::points ? "points" : kind == CacheKind::volumes ? "volumes" : "mesh";
}

namespace {
std::string cache_stem(const std::string& out, const std::string& object, CacheKind kind) {
  return fmt::format("{}/{}/{}.{}.", out.empty() ? "." : out, object, last_part(object), cache_kind_name(kind));
}
std::string_view cache_extension(CacheKind kind) { return kind == CacheKind::mesh ? ".ply" : ".vdb"; }
}  // namespace

std::string cache_path(const std::string& out, const std::string& object, CacheKind kind, int frame) {
  return fmt::format("{}{}{}", cache_stem(out, object, kind), frame_text(frame), cache_extension(kind));
}

Result<std::vector<int>> existing_frames(const std::string& out, const std::string& object, CacheKind kind) {
  // The object's name may itself look like a pattern, so the frame is cut out here rather than by FramePattern.
  const std::filesystem::path stem(cache_stem(out, object, kind));
  const std::string prefix = stem.filename().string(), suffix(cache_extension(kind));
  std::error_code error;
  if (!std::filesystem::exists(stem.parent_path(), error)) {
    if (error && error != std::errc::no_such_file_or_directory) {
      return system_error("cannot list", stem.parent_path().string(), error.value());
    }
    return std::vector<int>{};
  }
  std::vector<int> frames;
  const FramePattern number("####");
  std::filesystem::directory_iterator entry(stem.parent_path(), error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.size() <= prefix.size() + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix)) continue;
    const auto frame = number.frame_of(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
    if (frame) frames.push_back(*frame);
  }
  if (error) return system_error("cannot list", stem.parent_path().string(), error.value());
  std::sort(frames.begin(), frames.end());
  return frames;
}

}  // namespace aegir
