#include "numerics/surface/wall_offset.h"

#include <algorithm>
#include <cmath>

#include "numerics/surface/offset_table.h"

namespace aegir {
namespace {

constexpr float step = 0.5f;                            // between regular particles
constexpr float support = 1.5f;                         // of the weights
constexpr float far = 1.2f;                             // planes farther away tell nothing
constexpr float farthest = 0.5f;                        // that a plane is moved
constexpr float most_unknown = 0.06f;                   // of where the plane is
constexpr float edge = 0.1f;                            // over which a solid begins
constexpr float doubt = 0.15f;                          // particles nearer to a solid may have been moved out of it
constexpr float least_filled = 0.4f;                    // of the regular particles that must be there
constexpr float least_open = 0.1f, enough_open = 0.3f;  // share of the weights outside solids

float spline(float d) {
  const float t = std::abs(d), u = std::max(support - t, 0.0f), v = std::max(0.5f - t, 0.0f);
  return 0.5f * u * u - 1.5f * v * v;
}

/// Regular particles around a cell's centre, below a plane of a given direction and outside solids.
class RegularParticles {
 public:
  RegularParticles(const PaddedTile<float, 2>& nodes, const Vec3i& cell, const Vec3f& normal)
      : normal_(normal), axis_(0) {
    for (int a = 1; a < 3; ++a)
      if (std::abs(normal[a]) > std::abs(normal[axis_])) axis_ = a;
    for (int x = 0; x < 4; ++x)
      for (int y = 0; y < 4; ++y)
        for (int z = 0; z < 4; ++z) nodes_[x][y][z] = nodes(cell.x + x - 1, cell.y + y - 1, cell.z + z - 1);
    find_roughness();
  }

  struct Sums {
    float weight = 0, moment = 0;
    float doubtful = 0;  // weight of particles at the solid's edge: they may be there or not
    float mean() const { return moment / weight; }
  };

  /// Sums of w and w x·n for a plane at the distance s from the centre. At most 36 columns of 6 particles, 40
  /// operations each.
  Sums below(float s) const {
    const int b = (axis_ + 1) % 3, c = (axis_ + 2) % 3;
    const float down = normal_[axis_] > 0 ? -1.0f : 1.0f;
    Sums sum;
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) {
        Vec3f x;
        x[b] = -1.25f + step * static_cast<float>(i), x[c] = -1.25f + step * static_cast<float>(j);
        const float across = spline(x[b]) * spline(x[c]), beside = normal_[b] * x[b] + normal_[c] * x[c];
        const float top = -(s + beside) / normal_[axis_];  // of the column
        // The first one within reach below the top.
        const float skipped = std::max(0.0f, std::ceil((std::abs(top) - support) / step - 0.5f));
        float t = top + down * step * (0.5f + (top * down < 0 ? skipped : 0.0f));
        for (; t * down < support; t += down * step) {
          if (t * down <= -support) continue;
          x[axis_] = t;
          const float all = across * spline(t), d = solid_distance(x),
                      w = all * std::clamp(0.5f + d / edge, 0.0f, 1.0f);
          sum.weight += w, sum.moment += w * (beside + normal_[axis_] * t);
          sum.doubtful += std::abs(d) < doubt + 0.5f * roughness_ ? all : 0.0f;
        }
      }
    return sum;
  }

 private:
  /// The greatest difference of the distances from their linear fit.
  void find_roughness() {
    const auto each = [&](auto&& fn) {
      for (int x = 0; x < 4; ++x)
        for (int y = 0; y < 4; ++y)
          for (int z = 0; z < 4; ++z) {
            const Vec3f at(static_cast<float>(x) - 1.5f, static_cast<float>(y) - 1.5f, static_cast<float>(z) - 1.5f);
            fn(at, nodes_[x][y][z]);
          }
    };
    float mean = 0;
    Vec3f slope;
    each([&](const Vec3f& at, float d) { mean += d / 64, slope += at * (d / 80); });
    each([&](const Vec3f& at, float d) { roughness_ = std::max(roughness_, std::abs(d - mean - dot(slope, at))); });
  }

  float solid_distance(const Vec3f& x) const {
    int i[3];
    float f[3];
    for (int a = 0; a < 3; ++a) {
      const float at = x[a] + 1.5f;  // from the lowest node
      i[a] = std::min(static_cast<int>(at), 2), f[a] = at - static_cast<float>(i[a]);
    }
    const auto along = [&](int p, int q) {
      const float* row = nodes_[i[0] + p][i[1] + q] + i[2];
      return row[0] + f[2] * (row[1] - row[0]);
    };
    const float low = along(0, 0) + f[1] * (along(0, 1) - along(0, 0)),
                high = along(1, 0) + f[1] * (along(1, 1) - along(1, 0));
    return low + f[0] * (high - low);
  }

  Vec3f normal_;
  int axis_;
  float nodes_[4][4][4];
  float roughness_ = 0;
};

}  // namespace

BesideSolid beside_solid(const PaddedTile<float, 2>& nodes, const Vec3i& cell, const SurfacePlane& plane,
                         const MeanOffset::Sums& seen) {
  const float steepness = length(plane.slope), first = plane.distance / steepness;
  if (std::abs(first) > far) return {plane.distance};
  const Vec3f normal = plane.slope * (1 / steepness);
  const RegularParticles particles(nodes, cell, normal);
  const auto here = particles.below(first);
  const float share = here.weight / (8 * OffsetTable::get().weight(first, 1.0f));  // of the weights that is open
  if (share < least_open || seen.weight < least_filled * here.weight) return {plane.distance};
  // One step of Newton's method: the mean falls as the plane moves away.
  constexpr float probe = 0.125f;
  const auto above = particles.below(first + probe), under = particles.below(first - probe);
  if (above.weight < 0.005f) return {plane.distance, here.weight};
  const float slope = std::min((above.mean() - under.mean()) / (2 * probe), -0.25f);
  const float wanted = dot(seen.moment, normal) / seen.weight, move = (wanted - here.mean()) / slope;
  const float unknown = std::min(most_unknown, -0.2f * here.doubtful / (here.weight * slope));
  const float moved = std::copysign(std::clamp(std::abs(move) - unknown, 0.0f, farthest), move);
  const float certain = std::clamp((far - std::abs(first)) * 2.5f, 0.0f, 1.0f) *
                        std::clamp((share - least_open) / (enough_open - least_open), 0.0f, 1.0f);
  return {plane.distance + certain * moved, here.weight};
}

}  // namespace aegir
