#include "phenomena/common/particle_audit.h"

#include <algorithm>
#include <cmath>

#include "domain/for_each_bucket.h"
#include "phenomena/common/channels.h"

namespace aegir {

ObjectAudit audit_particles(Exec& exec, const ParticleSystem& particles,
                            std::span<const std::unique_ptr<Force>> forces) {
  const auto position = particles.read(particle::position);
  const auto velocity = particles.read(particle::velocity);
  const auto radius = particles.read(particle::radius), mass = particles.read(particle::mass),
             age = particles.read(particle::age);
  enum { m, volume, px, py, pz, lx, ly, lz, kinetic, potential, p_check, v_check, other_check, count };
  const auto sums = exact_sums<count>(exec, particles.topology(), [&](const Bucket& b) {
    const auto p = position(b.index);
    const auto v = velocity(b.index);
    const auto r = radius(b.index), w = mass(b.index), t = age(b.index);
    std::array<double, count> s{};
    for (std::size_t i = 0; i < p.count; ++i) {
      const Vec3d x = b.origin() + Vec3d(p[i]) * b.spacing(), u(v[i]);
      const double wi = w[i], ri = r[i];
      const Vec3d momentum = u * wi, angular = cross(x, momentum);
      s[m] += wi;
      s[volume] += 4.1887902047863905 * ri * ri * ri;
      s[px] += momentum.x, s[py] += momentum.y, s[pz] += momentum.z;
      s[lx] += angular.x, s[ly] += angular.y, s[lz] += angular.z;
      s[kinetic] += 0.5 * wi * dot(u, u);
      for (const auto& f : forces) s[potential] += wi * f->potential(x);
      // Zero times anything finite is zero; NaN and infinity survive the sum.
      const double cells = std::max({std::abs(p[i].x), std::abs(p[i].y), std::abs(p[i].z)});
      s[p_check] += cells < 8e6 ? 0.0 * (x.x + x.y + x.z) : 1.0, s[v_check] += 0.0 * (u.x + u.y + u.z),
          s[other_check] += 0.0 * (wi + ri + static_cast<double>(t[i]));
    }
    return s;
  });
  const double fastest = maximum(exec, particles.topology(), 0.0, [&](const Bucket& b) {
    const auto v = velocity(b.index);
    float most = 0;
    for (std::size_t i = 0; i < v.count; ++i) most = std::max(most, dot(v[i], v[i]));
    return most;
  });
  ObjectAudit a;
  a.particles = particles.global_size(exec.comm);
  a.mass = sums[m], a.volume = sums[volume];
  a.momentum = {sums[px], sums[py], sums[pz]}, a.angular_momentum = {sums[lx], sums[ly], sums[lz]};
  a.kinetic_energy = sums[kinetic], a.potential_energy = sums[potential];
  a.max_speed = std::sqrt(fastest);
  a.not_finite = sums[p_check] != 0       ? "P"
                 : sums[v_check] != 0     ? "v"
                 : sums[other_check] != 0 ? "pscale, mass or age"
                                          : "";
  return a;
}

}  // namespace aegir
