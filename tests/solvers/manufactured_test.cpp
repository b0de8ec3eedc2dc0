// The order of accuracy of the pressure: solutions chosen beforehand, on domains that no grid line follows.
//
// p is zero on the free surface and has no derivative across solids, so that neither enters the right-hand side, which
// is minus the Laplacian of p over the open part of each cell:
//
//   sum over faces of w (p_i - p_j) + s p_i = - h² (1 / h³) integral of lap p over the cell without the solid
//
// Orders are those between the coarsest and the finest of three grids: between two of them they depend on how the grids
// happen to cut the surfaces.
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

#include "tests/solvers/box_system.h"

namespace aegir {
namespace {

constexpr double pi = std::numbers::pi;

/// A solution on part of the unit cube.
struct Manufactured {
  using Function = std::function<double(const Vec3d&)>;
  std::vector<Function> walls;  ///< distances to solids, positive outside
  Function surface;             ///< distance to the free surface, negative in the liquid
  Function pressure, laplacian;
  Function contact;  ///< distance to where a solid meets the free surface
};

/// A flat convex polygon.
using Polygon = std::vector<Vec3d>;

/// What is left of a polygon where a function, taken as linear along its edges, is positive.
Polygon clipped(const Polygon& polygon, const Manufactured::Function& function) {
  Polygon result;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Vec3d &p = polygon[i], &q = polygon[(i + 1) % polygon.size()];
    const double a = function(p), b = function(q);
    if (a >= 0) result.push_back(p);
    if ((a >= 0) != (b >= 0)) result.push_back(p + (q - p) * (a / (a - b)));
  }
  return result;
}

/// Area of the open part of a square of side h, and its centroid.
struct OpenSquare {
  double area = 0;
  Vec3d centroid;
};

OpenSquare open_square(const Manufactured& m, const Vec3d& centre, int axis, double h) {
  double least = std::numeric_limits<double>::max();
  for (const auto& wall : m.walls) least = std::min(least, wall(centre));
  if (least > h) return {h * h, centre};
  if (least < -h) return {0, centre};
  Polygon polygon;
  for (int corner = 0; corner < 4; ++corner) {
    Vec3d p = centre;
    p[(axis + 1) % 3] += (corner == 1 || corner == 2) ? h / 2 : -h / 2;
    p[(axis + 2) % 3] += corner >= 2 ? h / 2 : -h / 2;
    polygon.push_back(p);
  }
  for (const auto& wall : m.walls) polygon = clipped(polygon, wall);
  OpenSquare open;
  for (std::size_t i = 2; i < polygon.size(); ++i) {
    const double area = 0.5 * length(cross(polygon[i - 1] - polygon[0], polygon[i] - polygon[0]));
    open.area += area;
    open.centroid += (polygon[0] + polygon[i - 1] + polygon[i]) * (area / 3);
  }
  if (open.area > 0) open.centroid = open.centroid / open.area;
  return open;
}

/// Integral of lap p over the open part of a cell: slice by slice, each with the value at its centroid.
double source(const Manufactured& m, const Vec3d& centre, double h) {
  double least = std::numeric_limits<double>::max();
  for (const auto& wall : m.walls) least = std::min(least, wall(centre));
  if (least > h) return m.laplacian(centre) * h * h * h;
  constexpr int slices = 16;
  double sum = 0;
  for (int s = 0; s < slices; ++s) {
    const OpenSquare open = open_square(m, centre + Vec3d{0, 0, ((s + 0.5) / slices - 0.5) * h}, 2, h);
    if (open.area > 0) sum += m.laplacian(open.centroid) * open.area * h / slices;
  }
  return sum;
}

Vec3d centre_of(const Vec3i& cell, double h) { return (Vec3d(cell) + Vec3d(0.5)) * h; }

BoxSystem discretise(const Manufactured& m, int n) {
  BoxSystem system{Vec3i(n)};
  const double h = 1.0 / n;
  for (std::size_t i = 0; i < system.rhs.values.size(); ++i) {
    const Vec3i cell = system.rhs.cell(i);
    const Vec3d centre = centre_of(cell, h);
    const double distance = m.surface(centre);
    system.distance.values[i] = static_cast<float>(distance / h);
    for (int a = 0; a < 3; ++a) {
      Vec3d face = centre;
      face[a] -= h / 2;
      system.area[a].values[i] =
          distance < 2 * h ? static_cast<float>(open_square(m, face, a, h).area / (h * h)) : 0.0f;
    }
    if (distance < 0) system.rhs.values[i] = static_cast<float>(-source(m, centre, h) / h);
  }
  return system;
}

/// Errors of the cell-centred values.
struct Errors {
  double l2 = 0, most = 0, most_at_contact = 0;
};

Errors measure(const Manufactured& m, int n) {
  constexpr double contact_reach = 0.08;
  const BoxSystem system = discretise(m, n);
  const Solution solution = solve(system, {.tolerance = 1e-8});
  EXPECT_TRUE(solution.report.converged) << solution.report.trouble;
  Errors errors;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < system.rhs.values.size(); ++i) {
    const Vec3i cell = system.rhs.cell(i);
    if (!system.unknown(cell)) continue;
    const Vec3d centre = centre_of(cell, 1.0 / n);
    const double error = std::abs(solution.pressure.values[i] - m.pressure(centre));
    double& most = m.contact && m.contact(centre) < contact_reach ? errors.most_at_contact : errors.most;
    most = std::max(most, error);
    errors.l2 += error * error;
    ++count;
  }
  errors.l2 = std::sqrt(errors.l2 / static_cast<double>(count));
  EXPECT_EQ(count, solution.report.unknowns);
  std::printf("n = %3d: %8lld unknowns, %2d iterations, error L2 %.3e, max %.3e, at contact lines %.3e\n", n,
              static_cast<long long>(count), solution.report.iterations, errors.l2, errors.most,
              errors.most_at_contact);
  return errors;
}

/// Guards the test: the Laplacian belongs to the pressure, which is zero on the surface and flat across walls.
void check_functions(const Manufactured& m) {
  constexpr double e = 1e-3;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const Random random(1, i, 0, Purpose::test);
    const Vec3d x{random.uniform(0), random.uniform(1), random.uniform(2)};
    bool open = m.surface(x) < -2 * e;
    for (const auto& wall : m.walls) open &= wall(x) > 2 * e;
    if (!open) continue;
    double sum = -6 * m.pressure(x);
    for (int a = 0; a < 3; ++a)
      sum += m.pressure(x + Vec3d(step_along(a)) * e) + m.pressure(x - Vec3d(step_along(a)) * e);
    EXPECT_NEAR(sum / (e * e), m.laplacian(x), 2e-2);
  }
}

void expect_orders(const Manufactured& m) {
  check_functions(m);
  const Errors coarse = measure(m, 32);
  measure(m, 64);
  const Errors fine = measure(m, 128);
  const auto order = [](double a, double b) { return std::log(a / b) / std::log(4.0); };
  const double l2 = order(coarse.l2, fine.l2), most = order(coarse.most, fine.most);
  std::printf("order L2 %.2f, max %.2f", l2, most);
  EXPECT_GE(l2, 1.8);
  EXPECT_GE(most, 1.5);
  if (m.contact) {
    const double contact = order(coarse.most_at_contact, fine.most_at_contact);
    std::printf(", at contact lines %.2f", contact);
    EXPECT_GE(contact, 0.9);
  }
  std::printf("\n");
}

/// A ball of liquid in air: p = (R² - r²) exp(x - c) cos(2 (y - c)).
TEST(ManufacturedPressure, BallOfLiquidIsSecondOrder) {
  const Vec3d c{0.51, 0.49, 0.505};
  constexpr double radius = 0.37;
  Manufactured m;
  m.surface = [=](const Vec3d& x) { return length(x - c) - radius; };
  const auto factor = [=](const Vec3d& x) { return std::exp(x.x - c.x) * std::cos(2 * (x.y - c.y)); };
  m.pressure = [=](const Vec3d& x) { return (radius * radius - dot(x - c, x - c)) * factor(x); };
  m.laplacian = [=](const Vec3d& x) {
    const Vec3d d = x - c;
    const Vec3d gradient{factor(x), -2 * std::exp(d.x) * std::sin(2 * d.y), 0};
    return -6 * factor(x) - 4 * dot(d, gradient) + (radius * radius - dot(d, d)) * (1 - 4) * factor(x);
  };
  expect_orders(m);
}

/// A shell of liquid between a solid ball and air: p = cos(k (r - R1)) (1 + 2 x y / r²), k (R2 - R1) = pi / 2.
TEST(ManufacturedPressure, ShellAroundSolidBallIsSecondOrder) {
  const Vec3d c{0.49, 0.505, 0.51};
  constexpr double inner = 0.17, outer = 0.41, k = pi / 2 / (outer - inner);
  Manufactured m;
  m.walls = {[=](const Vec3d& x) { return length(x - c) - inner; }};
  m.surface = [=](const Vec3d& x) { return length(x - c) - outer; };
  const auto harmonic = [=](const Vec3d& x) { return 2 * (x.x - c.x) * (x.y - c.y) / dot(x - c, x - c); };
  m.pressure = [=](const Vec3d& x) { return std::cos(k * (length(x - c) - inner)) * (1 + harmonic(x)); };
  // A spherical harmonic of degree two has the eigenvalue -6 / r².
  m.laplacian = [=](const Vec3d& x) {
    const double r = length(x - c), f = std::cos(k * (r - inner)), df = -k * std::sin(k * (r - inner));
    return (-k * k * f + 2 * df / r) * (1 + harmonic(x)) - 6 * f / (r * r) * harmonic(x);
  };
  expect_orders(m);
}

/// A tank that stands askew, with four walls, a floor and a free surface across it; (s, t, q) are its own axes:
/// p = cos(pi/2 (q + c) / (c + d)) (1 + cos(pi (s + a) / a) cos(pi (t + b) / b) / 2).
TEST(ManufacturedPressure, TiltedTankHasItsOrderAlsoAtContactLines) {
  constexpr double a = 0.27, b = 0.23, floor = 0.25, top = 0.12, k = pi / 2 / (floor + top);
  const Vec3d axis_q = normalized(Vec3d{0.31, 0.88, -0.22}), axis_s = normalized(cross(axis_q, Vec3d{0.2, 0.1, 1})),
              axis_t = cross(axis_q, axis_s), c{0.5, 0.5, 0.5};
  const auto s = [=](const Vec3d& x) { return dot(x - c, axis_s); };
  const auto t = [=](const Vec3d& x) { return dot(x - c, axis_t); };
  const auto q = [=](const Vec3d& x) { return dot(x - c, axis_q); };
  Manufactured m;
  m.walls = {[=](const Vec3d& x) { return a - s(x); }, [=](const Vec3d& x) { return a + s(x); },
             [=](const Vec3d& x) { return b - t(x); }, [=](const Vec3d& x) { return b + t(x); },
             [=](const Vec3d& x) { return floor + q(x); }};
  m.surface = [=](const Vec3d& x) { return q(x) - top; };
  const auto waves = [=](const Vec3d& x) {
    return 0.5 * std::cos(pi * (s(x) + a) / a) * std::cos(pi * (t(x) + b) / b);
  };
  m.pressure = [=](const Vec3d& x) { return std::cos(k * (q(x) + floor)) * (1 + waves(x)); };
  m.laplacian = [=](const Vec3d& x) {
    return -std::cos(k * (q(x) + floor)) * (k * k * (1 + waves(x)) + pi * pi * (1 / (a * a) + 1 / (b * b)) * waves(x));
  };
  m.contact = [=](const Vec3d& x) {
    const double side = std::min(a - std::abs(s(x)), b - std::abs(t(x)));
    return std::hypot(side, q(x) - top);
  };
  expect_orders(m);
}

}  // namespace
}  // namespace aegir
