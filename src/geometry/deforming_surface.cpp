#include "geometry/deforming_surface.h"

#include <atomic>

#include "base/assert.h"
#include "geometry/deforming_tree.h"
#include "geometry/mesh_topology.h"
#include "geometry/triangle.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

/// A triangle's axes: along its first side, along its normal, and across; false if it has no area.
bool frame_of(const Vec3d& a, const Vec3d& b, const Vec3d& c, Mat3d& rows) {
  const Vec3d normal = normalized(cross(b - a, c - a)), side = normalized(b - a);
  rows = {{side, normal, cross(side, normal)}};
  return length(normal) > 0.5;
}

std::atomic<std::uint64_t> newest_version = 0;

/// What a thread found out last. Queries come side by side, so the last answer is a good first guess for the next one;
/// no answer depends on it.
struct Recent {
  std::uint64_t version = 0;
  int triangle = -1;
  Vec3d x;
  double clear = 0;  // no surface is nearer to x than this
  bool in_solid = false;
};
thread_local Recent recent_closest, recent_side;

}  // namespace

DeformingSurface::DeformingSurface(TriangleMesh rest, double thickness)
    : mesh_(std::move(rest)), thickness_(thickness) {}
DeformingSurface::~DeformingSurface() = default;

Result<std::shared_ptr<DeformingSurface>> DeformingSurface::create(TriangleMesh rest, double thickness) {
  if (Status valid = validate(rest); !valid) return valid.error();
  if (!(thickness >= 0) || !std::isfinite(thickness))
    return usage_error({}, "the thickness of a surface must be zero or positive, not {}", thickness);
  std::shared_ptr<DeformingSurface> surface(new DeformingSurface(std::move(rest), thickness));
  TriangleMesh& mesh = surface->mesh_;
  const MeshTopology topology = analyse(mesh);
  MeshReport& report = surface->report_;
  report = topology.report;
  if (report.degenerate_triangles == report.triangles) return usage_error({}, "no triangle of the mesh has any area");
  report.assumption = describe_assumption(report);
  // A triangle without area now may have one later; it then closes a solid rather than stands alone.
  const bool any_solid = report.sheets < report.components;
  surface->solid_.resize(mesh.triangles.size());
  for (int i = 0; i < report.triangles; ++i) {
    Vec3i& t = mesh.triangles[i];
    if (topology.turned[i]) std::swap(t.y, t.z);
    surface->solid_[i] = topology.degenerate[i] ? any_solid : !topology.is_sheet(i);
  }
  surface->begin_ = mesh.positions;
  surface->tree_ = std::make_unique<DeformingTree>(mesh.triangles, surface->solid_, mesh.positions);
  const std::vector<Vec3d> still = mesh.positions;
  if (Status moved = surface->move(still, still, 0); !moved) return moved.error();
  return surface;
}

Status DeformingSurface::move(std::span<const Vec3d> begin, std::span<const Vec3d> end, double duration) {
  if (begin.size() != vertices() || end.size() != vertices())
    return usage_error({}, "the mesh has {} vertices, but is moved to {} and {}", vertices(), begin.size(), end.size());
  struct Part {
    Box begin, end;
    double way2 = 0;
    bool finite = true, differs = false;
  };
  constexpr std::size_t grain = 16384;
  std::vector<Part> parts((vertices() + grain - 1) / grain);
  parallel_for(0, parts.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t n = first; n < last; ++n) {
      Part part;
      for (std::size_t i = n * grain; i < std::min(vertices(), (n + 1) * grain); ++i) {
        part.finite &= is_finite(begin[i]) && is_finite(end[i]);
        part.differs |= begin[i] != end[i];
        part.way2 = std::max(part.way2, dot(end[i] - begin[i], end[i] - begin[i]));
        part.begin.add(begin[i]), part.end.add(end[i]);
        begin_[i] = begin[i], mesh_.positions[i] = end[i];
      }
      parts[n] = part;
    }
  });
  Part all_parts;
  for (const Part& part : parts) {
    all_parts.begin.add(part.begin), all_parts.end.add(part.end);
    all_parts.way2 = std::max(all_parts.way2, part.way2);
    all_parts.finite &= part.finite, all_parts.differs |= part.differs;
  }
  if (!all_parts.finite) return simulation_error("a vertex of the mesh is not finite");
  moving_ = all_parts.differs && duration > 0;
  way_ = std::sqrt(all_parts.way2);
  duration_ = duration;
  version_ = ++newest_version;
  tree_->update(begin_, mesh_.positions, all_parts.begin, all_parts.end);
  const Box all = swept_bounds();
  const Vec3d far = max(all.max, -all.min), size = max(tree_->begin_bounds().size(), tree_->end_bounds().size());
  tolerance_ = 1e-10 * 0.5 * length(size) + 1e-14 * std::max({far.x, far.y, far.z});
  return {};
}

const Box& DeformingSurface::bounds() const { return tree_->end_bounds(); }

Box DeformingSurface::swept_bounds() const {
  Box all = tree_->begin_bounds();
  all.add(tree_->end_bounds());
  return all;
}

MovingTriangle DeformingSurface::triangle(int number, double from) const {
  const Vec3i t = mesh_.triangles[number];
  MovingTriangle m;
  for (int k = 0; k < 3; ++k) {
    const Vec3d a = begin_[t[k]], b = mesh_.positions[t[k]];
    m.begin[k] = from <= 0 ? a : from >= 1 ? b : a + (b - a) * from;
    m.end[k] = b;
  }
  return m;
}

ClosestPoint DeformingSurface::closest(const Vec3d& x, double max_distance) const {
  if (!is_finite(x) || !(max_distance >= 0)) return {};
  double bound2 = max_distance * max_distance * (1 + 1e-12);
  int best = -1;
  TrianglePoint nearest;
  const auto& p = mesh_.positions;
  if (recent_closest.version == version_) {
    const Vec3i t = mesh_.triangles[recent_closest.triangle];
    bound2 = std::min(bound2, closest_on_triangle(x, p[t.x], p[t.y], p[t.z]).distance2 * (1 + 1e-12));
  }
  tree_->visit_near(x, bound2, [&](int number) {
    const Vec3i t = mesh_.triangles[number];
    const TrianglePoint found = closest_on_triangle(x, p[t.x], p[t.y], p[t.z]);
    if (found.distance2 > bound2 || (found.distance2 == bound2 && best >= 0 && number > best)) return;
    bound2 = found.distance2, nearest = found, best = number;
  });
  const double distance = std::sqrt(bound2);
  if (best < 0 || distance > max_distance) return {};
  recent_closest = {version_, best, x, distance, false};
  const Vec3i t = mesh_.triangles[best];
  return {true,     nearest.point, normalized(cross(p[t.y] - p[t.x], p[t.z] - p[t.x])),
          distance, best,          nearest.barycentric};
}

bool DeformingSurface::inside(const Vec3d& x) const {
  if (in_solid(x)) return true;
  return report_.sheets > 0 && thickness_ > 0 && signed_distance(x, thickness_) < 0;
}

// Winding numbers of a closed mesh are whole, so a coarse one tells the side.
bool DeformingSurface::in_solid(const Vec3d& x) const {
  return bounds().contains(x) && std::abs(tree_->winding(x, report_.closed ? 1.2 : 2)) > 0.5;
}

double DeformingSurface::signed_distance(const Vec3d& x, double max_distance) const {
  if (!is_finite(x)) return std::numeric_limits<double>::quiet_NaN();
  return signed_distance(x, closest(x, max_distance), max_distance);
}

double DeformingSurface::signed_distance(const Vec3d& x, const ClosestPoint& nearest, double max_distance) const {
  const double distance = nearest.found ? nearest.distance : max_distance;
  // No surface lies within the distance that was found: all points in that ball are on the same side. Of a solid with
  // holes the side is a matter of degree, so only what is closed is inferred from a neighbour.
  const Recent& known = recent_side;
  const Vec3d apart = x - known.x;
  const bool infer =
      known.version == version_ && report_.closed && dot(apart, apart) < 0.999 * known.clear * known.clear;
  const bool solid = infer ? known.in_solid : in_solid(x);
  recent_side = {version_, -1, x, distance, solid};
  if (solid) return -distance;
  return nearest.found && !solid_[nearest.triangle] ? distance - 0.5 * thickness_ : distance;
}

Vec3d DeformingSurface::velocity(int number, const Vec3d& barycentric) const {
  if (!moving_) return {};
  return (place(number, barycentric, 1) - place(number, barycentric, 0)) / duration_;
}

bool DeformingSurface::blocks(const Vec3d& a, const Vec3d& b) const {
  if (!is_finite(a) || !is_finite(b)) return false;
  return tree_->visit_segment(a, b, tolerance_, [&](int number) {
    const MovingTriangle still = triangle(number, 1);
    const Vec3d normal = cross(still.end[1] - still.end[0], still.end[2] - still.end[0]);
    const double above_a = dot(normal, a - still.end[0]), above_b = dot(normal, b - still.end[0]);
    // Both ends on one side, by more than what counts as a touch.
    const double least = 4 * tolerance_ * length(normal);
    if ((above_a > least && above_b > least) || (above_a < -least && above_b < -least)) return false;
    return aegir::first_touch(still, a, b, tolerance_).has_value();
  });
}

std::optional<DeformingTouch> DeformingSurface::first_touch(const Vec3d& x0, const Vec3d& x1, double from,
                                                            double latest) const {
  if (!is_finite(x0) || !is_finite(x1)) return std::nullopt;
  DeformingTouch best;
  tree_->visit_path(x0, x1, from, tolerance_, latest, [&](int number) {
    const MovingTriangle moving = triangle(number, from);
    if (stays_beside(moving, x0, x1, 4 * tolerance_)) return;
    const auto touch = aegir::first_touch(moving, x0, x1, tolerance_, latest);
    if (!touch) return;
    // Where two triangles meet, the touched point is on both; the nearer one knows the direction better.
    const bool better = best.triangle < 0 || touch->time < best.time ||
                        (touch->time == best.time && (touch->distance < best.distance ||
                                                      (touch->distance == best.distance && number < best.triangle)));
    if (!better) return;
    static_cast<TriangleTouch&>(best) = *touch;
    best.triangle = number;
    latest = touch->time;
  });
  if (best.triangle < 0) return std::nullopt;
  return best;
}

Vec3d DeformingSurface::place(int number, const Vec3d& b, double part) const {
  const MovingTriangle m = triangle(number, part);
  return m.begin[0] * b.x + m.begin[1] * b.y + m.begin[2] * b.z;
}

Vec3d DeformingSurface::normal(int number, double part) const {
  const MovingTriangle m = triangle(number, part);
  return normalized(cross(m.begin[1] - m.begin[0], m.begin[2] - m.begin[0]));
}

Vec3d DeformingSurface::turned(const Vec3d& direction, int number, double from, double to) const {
  const MovingTriangle a = triangle(number, from), b = triangle(number, to);
  Mat3d before, after;
  if (!frame_of(a.begin[0], a.begin[1], a.begin[2], before) || !frame_of(b.begin[0], b.begin[1], b.begin[2], after))
    return direction;
  return normalized(transpose(after) * (before * direction));
}

float DeformingSurface::attribute(const std::string& name, int number, const Vec3d& b) const {
  const auto it = mesh_.scalars.find(name);
  AEGIR_ASSERT(it != mesh_.scalars.end(), "no such mesh attribute: " + name);
  const Vec3i t = mesh_.triangles[number];
  return static_cast<float>(b.x * it->second[t.x] + b.y * it->second[t.y] + b.z * it->second[t.z]);
}

std::size_t DeformingSurface::memory_bytes() const {
  return 2 * vertices() * sizeof(Vec3d) + mesh_.triangles.size() * (sizeof(Vec3i) + 1) + tree_->memory_bytes();
}

}  // namespace aegir
