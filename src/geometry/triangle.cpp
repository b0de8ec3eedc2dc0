#include "geometry/triangle.h"

#include <numbers>

namespace aegir {
namespace {

// Parameter in [0, 1] of the point of segment pq closest to x.
double closest_on_segment(const Vec3d& x, const Vec3d& p, const Vec3d& q) {
  const Vec3d e = q - p;
  const double ee = dot(e, e);
  return ee > 0 ? std::clamp(dot(x - p, e) / ee, 0.0, 1.0) : 0.0;
}

}  // namespace

TrianglePoint closest_on_triangle(const Vec3d& x, const Vec3d& a, const Vec3d& b, const Vec3d& c) {
  const Vec3d n = cross(b - a, c - a);
  const double nn = dot(n, n);
  if (nn > 0) {
    const double wb = dot(cross(x - a, c - a), n) / nn, wc = dot(cross(b - a, x - a), n) / nn, wa = 1 - wb - wc;
    if (wa >= 0 && wb >= 0 && wc >= 0) {
      const Vec3d p = a * wa + b * wb + c * wc;
      const double height = dot(x - a, n);
      return {p, {wa, wb, wc}, height * height / nn};
    }
  }
  TrianglePoint best;
  best.distance2 = std::numeric_limits<double>::infinity();
  const Vec3d* corner[3] = {&a, &b, &c};
  for (int k = 0; k < 3; ++k) {
    const int m = (k + 1) % 3;
    const double s = closest_on_segment(x, *corner[k], *corner[m]);
    const Vec3d p = *corner[k] * (1 - s) + *corner[m] * s;
    const double d2 = dot(x - p, x - p);
    if (d2 < best.distance2) {
      best = {p, {}, d2};
      best.barycentric[k] = 1 - s, best.barycentric[m] = s;
    }
  }
  return best;
}

double solid_angle_fraction(const Vec3d& x, const Vec3d& va, const Vec3d& vb, const Vec3d& vc) {
  const Vec3d a = va - x, b = vb - x, c = vc - x;
  const double la = length(a), lb = length(b), lc = length(c);
  const double numerator = dot(a, cross(b, c));
  const double denominator = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb;
  return std::atan2(numerator, denominator) / (2 * std::numbers::pi);
}

WatertightLine::WatertightLine(const Vec3d& origin, const Vec3d& direction) : origin_(origin) {
  const Vec3d d{std::abs(direction.x), std::abs(direction.y), std::abs(direction.z)};
  kz_ = d.x >= d.y && d.x >= d.z ? 0 : d.y >= d.z ? 1 : 2;
  kx_ = (kz_ + 1) % 3, ky_ = (kz_ + 2) % 3;
  shear_x_ = direction[kx_] / direction[kz_];
  shear_y_ = direction[ky_] / direction[kz_];
  scale_z_ = 1 / direction[kz_];
}

Vec3d WatertightLine::sheared(const Vec3d& p) const {
  const Vec3d v = p - origin_;
  return {v[kx_] - shear_x_ * v[kz_], v[ky_] - shear_y_ * v[kz_], v[kz_] * scale_z_};
}

std::optional<WatertightLine::Crossing> WatertightLine::cross(const Vec3d& va, const Vec3d& vb, const Vec3d& vc) const {
  const Vec3d a = sheared(va), b = sheared(vb), c = sheared(vc);
  const double u = c.x * b.y - c.y * b.x, v = a.x * c.y - a.y * c.x, w = b.x * a.y - b.y * a.x;
  if ((u < 0 || v < 0 || w < 0) && (u > 0 || v > 0 || w > 0)) return std::nullopt;
  const double sum = u + v + w;
  if (sum == 0) return std::nullopt;
  const Vec3d weights{u / sum, v / sum, w / sum};
  return Crossing{weights.x * a.z + weights.y * b.z + weights.z * c.z, weights};
}

}  // namespace aegir
