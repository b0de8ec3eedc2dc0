// The collapse of a column of an ideal liquid, without a grid: boundary elements on its surface.
//
//   PotentialDam dam(60);                       // elements of the surface at the start
//   dam.advance(1.5);                           // to T = t sqrt(2 g / a) = 1.5
//   dam.front(0.02);                            // farthest place where the liquid is 0.02 a deep, over a
//
// Potential flow u = ∇φ with ∇²φ = 0. Nodes of the surface move with the liquid (Longuet-Higgins & Cokelet 1976),
//
//   dx/dt = ∇φ,    dφ/dt = |∇φ|²/2 − g y,
//
// and what flows through the surface, q = ∂φ/∂n, is found from φ there by Green's identity
//
//   c φ(x) = ∫ (φ ∂G/∂n − G q) ds,    G = log |x − x'|,
//
// with linear elements, integrated exactly. Images in the floor and in the wall behind make both free of friction.
// Units: the width a is 1 and g = 1/2, so that t is T; the column is 2 high. Its upper corner is rounded by 0.06.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace aegir::test {

class PotentialDam {
 public:
  explicit PotentialDam(int elements) : elements_(elements) {
    Curve c;
    const auto add = [&](double x, double y) { c.x.push_back(x), c.y.push_back(y), c.potential.push_back(0); };
    constexpr double round = 0.06, quarter = 1.5707963267948966;
    for (int i = 0; i < 400; ++i) add((1 - round) * i / 400.0, 2);
    for (int i = 0; i < 100; ++i)
      add(1 - round + round * std::sin(quarter * i / 100.0), 2 - round + round * std::cos(quarter * i / 100.0));
    for (int i = 0; i <= 800; ++i) add(1, (2 - round) * (1 - i / 800.0));
    curve_ = spread(c, elements + 1);
  }

  double time() const { return time_; }
  void advance(double until) {
    while (time_ < until) step(until);
  }
  /// Of the surface that is nearest to the floor's dry part and `height` above it.
  double front(double height) const {
    const auto& [x, y, potential] = curve_;
    std::size_t i = y.size() - 1;
    while (i > 0 && y[i] < height) --i;
    if (i + 1 == y.size()) return x[i];
    return x[i] + (x[i + 1] - x[i]) * (y[i] - height) / (y[i] - y[i + 1]);
  }
  double volume() const {
    double sum = 0;
    for (std::size_t i = 0; i + 1 < curve_.x.size(); ++i)
      sum += (curve_.x[i + 1] - curve_.x[i]) * 0.5 * (curve_.y[i] + curve_.y[i + 1]);
    return sum;
  }
  /// ∫ φ q / 2 ds + ∫ g y dV.
  double energy() const {
    const auto& [x, y, potential] = curve_;
    const Values q = flow_through(curve_);
    double sum = 0;
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
      const double dx = x[i + 1] - x[i];
      sum += 0.25 * std::hypot(dx, y[i + 1] - y[i]) * (potential[i] * q[i] + potential[i + 1] * q[i + 1]);
      sum += gravity * dx * (y[i] * y[i] + y[i] * y[i + 1] + y[i + 1] * y[i + 1]) / 6;
    }
    return sum;
  }

 private:
  using Values = std::vector<double>;
  static constexpr double gravity = 0.5;

  /// The surface from the wall behind to the floor.
  struct Curve {
    Values x, y, potential;
  };

  /// A cubic spline whose first (`flat`) or second derivative is zero at either end.
  class Spline {
   public:
    Spline(const Values& at, const Values& value, bool flat_begin, bool flat_end) : at_(at), value_(value) {
      const std::size_t n = at.size();
      Values below(n), middle(n, 1), above(n), right(n);
      for (std::size_t i = 0; i < n; ++i) {
        const double before = i > 0 ? at[i] - at[i - 1] : 0, after = i + 1 < n ? at[i + 1] - at[i] : 0;
        if ((i == 0 && !flat_begin) || (i + 1 == n && !flat_end)) continue;
        below[i] = before / 6, middle[i] = (before + after) / 3, above[i] = after / 6;
        right[i] = (after > 0 ? (value[i + 1] - value[i]) / after : 0.0) -
                   (before > 0 ? (value[i] - value[i - 1]) / before : 0.0);
      }
      for (std::size_t i = 1; i < n; ++i) {
        const double w = below[i] / middle[i - 1];
        middle[i] -= w * above[i - 1], right[i] -= w * right[i - 1];
      }
      bend_.assign(n, 0);
      for (std::size_t i = n; i-- > 0;) bend_[i] = (right[i] - (i + 1 < n ? above[i] * bend_[i + 1] : 0.0)) / middle[i];
    }
    double value(double t) const {
      const auto [i, h, a, b] = place(t);
      return a * value_[i] + b * value_[i + 1] +
             ((a * a * a - a) * bend_[i] + (b * b * b - b) * bend_[i + 1]) * h * h / 6;
    }
    double slope(double t) const {
      const auto [i, h, a, b] = place(t);
      return (value_[i + 1] - value_[i]) / h + ((3 * b * b - 1) * bend_[i + 1] - (3 * a * a - 1) * bend_[i]) * h / 6;
    }

   private:
    struct Place {
      std::size_t i;
      double h, a, b;
    };
    Place place(double t) const {
      const auto above = std::upper_bound(at_.begin() + 1, at_.end() - 1, t);
      const auto i = static_cast<std::size_t>(above - at_.begin()) - 1;
      const double h = at_[i + 1] - at_[i], a = (at_[i + 1] - t) / h;
      return {i, h, a, 1 - a};
    }
    const Values &at_, &value_;
    Values bend_;
  };

  static Values lengths(const Curve& c) {
    Values s(c.x.size());
    for (std::size_t i = 1; i < s.size(); ++i) s[i] = s[i - 1] + std::hypot(c.x[i] - c.x[i - 1], c.y[i] - c.y[i - 1]);
    return s;
  }

  /// The same curve with `count` nodes, eight times as dense near the floor as far from it.
  static Curve spread(const Curve& c, int count) {
    const Values s = lengths(c);
    const Spline x(s, c.x, false, true), y(s, c.y, true, false), potential(s, c.potential, true, true);
    constexpr int pieces = 4000;
    const double piece = s.back() / pieces;
    Values crowd(pieces + 1);
    for (std::size_t i = 1; i <= pieces; ++i)
      crowd[i] = crowd[i - 1] + 1 / (0.15 + std::min(1.0, s.back() - piece * (static_cast<double>(i) - 0.5)));
    Curve r;
    std::size_t k = 0;
    for (int i = 0; i < count; ++i) {
      const double wanted = crowd.back() * i / (count - 1);
      while (k + 2 < crowd.size() && crowd[k + 1] < wanted) ++k;
      const double t = piece * (static_cast<double>(k) + (wanted - crowd[k]) / (crowd[k + 1] - crowd[k]));
      r.x.push_back(x.value(t)), r.y.push_back(y.value(t)), r.potential.push_back(potential.value(t));
    }
    r.x.front() = 0, r.y.back() = 0;
    return r;
  }

  /// Integrals over a straight element from 0 to `length`, seen from a point `along` it and `above` it: of G and of
  /// ∂G/∂n, with the linear functions that are 1 at its begin and at its end.
  struct Integrals {
    double source[2], dipole[2];
  };
  static Integrals integrate(double length, double along, double above) {
    const double u = -along, v = length - along, b2 = above * above;
    const double ru = std::max(u * u + b2, 1e-300), rv = std::max(v * v + b2, 1e-300);
    const double lu = 0.5 * std::log(ru), lv = 0.5 * std::log(rv), b = std::abs(above);
    const double angle = b < 1e-13 ? 0 : std::atan2(v, b) - std::atan2(u, b);
    const double g0 = v * lv - u * lu - length + b * angle, g1 = 0.5 * (rv * lv - ru * lu) - 0.25 * (rv - ru);
    const double d0 = above > 0 ? -angle : angle, d1 = -above * (lv - lu);
    const double source = (g1 + along * g0) / length, dipole = (d1 + along * d0) / length;
    return {{g0 - source, source}, {d0 - dipole, dipole}};
  }

  static Values flow_through(const Curve& c) {
    const std::size_t n = c.x.size();
    std::vector<Values> source(n, Values(n)), dipole(n, Values(n));
    for (const auto& [mirror_x, mirror_y] : {std::pair{1, 1}, {1, -1}, {-1, 1}, {-1, -1}})
      for (std::size_t e = 0; e + 1 < n; ++e) {
        const double x = mirror_x * c.x[e], y = mirror_y * c.y[e];
        const double dx = mirror_x * c.x[e + 1] - x, dy = mirror_y * c.y[e + 1] - y, length = std::hypot(dx, dy);
        const double tx = dx / length, ty = dy / length, side = mirror_x * mirror_y;
        for (std::size_t i = 0; i < n; ++i) {
          const double rx = c.x[i] - x, ry = c.y[i] - y;
          const Integrals k = integrate(length, rx * tx + ry * ty, side * (ry * tx - rx * ty));
          for (std::size_t end : {0u, 1u}) source[i][e + end] += k.source[end], dipole[i][e + end] += k.dipole[end];
        }
      }
    Values right(n);
    for (std::size_t i = 0; i < n; ++i)  // a constant potential drives nothing
      for (std::size_t j = 0; j < n; ++j) right[i] += dipole[i][j] * (c.potential[j] - c.potential[i]);
    return solve(source, right);
  }

  /// Gauss' elimination with pivots.
  static Values solve(std::vector<Values>& m, Values& r) {
    const std::size_t n = r.size();
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t pivot = k;
      for (std::size_t i = k + 1; i < n; ++i)
        if (std::abs(m[i][k]) > std::abs(m[pivot][k])) pivot = i;
      std::swap(m[pivot], m[k]), std::swap(r[pivot], r[k]);
      for (std::size_t i = k + 1; i < n; ++i) {
        const double w = m[i][k] / m[k][k];
        for (std::size_t j = k + 1; j < n; ++j) m[i][j] -= w * m[k][j];
        r[i] -= w * r[k];
      }
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t j = i + 1; j < n; ++j) r[i] -= m[i][j] * r[j];
      r[i] /= m[i][i];
    }
    return r;
  }

  /// Rates of change of a curve's nodes.
  static Curve rates(const Curve& c) {
    const Values q = flow_through(c), s = lengths(c);
    const Spline x(s, c.x, false, true), y(s, c.y, true, false), potential(s, c.potential, true, true);
    Curve r = c;
    for (std::size_t i = 0; i < s.size(); ++i) {
      const double tx = x.slope(s[i]), ty = y.slope(s[i]), stretch = std::hypot(tx, ty);
      const double along = potential.slope(s[i]) / (stretch * stretch), out = q[i] / stretch;
      r.x[i] = along * tx - out * ty, r.y[i] = along * ty + out * tx;
      if (i == 0) r.x[i] = 0;
      if (i + 1 == s.size()) r.y[i] = 0;
      r.potential[i] = 0.5 * (r.x[i] * r.x[i] + r.y[i] * r.y[i]) - gravity * c.y[i];
    }
    return r;
  }
  static Curve moved(Curve c, const Curve& rate, double dt) {
    for (std::size_t i = 0; i < c.x.size(); ++i)
      c.x[i] += dt * rate.x[i], c.y[i] += dt * rate.y[i], c.potential[i] += dt * rate.potential[i];
    return c;
  }

  /// Takes out what changes its sign from node to node (Longuet-Higgins & Cokelet 1976); mirrored at the ends.
  static void calm(Values& f, double sign_begin, double sign_end) {
    const auto n = static_cast<std::ptrdiff_t>(f.size());
    const auto at = [&](std::ptrdiff_t i) {
      if (i < 0) return sign_begin * f[static_cast<std::size_t>(-i)];
      return i < n ? f[static_cast<std::size_t>(i)] : sign_end * f[static_cast<std::size_t>(2 * n - 2 - i)];
    };
    Values r(f.size());
    for (std::ptrdiff_t i = 0; i < n; ++i)
      r[static_cast<std::size_t>(i)] = (10 * at(i) + 4 * (at(i - 1) + at(i + 1)) - at(i - 2) - at(i + 2)) / 16;
    f = r;
  }

  /// Runge–Kutta of fourth order.
  void step(double until) {
    const Curve a = rates(curve_);
    double dt = std::min(0.02, until - time_);
    for (std::size_t i = 0; i + 1 < a.x.size(); ++i)
      dt = std::min(dt, 0.4 * std::hypot(curve_.x[i + 1] - curve_.x[i], curve_.y[i + 1] - curve_.y[i]) /
                            std::max(1e-9, std::hypot(a.x[i], a.y[i])));
    const Curve b = rates(moved(curve_, a, dt / 2)), c = rates(moved(curve_, b, dt / 2)),
                d = rates(moved(curve_, c, dt));
    Curve next = moved(moved(moved(moved(curve_, a, dt / 6), b, dt / 3), c, dt / 3), d, dt / 6);
    if (++steps_ % 5 == 0) calm(next.x, -1, 1), calm(next.y, 1, -1), calm(next.potential, 1, 1);
    time_ = until - time_ <= dt ? until : time_ + dt;
    next.x.front() = 0, next.y.back() = 0;
    curve_ = spread(next, 1 + static_cast<int>(elements_ * std::max(1.0, lengths(next).back() / 3)));
  }

  int elements_, steps_ = 0;
  double time_ = 0;
  Curve curve_;
};

}  // namespace aegir::test
