#include "geometry/surface.h"

#include <embree3/rtcore.h>

#include "base/assert.h"
#include "geometry/mesh_topology.h"
#include "geometry/triangle.h"
#include "geometry/winding_tree.h"

namespace aegir {
namespace {

// One device serves all surfaces; each keeps it alive.
std::shared_ptr<RTCDeviceTy> shared_device() {
  static const std::shared_ptr<RTCDeviceTy> device(rtcNewDevice(nullptr), [](RTCDevice d) {
    if (d) rtcReleaseDevice(d);
  });
  return device;
}

// What the bounds callback reads; lives as long as the scene.
struct Prisms {
  const TriangleMesh* mesh;
  const std::vector<int>* active;
  double margin;
};

void triangle_bounds(const RTCBoundsFunctionArguments* args) {
  const auto& prisms = *static_cast<const Prisms*>(args->geometryUserPtr);
  const Vec3i t = prisms.mesh->triangles[(*prisms.active)[args->primID]];
  Box box;
  for (int k = 0; k < 3; ++k) box.add(prisms.mesh->positions[t[k]]);
  box = box.grown(prisms.margin);
  RTCBounds& b = *args->bounds_o;
  b.lower_x = static_cast<float>(box.min.x), b.lower_y = static_cast<float>(box.min.y);
  b.lower_z = static_cast<float>(box.min.z);
  b.upper_x = static_cast<float>(box.max.x), b.upper_y = static_cast<float>(box.max.y);
  b.upper_z = static_cast<float>(box.max.z);
}

float rounded_up(double value) {
  const float f = static_cast<float>(value);
  return std::nextafter(f, std::numeric_limits<float>::infinity());
}

struct ClosestQuery {
  const TriangleMesh* mesh;
  const std::vector<int>* active;
  Vec3d x;
  double slack;      // rounding of x to single precision
  double distance2;  // best so far, squared
  TrianglePoint nearest{};
  int triangle = -1;
};

bool closest_in_triangle(RTCPointQueryFunctionArguments* args) {
  auto& q = *static_cast<ClosestQuery*>(args->userPtr);
  const int triangle = (*q.active)[args->primID];
  const Vec3i t = q.mesh->triangles[triangle];
  const auto& p = q.mesh->positions;
  const TrianglePoint found = closest_on_triangle(q.x, p[t.x], p[t.y], p[t.z]);
  if (found.distance2 > q.distance2 || (found.distance2 == q.distance2 && q.triangle >= 0 && triangle > q.triangle))
    return false;
  q.distance2 = found.distance2, q.nearest = found, q.triangle = triangle;
  const float radius = rounded_up(std::sqrt(found.distance2) + q.slack);
  if (!(radius < args->query->radius)) return false;
  args->query->radius = radius;
  return true;
}

struct RayQuery : RTCIntersectContext {
  const TriangleMesh* mesh;
  const std::vector<int>* active;
  WatertightLine line;
  Vec3d direction;   // unit length
  double length;     // of the segment
  double tolerance;  // at its end, along the triangle's normal
  double reach;      // at its end, along the ray
  double entry;      // where the single-precision ray starts
  double margin;
  double t;  // best so far
  int triangle = -1;
  Vec3d barycentric{};
};

void intersect_triangle(const RTCIntersectFunctionNArguments* args) {
  auto& q = *static_cast<RayQuery*>(args->context);
  AEGIR_ASSERT(args->N == 1, "surfaces are asked one ray at a time");
  const int triangle = (*q.active)[args->primID];
  const Vec3i t = q.mesh->triangles[triangle];
  const auto& p = q.mesh->positions;
  const auto crossing = q.line.cross(p[t.x], p[t.y], p[t.z]);
  if (!crossing || !(crossing->t > 0)) return;
  const double beyond = crossing->t - q.length;
  if (beyond > 0) {
    const Vec3d normal = normalized(cross(p[t.y] - p[t.x], p[t.z] - p[t.x]));
    if (beyond > q.reach || beyond * std::abs(dot(normal, q.direction)) > q.tolerance) return;
  }
  if (crossing->t > q.t || (crossing->t == q.t && q.triangle >= 0 && triangle > q.triangle)) return;
  q.t = crossing->t, q.triangle = triangle, q.barycentric = crossing->barycentric;
  RTCRay& ray = reinterpret_cast<RTCRayHit*>(args->rayhit)->ray;
  ray.tfar = std::min(ray.tfar, rounded_up(q.t - q.entry + q.margin));
}

// The part of origin + t * direction, t in [t0, t1], inside a box centred at zero; false if there is none.
bool clip(const Vec3d& origin, const Vec3d& direction, const Vec3d& half, double& t0, double& t1) {
  for (int k = 0; k < 3; ++k) {
    if (direction[k] == 0) {
      if (std::abs(origin[k]) > half[k]) return false;
      continue;
    }
    const double a = (-half[k] - origin[k]) / direction[k], b = (half[k] - origin[k]) / direction[k];
    t0 = std::max(t0, std::min(a, b)), t1 = std::min(t1, std::max(a, b));
  }
  return t0 <= t1;
}

}  // namespace

struct Surface::Trees {
  std::shared_ptr<RTCDeviceTy> device;
  RTCScene scene = nullptr;
  Prisms prisms{};
  WindingTree all;    // empty if it would equal `solid`
  WindingTree solid;  // parts that have an inside
  const WindingTree& whole() const { return all.empty() ? solid : all; }
  ~Trees() {
    if (scene) rtcReleaseScene(scene);
  }
};

Surface::Surface(TriangleMesh mesh, double thickness) : mesh_(std::move(mesh)), thickness_(thickness) {}
Surface::~Surface() = default;

Result<std::shared_ptr<const Surface>> Surface::create(TriangleMesh mesh, double thickness) {
  if (Status valid = validate(mesh); !valid) return valid.error();
  if (!(thickness >= 0) || !std::isfinite(thickness))
    return usage_error({}, "the thickness of a surface must be zero or positive, not {}", thickness);
  std::shared_ptr<Surface> surface(new Surface(std::move(mesh), thickness));
  if (Status built = surface->build(); !built) return built.error();
  return std::shared_ptr<const Surface>(std::move(surface));
}

Status Surface::build() {
  const MeshTopology topology = analyse(mesh_);
  report_ = topology.report;
  if (report_.degenerate_triangles == report_.triangles) return usage_error({}, "no triangle of the mesh has any area");
  bounds_ = mesh_.bounds();
  center_ = bounds_.center();
  extent_ = 0.5 * length(bounds_.size());
  margin_ = 2e-6 * extent_;
  const Vec3d far = max(bounds_.max, -bounds_.min);
  tolerance_ = 1e-12 * extent_ + 1e-15 * std::max({far.x, far.y, far.z});
  for (Vec3d& p : mesh_.positions) p -= center_;
  std::vector<int> solid;
  sheet_.assign(mesh_.triangles.size(), 0);
  double area = 0;
  for (int i = 0; i < report_.triangles; ++i) {
    Vec3i& t = mesh_.triangles[i];
    if (topology.turned[i]) std::swap(t.y, t.z);
    if (topology.degenerate[i]) continue;
    const Vec3d a = mesh_.positions[t.x];
    area += 0.5 * length(cross(mesh_.positions[t.y] - a, mesh_.positions[t.z] - a));
    active_.push_back(i), cumulative_area_.push_back(area);
    if (topology.is_sheet(i))
      sheet_[i] = 1;
    else
      solid.push_back(i);
  }

  if (Status built = build_scene(); !built) return built;
  trees_->solid = WindingTree(mesh_.positions, mesh_.triangles, solid);
  if (solid.size() != active_.size()) trees_->all = WindingTree(mesh_.positions, mesh_.triangles, active_);
  report_.self_intersecting = find_self_intersection(topology.merged);
  report_.assumption = describe_assumption(report_);
  return {};
}

Status Surface::build_scene() {
  trees_ = std::make_unique<Trees>();
  trees_->device = shared_device();
  RTCDevice device = trees_->device.get();
  if (!device) return simulation_error("the ray tracing library could not be started");
  trees_->prisms = {&mesh_, &active_, margin_};
  trees_->scene = rtcNewScene(device);
  rtcSetSceneFlags(trees_->scene, RTC_SCENE_FLAG_ROBUST);
  RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_USER);
  rtcSetGeometryUserPrimitiveCount(geometry, static_cast<unsigned>(active_.size()));
  rtcSetGeometryUserData(geometry, &trees_->prisms);
  rtcSetGeometryBoundsFunction(
      geometry, [](const RTCBoundsFunctionArguments* args) { triangle_bounds(args); }, nullptr);
  rtcSetGeometryIntersectFunction(geometry,
                                  [](const RTCIntersectFunctionNArguments* args) { intersect_triangle(args); });
  rtcCommitGeometry(geometry);
  rtcAttachGeometry(trees_->scene, geometry);
  rtcReleaseGeometry(geometry);
  rtcCommitScene(trees_->scene);
  if (const RTCError error = rtcGetDeviceError(device); error != RTC_ERROR_NONE)
    return Error{error == RTC_ERROR_OUT_OF_MEMORY ? Failure::memory : Failure::simulation,
                 fmt::format("the search tree of a mesh with {} triangles could not be built", report_.triangles),
                 {}};
  return {};
}

// A mesh intersects itself where an edge pierces a triangle that shares none of the edge's corners or its triangle's
// tip.
bool Surface::find_self_intersection(const std::vector<int>& merged) const {
  constexpr std::size_t most_edges = 200'000;
  std::size_t stride = std::max<std::size_t>(1, active_.size() * 3 / most_edges);
  if (stride % 3 == 0) ++stride;  // or the same side of every triangle would be looked at
  for (std::size_t e = 0; e < active_.size() * 3; e += stride) {
    const Vec3i t = mesh_.triangles[active_[e / 3]];
    const int k = static_cast<int>(e % 3), from = t[k], to = t[(k + 1) % 3];
    Vec3d start = mesh_.positions[from];
    const Vec3d end = mesh_.positions[to];
    // Hits on neighbours are touches at a shared corner; go on behind them.
    for (int attempt = 0; attempt < 16; ++attempt) {
      const auto hit = ray(start + center_, end - start, 1);
      if (!hit) break;
      const Vec3i o = mesh_.triangles[hit->triangle];
      bool neighbour = false;
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) neighbour |= merged[o[i]] == merged[t[j]];
      const bool at_end = hit->t < 1e-6 || hit->t > 1 - 1e-6;
      if (!neighbour && !at_end) return true;
      start += (end - start) * std::max(hit->t * (1 + 1e-9), 1e-7);
    }
  }
  return false;
}

ClosestPoint Surface::closest(const Vec3d& x, double max_distance) const {
  if (!is_finite(x) || !(max_distance >= 0)) return {};
  ClosestQuery q{&mesh_, &active_, x - center_, 0, max_distance * max_distance};
  q.slack = 1e-6 * std::max({std::abs(q.x.x), std::abs(q.x.y), std::abs(q.x.z), extent_});
  alignas(16) RTCPointQuery query{};
  query.x = static_cast<float>(q.x.x), query.y = static_cast<float>(q.x.y), query.z = static_cast<float>(q.x.z);
  query.radius = rounded_up(max_distance + q.slack);
  RTCPointQueryContext context;
  rtcInitPointQueryContext(&context);
  rtcPointQuery(
      trees_->scene, &query, &context, [](RTCPointQueryFunctionArguments* args) { return closest_in_triangle(args); },
      &q);
  if (q.triangle < 0) return {};
  const Vec3d point = q.nearest.point + center_;
  return {true, point, unit_normal(q.triangle), std::sqrt(q.distance2), q.triangle, q.nearest.barycentric};
}

std::optional<RayHit> Surface::ray(const Vec3d& origin, const Vec3d& direction, double t_max,
                                   double extra_tolerance) const {
  const double scale = length(direction);
  if (!is_finite(origin) || !std::isfinite(scale) || !(scale > 1e-150) || !(t_max >= 0)) return std::nullopt;
  const Vec3d unit = direction / scale, start = origin - center_;
  const double segment = t_max * scale;
  double entry = 0, exit = segment + margin_ + 4 * extra_tolerance;
  if (!clip(start, unit, bounds_.size() * 0.5 + Vec3d(4 * margin_), entry, exit)) return std::nullopt;

  const double far = std::max({std::abs(start.x), std::abs(start.y), std::abs(start.z)}) + std::min(segment, exit);
  RayQuery q{{},
             &mesh_,
             &active_,
             WatertightLine(start, unit),
             unit,
             segment,
             tolerance_ + extra_tolerance + 1e-15 * far,
             margin_ + 4 * extra_tolerance,
             entry,
             margin_,
             std::numeric_limits<double>::infinity()};
  rtcInitIntersectContext(&q);
  const Vec3d from = start + unit * entry;
  alignas(16) RTCRayHit rayhit{};
  rayhit.ray.org_x = static_cast<float>(from.x), rayhit.ray.org_y = static_cast<float>(from.y);
  rayhit.ray.org_z = static_cast<float>(from.z);
  rayhit.ray.dir_x = static_cast<float>(unit.x), rayhit.ray.dir_y = static_cast<float>(unit.y);
  rayhit.ray.dir_z = static_cast<float>(unit.z);
  rayhit.ray.tnear = 0, rayhit.ray.tfar = rounded_up(exit - entry + margin_);
  rayhit.ray.mask = ~0u;
  rayhit.hit.geomID = RTC_INVALID_GEOMETRY_ID;
  rtcIntersect1(trees_->scene, &q, &rayhit);
  if (q.triangle < 0) return std::nullopt;
  return RayHit{std::min(q.t / scale, t_max), interpolate(q.triangle, q.barycentric) + center_, unit_normal(q.triangle),
                q.triangle, q.barycentric};
}

double Surface::winding(const Vec3d& x) const { return trees_->whole().winding(x - center_); }

bool Surface::inside(const Vec3d& x) const {
  if (bounds_.contains(x) && std::abs(trees_->solid.winding(x - center_)) > 0.5) return true;
  return report_.sheets > 0 && thickness_ > 0 && signed_distance(x) < 0;
}

double Surface::signed_distance(const Vec3d& x, double max_distance) const {
  if (!is_finite(x)) return std::numeric_limits<double>::quiet_NaN();
  const ClosestPoint nearest = closest(x, max_distance);
  const double distance = nearest.found ? nearest.distance : max_distance;
  if (bounds_.contains(x) && std::abs(trees_->solid.winding(x - center_)) > 0.5) return -distance;
  return nearest.found && sheet_[nearest.triangle] ? distance - 0.5 * thickness_ : distance;
}

SurfacePoint Surface::sample(double u, double v, double w) const {
  const auto it = std::upper_bound(cumulative_area_.begin(), cumulative_area_.end(), u * cumulative_area_.back());
  const auto index = std::min<std::size_t>(it - cumulative_area_.begin(), active_.size() - 1);
  const double root = std::sqrt(v);
  const Vec3d barycentric{1 - root, root * (1 - w), root * w};
  const int triangle = active_[index];
  return {interpolate(triangle, barycentric) + center_, unit_normal(triangle), triangle, barycentric};
}

float Surface::attribute(const std::string& name, int triangle, const Vec3d& b) const {
  const auto it = mesh_.scalars.find(name);
  AEGIR_ASSERT(it != mesh_.scalars.end(), "no such mesh attribute: " + name);
  const Vec3i t = mesh_.triangles[triangle];
  return static_cast<float>(b.x * it->second[t.x] + b.y * it->second[t.y] + b.z * it->second[t.z]);
}

TriangleMesh Surface::mesh() const {
  TriangleMesh world = mesh_;
  for (Vec3d& p : world.positions) p += center_;
  return world;
}

Vec3d Surface::unit_normal(int triangle) const {
  const Vec3i t = mesh_.triangles[triangle];
  const Vec3d a = mesh_.positions[t.x];
  return normalized(cross(mesh_.positions[t.y] - a, mesh_.positions[t.z] - a));
}

Vec3d Surface::interpolate(int triangle, const Vec3d& b) const {
  const Vec3i t = mesh_.triangles[triangle];
  return mesh_.positions[t.x] * b.x + mesh_.positions[t.y] * b.y + mesh_.positions[t.z] * b.z;
}

}  // namespace aegir
