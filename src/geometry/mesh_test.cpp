#include "geometry/mesh.h"

#include <gtest/gtest.h>

#include <limits>

#include "geometry/shapes.h"

namespace aegir {
namespace {

TriangleMesh mesh_of(const ShapeSettings& settings, int resolution = 16) {
  return Shape::create(settings)->mesh(resolution);
}
void turn(TriangleMesh& mesh, std::size_t i) { std::swap(mesh.triangles[i].y, mesh.triangles[i].z); }

TEST(Mesh, BoxHasItsBoundsAreaAndVolume) {
  const TriangleMesh box = mesh_of({.kind = ShapeKind::box, .center = {1e5, 2, 3}, .size = {1, 2, 3}});
  EXPECT_NEAR(box.area(), 22, 1e-8);
  EXPECT_NEAR(box.signed_volume(), 6, 1e-8);
  EXPECT_NEAR(box.bounds().size().y, 2, 1e-12);
}

TEST(Mesh, CleanClosedMeshNeedsNoAssumption) {
  for (const ShapeKind kind :
       {ShapeKind::sphere, ShapeKind::box, ShapeKind::cylinder, ShapeKind::capsule, ShapeKind::torus}) {
    const MeshReport r = inspect(mesh_of({.kind = kind, .axis = {1, 2, 3}}));
    EXPECT_TRUE(r.closed) << name(kind);
    EXPECT_FALSE(r.inside_out) << name(kind);
    EXPECT_EQ(r.degenerate_triangles + r.open_edges + r.non_manifold_edges + r.inconsistent_edges + r.sheets, 0)
        << name(kind);
    EXPECT_EQ(r.components, 1);
    EXPECT_EQ(r.assumption, "");
  }
}

TEST(Mesh, SheetIsNamedAsSuch) {
  const MeshReport r = inspect(mesh_of({.kind = ShapeKind::disc}, 12));
  EXPECT_FALSE(r.closed);
  EXPECT_EQ(r.open_edges, 12);
  EXPECT_NEAR(r.hole_fraction, 1, 1e-12);
  EXPECT_EQ(r.assumption, "has 12 open edges; treated as a thin sheet without inside");
}

TEST(Mesh, OneMissingTriangleIsASmallHole) {
  TriangleMesh ball = mesh_of({});
  ball.triangles.pop_back();
  const MeshReport r = inspect(ball);
  EXPECT_EQ(r.open_edges, 3);
  EXPECT_EQ(r.sheets, 0);
  EXPECT_EQ(r.assumption, "has 3 open edges; its small holes are treated as closed");
}

TEST(Mesh, OpenTubeIsASheetThoughItsTwoHolesCancel) {
  TriangleMesh tube = mesh_of({.kind = ShapeKind::cylinder, .height = 4}, 32);
  std::erase_if(tube.triangles, [&](const Vec3i& t) {
    const auto& p = tube.positions;
    return p[t.x].y == p[t.y].y && p[t.y].y == p[t.z].y;
  });
  const MeshReport r = inspect(tube);
  EXPECT_EQ(r.open_edges, 64);
  EXPECT_EQ(r.sheets, 1);
}

TEST(Mesh, InsideOutIsSaid) {
  TriangleMesh box = mesh_of({.kind = ShapeKind::box});
  for (std::size_t i = 0; i < box.triangles.size(); ++i) turn(box, i);
  const MeshReport r = inspect(box);
  EXPECT_TRUE(r.closed && r.inside_out);
  EXPECT_EQ(r.assumption, "is inside out; its inside is taken as solid");
}

TEST(Mesh, DisagreeingTrianglesAreCounted) {
  TriangleMesh box = mesh_of({.kind = ShapeKind::box}, 3);
  turn(box, 5);
  const MeshReport r = inspect(box);
  EXPECT_EQ(r.inconsistent_edges, 3);
  EXPECT_TRUE(r.closed);
  EXPECT_FALSE(r.inside_out);
  EXPECT_NE(r.assumption.find("disagree"), std::string::npos);
}

TEST(Mesh, DegenerateAndNonManifold) {
  TriangleMesh m;
  m.positions = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0.5, 0, 0}};
  m.triangles = {{0, 1, 2}, {0, 1, 3}, {0, 1, 4}, {0, 0, 1}, {0, 5, 1}};
  const MeshReport r = inspect(m);
  EXPECT_EQ(r.degenerate_triangles, 2);
  EXPECT_EQ(r.non_manifold_edges, 1);
  EXPECT_EQ(r.vertices, 6);
  EXPECT_EQ(r.triangles, 5);
}

TEST(Mesh, PartsAreJudgedOneByOne) {
  TriangleMesh both = mesh_of({});
  const TriangleMesh sheet = mesh_of({.kind = ShapeKind::rectangle, .center = {5, 0, 0}});
  const int shift = static_cast<int>(both.positions.size());
  both.positions.insert(both.positions.end(), sheet.positions.begin(), sheet.positions.end());
  for (const Vec3i& t : sheet.triangles) both.triangles.push_back(t + Vec3i(shift));
  const MeshReport r = inspect(both);
  EXPECT_EQ(r.components, 2);
  EXPECT_EQ(r.sheets, 1);
}

TEST(Mesh, InvalidMeshesAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const TriangleMesh good{{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {{0, 1, 2}}, {}};
  EXPECT_TRUE(validate(good));
  TriangleMesh bad = good;
  bad.positions[1].y = nan;
  EXPECT_NE(validate(bad).error().message.find("vertex 1"), std::string::npos);
  bad = good;
  bad.triangles[0].z = 3;
  EXPECT_NE(validate(bad).error().message.find("refers to vertex 3"), std::string::npos);
  bad.triangles[0].z = -1;
  EXPECT_FALSE(validate(bad));
  bad = good;
  bad.scalars["wet"] = {1, 2};
  EXPECT_NE(validate(bad).error().message.find("'wet'"), std::string::npos);
  EXPECT_FALSE(validate({}));
  EXPECT_FALSE(validate({good.positions, {}, {}}));
}

}  // namespace
}  // namespace aegir
