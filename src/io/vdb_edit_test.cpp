#include "io/vdb_edit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "io/test_support.h"
#include "io/vdb.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

PointSet some_points(std::size_t count) {
  PointSet points;
  points.position.resize(count);
  auto age = points.add("age", PointAttribute::float32).as<float>();
  auto id = points.add("id", PointAttribute::int64).as<std::int64_t>();
  for (std::size_t i = 0; i < count; ++i) {
    const double t = static_cast<double>(i);
    points.position[i] = {std::fmod(t * 0.37, 3.0) - 1, std::fmod(t * 0.73, 2.0), std::fmod(t * 0.19, 5.0) - 2};
    age[i] = static_cast<float>(i % 10);
    id[i] = static_cast<std::int64_t>(i);
  }
  return points;
}

/// Position and age of every point, by its id.
std::vector<std::pair<Vec3d, float>> by_id(const PointSet& points, std::size_t count) {
  std::vector<std::pair<Vec3d, float>> result(count, {Vec3d{}, -1.0f});
  const auto id = points.find("id")->as<std::int64_t>();
  const auto age = points.find("age")->as<float>();
  for (std::size_t i = 0; i < points.size(); ++i)
    result[static_cast<std::size_t>(id[i])] = {points.position[i], age[i]};
  return result;
}

const std::vector<VdbColumn> position_and_age = {{"P", "vec3s", true, false}, {"age", "float", true, false}};

TEST(VdbEdit, MovesPointsWithEverythingTheyCarry) {
  const TestFolder folder;
  constexpr std::size_t count = 5000;
  const PointSet before = some_points(count);
  ASSERT_TRUE(write_points(folder / "in.vdb", before, 0.1));
  for (const int threads : {1, 7}) {
    ThreadScope scope(threads);
    scope.run([&] {
      auto file = VdbEdit::open(folder / "in.vdb");
      ASSERT_TRUE(file);
      ASSERT_EQ(file->grids().size(), 1u);
      EXPECT_EQ(file->grids()[0].count, static_cast<std::int64_t>(count));
      const auto report = file->edit_points(0, position_and_age, [](const VdbLeaf& leaf) -> Status {
        auto* y = static_cast<float*>(leaf.planes[1]);
        auto* age = static_cast<float*>(leaf.planes[3]);
        for (std::int64_t i = 0; i < leaf.count; ++i) {
          leaf.deleted[i] = age[i] == 3;
          y[i] += age[i], age[i] *= 2;
        }
        return {};
      });
      ASSERT_TRUE(report);
      EXPECT_EQ(report->elements, static_cast<std::int64_t>(count));
      EXPECT_EQ(report->deleted, static_cast<std::int64_t>(count / 10));
      EXPECT_EQ(file->grids()[0].count, static_cast<std::int64_t>(count - count / 10));
      ASSERT_TRUE(file->save(folder / "out.vdb", "note", "text"));
    });
    const auto after = read_points(folder / "out.vdb");
    ASSERT_TRUE(after);
    const auto old_points = by_id(before, count), new_points = by_id(*after, count);
    for (std::size_t i = 0; i < count; ++i) {
      if (old_points[i].second == 3) {
        EXPECT_EQ(new_points[i].second, -1) << "it is gone";
        continue;
      }
      EXPECT_EQ(new_points[i].second, 2 * old_points[i].second);
      // Local positions are floats: 2⁻²⁴ of a voxel of 0.1 m, and the plane's float over a leaf of 0.8 m.
      EXPECT_NEAR(new_points[i].first.y, old_points[i].first.y + static_cast<double>(old_points[i].second), 1e-6);
      EXPECT_NEAR(new_points[i].first.x, old_points[i].first.x, 1e-8);
    }
    EXPECT_EQ(read_vdb_note(folder / "out.vdb", "note"), "text");
    EXPECT_EQ(read_vdb_note(folder / "out.vdb", "other"), "");
  }
}

TEST(VdbEdit, CreatesAttributesAndGroups) {
  const TestFolder folder;
  ASSERT_TRUE(write_points(folder / "in.vdb", some_points(100), 0.1));
  auto file = VdbEdit::open(folder / "in.vdb");
  ASSERT_TRUE(file);
  const std::vector<VdbColumn> columns = {{"heat", "float", true, true},
                                          {"group:wet", "group", true, true},
                                          {"absent", "vec3s", false, true},
                                          {"which", "number", false, false}};
  const auto done = file->edit_points(0, columns, [](const VdbLeaf& leaf) -> Status {
    for (std::int64_t i = 0; i < leaf.count; ++i) {
      const std::int64_t id = static_cast<std::int64_t*>(leaf.planes[5])[i];
      if (static_cast<float*>(leaf.planes[3])[i] != 0) return simulation_error("what is absent is 0");
      static_cast<float*>(leaf.planes[0])[i] = static_cast<float>(id);
      static_cast<std::int32_t*>(leaf.planes[1])[i] = id % 2 == 0;
    }
    return {};
  });
  ASSERT_TRUE(done) << done.error().text();
  const VdbGrid& grid = file->grids()[0];
  ASSERT_TRUE(grid.find("heat"));
  EXPECT_EQ(grid.find("heat")->type, "float");
  EXPECT_TRUE(grid.find("group:wet"));
  EXPECT_FALSE(grid.find("absent"));
  ASSERT_TRUE(file->save(folder / "out.vdb", "", ""));
  const auto points = read_points(folder / "out.vdb");
  ASSERT_TRUE(points);
  for (std::size_t i = 0; i < points->size(); ++i)
    EXPECT_EQ(points->find("heat")->as<float>()[i], static_cast<float>(points->find("id")->as<std::int64_t>()[i]));
}

TEST(VdbEdit, AFailureOfTheKernelIsTheEdits) {
  const TestFolder folder;
  ASSERT_TRUE(write_points(folder / "in.vdb", some_points(1000), 0.1));
  auto file = VdbEdit::open(folder / "in.vdb");
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->edit_points(0, position_and_age, [](const VdbLeaf&) { return Status(simulation_error("no")); }));
  auto again = VdbEdit::open(folder / "in.vdb");
  const auto lost = again->edit_points(0, position_and_age, [](const VdbLeaf& leaf) -> Status {
    static_cast<float*>(leaf.planes[0])[0] = std::numeric_limits<float>::quiet_NaN();
    return {};
  });
  ASSERT_FALSE(lost);
  EXPECT_NE(lost.error().message.find("@P"), std::string::npos);
  EXPECT_FALSE(VdbEdit::open(folder / "missing.vdb"));
}

TEST(VdbEdit, WorksOnActiveVoxels) {
  const TestFolder folder;
  VolumeGrid density;
  density.name = "density";
  density.voxel_size = 0.5;
  density.buckets = {{0, 0, 0}, {2, -1, 0}};
  density.values.resize(1024);
  for (std::size_t i = 0; i < 1024; ++i) density.values[i] = static_cast<float>(i);
  density.active.assign(16, 0);
  density.active[0] = 0b1110, density.active[15] = ~std::uint64_t{0};
  ASSERT_TRUE(write_volumes(folder / "in.vdb", {density}));
  auto file = VdbEdit::open(folder / "in.vdb");
  ASSERT_TRUE(file);
  const std::vector<VdbColumn> columns = {{"density", "float", true, false}, {"twice", "double", true, true}};
  const auto done = file->edit_voxels(columns, [](const VdbLeaf& leaf) -> Status {
    for (std::size_t r = 0; r < leaf.range_count; ++r)
      for (std::int64_t i = leaf.ranges[r].begin; i < leaf.ranges[r].end; ++i) {
        float& d = static_cast<float*>(leaf.planes[0])[i];
        static_cast<double*>(leaf.planes[1])[i] = 2 * static_cast<double>(d);
        d = static_cast<float>(leaf.origin[0]);
      }
    return {};
  });
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->elements, 3 + 64);
  ASSERT_TRUE(file->save(folder / "out.vdb", "", ""));
  const auto volumes = read_volumes(folder / "out.vdb");
  ASSERT_TRUE(volumes);
  ASSERT_EQ(volumes->size(), 2u);
  for (const VolumeGrid& v : *volumes) {
    const std::size_t first = v.buckets[0] == Vec3i{0, 0, 0} ? 0 : 1, second = 1 - first;
    const bool twice = v.name == "twice";
    EXPECT_EQ(v.active[first * 8], 0b1110u);
    EXPECT_EQ(v.plane(first)[0], 0) << "not active";
    EXPECT_EQ(v.plane(first)[2], twice ? 4.0f : 0.25f);
    EXPECT_EQ(v.plane(second)[511], twice ? 2046.0f : 8.25f);
    EXPECT_EQ(v.plane(second)[0], twice ? 0.0f : 512.0f) << "not active";
  }
}

}  // namespace
}  // namespace aegir
