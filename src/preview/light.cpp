#include "preview/light.h"

#include <array>

#include "parallel/threads.h"

namespace aegir {
namespace {

constexpr int map_size = 1024;
constexpr int ground_size = 768;
constexpr double ground_reach = 3;  // half side of the ground's map, in radii of the box

// One box blur along rows, written transposed: twice blurs both directions.
void blur_transposed(const std::vector<float>& from, std::vector<float>& to, int radius) {
  const float share = 1 / static_cast<float>(2 * radius + 1);
  parallel_for(0, ground_size, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const float* line = &from[row * ground_size];
      const auto at = [&](int i) { return line[std::clamp(i, 0, ground_size - 1)]; };
      float sum = 0;
      for (int i = -radius; i <= radius; ++i) sum += at(i);
      for (int i = 0; i < ground_size; ++i) {
        to[static_cast<std::size_t>(i) * ground_size + row] = sum * share;
        sum += at(i + radius + 1) - at(i - radius);
      }
    }
  });
}

// Three box blurs are close to a Gaussian.
void blur(std::vector<float>& map, int radius) {
  std::vector<float> other(map.size());
  for (int pass = 0; pass < 3; ++pass) {
    blur_transposed(map, other, radius);
    blur_transposed(other, map, radius);
  }
}

}  // namespace

KeyLight::KeyLight(const Vec3d& toward_light, const Box& box, double ground, const VisibleThings& things)
    : direction_(normalized(toward_light)),
      view_(View::orthographic(direction_, box, map_size)),
      seen_(find_visible(view_, things, 0.7f)),
      radius_(std::max(1e-6, 0.5 * length(box.size()))) {
  ground_corner_ = box.center() - Vec3d(ground_reach * radius_);
  ground_texel_ = 2 * ground_reach * radius_ / ground_size;
  cast_on_ground(ground);
}

void KeyLight::cast_on_ground(double ground) {
  // What hangs high above the ground throws a wider half shadow: three layers by distance along the light, each blurred
  // as far as its distance asks for.
  constexpr std::array<double, 2> limits{0.12, 0.5};  // in radii of the box
  constexpr std::array<int, 3> softness{1, 4, 11};    // in texels
  std::array<std::vector<float>, 3> layers;
  for (auto& layer : layers) layer.assign(ground_size * ground_size, 0);
  parallel_for(0, ground_size, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j)
      for (std::size_t i = 0; i < ground_size; ++i) {
        const Vec3d point{ground_corner_.x + (static_cast<double>(i) + 0.5) * ground_texel_, ground,
                          ground_corner_.z + (static_cast<double>(j) + 0.5) * ground_texel_};
        const Vec3f p = view_.project(point);
        if (!(p.x >= 0 && p.y >= 0 && p.x < map_size && p.y < map_size)) continue;
        const std::size_t pixel = static_cast<std::size_t>(p.y) * map_size + static_cast<std::size_t>(p.x);
        if (seen_.item[pixel] == nothing_seen) continue;
        const double above = static_cast<double>(p.z) - static_cast<double>(seen_.depth[pixel]);
        if (above < 0) continue;
        const std::size_t layer = above < limits[0] * radius_ ? 0 : above < limits[1] * radius_ ? 1 : 2;
        layers[layer][j * ground_size + i] = 1;
      }
  });
  for (std::size_t layer = 0; layer < layers.size(); ++layer) blur(layers[layer], softness[layer]);
  ground_light_.resize(ground_size * ground_size);
  for (std::size_t i = 0; i < ground_light_.size(); ++i)
    ground_light_[i] = (1 - layers[0][i]) * (1 - layers[1][i]) * (1 - layers[2][i]);
}

float KeyLight::reaches(const Vec3d& point, float bias) const {
  constexpr int reach = 2;
  const Vec3f p = view_.project(point);
  const int x = static_cast<int>(p.x), y = static_cast<int>(p.y);
  if (!(p.x >= reach && p.y >= reach && p.x < map_size - reach && p.y < map_size - reach)) return 1;
  float lit = 0, total = 0;
  for (int j = -reach; j <= reach; ++j)
    for (int i = -reach; i <= reach; ++i) {
      const float weight = 1 / static_cast<float>(1 + i * i + j * j);
      const float first = seen_.depth[static_cast<std::size_t>(y + j) * map_size + static_cast<std::size_t>(x + i)];
      total += weight;
      // Light fades into a cloud of particles over a depth of `bias` rather than ending at its first one.
      lit += weight * std::clamp(2 - (p.z - first) / bias, 0.0f, 1.0f);
    }
  return lit / total;
}

float KeyLight::reaches_ground(double x, double z) const {
  const double u = (x - ground_corner_.x) / ground_texel_ - 0.5, v = (z - ground_corner_.z) / ground_texel_ - 0.5;
  if (!(u >= 0 && v >= 0 && u < ground_size - 1 && v < ground_size - 1)) return 1;
  const std::size_t i = static_cast<std::size_t>(u), j = static_cast<std::size_t>(v);
  const float a = static_cast<float>(u - static_cast<double>(i)), b = static_cast<float>(v - static_cast<double>(j));
  const float* at = &ground_light_[j * ground_size + i];
  return (at[0] * (1 - a) + at[1] * a) * (1 - b) + (at[ground_size] * (1 - a) + at[ground_size + 1] * a) * b;
}

}  // namespace aegir
