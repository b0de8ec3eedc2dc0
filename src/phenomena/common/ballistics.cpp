#include "phenomena/common/ballistics.h"

#include <algorithm>
#include <cmath>

namespace aegir {
namespace {

constexpr int max_bounces = 16;

/// Time of the touch on the parabola instead of its chord: Newton on n·(x + u t + a t²/2) = n·p, in the surface's
/// frame. Only the velocity at the touch is taken from it; time and place stay those of the chord, which was checked.
double touch_time(const Vec3d& x, const Vec3d& u, const Vec3d& a, const Contact& c, double at, double left) {
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

/// Velocity relative to the surface after a touch: restitution along the normal, Coulomb friction along the surface.
Vec3d rebound(const Vec3d& u, const Contact& c, double restitution) {
  const double toward = dot(u, c.normal);
  Vec3d along = u - c.normal * toward;
  const double slide = length(along), loss = c.friction * (1 + restitution) * std::max(0.0, -toward);
  along = slide > loss ? along * ((slide - loss) / slide) : Vec3d{};
  return along + c.normal * (toward < 0 ? -restitution * toward : toward);
}

/// Acceleration of what stays in contact for a time: nothing into the surface, Coulomb friction under its load along
/// it.
Vec3d contact_acceleration(const Vec3d& u, const Vec3d& a, const Contact& c, double pressing, double duration) {
  const Vec3d later = u + (a + c.normal * pressing) * duration;
  const double speed = length(later), drop = c.friction * pressing * duration;
  return ((speed > drop ? later * ((speed - drop) / speed) : Vec3d{}) - u) / duration;
}

}  // namespace

Flight fly(const Flight& start, const Vec3d& acceleration, double time, double dt, double clearance,
           std::span<const Collider* const> colliders, FunctionRef<Vec3d(const Vec3d&)> stored) {
  Flight now = start;
  Vec3d a = acceleration;
  double done = 0;
  for (int bounce = 0;; ++bounce) {
    const double left = dt - done;
    const Vec3d goal = stored(now.position + now.velocity * left + a * (0.5 * left * left));
    std::optional<Contact> first;
    const Collider* touched = nullptr;
    for (const Collider* c : colliders)
      if (!c->in_reach(now.position, goal, clearance))
        continue;
      else if (const auto hit =
                   c->sweep(now.position, goal, time + done, std::max(0.25 * clearance, 2 * c->tolerance()));
               hit && (!first || hit->fraction < first->fraction))
        first = hit, touched = c;
    if (!first) return {goal, now.velocity + a * left};

    const Contact& c = *first;
    double at = c.fraction * left;
    const double pressing = std::max(0.0, -dot(a, c.normal));
    const double impact = touch_time(now.position, now.velocity - c.surface_velocity, a, c, at, left);
    Vec3d u = now.velocity + a * at - c.surface_velocity + c.normal * (dot(a, c.normal) * (impact - at));
    // Too slow to leave the surface again within the substep: it stays in contact, and if it was there already, from
    // the begin.
    const bool resting = -dot(u, c.normal) * c.restitution <= pressing * dt;
    Vec3d place = c.point + c.normal * clearance;
    if (resting && dot(c.normal, now.position - c.point + c.surface_velocity * at) <= 2 * clearance) {
      at = 0;
      u = now.velocity - c.surface_velocity;
      place = now.position;
    }
    const double rest = left - at;
    u = rebound(u, c, resting ? 0 : c.restitution);
    if (resting && rest > 0) a = contact_acceleration(u, a, c, pressing, rest);
    // The way to the new place was checked up to the touch; the last bit, off the surface, may meet somebody else.
    const Vec3d checked = now.position;
    const auto free = [&](const Vec3d& to) {
      return std::none_of(colliders.begin(), colliders.end(), [&](const Collider* o) {
        return o != touched && o->in_reach(checked, to, clearance) && o->blocks(checked, to);
      });
    };
    if (!free(place)) return {stored(checked), c.surface_velocity};
    now = {place, c.surface_velocity + u};
    done += at;
    const bool over = bounce == max_bounces || rest <= 0;
    if (over || touched->turning()) {
      const Flight end{stored(c.resting_point + c.normal_at_end * clearance),
                       now.velocity + (resting ? a * rest : Vec3d{})};
      if (!free(end.position)) return {stored(checked), c.surface_velocity};
      if (over) return end;
      // Mid-step places of a turning body are only known to the curvature of its path; from its pose at the end they
      // are exact.
      const Vec3d beyond = stored(end.position + (u + a * (0.5 * rest)) * rest);
      const bool blocked = std::any_of(colliders.begin(), colliders.end(), [&](const Collider* o) {
        return o->in_reach(end.position, beyond, clearance) && o->blocks(end.position, beyond);
      });
      return blocked ? Flight{end.position, c.surface_velocity} : Flight{beyond, end.velocity};
    }
  }
}

}  // namespace aegir
