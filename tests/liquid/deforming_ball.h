// A ball of triangles whose radius changes with direction and time, as an OBJ file and its MDD deformation.
//
//   const DeformingBall ball({0.5, 0.3, 0.5}, 12, [](double frame, const Vec3d& direction) { return 0.1 + 0.01 * frame;
//   }); LiquidLaboratory lab(timeline, "  - collider: ball\n    input: ball\n", ball.inputs());
#pragma once

#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include "base/vec.h"

namespace aegir::test {

class DeformingBall {
 public:
  /// Frames 0 … `frames`, 24 per second.
  DeformingBall(const Vec3d& centre, int frames, const std::function<double(double frame, const Vec3d&)>& radius) {
    std::filesystem::create_directories(directory_);
    std::vector<Vec3d> directions{{0, 1, 0}, {0, -1, 0}};
    for (int i = 1; i < rings; ++i)
      for (int j = 0; j < slices; ++j) {
        const double a = std::numbers::pi * i / rings, b = 2 * std::numbers::pi * j / slices;
        directions.push_back({std::sin(a) * std::cos(b), std::cos(a), std::sin(a) * std::sin(b)});
      }
    const auto vertex = [](int i, int j) { return i == 0 ? 1 : i == rings ? 2 : 3 + (i - 1) * slices + j % slices; };
    std::ofstream obj(directory_ / "ball.obj");
    for (const Vec3d& d : directions) {
      const Vec3d x = centre + d * radius(0, d);
      obj << "v " << x.x << ' ' << x.y << ' ' << x.z << '\n';
    }
    for (int i = 0; i < rings; ++i)
      for (int j = 0; j < slices; ++j) {
        if (i > 0) obj << "f " << vertex(i, j) << ' ' << vertex(i, j + 1) << ' ' << vertex(i + 1, j) << '\n';
        if (i < rings - 1)
          obj << "f " << vertex(i, j + 1) << ' ' << vertex(i + 1, j + 1) << ' ' << vertex(i + 1, j) << '\n';
      }
    std::ofstream mdd(directory_ / "ball.mdd", std::ios::binary);
    const auto put = [&](auto value) {
      const auto bits = __builtin_bswap32(std::bit_cast<std::uint32_t>(value));
      mdd.write(reinterpret_cast<const char*>(&bits), 4);
    };
    put(std::int32_t{frames + 1}), put(static_cast<std::int32_t>(directions.size()));
    for (int f = 0; f <= frames; ++f) put(static_cast<float>(f) / 24);
    for (int f = 0; f <= frames; ++f)
      for (const Vec3d& d : directions)
        for (int a = 0; a < 3; ++a) put(static_cast<float>((centre + d * radius(f, d))[a]));
  }
  ~DeformingBall() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  DeformingBall(const DeformingBall&) = delete;
  DeformingBall& operator=(const DeformingBall&) = delete;

  /// The section of a setup that names it `ball`.
  std::string inputs() const {
    return fmt::format("inputs: {{ball: {{file: {0}/ball.obj, motion: deforming, deformation: {0}/ball.mdd}}}}\n",
                       directory_.string());
  }

 private:
  static constexpr int rings = 24, slices = 48;
  const std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / fmt::format("aegir_ball_{}", ::getpid());
};

}  // namespace aegir::test
