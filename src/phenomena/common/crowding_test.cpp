#include "phenomena/common/crowding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "numerics/surface/surface_test_support.h"

namespace aegir {
namespace {

using namespace surface_test;

constexpr CellChannel<float> source{"source"}, shear{"shear"};

/// A liquid without a surface near, whose cells are filled as told; what spreading adds to them.
struct Inside : Liquid {
  Inside() {
    fill(lattice({{-24, -24, -24}, {24, 24, 24}}, 1, 0, [](const Vec3d&) { return true; }));
    volume.declare(cell_fill), volume.declare(cell_room), volume.declare(surface_crowding), volume.declare(source);
    volume.declare(shear);
  }
  /// Σ (fill - 1) source over Σ (fill - 1)², well inside.
  double response(const std::function<double(const Vec3d&)>& filled, const Spreading& how = {.rate = 1},
                  double sheared = 0) {
    for_each_bucket(
        exec, "set", volume.topology(),
        [&](const Bucket& b, auto& f, auto& room, auto& phi, auto& crowd, auto& s, auto& t) {
          for (int c = 0; c < bucket_cells; ++c) {
            f[c] = static_cast<float>(filled(b.origin() + Vec3d(c >> 6, (c >> 3) & 7, c & 7)));
            room[c] = 1, phi[c] = -4, crowd[c] = 0, s[c] = 0, t[c] = static_cast<float>(sheared);
          }
        },
        volume.overwrite(cell_fill), volume.overwrite(cell_room), volume.overwrite(distance),
        volume.overwrite(surface_crowding), volume.overwrite(source), volume.overwrite(shear));
    spread_crowds(exec, volume, distance, source, how);
    double along = 0, size = 0;
    for_each_bucket(
        exec, "compare", volume.topology(),
        [&](const Bucket& b, auto& f, auto& s) {
          const Vec3d low = b.origin();
          if (std::max({std::abs(low.x + 4), std::abs(low.y + 4), std::abs(low.z + 4)}) > 12) return;
          for (int c = 0; c < bucket_cells; ++c) {
            const auto excess = static_cast<double>(f[c]) - 1;
            const auto added = static_cast<double>(s[c]);
            const std::lock_guard lock(mutex_);
            along += excess * added, size += excess * excess;
          }
        },
        volume.read(cell_fill), volume.read(source));
    return along / size;
  }

 private:
  std::mutex mutex_;
};

// A mean over 27 cells of equal weight has the wrong sign for waves shorter than three cells: crowds were taken for
// gaps, and a calm pool gathered its particles into clumps within seconds.
TEST(Crowding, crowds_of_any_size_are_spread_and_never_fed) {
  Inside liquid;
  for (const double cells : {2.0, 2.2, 2.5, 2.9, 3.5, 5.0, 8.0, 20.0})
    for (const Vec3d& direction : {Vec3d(1, 0, 0), Vec3d(1, 1, 0), Vec3d(1, 1, 1), Vec3d(0, 1, 0.5)}) {
      const double gain =
          liquid.response([&](const Vec3d& x) { return 1 + std::cos(2 * M_PI / cells * dot(direction, x)); });
      EXPECT_GE(gain, -1e-6) << "crowds " << cells << " cells apart along " << direction.x << " " << direction.y << " "
                             << direction.z;
      if (cells >= 8 && length(direction) < 1.2) {
        EXPECT_GT(gain, 0.2) << cells;
      }
    }
}

// Grains pass one another only where sand is sheared. Crowds that were spread at rest stirred heaps until they flowed.
TEST(Crowding, sand_spreads_crowds_no_faster_than_it_is_sheared) {
  Inside sand;
  const auto waves = [](const Vec3d& x) { return 1 + 0.3 * std::cos(2 * M_PI / 12 * x.y); };
  const double most = sand.response(waves);
  ASSERT_GT(most, 0.2);
  Spreading how{.rate = 1, .sheared = &shear};
  EXPECT_EQ(sand.response(waves, how, 0), 0);
  EXPECT_NEAR(sand.response(waves, how, 0.1), 0.24 * most, 1e-4);
  EXPECT_NEAR(sand.response(waves, how, 0.2), 0.48 * most, 1e-4);
  EXPECT_NEAR(sand.response(waves, how, 9), most, 1e-6);
  // What all of it has lost or gained is undone at rest as well: nothing passes anything for that.
  how.mean = 1.1;
  const auto denser = [](const Vec3d&) { return 1.1; };
  EXPECT_GT(sand.response(denser, how, 0), 1);
  EXPECT_NEAR(sand.response(denser, how, 0), sand.response(denser, {.rate = 1, .mean = 1.1}), 1e-6);
}

TEST(Crowding, an_even_liquid_is_left_alone) {
  Inside liquid;
  // Within the dead band, with some pattern so that the response has a size.
  EXPECT_EQ(liquid.response([](const Vec3d& x) { return 1 + 0.01 * std::cos(x.x); }), 0);
}

// A wall whose surface leaves a tenth of its last layer of cells free: no particle's mean tells much there. Above y = 8
// is air, the two layers below are near it, and at z >= 8 a sheet lies on the wall. Cells are full where z is odd.
TEST(Crowding, pockets_between_a_solid_and_the_inside_are_no_air) {
  constexpr FaceChannel<float> open{"open", {}, 1.0f};
  Inside liquid;
  liquid.volume.declare(open);
  const auto corner_of = [](const Bucket& b) { return b.topology.key(b.index).coord * bucket_size; };
  std::vector<int> all;
  for_each_bucket(
      liquid.exec, "set", liquid.volume.topology(),
      [&](const Bucket& b, auto& fill, auto& room, auto& phi, auto& area) {
        for (int c = 0; c < bucket_cells; ++c) {
          const Vec3i x = corner_of(b) + Vec3i{c >> 6, c >> 3 & 7, c & 7};
          fill[c] = x.z & 1 ? 0.09f : 0.01f;
          room[c] = x.x < 0 ? 0.0f : x.x == 0 ? 0.1f : 1.0f;
          phi[c] = x.x < 1 ? 4.0f : static_cast<float>(std::clamp(0.3 * x.y - 2.2, -1.5, 4.0));
          area[0][c] = x.x < 1 || (x.x == 1 && x.z >= 8) ? 0.0f : 1.0f;
          area[1][c] = area[2][c] = room[c];
        }
      },
      liquid.volume.overwrite(cell_fill), liquid.volume.overwrite(cell_room), liquid.volume.overwrite(distance),
      liquid.volume.overwrite(open));
  for (int b = 0; b < liquid.volume.topology().local_count(); ++b) all.push_back(b);
  close_pockets(liquid.exec, liquid.volume, distance, open, all);
  std::mutex mutex;
  int closed = 0, air = 0;
  for_each_bucket(
      liquid.exec, "look", liquid.volume.topology(),
      [&](const Bucket& b, auto& phi) {
        for (int c = 0; c < bucket_cells; ++c) {
          const Vec3i x = corner_of(b) + Vec3i{c >> 6, c >> 3 & 7, c & 7};
          if (x.x > 0) continue;
          const bool pocket = x.x == 0 && x.y <= (x.z & 1 ? 7 : 5) && x.z < 8;
          const std::lock_guard lock(mutex);
          EXPECT_EQ(phi[c], pocket ? -0.5f : 4.0f) << x.x << ' ' << x.y << ' ' << x.z;
          (pocket ? closed : air) += 1;
        }
      },
      liquid.volume.read(distance));
  EXPECT_GT(closed, 500);
  EXPECT_GT(air, 500);
}

}  // namespace
}  // namespace aegir
