#include "phenomena/common/slide.h"

#include <algorithm>

#include "numerics/solids/solid_bucket.h"

namespace aegir {
namespace {

bool in_reach(const Collider& c, const Vec3d& from, const Vec3d& to, double clearance) {
  Box way;
  way.add(from), way.add(to);
  return c.swept_bounds().overlaps(way.grown(4 * clearance + 4 * c.tolerance()));
}

Vec3d without_inward(const Vec3d& v, const Vec3d& normal) { return v - normal * std::min(0.0, dot(v, normal)); }

}  // namespace

Slide slide(const Vec3d& begin, const Vec3d& goal, const Vec3d& velocity, double time, double dt, double clearance,
            std::span<const Collider* const> colliders, FunctionRef<Vec3d(const Vec3d&)> stored) {
  const auto blocked = [&](const Vec3d& a, const Vec3d& b, const Collider* except) {
    return std::any_of(colliders.begin(), colliders.end(), [&](const Collider* c) {
      return c != except && in_reach(*c, a, b, clearance) && c->blocks(a, b);
    });
  };
  Slide now{stored(goal), velocity, false};
  std::optional<Contact> first;
  const Collider* touched = nullptr;
  for (const Collider* c : colliders)
    if (in_reach(*c, begin, now.position, clearance))
      if (const auto hit = c->sweep(begin, now.position, time, std::max(0.25 * clearance, 2 * c->tolerance()));
          hit && (!first || hit->fraction < first->fraction))
        first = hit, touched = c;
  if (first) {
    now.touched = true;
    now.velocity = first->surface_velocity + without_inward(velocity - first->surface_velocity, first->normal);
    // From where the touched place ends up, along the surface, what is left of the way.
    const double left = 1 - first->fraction;
    const Vec3d rest =
        without_inward((now.position - begin - first->surface_velocity * dt) * left, first->normal_at_end);
    const Vec3d place = stored(first->resting_point + first->normal_at_end * clearance), beyond = stored(place + rest);
    if (blocked(begin, place, touched))
      now.position = begin, now.velocity = first->surface_velocity;
    else
      now.position = blocked(place, beyond, nullptr) ? place : beyond;
  }
  // Whoever was put inside a solid goes to its surface.
  for (const Collider* c : colliders) {
    if (c->thin() || !c->swept_bounds().contains(now.position)) continue;
    const SurfaceSample at = c->sample(now.position);
    const Vec3d out = stored(now.position + at.normal * (clearance - at.distance));
    if (at.distance >= 0 || blocked(now.position, out, c)) continue;
    now = {out, at.velocity + without_inward(now.velocity - at.velocity, at.normal), true};
  }
  return now;
}

FarFromSolids::FarFromSolids(std::span<const Collider* const> colliders, double spacing) {
  double known = solid_band, margin = 0.1;
  for (const Collider* c : colliders) {
    if (!c->triangles().triangles.empty()) known = std::min(known, 2.0);  // drawn distances are exact up to two cells
    margin = std::max(margin, 0.1 + (c->way() + 8 * c->tolerance()) / spacing);
  }
  known_ = static_cast<float>(known), margin_ = static_cast<float>(margin);
}

}  // namespace aegir
