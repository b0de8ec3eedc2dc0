#include "phenomena/common/derived_channels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "numerics/surface/surface_test_support.h"
#include "phenomena/common/crowding.h"
#include "phenomena/common/face_attributes.h"
#include "phenomena/common/hybrid_channels.h"

namespace aegir {
namespace {

using surface_test::Liquid;

constexpr FlowChannels flow{grid::velocity, grid::open_area, grid::surface_distance, cell_room, grid::pressure};

/// Eight particles per cell in a box of whole cells.
std::vector<Vec3d> lattice(const Vec3d& low, const Vec3d& high) {
  std::vector<Vec3d> points;
  for (double x = low.x + 0.25; x < high.x; x += 0.5)
    for (double y = low.y + 0.25; y < high.y; y += 0.5)
      for (double z = low.z + 0.25; z < high.z; z += 0.5) points.push_back({x, y, z});
  return points;
}

/// How thick the liquid is at a face across y whose lower cell corner is at a whole place.
float thickness_at(Liquid& liquid, const Vec3i& face) {
  FaceAttributes attributes;
  liquid.volume.declare(cell_fill), liquid.volume.declare(cell_room);
  attributes.want(thickness_attribute, liquid.particles, liquid.volume);
  count_particles(liquid.exec, CellCounts(liquid.exec, liquid.particles, nullptr), liquid.volume, 8);
  measure_room(liquid.exec, liquid.volume, surface_test::solid);
  attributes.update(liquid.exec, liquid.particles, liquid.volume);
  const FaceAttributes::Reader reader(attributes, liquid.exec, liquid.volume);
  const Topology& topology = liquid.volume.topology();
  for (int b = 0; b < topology.local_count(); ++b) {
    const Vec3i in = face - Vec3i(topology.key(b).coord) * bucket_size;
    if (std::min({in.x, in.y, in.z}) < 0 || std::max({in.x, in.y, in.z}) >= bucket_size) continue;
    FaceAttributes::Block block(reader, {topology, b});
    const int cell = cell_offset(in.x, in.y, in.z), first = cell / 256 * 256;
    block.fill(1, first, 256);
    return block.at(thickness_attribute)[cell - first];
  }
  return -1;
}

TEST(Thickness, OfASheetIsItsOwn) {
  for (const int cells : {1, 2, 6}) {
    Liquid liquid;
    liquid.fill(lattice({-12, 0, -12}, {12, static_cast<double>(cells), 12}));
    liquid.set_solid([](const Vec3d&) { return 10.0; });
    for (const int y : {0, 1, cells})  // also at its surface
      EXPECT_NEAR(thickness_at(liquid, {1, y, 2}), std::min(cells, 3), 1e-5) << cells << " cells, at " << y;
  }
}

TEST(Thickness, OfAFilmOnASolidIsHalfAsMuchAgain) {
  Liquid liquid;
  liquid.fill(lattice({-12, 0, -12}, {12, 1, 12}));
  liquid.set_solid([](const Vec3d& x) { return x.y; });
  EXPECT_NEAR(thickness_at(liquid, {1, 1, 2}), 1.5, 1e-5);  // of two open layers one is full: 3 · 1/2
}

TEST(Thickness, OfADropIsNextToNothing) {
  Liquid liquid;
  liquid.fill({{3.3, 3.4, 3.6}});
  liquid.set_solid([](const Vec3d&) { return 10.0; });
  EXPECT_NEAR(thickness_at(liquid, {3, 3, 3}), 3.0 / 8 / 27, 1e-6);
}

/// Neighbours of all particles, in their order.
std::vector<std::int32_t> neighbours_of(Liquid& liquid, const WantedOf& wanted) {
  liquid.particles.declare(particle::neighbours);
  derive_neighbours(liquid.exec, liquid.particles, wanted);
  std::vector<std::int32_t> all(liquid.particles.size());
  for_each_bucket(
      liquid.exec, "collect", liquid.particles.topology(),
      [&](const Bucket& b, auto& n) {
        for (std::size_t i = 0; i < n.count; ++i) all[liquid.particles.first(b.index) + i] = n[i];
      },
      liquid.particles.read(particle::neighbours));
  return all;
}

TEST(Neighbours, AreCountedForThoseWhoAreWanted) {
  Liquid liquid;
  liquid.fill(lattice({-9, -3, -9}, {9, 2, 9}));
  const std::vector<std::int32_t> all = neighbours_of(liquid, {});
  const std::vector<std::int32_t> some = neighbours_of(liquid, [](int bucket, std::span<std::uint8_t> wanted) {
    if (bucket % 3 == 0) return;
    for (std::size_t i = 0; i < wanted.size(); i += 7) wanted[i] = 1;
  });
  ASSERT_EQ(all.size(), some.size());
  std::size_t counted = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(some[i] == all[i] || some[i] == not_counted) << i;
    counted += some[i] == all[i];
  }
  EXPECT_EQ(*std::max_element(all.begin(), all.end()), 32);  // of a lattice half a cell wide, within one cell
  EXPECT_GT(counted, all.size() / 16);
  EXPECT_LT(counted, all.size() / 7);
}

/// A liquid that fills the buckets around the origin, on which velocities and pressures are set by hand.
struct Full : Liquid {
  Full() {
    fill(lattice({-4, -4, -4}, {4, 4, 4}));
    volume.declare(grid::velocity), volume.declare(grid::open_area), volume.declare(grid::surface_distance);
    volume.declare(grid::pressure), volume.declare(cell_room);
    volume.declare(grid::vorticity), volume.declare(grid::pressure_gradient);
    for_each_bucket(
        exec, "full", volume.topology(),
        [](const Bucket&, auto& phi, auto& room, auto& area) {
          std::fill_n(phi.values, bucket_cells, -1.0f), std::fill_n(room.values, bucket_cells, 1.0f);
          for (auto& plane : area) std::fill_n(plane.values, bucket_cells, 1.0f);
        },
        volume.overwrite(grid::surface_distance), volume.overwrite(cell_room), volume.overwrite(grid::open_area));
  }
  /// Calls fn(place of the lower corner, number in the bucket, bucket) for every cell.
  template <class Fn>
  void for_each(Fn&& fn) {
    for (int b = 0; b < volume.topology().local_count(); ++b)
      for (int c = 0; c < bucket_cells; ++c)
        fn(volume.topology().origin(b) + Vec3d(c >> 6, c >> 3 & 7, c & 7), b * bucket_cells + c);
  }
  float* plane(const char* channel, int p) { return volume.store(channel).plane<float>(p); }
};

TEST(Vorticity, DoesNotLookThroughSheets) {
  // Two liquids slide past each other along y, on either side of x = 2.
  for (const bool sheet : {false, true}) {
    Full full;
    full.for_each([&](const Vec3d& x, int at) {
      full.plane("vel", 1)[at] = x.x >= 2 ? 1.0f : -1.0f;
      if (sheet && x.x == 2) full.plane("open_area", 0)[at] = 0;
    });
    derive_vorticity(full.exec, full.volume, flow);
    float most = 0;
    full.for_each([&](const Vec3d& x, int at) {
      if (std::abs(x.x) < 7 && std::abs(x.y) < 7 && std::abs(x.z) < 7)
        most = std::max(most, std::abs(full.plane("vorticity", 2)[at]));
    });
    EXPECT_EQ(most, sheet ? 0.0f : 1.0f);  // Δv / 2Δx on both sides of the jump
  }
}

TEST(PressureGradient, IsOneSidedBesideClosedFaces) {
  // p = 3 y in the channel's units, with a jump at a sheet at y = 1.
  Full full;
  double* p = full.volume.store("pressure").plane<double>(0);
  full.for_each([&](const Vec3d& x, int at) {
    p[at] = 3 * (x.y + 0.5) + (x.y >= 1 ? 50 : 0);
    if (x.y == 1) full.plane("open_area", 1)[at] = 0;
  });
  derive_pressure_gradient(full.exec, full.volume, flow, 2.0);
  full.for_each([&](const Vec3d& x, int at) {
    if (std::max({std::abs(x.x), std::abs(x.y), std::abs(x.z)}) > 6) return;
    ASSERT_FLOAT_EQ(full.plane("pressure_gradient", 1)[at], 6.0f) << x.y;
    ASSERT_EQ(full.plane("pressure_gradient", 0)[at], 0.0f);
  });
}

TEST(PressureGradient, EndsAtTheSurface) {
  // Zero pressure at y = 0.7: the gradient in the last cell below is the same as deeper.
  Full full;
  double* p = full.volume.store("pressure").plane<double>(0);
  full.for_each([&](const Vec3d& x, int at) {
    const double depth = 0.7 - (x.y + 0.5);
    full.plane("surface_distance", 0)[at] = static_cast<float>(-depth);
    p[at] = depth > 0 ? 3 * depth : 0;
  });
  derive_pressure_gradient(full.exec, full.volume, flow, 1.0);
  full.for_each([&](const Vec3d& x, int at) {
    if (std::max({std::abs(x.x), std::abs(x.y), std::abs(x.z)}) > 6) return;
    ASSERT_NEAR(full.plane("pressure_gradient", 1)[at], x.y < 1 && x.y + 0.5 < 0.7 ? -3.0f : 0.0f, 1e-4f) << x.y;
  });
}

}  // namespace
}  // namespace aegir
