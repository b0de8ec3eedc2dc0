#include "preview/report_pictures.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace aegir {
namespace {

namespace fs = std::filesystem;

struct PictureFile {
  fs::path path;
  std::uintmax_t bytes = 0;
  long frame = 0;
};

/// 12 of "preview.0012.png".
std::optional<long> frame_of(const std::string& name) {
  const std::string stem = name.substr(0, name.rfind('.'));
  const std::size_t dot = stem.rfind('.');
  if (dot == std::string::npos || dot + 1 == stem.size()) return {};
  long frame = 0;
  const char* const end = stem.data() + stem.size();
  const auto [at, error] = std::from_chars(stem.data() + dot + 1, end, frame);
  return error == std::errc() && at == end ? std::optional(frame) : std::nullopt;
}

/// The bytes of a PNG file; nothing for any other.
std::optional<std::string> png_bytes(const fs::path& path) {
  constexpr std::string_view signature("\x89PNG\r\n\x1a\n", 8);
  std::ifstream stream(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  if (!stream || !bytes.starts_with(signature)) return {};
  return bytes;
}

/// `count` of the files, evenly, the first and the last among them.
std::vector<PictureFile> evenly(const std::vector<PictureFile>& files, std::size_t count) {
  if (count >= files.size()) return files;
  if (count < 2) return count == 0 ? std::vector<PictureFile>() : std::vector{files.back()};
  std::vector<PictureFile> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(files[i * (files.size() - 1) / (count - 1)]);
  return chosen;
}

/// As many files as the budget holds.
std::vector<PictureFile> affordable(const std::vector<PictureFile>& files, std::uintmax_t bytes, std::size_t most) {
  for (std::size_t count = std::min(most, files.size()); count > 0; --count) {
    std::vector<PictureFile> chosen = evenly(files, count);
    std::uintmax_t sum = 0;
    for (const PictureFile& f : chosen) sum += f.bytes;
    if (sum <= bytes) return chosen;
  }
  return {};
}

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t here = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t three = 0;
    for (std::size_t i = 0; i < 3; ++i)
      three = three << 8 | (i < here ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i) text += i <= here ? letters[three >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

FoundPictures find_pictures(const std::string& folder, const PictureBudget& budget) {
  FoundPictures found;
  std::vector<PictureFile> sheets, frames;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (name.starts_with('.') || !name.ends_with(".png") || !at->is_regular_file(ignored)) continue;
    PictureFile file{at->path(), at->file_size(ignored), 0};
    if (name.starts_with("contact_sheet")) {
      sheets.push_back(std::move(file));
    } else if (const auto frame = frame_of(name)) {
      file.frame = *frame;
      frames.push_back(std::move(file));
    }
  }
  std::sort(sheets.begin(), sheets.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  std::sort(frames.begin(), frames.end(),
            [](const auto& a, const auto& b) { return std::pair(a.frame, a.path) < std::pair(b.frame, b.path); });
  found.frames_there = frames.size();

  std::uintmax_t left = budget.bytes;
  const auto take = [&](const PictureFile& file, std::string caption, std::vector<PagePicture>& into) {
    const auto bytes = file.bytes <= left ? png_bytes(file.path) : std::nullopt;
    if (!bytes) {
      ++found.skipped;
      return;
    }
    left -= std::min<std::uintmax_t>(left, bytes->size());
    into.push_back({std::move(caption), "data:image/png;base64," + base64(*bytes)});
  };
  for (const PictureFile& file : sheets) take(file, file.path.stem().string(), found.sheets);
  for (const PictureFile& file : affordable(frames, left, budget.frames))
    take(file, "frame " + std::to_string(file.frame), found.frames);
  return found;
}

}  // namespace aegir
