// OpenVDB's mesher where polygons may grow; it lives in a file of its own because every file that sees OpenVDB costs
// many seconds to compile.
#include <algorithm>
#include <cmath>

#include <openvdb/openvdb.h>
#include <openvdb/tools/VolumeToMesh.h>

#include "io/vdb_archive.h"
#include "surfacing/surface_attributes.h"
#include "surfacing/surface_mesh.h"

namespace aegir {
namespace {

/// The owner of the voxel that holds a place, or of a neighbour of it.
std::int32_t owner_at(const BandGrid& grid, const Vec3d& p) {
  const Vec3d q = p / grid.voxel();
  const Vec3i voxel(Vec3d{std::floor(q.x), std::floor(q.y), std::floor(q.z)});
  for (int n = 0; n < 7; ++n) {
    Vec3i v = voxel;
    if (n > 0) v[(n - 1) / 2] += n % 2 == 0 ? 1 : -1;
    const std::int32_t slot = grid.find({v.x >> 3, v.y >> 3, v.z >> 3});
    if (slot < 0) continue;
    const std::int32_t owner = grid.owners(static_cast<std::size_t>(slot))[((v.x & 7) * 8 + (v.y & 7)) * 8 + (v.z & 7)];
    if (owner >= 0) return owner;
  }
  return -1;
}

}  // namespace

Result<SurfaceMesh> mesh_adaptively(const BandGrid& grid, double adaptivity) {
  SurfaceMesh mesh;
  if (grid.size() == 0) return mesh;
  const Status done = guard_vdb("the surface", "mesh", [&]() -> Status {
    const auto made = std::static_pointer_cast<openvdb::FloatGrid>(make_volume_grid(level_set_of(grid), {}));
    std::vector<openvdb::Vec3s> points;
    std::vector<openvdb::Vec3I> triangles;
    std::vector<openvdb::Vec4I> quads;
    // In voxels around a place near the mesh, so that single precision is enough far from the origin.
    const Vec3i middle = grid.keys()[grid.size() / 2] * 8;
    auto near = openvdb::math::Transform::createLinearTransform(1.0);
    near->postTranslate(openvdb::Vec3d(-middle.x + 0.5, -middle.y + 0.5, -middle.z + 0.5));
    made->setTransform(near);
    openvdb::tools::volumeToMesh(*made, points, triangles, quads, 0.0, adaptivity);
    mesh.origin = Vec3d(middle) * grid.voxel();
    const auto size = static_cast<float>(grid.voxel());
    for (const auto& p : points) mesh.positions.emplace_back(p[0] * size, p[1] * size, p[2] * size);
    const auto add = [&](auto a, auto b, auto c) {
      mesh.triangles.emplace_back(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b),
                                  static_cast<std::int32_t>(c));
    };
    for (const auto& t : triangles) add(t[0], t[2], t[1]);
    for (const auto& q : quads) add(q[0], q[2], q[1]), add(q[0], q[3], q[2]);
    return {};
  });
  if (!done) return done.error();
  if (grid.has_owners()) {
    mesh.owner.resize(mesh.positions.size());
    for (std::size_t v = 0; v < mesh.owner.size(); ++v) mesh.owner[v] = owner_at(grid, mesh.position(v));
  }
  return mesh;
}

}  // namespace aegir
