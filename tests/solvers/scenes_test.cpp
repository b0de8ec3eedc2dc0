// The scenes are what they claim: symmetric systems, the same through channels, rows and ranks.
#include "tests/solvers/scenes.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "tests/solvers/viscosity_system.h"

namespace aegir {
namespace {

void check_symmetry(const PressureScene& scene) {
  const int n = scene.n();
  for (int x = 0; x < n; ++x)
    for (int y = 0; y < n; ++y)
      for (int z = 0; z < n; ++z) {
        const Vec3i cell{x, y, z};
        if (!scene.unknown(cell)) {
          ASSERT_EQ(scene.rhs(cell), 0);
          continue;
        }
        const SceneRow row = scene.row(cell);
        ASSERT_GE(row.sink, 0);
        for (int f = 0; f < 6; ++f) {
          const float w = row.weight[static_cast<std::size_t>(f)];
          ASSERT_TRUE(w == 0 || (w >= 1e-3f && w <= 1));
          if (w == 0) continue;
          Vec3i other = cell;
          other[f / 2] += f % 2 ? 1 : -1;
          ASSERT_TRUE(scene.unknown(other));
          ASSERT_EQ(scene.row(other).weight[static_cast<std::size_t>(f ^ 1)], w);
        }
      }
}

TEST(Scenes, systems_are_symmetric) {
  for (const auto& scene : {sloshing_box(32), hard_box(32), sealed_box(32), dam_column(32)}) check_symmetry(scene);
}

TEST(Scenes, sphere_fractions_close_what_is_inside) {
  const PressureScene scene = sloshing_box(64);
  const Vec3i centre{30, 16, 33};
  EXPECT_LT(scene.distance(centre), 0);
  EXPECT_FALSE(scene.unknown(centre));
  // The open share of a plane through the sphere's centre is that of the plane without a disc of radius 0.15 n.
  double open = 0;
  for (int x = 0; x < 64; ++x)
    for (int y = 0; y < 64; ++y) open += static_cast<double>(scene.area(2, {x, y, 34}));
  const double off = 34 - 0.53 * 64, squared = 9.6 * 9.6 - off * off;
  EXPECT_NEAR(64 * 64 - open, 3.14159265 * squared, 0.01 * 3.14159265 * squared);
}

TEST(Scenes, pools) {
  const SceneCount sloshing = count_scene(sloshing_box(64)), hard = count_scene(hard_box(64));
  EXPECT_EQ(sloshing.pools, 1);
  EXPECT_NEAR(static_cast<double>(sloshing.unknowns), 0.486 * 64 * 64 * 64, 0.01 * 64 * 64 * 64);
  EXPECT_GT(hard.pools, 10);
  EXPECT_EQ(hard.closed_pools, 0);
  EXPECT_EQ(count_scene(sealed_box(64)).closed_pools, 2);
}

TEST(Scenes, channels_hold_the_scene) {
  const auto comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  const PressureScene scene = hard_box(32);
  const auto volume = make_volume(exec, scene, Partition{});
  std::int64_t unknowns = 0;
  for (int b = 0; b < volume->topology().local_count(); ++b)
    for (int c = 0; c < bucket_cells; ++c) {
      const Vec3i cell = volume->topology().key(b).coord * bucket_size + Vec3i{c >> 6, (c >> 3) & 7, c & 7};
      const auto at = static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(c);
      ASSERT_EQ(volume->store("scene_distance").plane<float>(0)[at], scene.distance(cell));
      ASSERT_EQ(volume->store("scene_rhs").plane<float>(0)[at], scene.rhs(cell));
      ASSERT_EQ(volume->store("scene_area").plane<float>(1)[at], scene.area(1, cell));
      unknowns += scene.unknown(cell);
    }
  EXPECT_EQ(unknowns, count_scene(scene).unknowns);
}

TEST(Scenes, the_column_is_pressed_below_and_torn_off_above) {
  const PressureScene scene = dam_column(32);
  EXPECT_GT(scene.rhs({0, 0, 16}), 0);
  EXPECT_LT(scene.rhs({0, 20, 16}), 0);
  EXPECT_TRUE(scene.constrained({0, 20, 16}));
  EXPECT_FALSE(scene.constrained({5, 5, 16}));
  EXPECT_FALSE(scene.constrained({20, 5, 16}));
}

TEST(Scenes, viscosity_is_symmetric_and_the_same_over_ranks) {
  const SystemRows whole = viscosity_system(18);
  std::map<std::pair<std::int64_t, std::int64_t>, double> entries;
  for (std::size_t r = 0; r < whole.rhs.size(); ++r) {
    EXPECT_LE(whole.first[r + 1] - whole.first[r], 15);
    for (auto e = static_cast<std::size_t>(whole.first[r]); e < static_cast<std::size_t>(whole.first[r + 1]); ++e)
      entries[{static_cast<std::int64_t>(r), whole.column[e]}] = whole.value[e];
  }
  for (const auto& [place, value] : entries) ASSERT_EQ(entries.at({place.second, place.first}), value);
  std::vector<double> values;
  std::int64_t rows = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const SystemRows part = viscosity_system(18, rank, 3);
    EXPECT_EQ(part.first_row, rows);
    rows += part.rows();
    values.insert(values.end(), part.value.begin(), part.value.end());
  }
  EXPECT_EQ(rows, whole.global_rows);
  EXPECT_EQ(values, whole.value);
}

}  // namespace
}  // namespace aegir
