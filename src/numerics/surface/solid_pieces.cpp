#include "numerics/surface/solid_pieces.h"

#include <algorithm>
#include <cmath>

namespace aegir {
namespace {

constexpr float even = 1e-4f;       // differences from one plane that are none
constexpr float smooth = 0.02f;     // differences from one plane that need no second one
constexpr float flat = 0.005f;      // error of a plane in a cell that no edge crosses
constexpr float explained = 0.02f;  // error of planes at the nodes of a cell that an edge crosses

/// Calls fn(node) for the eight corners of a cell.
template <class Fn>
void each_corner(const Vec3i& cell, Fn&& fn) {
  for (int c = 0; c < 8; ++c) fn(cell + Vec3i(c >> 2, c >> 1 & 1, c & 1));
}

/// From the centre of the middle cell.
Vec3f place(const Vec3i& node) { return Vec3f(node) - Vec3f(1.5f); }

}  // namespace

SolidPieces::SolidPieces(const PaddedTile<float, 2>& nodes, const Vec3i& cell) {
  for (int x = 0; x < 4; ++x)
    for (int y = 0; y < 4; ++y)
      for (int z = 0; z < 4; ++z) nodes_[x][y][z] = nodes(cell.x + x - 1, cell.y + y - 1, cell.z + z - 1);
  find_roughness();
  if (roughness_ < smooth) return;
  find_planes();
  if (count_ > 1)
    roughness_ = find_kinds() ? 0 : roughness_;
  else
    count_ = 0;  // the rest is curved
}

/// The greatest difference of the distances from their linear fit.
void SolidPieces::find_roughness() {
  const auto each = [&](auto&& fn) {
    for (int x = 0; x < 4; ++x)
      for (int y = 0; y < 4; ++y)
        for (int z = 0; z < 4; ++z) fn(place({x, y, z}), nodes_[x][y][z]);
  };
  float mean = 0;
  Vec3f slope;
  each([&](const Vec3f& at, float d) { mean += d / 64, slope += at * (d / 80); });
  each([&](const Vec3f& at, float d) { roughness_ = std::max(roughness_, std::abs(d - mean - dot(slope, at))); });
  if (roughness_ < even) planes_[0] = {mean, slope}, count_ = 1;
}

/// The plane through a cell's corners.
SolidPieces::Plane SolidPieces::fit(const Vec3i& cell, float& error) const {
  Plane plane{0, {}};
  const Vec3f centre = place(cell) + Vec3f(0.5f);
  each_corner(cell, [&](const Vec3i& n) {
    const float d = nodes_[n.x][n.y][n.z];
    plane.distance += d / 8, plane.slope += (place(n) - centre) * (d / 2);
  });
  plane.distance -= dot(plane.slope, centre);
  error = 0;
  each_corner(cell, [&](const Vec3i& n) {
    error = std::max(error, std::abs(nodes_[n.x][n.y][n.z] - plane.distance - dot(plane.slope, place(n))));
  });
  return plane;
}

void SolidPieces::find_planes() {
  for (int c = 0; c < 27; ++c) {
    const Vec3i cell{c / 9, c / 3 % 3, c % 3};
    const Vec3f centre = place(cell) + Vec3f(0.5f);
    float error;
    const Plane plane = fit(cell, error);
    if (error > flat) continue;
    const auto same = [&](const Plane& other) {
      const Vec3f turned = plane.slope - other.slope;
      return dot(turned, turned) < explained * explained &&
             std::abs(plane.distance - other.distance + dot(turned, centre)) < explained;
    };
    if (std::any_of(planes_.begin(), planes_.begin() + count_, same)) continue;
    if (count_ == most) return count_ = 0, void();
    planes_[static_cast<std::size_t>(count_++)] = plane;
  }
}

bool SolidPieces::borne_out(const Vec3i& cell, Kind kind) const {
  float error = 0;
  each_corner(cell, [&](const Vec3i& n) {
    error = std::max(error, std::abs(nodes_[n.x][n.y][n.z] - of_planes(place(n), kind)));
  });
  return error < explained;
}

/// Whether planes explain all cells.
bool SolidPieces::find_kinds() {
  bool all = true;
  for (int c = 0; c < 27; ++c) {
    const Vec3i cell{c / 9, c / 3 % 3, c % 3};
    float error;
    fit(cell, error);
    if (error <= flat) continue;
    Kind& kind = kinds_[cell.x][cell.y][cell.z];
    if (borne_out(cell, Kind::least))
      kind = Kind::least;
    else if (borne_out(cell, Kind::greatest))
      kind = Kind::greatest;
    else
      all = false;
  }
  return all;
}

}  // namespace aegir
