#include "io/vdb_shapes.h"

#include <openvdb/openvdb.h>
#include <openvdb/points/PointDataGrid.h>
#include <openvdb/tools/Interpolation.h>
#include <openvdb/tools/VolumeToMesh.h>

#include "io/vdb_archive.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

// OpenVDB's polygons are clockwise seen from where the values are larger, which is outside: they are turned around.
template <class Grid>
TriangleMesh mesh_of(const Grid& grid) {
  std::vector<openvdb::Vec3s> points;
  std::vector<openvdb::Vec3I> triangles;
  std::vector<openvdb::Vec4I> quads;
  openvdb::tools::volumeToMesh(grid, points, triangles, quads, 0.0);
  TriangleMesh mesh;
  mesh.positions.reserve(points.size());
  for (const openvdb::Vec3s& p : points) mesh.positions.push_back({p.x(), p.y(), p.z()});
  mesh.triangles.reserve(triangles.size() + 2 * quads.size());
  const auto add = [&](openvdb::Index32 a, openvdb::Index32 b, openvdb::Index32 c) {
    mesh.triangles.push_back({static_cast<int>(a), static_cast<int>(c), static_cast<int>(b)});
  };
  for (const openvdb::Vec3I& t : triangles) add(t[0], t[1], t[2]);
  for (const openvdb::Vec4I& q : quads) add(q[0], q[1], q[2]), add(q[0], q[2], q[3]);
  return mesh;
}

template <class Sampler, class Grid, class Out>
void sample_at(const Grid& grid, const std::vector<Vec3d>& places, const Out& out) {
  parallel_for(0, places.size(), 4096, [&](std::size_t begin, std::size_t end) {
    const auto values = grid.getConstUnsafeAccessor();
    for (std::size_t i = begin; i < end; ++i) {
      const openvdb::Vec3d index = grid.transform().worldToIndex({places[i].x, places[i].y, places[i].z});
      out(i, Sampler::sample(values, index));
    }
  });
}

void add_scalars(const openvdb::GridBase& base, TriangleMesh& mesh) {
  std::vector<float>* parts[3];
  const auto make = [&](const std::string& name) {
    auto& values = mesh.scalars[name];
    values.assign(mesh.positions.size(), 0.0f);
    return &values;
  };
  if (const auto* scalar = dynamic_cast<const openvdb::FloatGrid*>(&base)) {
    parts[0] = make(base.getName());
    sample_at<openvdb::tools::BoxSampler>(*scalar, mesh.positions, [&](std::size_t i, float v) { (*parts[0])[i] = v; });
  } else if (const auto* vector = dynamic_cast<const openvdb::Vec3SGrid*>(&base)) {
    const std::string& name = base.getName();
    const bool velocity = name == "vel" || name == "velocity" || name == "v";
    for (int a = 0; a < 3; ++a) parts[a] = make((velocity ? "v" : name + "_") + std::string(1, "xyz"[a]));
    const auto out = [&](std::size_t i, const openvdb::Vec3s& v) {
      for (int a = 0; a < 3; ++a) (*parts[a])[i] = v[a];
    };
    if (base.getGridClass() == openvdb::GRID_STAGGERED)
      sample_at<openvdb::tools::StaggeredBoxSampler>(*vector, mesh.positions, out);
    else
      sample_at<openvdb::tools::BoxSampler>(*vector, mesh.positions, out);
  }
}

}  // namespace

Result<VdbShapes> read_vdb_shapes(const std::string& path, bool meshes) {
  const auto loaded = load_vdb(path);
  if (!loaded) return loaded.error();
  VdbShapes shapes;
  const Status done = guard_vdb(path, "read", [&]() -> Status {
    const auto& all = *static_cast<const openvdb::GridPtrVec*>(loaded->get());
    std::vector<openvdb::GridBase::Ptr> others;
    for (const auto& grid : all) {
      const bool scalar = grid->isType<openvdb::FloatGrid>() || grid->isType<openvdb::DoubleGrid>();
      shapes.has_points |= grid->isType<openvdb::points::PointDataGrid>();
      if (scalar && grid->getGridClass() == openvdb::GRID_LEVEL_SET) {
        if (!meshes)
          shapes.surfaces.emplace_back();
        else if (grid->isType<openvdb::FloatGrid>())
          shapes.surfaces.push_back(mesh_of(static_cast<const openvdb::FloatGrid&>(*grid)));
        else
          shapes.surfaces.push_back(mesh_of(static_cast<const openvdb::DoubleGrid&>(*grid)));
        continue;
      }
      const bool vector = grid->isType<openvdb::Vec3SGrid>() || grid->isType<openvdb::Vec3DGrid>();
      if (scalar) shapes.densities.push_back(grid->getName());
      if (vector) shapes.vectors.push_back(grid->getName());
      if (scalar || vector) others.push_back(grid);
    }
    for (TriangleMesh& mesh : shapes.surfaces)
      for (const auto& grid : others) add_scalars(*grid, mesh);
    return {};
  });
  if (!done) return done.error();
  return shapes;
}

}  // namespace aegir
