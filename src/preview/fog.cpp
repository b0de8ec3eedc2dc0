#include "preview/fog.h"

#include <algorithm>
#include <cmath>

#include "io/vdb_volumes.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

constexpr double most_samples = 6e6;  // of the dense box

std::size_t index(const Vec3i& size, int i, int j, int k) {
  return (static_cast<std::size_t>(k) * static_cast<std::size_t>(size.y) + static_cast<std::size_t>(j)) *
             static_cast<std::size_t>(size.x) +
         static_cast<std::size_t>(i);
}

}  // namespace

FogVolumes::FogVolumes(const std::vector<std::shared_ptr<const VolumeField>>& fields, const Environment& around)
    : sun_(around.sun_light()), ambient_(around.ambient({0, 1, 0})) {
  Box box;
  double voxel = 1e300;
  for (const auto& field : fields)
    if (!field->is_vector() && !field->is_level_set() && !field->bounds().empty())
      box.add(field->bounds()), voxel = std::min(voxel, field->voxel_size());
  if (box.empty()) return;
  const Vec3d extent = box.size();
  const double room = extent.x * extent.y * extent.z / most_samples;
  const double step = std::max(voxel, std::cbrt(std::max(room, 1e-30)));
  step_ = static_cast<float>(step);
  corner_ = Vec3f(box.min - around.origin());
  for (int a = 0; a < 3; ++a) size_[a] = std::max(2, static_cast<int>(std::ceil(extent[a] / step)) + 1);
  density_.assign(index(size_, 0, 0, size_.z), 0.0f);
  parallel_for(0, static_cast<std::size_t>(size_.z), 1, [&](std::size_t begin, std::size_t end) {
    std::vector<Vec3d> places(static_cast<std::size_t>(size_.x));
    std::vector<float> values(places.size());
    for (int k = static_cast<int>(begin); k < static_cast<int>(end); ++k)
      for (int j = 0; j < size_.y; ++j) {
        for (int i = 0; i < size_.x; ++i) places[static_cast<std::size_t>(i)] = box.min + Vec3d(i, j, k) * step;
        for (const auto& field : fields) {
          if (field->is_vector() || field->is_level_set()) continue;
          field->values(places, values);
          float* row = &density_[index(size_, 0, j, k)];
          for (std::size_t i = 0; i < values.size(); ++i)
            if (values[i] > 0 && std::isfinite(values[i])) row[i] += values[i];
        }
      }
  });
  const float densest = *std::max_element(density_.begin(), density_.end());
  if (!(densest > 0)) {
    density_.clear();
    return;
  }
  // The densest place is opaque over a fifteenth of the box.
  extinction_ = static_cast<float>(15 * 2.5 / length(extent)) / densest;
  light(around);
}

// Sunlight through the fog: 12 bytes and 20 flops per step and sample, one march per sample of the box.
void FogVolumes::light(const Environment& around) {
  lit_.assign(density_.size(), 1.0f);
  const float step = 2 * step_;
  const int most = size_.x + size_.y + size_.z;
  parallel_for(0, static_cast<std::size_t>(size_.z), 1, [&](std::size_t begin, std::size_t end) {
    for (int k = static_cast<int>(begin); k < static_cast<int>(end); ++k)
      for (int j = 0; j < size_.y; ++j)
        for (int i = 0; i < size_.x; ++i) {
          float depth = 0;
          const Vec3f from = corner_ + Vec3f(Vec3i{i, j, k}) * step_;
          for (int s = 1; s < most && depth < 6; ++s) {
            const Vec3f p = from + around.toward_sun() * (step * (static_cast<float>(s) - 0.5f));
            const Vec3f q = (p - corner_) / step_;
            if (!(q.x >= 0 && q.y >= 0 && q.z >= 0 && q.x <= static_cast<float>(size_.x - 1) &&
                  q.y <= static_cast<float>(size_.y - 1) && q.z <= static_cast<float>(size_.z - 1)))
              break;
            depth += sample(density_, p) * extinction_ * step;
          }
          lit_[index(size_, i, j, k)] = std::exp(-depth);
        }
  });
}

float FogVolumes::sample(const std::vector<float>& grid, const Vec3f& point) const {
  const Vec3f q = (point - corner_) / step_;
  int cell[3];
  float f[3];
  for (int a = 0; a < 3; ++a) {
    const float c = std::clamp(q[a], 0.0f, static_cast<float>(size_[a] - 1));
    cell[a] = std::min(static_cast<int>(c), size_[a] - 2);
    f[a] = c - static_cast<float>(cell[a]);
  }
  const std::size_t row = static_cast<std::size_t>(size_.x), plane = row * static_cast<std::size_t>(size_.y);
  const float* p = &grid[index(size_, cell[0], cell[1], cell[2])];
  const auto line = [&](const float* l) { return l[0] + (l[1] - l[0]) * f[0]; };
  const float a = line(p) + (line(p + row) - line(p)) * f[1];
  const float b = line(p + plane) + (line(p + plane + row) - line(p + plane)) * f[1];
  return a + (b - a) * f[2];
}

bool FogVolumes::clip(const SceneRay& ray, float behind, float& t0, float& t1) const {
  t0 = 0, t1 = behind;
  for (int a = 0; a < 3; ++a) {
    const float low = corner_[a], high = corner_[a] + static_cast<float>(size_[a] - 1) * step_;
    if (std::abs(ray.direction[a]) < 1e-9f) {
      if (ray.origin[a] < low || ray.origin[a] > high) return false;
      continue;
    }
    const float p = (low - ray.origin[a]) / ray.direction[a], q = (high - ray.origin[a]) / ray.direction[a];
    t0 = std::max(t0, std::min(p, q)), t1 = std::min(t1, std::max(p, q));
  }
  return t0 < t1;
}

Vec3f FogVolumes::over(const SceneRay& ray, float behind, float noise, const Vec3f& light) const {
  float t0, t1;
  if (empty() || !clip(ray, behind, t0, t1)) return light;
  float left = 1;
  Vec3f color;
  for (float t = t0 + noise * step_; t < t1 && left > 0.01f; t += step_) {
    const Vec3f p = ray.origin + ray.direction * t;
    const float density = sample(density_, p);
    if (density <= 0) continue;
    const float kept = std::exp(-density * extinction_ * step_), lit = sample(lit_, p);
    color += (sun_ * (0.52f * lit) + ambient_ * (0.25f + 0.35f * lit)) * (0.85f * left * (1 - kept));
    left *= kept;
  }
  return color + light * left;
}

float FogVolumes::left_along(const SceneRay& ray) const {
  float t0, t1;
  if (empty() || !clip(ray, ray.farthest, t0, t1)) return 1;
  float depth = 0;
  const float step = 2 * step_;
  for (float t = t0 + 0.5f * step; t < t1 && depth < 6; t += step)
    depth += sample(density_, ray.origin + ray.direction * t) * extinction_ * step;
  return std::exp(-depth);
}

}  // namespace aegir
