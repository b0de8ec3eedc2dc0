// Pictures for the report: those that `aegir preview` has made, as data that a page can carry in itself.
//
//   const FoundPictures found = find_pictures("runs/rain/preview", {.bytes = 8 << 20, .frames = 24});
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aegir {

/// A picture and what stands below it.
struct PagePicture {
  std::string caption;
  std::string data;  ///< "data:image/png;base64,…"
};

/// How much of the pictures a page may carry.
struct PictureBudget {
  std::uintmax_t bytes = 0;  ///< of all files together
  std::size_t frames = 0;    ///< most pictures of single frames
};

struct FoundPictures {
  std::vector<PagePicture> sheets;  ///< contact sheets
  std::vector<PagePicture> frames;  ///< evenly chosen, the first and the last among them
  std::size_t frames_there = 0;     ///< in the folder
  std::size_t skipped = 0;          ///< files that are no PNG, cannot be read or exceed the budget by themselves
};

/// Looks for `contact_sheet*.png` and `<anything>.<frame>.png` in a folder; one that is not there holds none.
FoundPictures find_pictures(const std::string& folder, const PictureBudget& budget);

/// Base 64 with padding (RFC 4648).
std::string base64(std::string_view bytes);

}  // namespace aegir
