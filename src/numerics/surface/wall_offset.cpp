#include "numerics/surface/wall_offset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "numerics/surface/cells_around.h"
#include "numerics/surface/offset_table.h"
#include "numerics/surface/solid_pieces.h"

namespace aegir {
namespace {

constexpr float step = 0.5f;                            // between regular particles
constexpr float support = 1.5f;                         // of the weights
constexpr float far = 1.2f;                             // planes farther away tell nothing
constexpr float farthest = 0.5f;                        // that a plane is moved
constexpr float edge = 0.1f;                            // over which a solid begins
constexpr float doubt = 0.15f;                          // particles nearer to a solid may have been moved out of it
constexpr float least_filled = 0.4f;                    // of the regular particles that must be there
constexpr float least_open = 0.1f, enough_open = 0.3f;  // share of the weights outside solids

Row<float> spline(const Row<float>& d) {
  const Row<float> zero{}, t = greatest(d, -d), u = greatest(support - t, zero), v = greatest(0.5f - t, zero);
  return 0.5f * u * u - 1.5f * v * v;
}

/// Regular particles around a cell's centre, below a plane of a given direction and outside solids.
class RegularParticles {
 public:
  RegularParticles(const PaddedTile<float, 2>& nodes, const Vec3i& cell, const Vec3f& normal)
      : solids_(nodes, cell), normal_(normal), axis_(0) {
    for (int a = 1; a < 3; ++a)
      if (std::abs(normal[a]) > std::abs(normal[axis_])) axis_ = a;
  }

  struct Sums {
    float weight = 0, moment = 0;
    float mean() const { return moment / weight; }
  };

  /// How the mean depends on where particles beside the solid begin: they are sorted by their distance from it, into
  /// slices of what is in doubt.
  class Edges {
   public:
    explicit Edges(float reach) : reach_(reach) {}
    void add(float d, float weight, float height) {
      const float slice = std::ceil((reach_ - d) * (0.5f * slices / reach_));  // 0: certainly outside the solid
      if (slice > slices) return;
      Sums& sum = sums_[static_cast<std::size_t>(std::max(slice, 0.0f))];
      sum.weight += weight, sum.moment += weight * height;
    }
    /// Least and greatest mean, that of a solid at its place among them.
    std::pair<float, float> means(float mean) const {
      std::pair<float, float> range{mean, mean};
      Sums sum;
      for (const Sums& slice : sums_) {
        sum.weight += slice.weight, sum.moment += slice.moment;
        if (sum.weight < 0.005f) continue;
        range.first = std::min(range.first, sum.mean()), range.second = std::max(range.second, sum.mean());
      }
      return range;
    }

   private:
    static constexpr int slices = 8;
    float reach_;
    std::array<Sums, slices + 1> sums_{};
  };
  Edges edges() const { return Edges(doubt + 0.5f * solids_.roughness()); }

  /// Sums of w and w x·n for a plane at the distance s from the centre. At most 36 columns of 6 particles, six columns
  /// at a time, 40 operations each.
  Sums below(float s, Edges* edges = nullptr, Sums* uncut = nullptr) const {
    const int b = (axis_ + 1) % 3, c = (axis_ + 2) % 3;
    const float up = normal_[axis_], down = up > 0 ? -1.0f : 1.0f;
    Line weight{}, moment{}, all_weight{}, all_moment{};
    for (int i = 0; i < 6; ++i) {
      const float x = columns[i];
      const Line beside = normal_[b] * x + normal_[c] * columns, across = column_weights * column_weights[i];
      Line t = (beside + s) / -up + down * 0.5f * step;  // the first ones below the plane
      for (; lowest(t * down) < support; t += down * step) {
        const Line all = across * spline(t), height = beside + up * t;
        Line d{};
        if (const auto* flat = solids_.only_plane())
          d = flat->distance + flat->slope[b] * x + flat->slope[c] * columns + flat->slope[axis_] * t;
        else
          for (int j = 0; j < 6; ++j)
            if (all[j] > 0) d[j] = solids_.distance(at(b, x, c, columns[j], t[j]));
        const Line w = all * least(greatest(0.5f + d / edge, Line{}), Line{} + 1.0f);
        weight += w, moment += w * height;
        all_weight += all, all_moment += all * height;
        for (int j = 0; edges && j < 6; ++j)
          if (all[j] > 0) edges->add(d[j], all[j], height[j]);
      }
    }
    Sums sum;
    for (int j = 0; j < 6; ++j) sum.weight += weight[j], sum.moment += moment[j];
    for (int j = 0; uncut && j < 6; ++j) uncut->weight += all_weight[j], uncut->moment += all_moment[j];
    return sum;
  }

 private:
  using Line = Row<float>;
  /// Places of columns of particles beside each other, and their weights; the last two are none.
  static constexpr Line columns{-1.25f, -0.75f, -0.25f, 0.25f, 0.75f, 1.25f, 0, 0};
  static constexpr Line column_weights{0.03125f, 0.28125f, 0.6875f, 0.6875f, 0.28125f, 0.03125f, 0, 0};

  static float lowest(const Line& t) {
    float low = t[0];
    for (int j = 1; j < 8; ++j) low = std::min(low, t[j]);
    return low;
  }
  Vec3f at(int b, float x, int c, float y, float t) const {
    Vec3f place;
    place[b] = x, place[c] = y, place[axis_] = t;
    return place;
  }

  SolidPieces solids_;
  Vec3f normal_;
  int axis_;
};

}  // namespace

float without_cut(const PaddedTile<float, 2>& nodes, const Vec3i& cell, const Vec3f& upward, float distance) {
  const RegularParticles particles(nodes, cell, upward);
  RegularParticles::Sums whole;
  const auto here = particles.below(distance, nullptr, &whole);
  if (here.weight < 0.5f * whole.weight || whole.weight < 0.005f) return distance;
  constexpr float probe = 0.125f;
  const auto above = particles.below(distance + probe), under = particles.below(distance - probe);
  if (above.weight < 0.005f) return distance;
  const float slope = std::min((above.mean() - under.mean()) / (2 * probe), -0.25f);
  return distance + (whole.mean() - here.mean()) / slope;
}

BesideSolid beside_solid(const PaddedTile<float, 2>& nodes, const Vec3i& cell, const SurfacePlane& plane,
                         const MeanOffset::Sums& seen) {
  const float steepness = length(plane.slope), first = plane.distance / steepness;
  if (std::abs(first) > far) return {plane.distance};
  const Vec3f normal = plane.slope * (1 / steepness);
  const RegularParticles particles(nodes, cell, normal);
  auto edges = particles.edges();
  const auto here = particles.below(first, &edges);
  const float share = here.weight / (8 * OffsetTable::get().weight(first, 1.0f));  // of the weights that is open
  if (share < least_open || seen.weight < least_filled * here.weight) return {plane.distance};
  // One step of Newton's method: the mean falls as the plane moves away.
  constexpr float probe = 0.125f;
  const auto above = particles.below(first + probe), under = particles.below(first - probe);
  if (above.weight < 0.005f) return {plane.distance, here.weight};
  const float slope = std::min((above.mean() - under.mean()) / (2 * probe), -0.25f);
  const float wanted = dot(seen.moment, normal) / seen.weight;
  const auto [least, greatest] = edges.means(here.mean());
  const float move = (wanted - here.mean()) / slope, rest = (wanted - std::clamp(wanted, least, greatest)) / slope;
  const float unknown = std::abs(move - rest);
  const float moved = std::copysign(std::clamp(std::abs(move) - unknown, 0.0f, farthest), move);
  const float certain = std::clamp((far - std::abs(first)) * 2.5f, 0.0f, 1.0f) *
                        std::clamp((share - least_open) / (enough_open - least_open), 0.0f, 1.0f);
  return {plane.distance + certain * moved, here.weight};
}

}  // namespace aegir
