#include "geometry/ray_scene.h"

#include <embree3/rtcore.h>

#include "base/assert.h"
#include "parallel/threads.h"

namespace aegir {

struct RayScene::Tree {
  Vec3d origin;
  RTCDevice device = nullptr;
  RTCScene scene = nullptr;
  int things = 0;
  bool out_of_memory = false;

  explicit Tree(const Vec3d& o) : origin(o), device(rtcNewDevice(nullptr)) {
    if (!device) return;
    scene = rtcNewScene(device);
    rtcSetSceneFlags(scene, RTC_SCENE_FLAG_ROBUST);
  }
  ~Tree() {
    if (scene) rtcReleaseScene(scene);
    if (device) rtcReleaseDevice(device);
  }
  // Attaches under the next number, so that numbers are those of adding.
  int attach(RTCGeometry geometry) {
    rtcCommitGeometry(geometry);
    rtcAttachGeometryByID(scene, geometry, static_cast<unsigned>(things));
    rtcReleaseGeometry(geometry);
    return things++;
  }
};

namespace {

RTCRay embree_ray(const SceneRay& from) {
  RTCRay ray{};
  ray.org_x = from.origin.x, ray.org_y = from.origin.y, ray.org_z = from.origin.z;
  ray.dir_x = from.direction.x, ray.dir_y = from.direction.y, ray.dir_z = from.direction.z;
  ray.tnear = from.nearest, ray.tfar = from.farthest;
  ray.mask = ~0u;
  return ray;
}

}  // namespace

RayScene::RayScene(const Vec3d& origin) : tree_(std::make_unique<Tree>(origin)) {}
RayScene::~RayScene() = default;
RayScene::RayScene(RayScene&&) noexcept = default;
RayScene& RayScene::operator=(RayScene&&) noexcept = default;

bool RayScene::empty() const { return tree_->things == 0; }
const Vec3d& RayScene::origin() const { return tree_->origin; }

int RayScene::add_mesh(std::span<const Vec3d> positions, std::span<const Vec3i> triangles) {
  if (!tree_->device) return -1;
  RTCGeometry geometry = rtcNewGeometry(tree_->device, RTC_GEOMETRY_TYPE_TRIANGLE);
  auto* vertex = static_cast<float*>(rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, 12,
                                                             std::max<std::size_t>(1, positions.size())));
  auto* index = static_cast<unsigned*>(rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, 12,
                                                               std::max<std::size_t>(1, triangles.size())));
  if (vertex && index) {
    for (std::size_t i = 0; i < positions.size(); ++i)
      for (int k = 0; k < 3; ++k)
        vertex[3 * i + static_cast<std::size_t>(k)] = static_cast<float>(positions[i][k] - tree_->origin[k]);
    for (std::size_t i = 0; i < triangles.size(); ++i)
      for (int k = 0; k < 3; ++k) index[3 * i + static_cast<std::size_t>(k)] = static_cast<unsigned>(triangles[i][k]);
    if (triangles.empty()) index[0] = index[1] = index[2] = 0;
  }
  tree_->out_of_memory |= !vertex || !index;
  return tree_->attach(geometry);
}

int RayScene::add_spheres(std::span<const Vec3d> centers, std::span<const float> radius) {
  AEGIR_ASSERT(radius.size() == 1 || radius.size() == centers.size(), "spheres and their radii do not match");
  if (!tree_->device) return -1;
  RTCGeometry geometry = rtcNewGeometry(tree_->device, RTC_GEOMETRY_TYPE_SPHERE_POINT);
  auto* vertex = static_cast<float*>(rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT4, 16,
                                                             std::max<std::size_t>(1, centers.size())));
  if (vertex)
    for (std::size_t i = 0; i < centers.size(); ++i) {
      for (int k = 0; k < 3; ++k)
        vertex[4 * i + static_cast<std::size_t>(k)] = static_cast<float>(centers[i][k] - tree_->origin[k]);
      vertex[4 * i + 3] = radius[radius.size() == 1 ? 0 : i];
    }
  tree_->out_of_memory |= !vertex;
  return tree_->attach(geometry);
}

Status RayScene::build() {
  if (!tree_->device) return simulation_error("the ray tracing library could not be started");
  rtcCommitScene(tree_->scene);
  const RTCError error = rtcGetDeviceError(tree_->device);
  if (error == RTC_ERROR_NONE && !tree_->out_of_memory) return {};
  return Error{error == RTC_ERROR_OUT_OF_MEMORY || tree_->out_of_memory ? Failure::memory : Failure::simulation,
               "the search tree of a picture could not be built",
               {}};
}

bool RayScene::first(const SceneRay& ray, RaySceneHit& hit) const {
  if (tree_->things == 0) return false;
  alignas(16) RTCRayHit found{embree_ray(ray), {}};
  found.hit.geomID = RTC_INVALID_GEOMETRY_ID;
  RTCIntersectContext context;
  rtcInitIntersectContext(&context);
  rtcIntersect1(tree_->scene, &context, &found);
  if (found.hit.geomID == RTC_INVALID_GEOMETRY_ID) return false;
  hit = {found.ray.tfar,
         normalized(Vec3f{found.hit.Ng_x, found.hit.Ng_y, found.hit.Ng_z}),
         static_cast<int>(found.hit.geomID),
         static_cast<int>(found.hit.primID),
         found.hit.u,
         found.hit.v};
  return true;
}

bool RayScene::blocked(const SceneRay& ray) const {
  if (tree_->things == 0) return false;
  alignas(16) RTCRay query = embree_ray(ray);
  RTCIntersectContext context;
  rtcInitIntersectContext(&context);
  rtcOccluded1(tree_->scene, &context, &query);
  return query.tfar < 0;
}

}  // namespace aegir
