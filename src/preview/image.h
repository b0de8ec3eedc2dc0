// Pictures of eight bits per channel, and putting several of them on one sheet.
//
//   Image sheet = contact_sheet({{"frame 1001", first}, {"frame 1020", second}}, 2);
//   Status written = write_png(sheet, "runs/sprinkler/preview.png");
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aegir {

/// Red, green, blue as a screen shows them (sRGB).
using Color = std::array<std::uint8_t, 3>;

/// A picture by rows from the top, three bytes per pixel.
class Image {
 public:
  Image() = default;
  Image(int width, int height, Color fill = {0, 0, 0});

  int width() const { return width_; }
  int height() const { return height_; }
  bool empty() const { return pixels_.empty(); }
  Color& at(int x, int y) { return pixels_[index(x, y)]; }
  const Color& at(int x, int y) const { return pixels_[index(x, y)]; }
  const std::vector<Color>& pixels() const { return pixels_; }

 private:
  std::size_t index(int x, int y) const;

  int width_ = 0;
  int height_ = 0;
  std::vector<Color> pixels_;
};

/// A picture and the line under it.
struct Captioned {
  std::string caption;
  Image image;
};

/// Puts a picture onto another with its upper left corner at (x, y); what lies outside is cut off.
void paste(Image& onto, const Image& what, int x, int y);

/// Pictures in rows of `columns`, each with its caption below; columns below 1 count as 1.
Image contact_sheet(const std::vector<Captioned>& pictures, int columns);

/// The bytes of a PNG file.
Result<std::string> encode_png(const Image& image);

/// Writes a PNG, whole or not at all.
Status write_png(const Image& image, const std::string& path);

}  // namespace aegir
