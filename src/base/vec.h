// Small fixed vectors and matrices.
//
//   Vec3f velocity{0, -1, 0};
//   float speed = length(velocity);
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace aegir {

template <class T>
struct Vec3 {
  T x{}, y{}, z{};

  constexpr Vec3() = default;
  constexpr Vec3(T x_, T y_, T z_) : x(x_), y(y_), z(z_) {}
  constexpr explicit Vec3(T s) : x(s), y(s), z(s) {}
  template <class U>
  constexpr explicit Vec3(const Vec3<U>& o) : x(static_cast<T>(o.x)), y(static_cast<T>(o.y)), z(static_cast<T>(o.z)) {}

  constexpr T& operator[](int axis) { return axis == 0 ? x : axis == 1 ? y : z; }
  constexpr const T& operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
  constexpr Vec3& operator+=(const Vec3& o) {
    x += o.x, y += o.y, z += o.z;
    return *this;
  }
  constexpr Vec3& operator-=(const Vec3& o) {
    x -= o.x, y -= o.y, z -= o.z;
    return *this;
  }
  constexpr Vec3& operator*=(T s) {
    x *= s, y *= s, z *= s;
    return *this;
  }
  constexpr bool operator==(const Vec3&) const = default;
};

template <class T>
constexpr Vec3<T> operator+(Vec3<T> a, const Vec3<T>& b) {
  return a += b;
}
template <class T>
constexpr Vec3<T> operator-(Vec3<T> a, const Vec3<T>& b) {
  return a -= b;
}
template <class T>
constexpr Vec3<T> operator-(const Vec3<T>& a) {
  return {-a.x, -a.y, -a.z};
}
template <class T>
constexpr Vec3<T> operator*(Vec3<T> a, std::type_identity_t<T> s) {
  return a *= s;
}
template <class T>
constexpr Vec3<T> operator*(std::type_identity_t<T> s, Vec3<T> a) {
  return a *= s;
}
template <class T>
constexpr Vec3<T> operator/(const Vec3<T>& a, std::type_identity_t<T> s) {
  return {a.x / s, a.y / s, a.z / s};
}
template <class T>
constexpr Vec3<T> multiply(const Vec3<T>& a, const Vec3<T>& b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z};
}
template <class T>
constexpr T dot(const Vec3<T>& a, const Vec3<T>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class T>
constexpr Vec3<T> cross(const Vec3<T>& a, const Vec3<T>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
template <class T>
T length(const Vec3<T>& a) {
  return std::sqrt(dot(a, a));
}
/// Unit vector along `a`; the zero vector stays zero.
template <class T>
Vec3<T> normalized(const Vec3<T>& a) {
  const T l = length(a);
  return l > 0 ? a / l : a;
}
template <class T>
constexpr Vec3<T> min(const Vec3<T>& a, const Vec3<T>& b) {
  return {std::min(a.x, b.x), std::min(a.y, b.y), std::min(a.z, b.z)};
}
template <class T>
constexpr Vec3<T> max(const Vec3<T>& a, const Vec3<T>& b) {
  return {std::max(a.x, b.x), std::max(a.y, b.y), std::max(a.z, b.z)};
}
template <class T>
bool is_finite(const Vec3<T>& a) {
  return std::isfinite(a.x) && std::isfinite(a.y) && std::isfinite(a.z);
}

using Vec3f = Vec3<float>;
using Vec3d = Vec3<double>;
using Vec3i = Vec3<std::int32_t>;

/// 3×3 matrix by rows.
template <class T>
struct Mat3 {
  Vec3<T> row[3]{};

  static constexpr Mat3 identity() { return {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}; }
  static constexpr Mat3 diagonal(T s) { return {{{s, 0, 0}, {0, s, 0}, {0, 0, s}}}; }
  constexpr T operator()(int i, int j) const { return row[i][j]; }
  constexpr T& operator()(int i, int j) { return row[i][j]; }
  constexpr Mat3& operator+=(const Mat3& o) {
    for (int i = 0; i < 3; ++i) row[i] += o.row[i];
    return *this;
  }
};

template <class T>
constexpr Vec3<T> operator*(const Mat3<T>& m, const Vec3<T>& v) {
  return {dot(m.row[0], v), dot(m.row[1], v), dot(m.row[2], v)};
}
template <class T>
constexpr Mat3<T> transpose(const Mat3<T>& m) {
  Mat3<T> r;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) r(i, j) = m(j, i);
  return r;
}
template <class T>
constexpr Mat3<T> operator*(const Mat3<T>& a, const Mat3<T>& b) {
  Mat3<T> r;
  const Mat3<T> bt = transpose(b);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) r(i, j) = dot(a.row[i], bt.row[j]);
  return r;
}
template <class T>
constexpr Mat3<T> operator*(Mat3<T> m, std::type_identity_t<T> s) {
  for (auto& r : m.row) r *= s;
  return m;
}
template <class T>
constexpr Mat3<T> outer(const Vec3<T>& a, const Vec3<T>& b) {
  return {{b * a.x, b * a.y, b * a.z}};
}
template <class T>
constexpr T determinant(const Mat3<T>& m) {
  return dot(m.row[0], cross(m.row[1], m.row[2]));
}
/// Inverse by cofactors; the caller knows that the determinant is not zero.
template <class T>
constexpr Mat3<T> inverse(const Mat3<T>& m) {
  const T d = T(1) / determinant(m);
  return transpose(
      Mat3<T>{{cross(m.row[1], m.row[2]) * d, cross(m.row[2], m.row[0]) * d, cross(m.row[0], m.row[1]) * d}});
}
using Mat3f = Mat3<float>;
using Mat3d = Mat3<double>;

/// Axis-aligned box; empty until a point is added.
struct Box {
  Vec3d min{1e300, 1e300, 1e300}, max{-1e300, -1e300, -1e300};
  bool empty() const { return !(min.x <= max.x && min.y <= max.y && min.z <= max.z); }
  void add(const Vec3d& p) { min = aegir::min(min, p), max = aegir::max(max, p); }
  void add(const Box& b) { min = aegir::min(min, b.min), max = aegir::max(max, b.max); }
  Box grown(double by) const { return {min - Vec3d(by), max + Vec3d(by)}; }
  Vec3d center() const { return (min + max) * 0.5; }
  Vec3d size() const { return max - min; }
  bool contains(const Vec3d& p) const {
    return p.x >= min.x && p.y >= min.y && p.z >= min.z && p.x <= max.x && p.y <= max.y && p.z <= max.z;
  }
  bool overlaps(const Box& b) const {
    return min.x <= b.max.x && b.min.x <= max.x && min.y <= b.max.y && b.min.y <= max.y && min.z <= b.max.z &&
           b.min.z <= max.z;
  }
};

}  // namespace aegir
