// The system behind viscosity: against an assembled one made cell by cell from the definition, its symmetry, the same
// bits for any number of threads, and what is said about input that no one should give.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "parallel/threads.h"
#include "solvers/linear/direct.h"
#include "solvers/linear/viscosity_level.h"
#include "solvers/linear/viscosity_multigrid.h"
#include "solvers/linear/viscosity_rows.h"
#include "solvers/linear/viscosity_test_system.h"

namespace aegir {
namespace {

constexpr Vec3i unit(int axis) { return {axis == 0, axis == 1, axis == 2}; }

/// The definition in viscosity_coefficients.h, one sample at a time in double.
class Reference {
 public:
  Reference(const TestLiquid& liquid, double stiffness, bool variable)
      : liquid_(liquid), stiffness_(stiffness), variable_(variable) {
    liquid.for_cells([&](const Vec3i& c, std::size_t) {
      for (int a = 0; a < 3; ++a) {
        add({{{a, c + unit(a)}, 1}, {{a, c}, -1}}, normal(a, c), {stretch(a, c + unit(a), c)});
        const int b = (a + 1) % 3;
        add({{{a, c}, 1}, {{a, c - unit(b)}, -1}, {{b, c}, 1}, {{b, c - unit(a)}, -1}}, edge(a, b, c),
            {stretch(a, c, c - unit(b)), stretch(b, c, c - unit(a))});
      }
    });
  }
  /// What the solver should find, by face.
  std::map<std::tuple<int, int, int, int>, double> solve() {
    const auto n = static_cast<int>(faces_.size());
    std::vector<std::map<int, double>> column(faces_.size());
    std::vector<double> b(faces_.size()), x(faces_.size());
    std::vector<double> held(faces_.size());
    for (const auto& s : strains_)
      for (const auto& [i, ci] : s.unknown) {
        b[static_cast<std::size_t>(i)] -= ci * s.constant;
        held[static_cast<std::size_t>(i)] += ci * ci;
        for (const auto& [j, cj] : s.unknown)
          if (j >= i) column[static_cast<std::size_t>(i)][j] += ci * cj;
      }
    for (const auto& [face, i] : faces_) {
      const int a = std::get<0>(face);
      const Vec3i c{std::get<1>(face), std::get<2>(face), std::get<3>(face)};
      const double mass =
          std::max(value("known", c, a) > 0 ? share({c, c - unit(a)}) : 0.0, 1e-7 * held[static_cast<std::size_t>(i)]);
      column[static_cast<std::size_t>(i)][i] += mass;
      b[static_cast<std::size_t>(i)] += mass * value("velocity", c, a);
    }
    std::vector<int> first{0}, row;
    std::vector<double> entry;
    for (const auto& c : column) {
      for (const auto& [r, v] : c) row.push_back(r), entry.push_back(v);
      first.push_back(static_cast<int>(row.size()));
    }
    Result<DirectSolver> solver = DirectSolver::factor(n, first, row, entry);
    EXPECT_TRUE(static_cast<bool>(solver));
    if (solver) solver->solve(b, x);
    std::map<std::tuple<int, int, int, int>, double> result;
    for (const auto& [face, i] : faces_) result[face] = x[static_cast<std::size_t>(i)];
    return result;
  }
  /// Without the least mass that makes all others definite.
  double own_mass(int a, const Vec3i& c) const { return value("known", c, a) > 0 ? share({c, c - unit(a)}) : 0.0; }

 private:
  struct Term {
    int axis;
    Vec3i cell;
  };
  struct Strain {
    std::vector<std::pair<int, double>> unknown;
    double constant = 0;
  };
  double value(const char* name, const Vec3i& c, int plane = 0) const {
    const int b = liquid_.volume->topology().find({{c.x >> 3, c.y >> 3, c.z >> 3}, 0});
    if (b < 0) return liquid_.volume->store(name).info.background[0];
    return static_cast<double>(liquid_.plane(name, plane)[liquid_.at(c)]);
  }
  bool exists(const Vec3i& c) const {
    return liquid_.volume->topology().find({{c.x >> 3, c.y >> 3, c.z >> 3}, 0}) >= 0;
  }
  double node(const Vec3i& c) const { return std::clamp(value("solid", c), -2.0, 4.0); }
  bool open(const Vec3i& c) const {
    double sum = 0;
    for (int n = 0; n < 8; ++n) sum += node(c + Vec3i{n >> 2, (n >> 1) & 1, n & 1});
    return sum >= 0;
  }
  double wall(int a, const Vec3i& c) const {
    const Vec3i b = unit((a + 1) % 3), d = unit((a + 2) % 3);
    return (node(c) + node(c + b) + node(c + d) + node(c + b + d)) / 4;
  }
  bool prescribed(int a, const Vec3i& c) const { return wall(a, c) <= 0.01; }
  double share(const std::vector<Vec3i>& cells) const {
    double sum = 0, all = 0;
    int n = 0;
    for (const Vec3i& c : cells) {
      if (!exists(c)) return 0;
      all += value("distance", c);
      if (open(c)) sum += value("distance", c), ++n;
    }
    return std::clamp(0.5 - (n ? sum / n : all / static_cast<double>(cells.size())), 0.0, 1.0);
  }
  double stretch(int a, const Vec3i& c, const Vec3i& d) const {
    const double in = std::max(wall(a, c), wall(a, d)), out = std::min(wall(a, c), wall(a, d));
    if (out > 0.01 || in <= 0.01) return 1;
    return std::min((in - std::min(out, 0.0)) / in, 20.0);
  }
  double normal(int a, const Vec3i& c) const {
    if (!exists(c) || !exists(c + unit(a))) return 0;
    const double mu = variable_ ? value("viscosity", c) : 1;
    const double volume = open(c) ? share({c}) : std::max(share({c, c - unit(a)}), share({c + unit(a), c}));
    return 2 * stiffness_ * mu * volume;
  }
  double edge(int a, int b, const Vec3i& c) const {
    const std::vector<Vec3i> cells{c, c - unit(a), c - unit(b), c - unit(a) - unit(b)};
    double mu = 1;
    if (variable_) {
      double resistance = 0, n = 0;
      for (const Vec3i& d : cells)
        if (exists(d) && value("viscosity", d) > 0) resistance += 1 / value("viscosity", d), ++n;
      mu = n > 0 ? n / resistance : 0;
    }
    return stiffness_ * mu * share(cells);
  }
  /// One strain sample: differences of two faces each, weight k V, and the stretch of each difference.
  void add(const std::vector<std::pair<Term, int>>& terms, double weight, const std::vector<double>& stretches) {
    if (weight <= 0) return;
    const double root = std::sqrt(weight / *std::max_element(stretches.begin(), stretches.end()));
    Strain strain;
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const auto& [term, sign] = terms[t];
      const double c = root * stretches[t / 2] * sign;
      if (prescribed(term.axis, term.cell)) {
        strain.constant += c * value("solid_velocity", term.cell, term.axis);
        continue;
      }
      const auto [it, fresh] =
          faces_.try_emplace({term.axis, term.cell.x, term.cell.y, term.cell.z}, static_cast<int>(faces_.size()));
      strain.unknown.push_back({it->second, c});
    }
    strains_.push_back(strain);
  }

  const TestLiquid& liquid_;
  double stiffness_;
  bool variable_;
  std::map<std::tuple<int, int, int, int>, int> faces_;
  std::vector<Strain> strains_;
};

double chance(std::uint64_t seed, std::size_t i, std::uint32_t n, double low, double high) {
  return Random(seed, i, 0, Purpose::test).uniform(n, low, high);
}

/// Blobs of liquid among solid balls, velocities by chance, here and there nothing known, solids that move.
void fill_by_chance(TestLiquid& liquid, std::uint64_t seed, bool variable) {
  const auto balls = [&](const Vec3d& x, std::size_t first, int count, double radius) {
    double d = 10;
    for (std::size_t n = first; n < first + static_cast<std::size_t>(count); ++n) {
      const Vec3d at{chance(seed, n, 0, 0, liquid.size.x), chance(seed, n, 1, 0, liquid.size.y),
                     chance(seed, n, 2, 0, liquid.size.z)};
      d = std::min(d, length(x - at) - chance(seed, n, 3, 0.3, 1) * radius);
    }
    return d;
  };
  liquid.fill_distance([&](const Vec3d& x) { return std::clamp(balls(x, 0, 9, 5.5), -1.5, 1.5); });
  liquid.fill_solid([&](const Vec3d& x) { return balls(x, 100, 5, 4); });
  std::size_t n = 0;
  const auto noise = [&](int, const Vec3d&) { return chance(seed, 1000 + n++, 0, -1, 1); };
  liquid.fill_velocity(noise);
  liquid.fill_velocity(noise, "solid_velocity");
  liquid.fill_velocity([&](int, const Vec3d&) { return chance(seed, 1000 + n++, 1, -0.1, 1) > 0 ? 1.0 : 0.0; },
                       "known");
  if (variable)
    liquid.fill_viscosity([&](const Vec3d&) {
      const double kind = chance(seed, 1000 + n++, 2, 0, 1);
      return kind < 0.1 ? 0.0 : std::pow(10, 3 * kind - 1);
    });
}

TEST(ViscositySystem, RandomDomainsAreSolvedAsByCholesky) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    const bool variable = seed % 2 == 0;
    TestLiquid liquid({2, 2, 1}, 0.1);
    fill_by_chance(liquid, seed, variable);
    const double k = std::pow(10.0, static_cast<double>(seed % 3));
    Reference reference(liquid, k, variable);
    const auto expected = reference.solve();
    const SolveReport report =
        liquid.solve({.dt = k * 0.01, .density = 1, .constant_viscosity = 1, .tolerance = 1e-10}, variable);
    EXPECT_TRUE(report.converged) << report.trouble;
    EXPECT_EQ(report.unknowns, static_cast<std::int64_t>(expected.size()));
    double worst = 0;
    for (const auto& [face, u] : expected) {
      const auto& [axis, x, y, z] = face;
      if (reference.own_mass(axis, {x, y, z}) < 0.01) continue;  // may be free to move in several ways
      worst = std::max(worst, std::abs(u - static_cast<double>(liquid.speed(axis, {x, y, z}))));
    }
    EXPECT_LT(worst, 1e-5) << "seed " << seed;
    std::printf("seed %d: %lld unknowns, %d iterations, difference %.1e, %s\n", static_cast<int>(seed),
                static_cast<long long>(report.unknowns), report.iterations, worst,
                std::string(method_name(report.method)).c_str());
  }
}

/// Values by chance at the unknowns.
FaceField<float> noise(const ViscosityLevel& level, std::uint64_t seed) {
  FaceField<float> x(level.topology(), nullptr);
  for (const int b : level.buckets())
    for (int f = 0; f < face_values; ++f)
      if (!level.bucket(b) || level.bucket(b)->inverse[f] > 0)
        x.at(b)[f] = static_cast<float>(chance(seed, static_cast<std::size_t>(b * face_values + f), 0, -1, 1));
  return x;
}

double dot(const ViscosityLevel& level, const FaceField<float>& x, const FaceField<float>& y) {
  double sum = 0;
  for (const int b : level.buckets())
    for (int f = 0; f < face_values; ++f) sum += static_cast<double>(x.at(b)[f]) * static_cast<double>(y.at(b)[f]);
  return sum;
}

FaceField<float> times(const ViscosityLevel& level, const FaceField<float>& x, double* energy = nullptr) {
  FaceField<float> y(level.topology(), nullptr);
  for (const int b : level.buckets()) {
    VelocityTile<float> tile;
    load_velocity(tile, level.topology(), b, x.data());
    const double part = viscosity_product(tile, level.bucket_operator(b), y.at(b));
    if (energy) *energy += part;
  }
  return y;
}

TEST(ViscositySystem, OperatorIsSymmetricAndPositive) {
  for (const bool variable : {false, true}) {
    TestLiquid liquid({3, 2, 2}, 0.1);
    fill_by_chance(liquid, 11, variable);
    if (!variable)
      liquid.fill_distance([](const Vec3d& x) { return std::clamp(length(x - Vec3d(12, 8, 8)) - 18, -1.5, 1.5); });
    const ViscosityLevel level(liquid.exec, liquid.input(7, variable), nullptr);
    const FaceField<float> x = noise(level, 1), y = noise(level, 2);
    double energy = 0;
    const double xay = dot(level, x, times(level, y)), yax = dot(level, y, times(level, x, &energy));
    EXPECT_GT(energy, 0);
    EXPECT_NEAR(energy, dot(level, x, times(level, x)), 1e-5 * energy);
    EXPECT_NEAR(xay, yax, 1e-6 * energy);
  }
}

TEST(ViscositySystem, CycleIsSymmetricAndPositive) {
  TestLiquid liquid(Vec3i(4), 0.1);
  fill_by_chance(liquid, 12, false);
  liquid.fill_distance([](const Vec3d& x) { return std::clamp(length(x - Vec3d(15, 17, 16)) - 13, -1.5, 1.5); });
  const ViscosityInput input = liquid.input(50);
  const ViscosityLevel level(liquid.exec, input, nullptr);
  ViscosityMultigrid cycle(liquid.exec, level, input, nullptr);
  ASSERT_GT(cycle.level_count(), 2);
  const auto apply = [&](const FaceField<float>& r, double& product) {
    FaceField<float> z(level.topology(), nullptr);
    for (const int b : level.buckets()) {
      std::copy_n(r.at(b), face_values, cycle.residual().at(b));
      viscosity_scale(cycle.solution().at(b), r.at(b), cycle.first_factor(), level.bucket_operator(b));
    }
    product = cycle.run(liquid.exec);
    for (const int b : level.buckets()) std::copy_n(cycle.solution().at(b), face_values, z.at(b));
    return z;
  };
  const FaceField<float> x = noise(level, 1), y = noise(level, 2);
  double xx = 0, yy = 0;
  const FaceField<float> mx = apply(x, xx), my = apply(y, yy);
  EXPECT_GT(xx, 0);
  EXPECT_GT(yy, 0);
  EXPECT_NEAR(dot(level, x, mx), xx, 1e-5 * xx);
  EXPECT_NEAR(dot(level, y, mx), dot(level, x, my), 1e-4 * xx);
}

TEST(ViscositySystem, AssembledRowsAreTheOperator) {
  TestLiquid liquid({3, 2, 2}, 0.1);
  fill_by_chance(liquid, 13, false);
  liquid.fill_distance([](const Vec3d& x) { return std::clamp(length(x - Vec3d(12, 8, 8)) - 12, -1.5, 1.5); });
  const ViscosityLevel level(liquid.exec, liquid.input(3), nullptr);
  const ViscosityRows rows(liquid.exec, level);
  const Result<SparseMatrix> matrix = rows.matrix(liquid.exec.comm);
  ASSERT_TRUE(static_cast<bool>(matrix));
  EXPECT_EQ(matrix->global_rows(), level.unknowns());
  const FaceField<float> x = noise(level, 3), y = times(level, x);
  std::vector<double> b(rows.rows()), d(rows.rows(), 0.0);
  rows.for_rows([&](std::size_t row, int bucket, int f) { b[row] = static_cast<double>(y.at(bucket)[f]); });
  ASSERT_TRUE(solve_sparse(liquid.exec, *matrix, b, d, {.tolerance = 1e-9}).converged);
  double worst = 0;
  rows.for_rows([&](std::size_t row, int bucket, int f) {
    worst = std::max(worst, std::abs(d[row] - static_cast<double>(x.at(bucket)[f])));
  });
  EXPECT_LT(worst, 1e-3);
}

TEST(ViscositySystem, AssembledSolverStepsInWhereIterationsRunOut) {
  TestLiquid liquid({2, 2, 2}, 0.1), other({2, 2, 2}, 0.1);
  fill_by_chance(liquid, 14, false), fill_by_chance(other, 14, false);
  const ViscositySettings settings{.dt = 0.1, .density = 1000, .constant_viscosity = 1000, .tolerance = 1e-7};
  ViscositySettings hasty = settings, resigned = settings;
  hasty.max_iterations = resigned.max_iterations = 1, resigned.failsafe_limit = 0;
  const SolveReport given_up = liquid.solve(resigned);
  EXPECT_FALSE(given_up.converged);
  EXPECT_FALSE(given_up.trouble.empty());
  fill_by_chance(liquid, 14, false);
  const SolveReport report = liquid.solve(hasty);
  EXPECT_TRUE(report.converged) << report.trouble;
  EXPECT_NE(report.method, SolveMethod::multigrid_cg);
  EXPECT_FALSE(report.trouble.empty());
  ASSERT_TRUE(other.solve(settings).converged);
  liquid.for_cells([&](const Vec3i&, std::size_t at) {
    if (liquid.plane("distance")[at] > -0.5f) return;  // outside the liquid faces may be free to move
    for (int a = 0; a < 3; ++a)
      if (liquid.plane("known", a)[at] > 0) {
        ASSERT_NEAR(liquid.plane("velocity", a)[at], other.plane("velocity", a)[at], 1e-4);
      }
  });
}

TEST(ViscositySystem, TrueResidualReaches1e6WhateverTheStiffness) {
  for (const double k : {1e-3, 1.0, 1e3, 1e5}) {
    TestLiquid liquid(Vec3i(3), 0.1);
    fill_by_chance(liquid, 15, false);
    const SolveReport report =
        liquid.solve({.dt = 0.01, .density = 1000, .constant_viscosity = k * 1000, .tolerance = 1e-6});
    EXPECT_TRUE(report.converged) << "k " << k << ": " << report.trouble;
    EXPECT_LE(report.residual, 1e-6);
    EXPECT_EQ(report.method, SolveMethod::multigrid_cg) << report.trouble;
    std::printf("k %g: %d iterations\n", k, report.iterations);
  }
}

TEST(ViscositySystem, SameBitsForOneTwoAndSevenThreads) {
  std::vector<float> first;
  BufferPool memory;
  for (const int threads : {1, 2, 7, 2}) {
    TestLiquid liquid({3, 3, 2}, 0.1);
    fill_by_chance(liquid, 16, false);
    ThreadScope scope(threads);
    scope.run([&] {
      EXPECT_TRUE(liquid.solve({.dt = 0.3, .density = 1000, .constant_viscosity = 1000, .memory = &memory}).converged);
    });
    std::vector<float> all;
    liquid.for_cells([&](const Vec3i&, std::size_t at) {
      for (int a = 0; a < 3; ++a) all.push_back(liquid.plane("velocity", a)[at]);
    });
    if (first.empty()) first = all;
    EXPECT_EQ(std::memcmp(first.data(), all.data(), all.size() * sizeof(float)), 0) << threads << " threads";
  }
}

TEST(ViscositySystem, FacesWithoutLiquidAreLeftAlone) {
  TestLiquid liquid(Vec3i(2), 0.1);
  liquid.fill_velocity([](int, const Vec3d&) { return std::nan(""); });
  EXPECT_TRUE(liquid.solve({.dt = 0.1, .constant_viscosity = 10}).converged);  // no liquid at all
  liquid.fill_distance([](const Vec3d& x) { return length(x - Vec3d(8)) - 4; });
  liquid.fill_velocity(
      [](int a, const Vec3d& x) { return length(x - Vec3d(8)) > 7 ? std::nan("") : std::sin(x.x + a); });
  EXPECT_TRUE(liquid.solve({.dt = 0.1, .constant_viscosity = 10}).converged);
  EXPECT_TRUE(std::isnan(liquid.speed(0, {0, 0, 0})));
  EXPECT_TRUE(std::isfinite(liquid.speed(0, {8, 8, 8})));
}

TEST(ViscositySystem, FacesOutOfReachAreForgottenOnRequest) {
  for (const bool variable : {false, true}) {
    TestLiquid liquid(Vec3i(2), 0.1);
    liquid.fill_distance([](const Vec3d& x) { return length(x - Vec3d(8)) - 4; });
    liquid.fill_viscosity([](const Vec3d& x) { return x.x < 8 ? 10.0 : 0.0; });
    EXPECT_TRUE(liquid.solve({.dt = 0.1, .constant_viscosity = 10, .forget_others = true}, variable).converged);
    for (int a = 0; a < 3; ++a) {
      const auto known = [&](const Vec3i& c) { return liquid.plane("known", a)[liquid.at(c)]; };
      EXPECT_EQ(known({8, 8, 8}), 1);
      EXPECT_EQ(known({11, 8, 8}), 1);  // liquid without viscosity, where it varies
      EXPECT_EQ(known({5, 8, 8}), 1);
      EXPECT_EQ(known({14, 8, 8}), 0);
      EXPECT_EQ(known({2, 8, 8}), 0);
      EXPECT_EQ(known({-8, -8, -8}), 0);
    }
  }
}

TEST(ViscositySystem, ZeroViscosityAndAllSolidLeaveTheVelocity) {
  TestLiquid liquid(Vec3i(2), 0.1);
  fill_by_chance(liquid, 17, false);
  const float before = liquid.speed(0, {8, 8, 8});
  const SolveReport inviscid = liquid.solve({.dt = 0.1, .constant_viscosity = 0});
  EXPECT_TRUE(inviscid.converged) << inviscid.trouble;
  EXPECT_EQ(inviscid.unknowns, 0);
  EXPECT_EQ(liquid.speed(0, {8, 8, 8}), before);
  EXPECT_TRUE(liquid.solve({.dt = 0.1}, true).converged);  // a channel that is zero everywhere
  EXPECT_EQ(liquid.speed(0, {8, 8, 8}), before);
  liquid.fill_solid([](const Vec3d&) { return -4.0; });
  EXPECT_TRUE(liquid.solve({.dt = 0.1, .constant_viscosity = 10}).converged);
}

TEST(ViscositySystem, WhatIsNoNumberIsReportedAndTheVelocityLeft) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto expect_trouble = [](const ViscositySettings& settings, const char* channel, int plane, float value,
                                 const char* words) {
    TestLiquid liquid(Vec3i(2), 0.1);
    liquid.fill_distance([](const Vec3d& x) { return length(x - Vec3d(8)) - 6; });
    liquid.fill_solid([](const Vec3d& x) { return x.y - 4; });
    liquid.fill_viscosity([](const Vec3d&) { return 10.0; });
    liquid.fill_velocity([](int a, const Vec3d& x) { return std::sin(x.x + a); });
    const float before = liquid.speed(1, {9, 9, 9});
    if (channel) {
      const Vec3i place = std::strcmp(channel, "solid_velocity") ? Vec3i{8, 8, 8} : Vec3i{8, 3, 8};
      liquid.plane(channel, plane)[liquid.at(place)] = value;
    }
    const SolveReport report = liquid.solve(settings, channel && std::strcmp(channel, "viscosity") == 0);
    EXPECT_FALSE(report.converged);
    EXPECT_NE(report.trouble.find(words), std::string::npos) << report.trouble;
    EXPECT_EQ(liquid.speed(1, {9, 9, 9}), before);
  };
  const ViscositySettings good{.dt = 0.1, .constant_viscosity = 10};
  expect_trouble(good, "velocity", 2, std::nanf(""), "velocity");
  expect_trouble(good, "solid_velocity", 0, std::nanf(""), "solid_velocity");
  expect_trouble(good, "distance", 0, std::nanf(""), "distance");
  expect_trouble(good, "solid", 0, std::numeric_limits<float>::infinity(), "solid");
  expect_trouble(good, "viscosity", 0, -1.0f, "viscosity");
  expect_trouble({.dt = nan, .constant_viscosity = 10}, nullptr, 0, 0, "time step");
  expect_trouble({.dt = -1, .constant_viscosity = 10}, nullptr, 0, 0, "time step");
  expect_trouble({.dt = 0.1, .density = 0, .constant_viscosity = 10}, nullptr, 0, 0, "density");
  expect_trouble({.dt = 0.1, .constant_viscosity = nan}, nullptr, 0, 0, "viscosity");
  expect_trouble({.dt = 0.1, .constant_viscosity = -1}, nullptr, 0, 0, "viscosity");
  expect_trouble({.dt = 0.1, .constant_viscosity = 1e30}, nullptr, 0, 0, "too large");
}

}  // namespace
}  // namespace aegir
