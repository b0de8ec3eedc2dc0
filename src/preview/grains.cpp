#include "preview/grains.h"

#include <array>
#include <bit>
#include <cmath>

#include "base/random.h"

namespace aegir {
namespace {

// Linear light; pale, rust, slate, ochre: neighbours differ in lightness for those who see no colours.
constexpr std::array<Vec3f, 4> dyes{
    {{0.54f, 0.41f, 0.26f}, {0.29f, 0.085f, 0.04f}, {0.46f, 0.23f, 0.07f}, {0.065f, 0.08f, 0.10f}}};
constexpr Vec3f dry{0.44f, 0.285f, 0.15f};

// 0 … 1, another one for each `which`.
float number(std::uint64_t grain, std::uint64_t which) {
  return static_cast<float>(mix(grain + which * 0x9e3779b97f4a7c15ull) >> 40) * 0x1p-24f;
}

// Numbers the unit cells of space; far away, where floats are coarser than cells, many are one.
std::uint64_t cell_of(const Vec3f& place) {
  std::uint64_t cell = 0;
  for (int a = 0; a < 3; ++a) {
    const float floor = std::floor(place[a]);
    cell = mix(cell + static_cast<std::uint64_t>(std::abs(floor) < 1e9f ? static_cast<std::int64_t>(floor) : 0) + 1);
  }
  return cell;
}

// Between 1 - 1/2 amount and 1 + 1/2 amount, and towards red or grey.
Vec3f varied(const Vec3f& color, std::uint64_t grain, float amount) {
  const float light = 1 + amount * (number(grain, 1) - 0.5f), warm = 0.5f * amount * (number(grain, 2) - 0.5f);
  return {color.x * light * (1 + 0.4f * warm), color.y * light, color.z * light * (1 - warm)};
}

}  // namespace

std::uint64_t grain_of(const Vec3f& rest) {
  std::uint64_t grain = 0;
  for (int a = 0; a < 3; ++a) grain = mix(grain + std::bit_cast<std::uint32_t>(rest[a] + 0.0f) + 1);  // no -0
  return grain;
}

std::uint64_t grain_of(std::int64_t id) { return mix(static_cast<std::uint64_t>(id) + 1); }

int layer_of(double height, double thickness) {
  const double layer = std::floor(height / thickness);
  return std::abs(layer) < 1e9 ? static_cast<int>(layer) : 0;
}

Vec3f plain_sand() { return dry; }

Vec3f sand_color(std::uint64_t grain) {
  const float kind = number(grain, 3);
  if (kind < 0.04f) return varied({0.10f, 0.07f, 0.05f}, grain, 0.5f);   // dark minerals
  if (kind > 0.93f) return varied({0.66f, 0.53f, 0.37f}, grain, 0.25f);  // quartz
  return varied(dry, grain, 0.55f);
}

Vec3f sand_color(std::uint64_t grain, int layer) {
  return varied(dyes[static_cast<std::size_t>(layer & 3)], grain, 0.45f);
}

Vec3f sand_surface_color(std::uint64_t grain) { return dry * 0.65f + sand_color(grain) * 0.35f; }

float speckle(const Vec3f& place) { return 0.72f + 0.56f * number(cell_of(place), 1); }

Vec3f roughness(const Vec3f& place) {
  const std::uint64_t cell = cell_of(place);
  return {2 * number(cell, 4) - 1, 2 * number(cell, 5) - 1, 2 * number(cell, 6) - 1};
}

float speckle(const Vec3f& color, const Vec3f& outward) {
  constexpr float per_radius = 2.5f;
  return 0.72f + 0.56f * number(mix(grain_of(color) + cell_of(outward * per_radius)), 1);
}

}  // namespace aegir
