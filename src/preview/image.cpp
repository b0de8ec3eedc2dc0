#include "preview/image.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>

#include "base/assert.h"
#include "io/atomic_file.h"
#include "preview/text.h"

namespace aegir {

Image::Image(int width, int height, Color fill) : width_(std::max(0, width)), height_(std::max(0, height)) {
  pixels_.assign(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_), fill);
}

std::size_t Image::index(int x, int y) const {
  AEGIR_CHECK(x >= 0 && y >= 0 && x < width_ && y < height_, "pixel outside of the picture");
  return static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x);
}

void paste(Image& onto, const Image& what, int x, int y) {
  const int first_x = std::max(0, -x), last_x = std::min(what.width(), onto.width() - x);
  const int first_y = std::max(0, -y), last_y = std::min(what.height(), onto.height() - y);
  for (int row = first_y; row < last_y; ++row)
    for (int column = first_x; column < last_x; ++column) onto.at(x + column, y + row) = what.at(column, row);
}

Image contact_sheet(const std::vector<Captioned>& pictures, int columns) {
  constexpr Color paper{22, 26, 33}, ink{205, 212, 222};
  constexpr int gap = 8, scale = 2, caption_height = (glyph_height + 4) * scale;
  int width = 0, height = 0;
  for (const Captioned& picture : pictures) {
    width = std::max(width, picture.image.width());
    height = std::max(height, picture.image.height());
  }
  if (pictures.empty()) return {};
  const int count = static_cast<int>(pictures.size());
  columns = std::clamp(columns, 1, count);
  const int rows = (count + columns - 1) / columns, row_height = height + caption_height + gap;
  Image sheet(gap + columns * (width + gap), gap + rows * row_height, paper);
  for (int i = 0; i < count; ++i) {
    const Captioned& picture = pictures[static_cast<std::size_t>(i)];
    const int x = gap + i % columns * (width + gap), y = gap + i / columns * row_height;
    paste(sheet, picture.image, x, y);
    draw_text(sheet, picture.caption, x + 2, y + height + 3 * scale, scale, ink);
  }
  return sheet;
}

namespace {

struct PngOutput {
  std::string bytes;
  std::string problem;
};

void append_bytes(png_structp png, png_bytep data, std::size_t size) {
  static_cast<PngOutput*>(png_get_io_ptr(png))->bytes.append(reinterpret_cast<const char*>(data), size);
}

void flush_nothing(png_structp) {}

void remember_problem(png_structp png, png_const_charp message) {
  static_cast<PngOutput*>(png_get_error_ptr(png))->problem = message;
  png_longjmp(png, 1);
}

void ignore_warning(png_structp, png_const_charp) {}

// Between setjmp and a longjmp of libpng stands nothing that has a destructor.
bool encode_rows(png_structp png, png_infop info, const Image& image) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width()), static_cast<png_uint_32>(image.height()), 8,
               PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
  png_write_info(png, info);
  for (int y = 0; y < image.height(); ++y) png_write_row(png, image.at(0, y).data());
  png_write_end(png, info);
  return true;
}

}  // namespace

Result<std::string> encode_png(const Image& image) {
  if (image.empty()) return io_error("a picture without pixels cannot be a PNG");
  PngOutput output;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &output, remember_problem, ignore_warning);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  bool done = false;
  if (info) {
    png_set_write_fn(png, &output, append_bytes, flush_nothing);
    done = encode_rows(png, info, image);
  }
  png_destroy_write_struct(&png, &info);
  if (!done) return io_error("libpng: {}", output.problem.empty() ? "out of memory" : output.problem);
  return std::move(output.bytes);
}

Status write_png(const Image& image, const std::string& path) {
  const Result<std::string> bytes = encode_png(image);
  if (!bytes) return io_error("{}: {}", path, bytes.error().message);
  return write_text_atomically(path, *bytes);
}

}  // namespace aegir
