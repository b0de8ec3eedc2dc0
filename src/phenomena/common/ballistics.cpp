#include "phenomena/common/ballistics.h"

#include <algorithm>
#include <cmath>

namespace aegir {
namespace {

constexpr int max_bounces = 16;

/// Time of the touch on the parabola instead of its chord: Newton on n·(x + u t + a t²/2) = n·p, in the surface's frame.
double refine(const Vec3d& x, const Vec3d& u, const Vec3d& a, const Contact& c, double at, double left) {
  const Vec3d touched = c.point - c.surface_velocity * at;  // where the touched place was when this flight began
  const double offset = dot(c.normal, x - touched), speed = dot(c.normal, u), bend = dot(c.normal, a);
  double t = at;
  for (int i = 0; i < 3; ++i) {
    const double slope = speed + bend * t;
    if (slope >= 0) return at;
    t -= (offset + speed * t + 0.5 * bend * t * t) / slope;
  }
  return std::isfinite(t) ? std::clamp(t, 0.0, left) : at;
}

}  // namespace

Flight fly(const Flight& start, const Vec3d& acceleration, double time, double dt, double clearance, std::span<const Collider* const> colliders,
           FunctionRef<Vec3d(const Vec3d&)> stored) {
  Flight now = start;
  Vec3d a = acceleration;
  double done = 0;
  for (int bounce = 0;; ++bounce) {
    const double left = dt - done;
    const Vec3d goal = stored(now.position + now.velocity * left + a * (0.5 * left * left));
    std::optional<Contact> first;
    for (const Collider* c : colliders)
      if (const auto hit = c->sweep(now.position, goal, time + done, std::max(clearance, 2 * c->tolerance())); hit && (!first || hit->fraction < first->fraction)) first = hit;
    if (!first) return {goal, now.velocity + a * left};

    const Contact& c = *first;
    const double at = refine(now.position, now.velocity - c.surface_velocity, a, c, c.fraction * left, left), rest = left - at;
    Vec3d u = now.velocity + a * at - c.surface_velocity;
    const double toward = dot(u, c.normal), pressing = std::max(0.0, -dot(a, c.normal));
    Vec3d along = u - c.normal * toward;
    // Too slow to leave the surface again within the substep: it stays in contact.
    const bool resting = -toward * c.restitution <= pressing * dt;
    const double restitution = resting ? 0 : c.restitution;
    const double slide = length(along), loss = c.friction * (1 + restitution) * std::max(0.0, -toward);
    along = slide > loss ? along * ((slide - loss) / slide) : Vec3d{};
    u = along + c.normal * std::max(0.0, toward < 0 ? -restitution * toward : toward);
    if (resting && rest > 0) {
      // Under the load for the rest of the substep: no acceleration into the surface, Coulomb friction along it.
      Vec3d push = a + c.normal * pressing;
      const Vec3d later = along + push * rest;
      const double speed = length(later), drop = c.friction * pressing * rest;
      push = ((speed > drop ? later * ((speed - drop) / speed) : Vec3d{}) - along) / rest;
      a = push;
    }
    now.velocity = c.surface_velocity + u;
    now.position = c.point + c.normal * clearance;
    done += at;
    if (bounce == max_bounces || rest <= 0) return {stored(c.resting_point), resting ? now.velocity + a * rest : now.velocity};
  }
}

}  // namespace aegir
