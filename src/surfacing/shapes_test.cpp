// Deformations of particles: Jones's laws.
#include "surfacing/shapes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/random.h"
#include "surfacing/eigen.h"
#include "surfacing/neighbour_moments.h"

namespace aegir {
namespace {

constexpr float radius = 1.24f;  // voxels; particles are two voxels apart

/// A slab of jittered particles with a bumpy top, in voxels.
std::vector<Vec3d> slab() {
  std::vector<Vec3d> points;
  std::uint64_t n = 0;
  for (int i = 0; i < 24; ++i)
    for (int j = 0; j < 12; ++j)
      for (int k = 0; k < 24; ++k) {
        const Random r(5, ++n, 0, Purpose::test);
        const Vec3d x = (Vec3d(Vec3i{i, j, k}) + Vec3d{r.uniform(0), r.uniform(1), r.uniform(2)}) * 2.0;
        if (x.y < 18 + 3 * std::sin(0.2 * x.x) * std::cos(0.3 * x.z)) points.push_back(x);
      }
  return points;
}

/// Shapes by input particle.
struct Made {
  ParticleBlocks blocks;
  NearSurface near;
  Shapes shapes;
  std::map<std::uint32_t, std::uint32_t> of;  // input → shape
};

Made make(const std::vector<Vec3d>& points, const SurfaceSettings& settings, double size = 1) {
  Made m;
  const std::vector<float> radii(points.size(), static_cast<float>(radius * size));
  m.blocks = sort_particles(points, radii, {size, 4});
  m.near = find_near_surface(m.blocks);
  m.shapes = make_ellipsoids(m.blocks, m.near, settings);
  for (std::uint32_t k = 0; k < m.shapes.size(); ++k) m.of[m.blocks.source[m.shapes.particle[k]]] = k;
  return m;
}

SurfaceSettings defaults() {
  SurfaceSettings s;
  s.search_radius = 5;
  return s;
}

Mat3d matrix(const Shapes& s, std::uint32_t k) {
  const auto m = [&](int i) { return static_cast<double>(s.m[i][k]); };
  return {{{m(0), m(1), m(2)}, {m(1), m(3), m(4)}, {m(2), m(4), m(5)}}};
}

TEST(Shapes, DeterminantIsOneInLocalMode) {
  const Made m = make(slab(), defaults());
  int checked = 0;
  for (std::uint32_t k = 0; k < m.shapes.size(); ++k)
    if (m.shapes.company[k] == 1) {
      EXPECT_NEAR(determinant(matrix(m.shapes, k)), 1, 2e-5);
      ++checked;
    }
  EXPECT_GT(checked, 1000);
}

TEST(Shapes, StretchesKeepTheirRatioAboveSphericity) {
  SurfaceSettings s = defaults();
  s.sphericity = 0.4;
  const Made m = make(slab(), s);
  for (std::uint32_t k = 0; k < m.shapes.size(); ++k) {
    const auto row = [&](int i) { return lanes::spread(m.shapes.m[i][k]); };
    const EigenRows e = eigen_decomposition({row(0), row(1), row(2), row(3), row(4), row(5)});
    // M = Ĉ⁻²: its eigenvalues are the inverse squares of the stretches.
    EXPECT_GE(std::sqrt(e.value[2][0] / e.value[0][0]), 0.4f * 0.999f);
  }
}

TEST(Shapes, GlobalModeKeepsTheVolumeOfAllTogether) {
  SurfaceSettings s = defaults();
  s.normalisation = 1;
  const Made m = make(slab(), s);
  // k_s is one number for all: det Ĉ = k_s³ det C, and the mean of det C is k_s⁻³.
  double sum = 0, count = 0, least = 1e9, most = 0;
  for (std::uint32_t k = 0; k < m.shapes.size(); ++k) {
    if (m.shapes.company[k] != 1) continue;
    const bool shaped = std::abs(m.shapes.m[1][k]) + std::abs(m.shapes.m[2][k]) > 0;
    if (!shaped) continue;  // spheres below the surface
    const double volume = 1 / std::sqrt(determinant(matrix(m.shapes, k)));
    sum += volume, ++count, least = std::min(least, volume), most = std::max(most, volume);
  }
  EXPECT_NEAR(sum / count, 1, 1e-3);
  EXPECT_LT(least, 0.8);
  EXPECT_GT(most, 1.2);
}

TEST(Shapes, RotatedPointsHaveRotatedShapes) {
  const Vec3d axis = normalized(Vec3d{1, 2, 3});
  const double angle = 0.7, c = std::cos(angle), s = std::sin(angle);
  const Mat3d cross_axis{{{0, -axis.z, axis.y}, {axis.z, 0, -axis.x}, {-axis.y, axis.x, 0}}};
  Mat3d turn = Mat3d::diagonal(c);
  turn += cross_axis * s;
  turn += outer(axis, axis) * (1 - c);
  const std::vector<Vec3d> before = slab();
  std::vector<Vec3d> after;
  // Turned, moved far away and a thousand times smaller.
  for (const Vec3d& x : before) after.push_back((turn * x + Vec3d{31234.5, -877.1, 512.9}) * 1e-3);
  const Made a = make(before, defaults()), b = make(after, defaults(), 1e-3);
  int compared = 0;
  double worst = 0;
  for (const auto& [input, k] : a.of) {
    const auto found = b.of.find(input);
    if (found == b.of.end()) continue;
    const bool shaped = a.shapes.m[1][k] != 0 && b.shapes.m[1][found->second] != 0;
    if (!shaped) continue;  // a sphere below the surface in one of the two lattices
    const Mat3d turned = turn * matrix(a.shapes, k) * transpose(turn), other = matrix(b.shapes, found->second);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) worst = std::max(worst, std::abs(turned(i, j) - other(i, j)) / turned(i, i));
    ++compared;
  }
  EXPECT_GT(compared, 1000);
  // Positions are known to 2e-6 voxels; nearly equal stretches make no difference to M.
  RecordProperty("worst", fmt::format("{:.1e}", worst));
  EXPECT_LT(worst, 2e-5) << worst;
}

TEST(Shapes, NeighboursAreCountedSmoothly) {
  // A second particle comes nearer: the shape changes from a sphere without a jump.
  std::vector<float> sizes;
  for (double d = 7.5; d > 0.5; d -= 0.05) {
    std::vector<Vec3d> points;
    for (int i = 0; i < 8; ++i) points.push_back({d * (i & 1), d * (i >> 1 & 1), d * (i >> 2)});
    const Made m = make(points, defaults());
    sizes.push_back(m.shapes.extent[0][m.of.at(0)]);
  }
  EXPECT_NEAR(sizes.front(), radius, 1e-5);
  for (std::size_t i = 1; i < sizes.size(); ++i) EXPECT_LT(std::abs(sizes[i] - sizes[i - 1]), 0.12) << i;
}

TEST(Shapes, CoincidentParticlesAreAlone) {
  const Made m = make(std::vector<Vec3d>(40, Vec3d{3, 3, 3}), defaults());
  for (std::uint32_t k = 0; k < m.shapes.size(); ++k) {
    EXPECT_EQ(m.shapes.company[k], 0);
    EXPECT_NEAR(m.shapes.extent[0][k], radius, 1e-5);
  }
}

TEST(NeighbourMoments, EqualSumsOverAllPairs) {
  const std::vector<Vec3d> points = slab();
  const std::vector<float> radii(points.size(), radius);
  const ParticleBlocks blocks = sort_particles(points, radii, {1, 4});
  const double reach = 6.2;
  for (std::size_t b = 0; b < blocks.blocks(); b += 3) {
    const NeighbourMoments moments(blocks, b);
    for (std::uint32_t p = blocks.first(b); p < blocks.last(b); p += 41) {
      double w = 0, x = 0, xy = 0;
      for (const Vec3d& other : points) {
        const Vec3d d = other - points[blocks.source[p]];
        const double weight = std::max(0.0, 1 - std::pow(length(d) / reach, 3));
        w += weight, x += weight * d.x, xy += weight * d.x * d.y;
      }
      const auto sums = moments.around(p, static_cast<float>(reach));
      EXPECT_NEAR(sums[NeighbourMoments::w], w, 1e-4 * w);
      EXPECT_NEAR(sums[NeighbourMoments::x], x, 1e-3 * w);
      EXPECT_NEAR(sums[NeighbourMoments::xy], xy, 1e-3 * w);
    }
  }
}

TEST(Eigen, DecomposesSymmetricMatrices) {
  for (std::uint64_t n = 0; n < 200; ++n) {
    const Random r(3, n, 0, Purpose::test);
    SymmetricRows m{};
    lanes::Line* entries[] = {&m.xx, &m.xy, &m.xz, &m.yy, &m.yz, &m.zz};
    for (std::uint32_t e = 0; e < 6; ++e)
      for (std::uint32_t l = 0; l < 8; ++l)
        // Some have equal eigenvalues, some are diagonal, some are zero.
        (*entries[e])[l] = n % 5 == 0 && (e == 1 || e == 2 || e == 4) ? 0.0f
                           : n % 7 == 0                               ? 1.0f
                                                                      : static_cast<float>(r.uniform(e * 8 + l, -1, 1));
    const EigenRows q = eigen_decomposition(m);
    for (int l = 0; l < 8; ++l) {
      EXPECT_GE(q.value[0][l], q.value[1][l]);
      EXPECT_GE(q.value[1][l], q.value[2][l]);
      const float whole[3][3] = {{m.xx[l], m.xy[l], m.xz[l]}, {m.xy[l], m.yy[l], m.yz[l]}, {m.xz[l], m.yz[l], m.zz[l]}};
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
          float sum = 0;
          for (int e = 0; e < 3; ++e) sum += q.value[e][l] * q.axis[e][i][l] * q.axis[e][j][l];
          EXPECT_NEAR(sum, whole[i][j], 3e-6f);
        }
    }
  }
}

}  // namespace
}  // namespace aegir
