#include "numerics/solids/mesh_band.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "numerics/solids/solid_bucket.h"
#include "numerics/solids/solid_test_support.h"

namespace aegir {
namespace {

constexpr double dx = 0.05;

/// A mesh that is drawn, or asked like any other solid.
struct DrawnSolid : TestSolid {
  TriangleMesh mesh;
  std::vector<Vec3d> before;
  bool draw = true;
  SolidTriangles triangles() const override {
    return draw ? SolidTriangles{mesh.positions, mesh.triangles, before, 0.1} : SolidTriangles{};
  }
};
DrawnSolid drawn(const ShapeSettings& settings, int resolution) {
  const auto shape = Shape::create(settings);
  DrawnSolid s;
  s.mesh = shape->mesh(resolution);
  const auto surface = Surface::create(s.mesh);
  static_cast<TestSolid&>(s) = solid_of(*surface);
  return s;
}
const ShapeSettings torus{.kind = ShapeKind::torus,
                          .center = {0.013, 0.02, -0.01},
                          .radius = 0.4,
                          .minor_radius = 0.16,
                          .axis = {0.3, 1, 0.4}};

TEST(MeshBand, drawn_distances_are_those_asked) {
  for (const int resolution : {12, 300}) {  // triangles of several cells, and many in a cell
    DrawnSolid solid = drawn(torus, resolution);
    solid.thin = false;
    const auto keys = block_of_keys(Vec3i(-2), Vec3i(2));
    SolidScene by_drawing(dx, keys), by_asking(dx, keys);
    by_drawing.update({&solid});
    solid.draw = false;
    by_asking.update({&solid});
    double near = 0, far = 0;
    int inside = 0;
    for_box(Vec3i(-16), Vec3i(16), [&](const Vec3i& c) {
      const float a = by_drawing.distance(c), b = by_asking.distance(c);
      if (b == 1000 || a == 1000) {
        ASSERT_GE(std::min(a, b), 2.99f);
        return;
      }
      ASSERT_TRUE((a < 0) == (b < 0) || std::abs(b) < 1e-6f);
      inside += b < 0;
      if (std::abs(b) <= 2)
        near = std::max(near, double{std::abs(a - b)});
      else
        far = std::max(far, double{std::abs(a - b)});
      for (int axis = 0; axis < 3; ++axis) ASSERT_NEAR(by_drawing.area(axis, c), by_asking.area(axis, c), 2e-3);
    });
    std::printf("near %.1e far %.1e, %d nodes inside\n", near, far, inside);
    EXPECT_LT(near, 1e-6);
    EXPECT_LT(far, 0.25);
    EXPECT_GT(inside, 1000);
  }
}

TEST(MeshBand, velocities_come_from_the_vertices) {
  DrawnSolid solid = drawn(torus, 200);
  solid.thin = false;
  const auto flow = [](const Vec3d& x) { return Vec3d{1, 2, 3} + cross(Vec3d{2, -1, 0.5}, x); };
  for (const Vec3d& p : solid.mesh.positions) solid.before.push_back(p - flow(p) * 0.1);
  SolidScene scene(dx, block_of_keys(Vec3i(-2), Vec3i(2)));
  scene.update({&solid});
  int checked = 0;
  for_box(Vec3i(-15), Vec3i(15), [&](const Vec3i& c) {
    for (int a = 0; a < 3; ++a) {
      if (scene.area(a, c) == 1 || scene.area(a, c) == 0) continue;
      Vec3d x = (Vec3d(c) + Vec3d(0.5)) * dx;
      x[a] -= 0.5 * dx;
      ASSERT_NEAR(scene.velocity(a, c), flow(x)[a], 3 * dx);  // that of the surface, not of the place
      ++checked;
    }
  });
  EXPECT_GT(checked, 500);
}

/// No part of the mesh that ends within four cells of an eighth of a bucket, or two of a block, goes a way beyond its
/// box.
TEST(MeshBand, ways_hold_those_of_all_that_is_near) {
  DrawnSolid solid = drawn(torus, 60);
  const auto way = [](const Vec3d& x) { return Vec3d{0.1 * x.y, 0.2 * x.x * x.x, 0.01 + x.z}; };
  for (const Vec3d& p : solid.mesh.positions) solid.before.push_back(p - way(p));
  SolidScene scene(dx, block_of_keys(Vec3i(-2), Vec3i(2)));
  scene.update({&solid});
  int checked = 0;
  double widest[2] = {0, 0};
  for (int b = 0; b < scene.volume.topology().local_count(); ++b) {
    const DrawnWays* ways = scene.grid.drawn_ways(b);
    if (!ways) continue;
    const auto check = [&](const Box& box, const Vec3d& place, double cells) {
      const Vec3d low = scene.volume.topology().origin(b) + place * (cells * dx);
      const Box reach = Box{low, low + Vec3d(cells * dx)}.grown((cells - 0.01) * dx);
      for (const Vec3d& p : solid.mesh.positions) {
        if (!reach.contains(p)) continue;
        ASSERT_TRUE(box.grown(1e-9).contains(way(p) / dx));
        widest[cells < 4] = std::max(widest[cells < 4], length(box.size()) * dx), ++checked;
      }
    };
    for (int e = 0; e < 8; ++e) check(ways->eighths[static_cast<std::size_t>(e)], Vec3d(e >> 2, e >> 1 & 1, e & 1), 4);
    for (int n = 0; n < 64; ++n) check(ways->blocks[static_cast<std::size_t>(n)], Vec3d(n >> 4, n >> 2 & 3, n & 3), 2);
  }
  EXPECT_GT(checked, 1000);
  EXPECT_LT(widest[0], 0.8);  // twelve cells and what triangles reach beyond, not the whole torus
  EXPECT_LT(widest[1], 0.5);  // six cells
}

/// Whoever touches a triangle on its way is not let pass by the patch of the cell where that place ends; most who
/// stay a tenth of a cell above a surface bent to a radius of three cells are.
TEST(MeshBand, patches_let_nobody_through) {
  for (const int resolution : {12, 300}) {
    DrawnSolid solid = drawn(torus, resolution);
    const auto way = [](const Vec3d& x) { return Vec3d{0.1 * x.y, 0.2 * x.x * x.x, 0.01 + 0.1 * x.z}; };
    for (const Vec3d& p : solid.mesh.positions) solid.before.push_back(p - way(p));
    SolidScene scene(dx, block_of_keys(Vec3i(-2), Vec3i(2)));
    scene.update({&solid});
    const Topology& topology = scene.volume.topology();
    const Random random(7, 0, 0, Purpose::test);
    std::uint32_t drawn_numbers = 0;
    const auto next = [&] { return random.uniform(drawn_numbers++); };
    const auto anywhere = [&] {
      const double x = next(), y = next();
      return Vec3d(x, y, next());
    };
    int above = 0, passed = 0;
    for (int n = 0; n < 20000; ++n) {
      const auto number = static_cast<std::size_t>(next() * static_cast<double>(solid.mesh.triangles.size()));
      const Vec3i t = solid.mesh.triangles[number];
      Vec3d weights = anywhere() + Vec3d(1e-3);
      weights = weights / (weights.x + weights.y + weights.z);
      const auto mix = [&](const std::vector<Vec3d>& v) {
        return v[static_cast<std::size_t>(t.x)] * weights.x + v[static_cast<std::size_t>(t.y)] * weights.y +
               v[static_cast<std::size_t>(t.z)] * weights.z;
      };
      const auto corner = [&](int k) { return solid.mesh.positions[static_cast<std::size_t>(t[k])]; };
      const Vec3d end = mix(solid.mesh.positions) / dx, gone = end - mix(solid.before) / dx;
      const BucketPosition at = locate(end * dx, dx);
      const int b = topology.find(at.key);
      ASSERT_GE(b, 0);
      const Vec3d origin = topology.origin(b) / dx;
      const Vec3i cell(static_cast<int>(at.cell.x), static_cast<int>(at.cell.y), static_cast<int>(at.cell.z));
      // Meets the triangle at a part of the substep.
      const Vec3d of_point = (anywhere() - Vec3d(0.5)) * 3.0;
      const Vec3d to = end + (of_point - gone) * (1 - next());
      const DrawnAround around = scene.grid.drawn_around(b);
      ASSERT_FALSE(around.all_of(cell, cell, [&](const DrawnPatch& patch, const Vec3f& bucket) {
        return patch.misses(Vec3f(to - origin) - bucket, Vec3f(of_point));
      }));
      const Vec3d normal = normalized(cross(corner(1) - corner(0), corner(2) - corner(0)));
      const Vec3d low = end + normal * 0.1, high = end + normal * 0.4;
      ASSERT_FALSE(around.all_of(cell, cell, [&](const DrawnPatch& patch, const Vec3f& bucket) {
        return patch.leaves_free(Vec3f(end - normal * 0.01 - origin) - bucket, Vec3f(high - origin) - bucket);
      }));
      ++above;
      passed += around.all_of(cell, cell, [&](const DrawnPatch& patch, const Vec3f& bucket) {
        return patch.leaves_free(Vec3f(low - origin) - bucket, Vec3f(high - origin) - bucket);
      });
    }
    std::printf("%d of %d pass above\n", passed, above);
    EXPECT_GT(passed, resolution == 300 ? 2 * above / 3 : 0);
  }
}

TEST(MeshBand, what_a_bucket_gets_depends_on_its_place_alone) {
  DrawnSolid solid = drawn(torus, 100);
  solid.moving = true;
  const auto keys = block_of_keys(Vec3i(-2), Vec3i(2));
  SolidScene all(dx, keys);
  all.update({&solid});
  for (std::size_t first = 0; first < keys.size(); first += 7) {
    SolidScene one(dx, {keys[first]});
    one.update({&solid});
    for_box(Vec3i(0), Vec3i(8), [&](const Vec3i& in) {
      const Vec3i c = keys[first].coord * 8 + in;
      ASSERT_EQ(one.distance(c), all.distance(c));
      for (int a = 0; a < 3; ++a) ASSERT_EQ(one.area(a, c), all.area(a, c));
    });
  }
}

TEST(MeshBand, a_drawn_sheet_separates_the_same_cells) {
  DrawnSolid sheet =
      drawn({.kind = ShapeKind::rectangle, .center = {0.01, 0.02, 0}, .size = {4, 0, 4}, .axis = {0.4, 1, 0.3}}, 60);
  const auto keys = block_of_keys(Vec3i(-2), Vec3i(2));
  SolidScene by_drawing(dx, keys), by_asking(dx, keys);
  by_drawing.update({&sheet});
  sheet.draw = false;
  by_asking.update({&sheet});
  int closed = 0;
  for_box(Vec3i(-16), Vec3i(16), [&](const Vec3i& c) {
    for (int a = 0; a < 3; ++a) {
      ASSERT_EQ(by_drawing.area(a, c), by_asking.area(a, c));
      closed += by_asking.area(a, c) == 0;
    }
  });
  EXPECT_GT(closed, 1000);
}

}  // namespace
}  // namespace aegir
