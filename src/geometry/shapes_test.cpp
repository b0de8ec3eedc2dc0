#include "geometry/shapes.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/assert.h"
#include "base/random.h"
#include "geometry/surface.h"

namespace aegir {
namespace {

constexpr ShapeKind all_kinds[] = {ShapeKind::sphere,  ShapeKind::box,   ShapeKind::plane, ShapeKind::cylinder,
                                   ShapeKind::capsule, ShapeKind::torus, ShapeKind::disc,  ShapeKind::rectangle};

Shape shape_of(ShapeKind kind, const Vec3d& axis = {1, 2, -0.5}) {
  return *Shape::create({.kind = kind,
                         .center = {0.3, -0.2, 0.7},
                         .size = {1, 0.6, 1.7},
                         .radius = 0.6,
                         .minor_radius = 0.25,
                         .height = 0.9,
                         .axis = axis});
}

Random draw(std::uint64_t id) { return Random(7, id, 0, Purpose::test); }
Vec3d around(const Shape& s, const Random& r, double spread = 1.5) {
  return s.settings().center +
         Vec3d{r.uniform(0, -spread, spread), r.uniform(1, -spread, spread), r.uniform(2, -spread, spread)};
}

TEST(Shapes, DistanceAgreesWithAFineMesh) {
  for (const ShapeKind kind : all_kinds) {
    if (kind == ShapeKind::plane) continue;
    const Shape shape = shape_of(kind);
    const auto surface = *Surface::create(shape.mesh(160));
    for (int i = 0; i < 500; ++i) {
      const Vec3d x = around(shape, draw(i));
      EXPECT_NEAR(shape.distance(x), surface->signed_distance(x), 1e-3) << name(kind) << i;
    }
  }
}

TEST(Shapes, PlaneIsAHalfSpace) {
  const Shape plane = *Shape::create({.kind = ShapeKind::plane, .center = {0, 2, 0}});
  EXPECT_DOUBLE_EQ(plane.distance({5, 3, 9}), 1);
  EXPECT_DOUBLE_EQ(plane.distance({5, 0, 9}), -2);
  EXPECT_EQ(plane.bounds().max.y, 2);
  EXPECT_GT(plane.bounds().max.x, 1e299);
  EXPECT_FALSE(plane.bounded());
  EXPECT_THROW(plane.sample_volume(0.5, 0.5, 0.5), BugFound);
}

TEST(Shapes, NormalIsTheGradientOfTheDistance) {
  for (const Vec3d axis : {Vec3d{1, 2, -0.5}, Vec3d{0, -1, 0}, Vec3d{1e-9, -1, 0}, Vec3d{0, 1, 0}})
    for (const ShapeKind kind : all_kinds) {
      const Shape shape = shape_of(kind, axis);
      for (int i = 0; i < 300; ++i) {
        const Vec3d x = around(shape, draw(i)), n = shape.normal(x);
        EXPECT_NEAR(length(n), 1, 1e-12);
        const double h = 1e-6, rise = shape.distance(x + n * h) - shape.distance(x - n * h);
        EXPECT_NEAR(rise / (2 * h), 1, 1e-4) << name(kind) << i;
      }
    }
}

TEST(Shapes, BoundsHoldTheMeshTightly) {
  for (const ShapeKind kind : all_kinds) {
    if (kind == ShapeKind::plane) continue;
    const Shape shape = shape_of(kind);
    const Box loose = shape.bounds(), tight = shape.mesh(200).bounds();
    for (int k = 0; k < 3; ++k) {
      EXPECT_LE(loose.min[k], tight.min[k] + 1e-12) << name(kind);
      EXPECT_GE(loose.max[k], tight.max[k] - 1e-12) << name(kind);
      EXPECT_NEAR(loose.min[k], tight.min[k], 2e-3) << name(kind);
      EXPECT_NEAR(loose.max[k], tight.max[k], 2e-3) << name(kind);
    }
  }
}

TEST(Shapes, VolumeAndAreaAgreeWithTheMesh) {
  for (const ShapeKind kind : all_kinds) {
    if (kind == ShapeKind::plane) continue;
    const Shape shape = shape_of(kind);
    const TriangleMesh mesh = shape.mesh(200);
    EXPECT_NEAR(mesh.area(), shape.area(), 2e-3 * shape.area()) << name(kind);
    if (!shape.thin()) {
      EXPECT_NEAR(mesh.signed_volume(), shape.volume(), 2e-3 * shape.volume()) << name(kind);
    }
  }
}

TEST(Shapes, SamplesLieInTheVolumeAndOnTheSurface) {
  for (const ShapeKind kind : all_kinds) {
    if (kind == ShapeKind::plane) continue;
    const Shape shape = shape_of(kind);
    for (int i = 0; i < 2000; ++i) {
      const Random r = draw(i);
      EXPECT_LE(shape.distance(shape.sample_volume(r.uniform(0), r.uniform(1), r.uniform(2))), 1e-12);
      const SurfacePoint p = shape.sample_surface(r.uniform(0), r.uniform(1), r.uniform(2));
      EXPECT_NEAR(shape.distance(p.position), 0, 1e-12) << name(kind);
      if (!shape.thin()) {
        EXPECT_GT(dot(shape.normal(p.position + p.normal * 1e-6), p.normal), 1 - 1e-6) << name(kind);
      }
    }
  }
}

// Counts of two independent ways to fill the same bins, compared as two Poisson counts: sum (a - b)^2 / (a + b) over n
// bins has mean n and variance 2n.
TEST(Shapes, SamplesAreUniform) {
  constexpr int samples = 40000, bins = 4;
  for (const ShapeKind kind : all_kinds) {
    if (kind == ShapeKind::plane) continue;
    const Shape shape = shape_of(kind);
    const auto mesh = *Surface::create(shape.mesh(120));
    const Box box = shape.bounds();
    const auto bin = [&](const Vec3d& p) {
      int index = 0;
      for (int k = 0; k < 3; ++k)
        index = index * bins + std::clamp(static_cast<int>((p[k] - box.min[k]) / box.size()[k] * bins), 0, bins - 1);
      return index;
    };
    for (const bool volume : {false, true}) {
      if (volume && shape.thin()) continue;
      std::vector<double> ours(bins * bins * bins), reference(bins * bins * bins);
      for (int i = 0, tries = 0; i < samples; ++i) {
        const Random r = draw(i);
        ++ours[bin(volume ? shape.sample_volume(r.uniform(0), r.uniform(1), r.uniform(2))
                          : shape.sample_surface(r.uniform(0), r.uniform(1), r.uniform(2)).position)];
        Vec3d p;
        do {
          const Random q = draw(1'000'000 + tries++);
          p = volume ? box.min + multiply(box.size(), Vec3d{q.uniform(0), q.uniform(1), q.uniform(2)})
                     : mesh->sample(q.uniform(0), q.uniform(1), q.uniform(2)).position;
        } while (volume && shape.distance(p) > 0);
        ++reference[bin(p)];
      }
      double chi = 0, used = 0;
      for (std::size_t b = 0; b < ours.size(); ++b)
        if (ours[b] + reference[b] > 0)
          chi += (ours[b] - reference[b]) * (ours[b] - reference[b]) / (ours[b] + reference[b]), used += 1;
      EXPECT_LT(chi, used + 5 * std::sqrt(2 * used)) << name(kind) << (volume ? " volume" : " surface");
    }
  }
}

TEST(Shapes, RayFindsEveryChangeOfSide) {
  for (const ShapeKind kind : all_kinds) {
    const Shape shape = shape_of(kind);
    int crossings = 0;
    for (int i = 0; i < 20000; ++i) {
      const Random r = draw(i);
      const double reach = std::pow(10, r.uniform(6, 0, 4));
      const Vec3d target = around(shape, r, 0.7), d = r.direction(3);
      const Vec3d a = target - d * (reach * r.uniform(7)), b = target + d * r.uniform(8);
      const auto hit = shape.ray(a, b - a, 1);
      if (!shape.thin() && (shape.distance(a) < 0) != (shape.distance(b) < 0)) {
        ++crossings;
        ASSERT_TRUE(hit) << name(kind) << i;
      }
      if (!hit) continue;
      EXPECT_NEAR(shape.distance(hit->point), 0, 1e-9 + 1e-12 * reach) << name(kind) << i;
      EXPECT_NEAR(length(hit->point - (a + (b - a) * hit->t)), 0, 1e-8);
      // Nothing lies between the start and the first hit.
      for (int k = 1; k < 20; ++k) {
        const Vec3d between = a + (b - a) * (hit->t * k / 20 * (1 - 1e-6));
        if (std::abs(shape.distance(between)) > 1e-6) {
          EXPECT_EQ(shape.distance(between) < 0, shape.distance(a) < 0) << name(kind) << i;
        }
      }
    }
    if (!shape.thin()) {
      EXPECT_GT(crossings, 1000) << name(kind);
    }
  }
}

TEST(Shapes, LeavingTheSurfaceIsNoHit) {
  for (const ShapeKind kind : all_kinds) {
    const Shape shape = shape_of(kind);
    for (int i = 0; i < 2000 && shape.bounded() && !shape.thin(); ++i) {
      const Random r = draw(i);
      const SurfacePoint p = shape.sample_surface(r.uniform(0), r.uniform(1), r.uniform(2));
      Vec3d d = r.direction(3);
      if (dot(d, p.normal) < 0) d = -d;
      if (kind == ShapeKind::torus) d = p.normal * 0.1;  // other directions may meet the torus again
      EXPECT_FALSE(shape.ray(p.position + p.normal * (4 * shape.tolerance()), d, 1)) << name(kind) << i;
    }
  }
}

TEST(Shapes, ThinSheetsCatchFastPoints) {
  for (const ShapeKind kind : {ShapeKind::disc, ShapeKind::rectangle}) {
    const Shape shape = shape_of(kind);
    for (int i = 0; i < 20000; ++i) {
      const Random r = draw(i);
      const Vec3d p = shape.sample_surface(r.uniform(0), r.uniform(1), r.uniform(2)).position * 1.0, d = r.direction(3);
      const Vec3d inner = shape.settings().center + (p - shape.settings().center) * 0.999;
      if (std::abs(dot(d, shape.settings().axis)) < 1e-3) continue;
      const double reach = std::pow(10, r.uniform(6, -6, 4));
      EXPECT_TRUE(shape.ray(inner - d * reach, d * (2 * reach), 1)) << i;
    }
  }
}

TEST(Shapes, WrongSettingsAreRefusedWithTheReason) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const auto message = [](const ShapeSettings& s) {
    const auto shape = Shape::create(s);
    return shape ? std::string() : shape.error().message;
  };
  EXPECT_EQ(message({.radius = 0}), "the radius of a sphere must be positive and finite, not 0");
  EXPECT_NE(message({.radius = nan}), "");
  EXPECT_NE(message({.radius = inf}), "");
  EXPECT_NE(message({.center = {nan, 0, 0}}), "");
  EXPECT_NE(message({.kind = ShapeKind::box, .size = {1, -1, 1}}), "");
  EXPECT_EQ(message({.kind = ShapeKind::rectangle, .size = {1, 0, 1}}), "");
  EXPECT_NE(message({.kind = ShapeKind::cylinder, .height = 0}), "");
  EXPECT_NE(message({.kind = ShapeKind::disc, .axis = {0, 0, 0}}), "");
  EXPECT_EQ(message({.kind = ShapeKind::torus, .radius = 1, .minor_radius = 1}),
            "the minor radius of a torus must be smaller than its radius, but 1 is not below 1");
}

}  // namespace
}  // namespace aegir
