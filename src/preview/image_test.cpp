#include "preview/image.h"

#include <gtest/gtest.h>
#include <png.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "preview/text.h"

namespace aegir {
namespace {

Image gradient(int width, int height) {
  Image image(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      image.at(x, y) = {static_cast<std::uint8_t>(x), static_cast<std::uint8_t>(y), static_cast<std::uint8_t>(x * y)};
  return image;
}

Image decode(const std::string& bytes) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_memory(&header, bytes.data(), bytes.size()));
  header.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> data(PNG_IMAGE_SIZE(header));
  EXPECT_TRUE(png_image_finish_read(&header, nullptr, data.data(), 0, nullptr));
  Image image(static_cast<int>(header.width), static_cast<int>(header.height));
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x)
      for (int i = 0; i < 3; ++i)
        image.at(x, y)[static_cast<std::size_t>(i)] = data[static_cast<std::size_t>((y * image.width() + x) * 3 + i)];
  return image;
}

class InFolder : public testing::Test {
 protected:
  InFolder() : folder_(std::filesystem::path(testing::TempDir()) / "aegir_preview_image") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~InFolder() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

TEST_F(InFolder, PngHoldsEveryPixel) {
  const Image image = gradient(37, 23);
  ASSERT_TRUE(write_png(image, path("a.png")));
  std::stringstream bytes;
  bytes << std::ifstream(path("a.png"), std::ios::binary).rdbuf();
  const Image read = decode(bytes.str());
  EXPECT_EQ(read.width(), 37);
  EXPECT_EQ(read.pixels(), image.pixels());
}

TEST_F(InFolder, FailureIsAnIoErrorThatNamesThePathAndLeavesNothing) {
  const Status missing = write_png(gradient(4, 4), path("no/such/folder.png"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, Failure::io);
  EXPECT_NE(missing.error().text().find("no/such"), std::string::npos);
  const Status empty = write_png(Image(), path("empty.png"));
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().text().find("empty.png"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST(Paste, CutsOffWhatLiesOutside) {
  Image onto(4, 4, {1, 1, 1});
  paste(onto, Image(3, 3, {9, 9, 9}), -1, 2);
  EXPECT_EQ(onto.at(1, 2), (Color{9, 9, 9}));
  EXPECT_EQ(onto.at(2, 2), (Color{1, 1, 1}));
  EXPECT_EQ(onto.at(0, 3), (Color{9, 9, 9}));
  EXPECT_EQ(onto.at(0, 1), (Color{1, 1, 1}));
}

TEST(ContactSheet, HoldsEveryPictureAndItsCaption) {
  const std::vector<Captioned> pictures(5, {"frame 1001", Image(100, 50, {200, 10, 10})});
  const Image sheet = contact_sheet(pictures, 3);
  EXPECT_GE(sheet.width(), 300);
  EXPECT_LT(sheet.width(), 400);
  int red = 0, ink = 0;
  for (const Color& c : sheet.pixels()) red += c == Color{200, 10, 10}, ink += c[0] > 190 && c[1] > 190;
  EXPECT_EQ(red, 5 * 100 * 50);
  EXPECT_GT(ink, 5 * 10 * 8);
  EXPECT_TRUE(contact_sheet({}, 3).empty());
  EXPECT_FALSE(contact_sheet(pictures, 0).empty());
}

TEST(Text, GlyphsDifferAndStayInTheirPlace) {
  std::vector<std::vector<Color>> seen;
  for (const char letter :
       std::string_view("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,-+/:%=_()^'#")) {
    Image image(glyph_width, glyph_height);
    draw_text(image, std::string(1, letter), 0, 0, 1, {255, 255, 255});
    EXPECT_EQ(std::count(seen.begin(), seen.end(), image.pixels()), 0) << letter;
    seen.push_back(image.pixels());
  }
  Image small(3, 3);
  draw_text(small, "frame", -4, -2, 2, {255, 255, 255});  // must not write outside
  EXPECT_EQ(text_width("ab", 2), 22);
}

}  // namespace
}  // namespace aegir
