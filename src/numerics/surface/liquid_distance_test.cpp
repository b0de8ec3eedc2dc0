#include "numerics/surface/liquid_distance.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "domain/for_each_bucket.h"
#include "numerics/surface/surface_test_support.h"

namespace aegir {
namespace {

using namespace surface_test;

struct Errors {
  double worst = 0, bias = 0, rms = 0;
  int cells = 0;
  void add(double e) { worst = std::max(worst, std::abs(e)), bias += e, rms += e * e, ++cells; }
  void close() { bias /= cells, rms = std::sqrt(std::max(0.0, rms / cells - bias * bias)); }
};

/// Errors of the level of a plane n·x = level, read along the axis that is closest to its normal, where liquid cells
/// meet cells of air: what the pressure sees.
Errors plane_errors(Liquid& liquid, const Vec3d& n, double level, double margin) {
  Errors e;
  const float* p = liquid.volume.store(distance.name).plane<float>(0);
  const Topology& t = liquid.volume.topology();
  for (int b = 0; b < t.local_count(); ++b) {
    PaddedTile<float, 1> tile;
    load_tile<Star<1>>(tile, t, b, p, 4.0f);
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j)
        for (int k = 0; k < 8; ++k) {
          const Vec3d x = t.origin(b) + Vec3d(i + 0.5, j + 0.5, k + 0.5);
          if (std::abs(x.x) > margin || std::abs(x.z) > margin || std::abs(x.y) > margin) continue;
          const double own = tile(i, j, k), above = tile(i, j + 1, k);
          if (own < 0 && above >= 0) e.add(dot(n, x + Vec3d(0, own / (own - above), 0)) - level);
        }
  }
  if (e.cells) e.close();
  return e;
}

TEST(LiquidDistance, flat_layers_are_flat_wherever_they_lie) {
  for (const int per_axis : {2, 3})
    for (const double shift : {0.0, 0.05, 0.11, 0.17, 0.25, 0.31, 0.4, 0.5, 0.57, 0.66, 0.75, 0.83, 0.91, 0.97}) {
      Liquid liquid;
      liquid.fill(lattice({{-12, -8 + shift, -12}, {12, shift, 12}}, per_axis, 0, everywhere));
      liquid.find_distance();
      const Errors e = plane_errors(liquid, {0, 1, 0}, shift, 8);
      std::printf("layers, %d per axis, level %.2f: worst %.4f bias %+.4f\n", per_axis, shift, e.worst, e.bias);
      EXPECT_EQ(e.cells, 16 * 16);
      EXPECT_LT(e.worst, per_axis == 2 ? 0.01 : 0.02);
    }
}

TEST(LiquidDistance, planes_of_jittered_particles_are_met_at_any_slope) {
  const std::vector<std::pair<const char*, Vec3d>> slopes = {
      {"0 deg", {0, 1, 0}}, {"26 deg", {-0.4384, 0.8988, 0}}, {"45 deg", {-1, 1, 0}}, {"diagonal", {1, 1, 1}}};
  for (const auto& [name, normal] : slopes)
    for (const double level : {0.1, 0.35, 0.6, 0.85}) {
      const Vec3d n = normalized(normal);
      Liquid liquid;
      liquid.fill(lattice({{-14, -14, -14}, {14, 14, 14}}, 2, 1, [&](const Vec3d& p) { return dot(n, p) < level; }));
      liquid.find_distance();
      const Errors e = plane_errors(liquid, n, level, 8);
      std::printf("jittered, %s, level %.2f: worst %.4f bias %+.4f rms %.4f\n", name, level, e.worst, e.bias, e.rms);
      EXPECT_LT(std::abs(e.bias), 0.025);
      EXPECT_LT(e.rms, 0.065);
    }
}

TEST(LiquidDistance, jitter_gives_little_noise) {
  for (const double jitter : {0.25, 0.5, 0.8})
    for (const double level : {0.0, 0.2, 0.45, 0.7}) {
      Liquid liquid;
      liquid.fill(lattice({{-12, -8 + level, -12}, {12, level, 12}}, 2, jitter, everywhere));
      liquid.find_distance();
      const Errors e = plane_errors(liquid, {0, 1, 0}, level, 8);
      std::printf("layers with jitter %.2f, level %.2f: worst %.4f bias %+.4f rms %.4f\n", jitter, level, e.worst,
                  e.bias, e.rms);
      EXPECT_LT(std::abs(e.bias), 0.02);
      EXPECT_LT(e.rms, 0.05);
    }
}

TEST(LiquidDistance, does_not_depend_on_how_many_particles_fill_a_cell) {
  for (const double per_cell : {4.0, 8.0, 16.0, 64.0}) {
    Liquid liquid;
    liquid.fill(strewn({{-12, -8, -12}, {12, 0.3, 12}}, per_cell, everywhere));
    liquid.find_distance();
    const Errors e = plane_errors(liquid, {0, 1, 0}, 0.3, 8);
    std::printf("strewn, %g per cell: worst %.4f bias %+.4f rms %.4f\n", per_cell, e.worst, e.bias, e.rms);
    EXPECT_LT(std::abs(e.bias), 0.24 / std::sqrt(per_cell));  // the mean's own spread, seen as an offset
  }
}

TEST(LiquidDistance, clumped_particles_open_no_holes) {
  for (const double per_cell : {4.0, 8.0}) {
    Liquid liquid;
    liquid.fill(strewn({{-20, -20, -20}, {20, 20, 20}}, per_cell, everywhere));
    liquid.find_distance();
    int inside = 0, holes = 0;
    liquid.each([&](const Vec3d& x, double d) {
      if (std::max({std::abs(x.x), std::abs(x.y), std::abs(x.z)}) < 18) ++inside, holes += d >= 0;
    });
    EXPECT_EQ(inside, 36 * 36 * 36);
    EXPECT_EQ(holes, 0) << per_cell;
  }
}

TEST(LiquidDistance, same_bits_for_any_number_of_threads) {
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 7}) {
    Liquid liquid;
    const auto solid_at = [](const Vec3d& x) { return 9.2 - 0.6 * x.x - 0.8 * x.y; };
    liquid.fill(strewn({{-12, -12, -12}, {12, 12, 12}}, 6,
                       [&](const Vec3d& p) { return solid_at(p) > 0 && p.y < std::sin(p.x) + std::cos(p.z); }));
    liquid.set_solid(solid_at);
    ThreadScope scope(threads);
    BufferPool pool;
    scope.run([&] { liquid.find_distance(true, &pool), liquid.find_distance(true, &pool); });
    results.push_back(liquid.values());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

/// A box turned about z and then about x; distance to its inside, positive within.
struct Tank {
  double about_z, about_x;
  Vec3d half{9.3, 30, 8.7};
  Vec3d local(const Vec3d& x) const {
    const double c = std::cos(about_z), s = std::sin(about_z), d = std::cos(about_x), t = std::sin(about_x);
    const Vec3d y{x.x, d * x.y + t * x.z, -t * x.y + d * x.z};
    return {c * y.x + s * y.y, -s * y.x + c * y.y, y.z};
  }
  double distance(const Vec3d& x) const {
    const Vec3d p = local(x);
    return std::min({half.x - std::abs(p.x), p.y + 12, half.z - std::abs(p.z)});
  }
  /// Whether two walls reach into the weights around a point.
  bool edge(const Vec3d& x) const {
    const Vec3d p = local(x);
    return std::max(half.x - std::abs(p.x), half.z - std::abs(p.z)) < 2.6;
  }
};

TEST(LiquidDistance, clumped_particles_are_liquid_up_to_tilted_walls) {
  for (const double per_cell : {4.0, 8.0}) {
    const Tank tank{20 * M_PI / 180, 20 * M_PI / 180};
    Liquid liquid;
    liquid.fill(
        strewn({{-24, -24, -24}, {24, 0.3, 24}}, per_cell, [&](const Vec3d& p) { return tank.distance(p) > 0; }));
    liquid.set_solid([&](const Vec3d& x) { return tank.distance(x); });
    liquid.find_distance(true);
    int dry = 0, wet = 0, cells = 0;
    liquid.each([&](const Vec3d& x, double d) {
      if (tank.distance(x) < -0.87) return;
      if (x.y < -1.2 && x.y > -24) ++cells, dry += d >= 0;
      wet += x.y > 1.3 && d < 0;
    });
    std::printf("tank of strewn particles, %g per cell: %d of %d cells dry, %d wet above the level\n", per_cell, dry,
                cells, wet);
    EXPECT_EQ(dry, 0);
    EXPECT_EQ(wet, 0);
  }
}

TEST(LiquidDistance, a_sheet_keeps_its_two_sides_apart) {
  for (const double shift : {0.05, 0.3, 0.5, 0.77, 0.95}) {
    Liquid liquid;
    const auto side = [&](const Vec3d& x) { return x.x - shift + 0.2 * x.z; };
    liquid.fill(lattice({{-20, -10, -10}, {20, 0.3, 10}}, 2, 1,
                        [&](const Vec3d& p) { return side(p) < -0.05 || (side(p) > 6 && side(p) < 16 && p.y < -4); }));
    liquid.set_solid([&](const Vec3d& x) { return std::abs(side(x)) / std::sqrt(1.04) - 0.05; });
    liquid.set_sheet(side);
    const SurfaceCensus census(liquid.exec, liquid.particles, liquid.volume, &solid, nullptr);
    liquid_distance(liquid.exec, liquid.particles, liquid.volume, census, {distance, &solid, &area});
    int wet = 0, dry = 0;
    liquid.each([&](const Vec3d& x, double d) {
      if (std::abs(x.z) > 7 || x.y < -7 || x.x < -16 || side(x) > 3) return;
      if (side(x) < 0 && x.y < -0.7 && d >= 0) ++dry;
      if (side(x) > 0.25 && d < 0) ++wet;  // nearer, the cell is half full
    });
    EXPECT_EQ(dry, 0) << shift;
    EXPECT_EQ(wet, 0) << shift;
  }
}

TEST(LiquidDistance, films_and_drops_on_a_wall_stay_liquid) {
  Liquid liquid;
  const auto solid_at = [](const Vec3d& x) { return x.y - 0.2; };
  std::vector<Vec3d> points = lattice({{0, 0.2, 0}, {12, 0.7, 12}}, 2, 0, everywhere);
  points.push_back({20.4, 0.6, 4.5});
  liquid.fill(points);
  liquid.set_solid(solid_at);
  liquid.find_distance(true);
  int film = 0, drop = 0;
  liquid.each([&](const Vec3d& x, double d) {
    if (x.y < 0 || x.y > 1 || d >= 0) return;
    film += x.x > 1 && x.x < 11 && x.z > 1 && x.z<11, drop += x.x> 18;
  });
  EXPECT_EQ(film, 100);
  EXPECT_EQ(drop, 1);
}

TEST(LiquidDistance, single_particles_and_sheets_are_liquid) {
  Liquid liquid;
  std::vector<Vec3d> points = lattice({{20.0, 3.0, 0.0}, {30.0, 4.0, 10.0}}, 2, 0, everywhere);
  points.push_back({3.3, 3.4, 3.6});
  liquid.fill(points);
  liquid.find_distance();
  int drop = 0, sheet = 0;
  liquid.each([&](const Vec3d& x, double d) {
    EXPECT_TRUE(std::isfinite(d));
    if (x.x < 10) return void(drop += d < 0);
    if (x.x < 22 || x.x > 28 || x.z < 2 || x.z > 8) return;
    sheet += d < 0;
    if (d < 1) {
      EXPECT_NEAR(d, std::abs(x.y - 3.5) - 0.5, 0.02);
    }
  });
  EXPECT_EQ(drop, 1);
  EXPECT_EQ(sheet, 36);
}

TEST(LiquidDistance, a_level_surface_stays_level_up_to_tilted_walls) {
  for (const double about_x : {0.0, 7.0, 20.0})
    for (const double level : {0.0, 0.1, 0.18, 0.23, 0.3, 0.36, 0.42, 0.5, 0.57, 0.64, 0.72, 0.81, 0.87, 0.94}) {
      const Tank tank{20 * M_PI / 180, about_x * M_PI / 180};
      Liquid liquid;
      liquid.fill(lattice({{-24, level - 24, -24}, {24, level, 24}}, 2, 0,
                          [&](const Vec3d& p) { return tank.distance(p) > 0; }));
      liquid.set_solid([&](const Vec3d& x) { return tank.distance(x); });
      liquid.find_distance(true);
      Errors e;
      Vec3d at;
      int dry = 0;
      double in_edges = 0;
      liquid.each([&](const Vec3d& x, double d) {
        const double solid = tank.distance(x), truth = x.y - level;
        if (solid < -0.87 || x.y < -14) return;
        if (std::abs(truth) < 1 && tank.edge(x)) {
          in_edges = std::max(in_edges, std::abs(d - truth));
        } else if (std::abs(truth) < 1) {
          if (std::abs(d - truth) > e.worst) at = x;
          e.add(d - truth);
        }
        dry += truth < -1 && d >= 0;
      });
      e.close();
      std::printf(
          "tank, 20 and %.0f deg, level %.2f: worst %.4f at %.1f %.1f %.1f (solid %.2f), in edges %.4f, %d cells, dry "
          "%d\n",
          about_x, level, e.worst, at.x, at.y, at.z, tank.distance(at), in_edges, e.cells, dry);
      EXPECT_LT(e.worst, 0.02);
      EXPECT_LT(in_edges, 0.05);
      EXPECT_EQ(dry, 0);
    }
}

}  // namespace
}  // namespace aegir
