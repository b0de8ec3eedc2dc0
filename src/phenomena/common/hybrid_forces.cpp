// Forces on the faces of a Hybrid Object's grid.
#include <algorithm>
#include <cmath>

#include "domain/for_each_bucket.h"
#include "phenomena/common/hybrid_object.h"

namespace aegir {
namespace {

/// Face centres of one axis of a bucket, half of the bucket at a time, and what forces make of them.
struct FaceBlock {
  alignas(64) float x[ForceBlock::capacity], y[ForceBlock::capacity], z[ForceBlock::capacity];
  alignas(64) float v[3][ForceBlock::capacity], a[3][ForceBlock::capacity];
  alignas(64) float damping[ForceBlock::capacity], radius[ForceBlock::capacity], mass[ForceBlock::capacity];
};

/// The velocity of component `b` at a face of axis `a`: the mean of the four faces around it, of those that particles
/// reach.
template <class Tile>
float across(const Tile& u, const Tile& mass, int a, int b, const Vec3i& c) {
  if (a == b) return u(c.x, c.y, c.z);
  Vec3i back{}, up{};
  back[a] = -1, up[b] = 1;
  float sum = 0;
  int known = 0;
  for (const Vec3i& f : {c, c + up, c + back, c + back + up})
    if (mass(f.x, f.y, f.z) > 0) sum += u(f.x, f.y, f.z), ++known;
  return known ? sum / static_cast<float>(known) : 0.0f;
}

/// What uniform forces do to everything alike.
template <class Forces>
Vec3f uniform_acceleration(const StepContext& c, const Forces& forces, double spacing) {
  FaceBlock one{};
  ForceBlock b;
  b.count = 1, b.time = c.time, b.dt = c.dt, b.spacing = spacing;
  b.ax = one.a[0], b.ay = one.a[1], b.az = one.a[2], b.damping = one.damping;
  for (const auto& f : forces)
    if (f->uniform()) f->accumulate(b);
  return {one.a[0][0], one.a[1][0], one.a[2][0]};
}

/// The same acceleration for all: 3 × 12 bytes and 3 flops per cell.
template <class Forces>
void kick_alike(StepContext& c, DiscreteVolume& grid, const Forces& forces) {
  const Vec3f kick = uniform_acceleration(c, forces, grid.topology().spacing()) * static_cast<float>(c.dt);
  for_each_bucket(
      c.exec, "forces", grid.topology(),
      [&](const Bucket&, auto& u, auto& mass) {
        for (std::size_t a = 0; a < 3; ++a) {
          float* __restrict to = u[a].values;
          const float* __restrict m = mass[a].values;
          for (int f = 0; f < bucket_cells; ++f) to[f] += m[f] > 0 ? kick[static_cast<int>(a)] : 0.0f;
        }
      },
      grid.write(grid::velocity), grid.read(grid::face_mass));
}

/// Places and velocities of the 256 faces of an axis that start at cell `first`.
template <class Tiles>
void fill_block(FaceBlock& s, const Tiles& u, const Tiles& mass, int axis, int first) {
  for (int f = 0; f < 256; ++f) {
    const int cell = first + f;
    const Vec3i c{cell >> 6, cell >> 3 & 7, cell & 7};
    s.x[f] = static_cast<float>(c.x) + (axis == 0 ? 0.0f : 0.5f),
    s.y[f] = static_cast<float>(c.y) + (axis == 1 ? 0.0f : 0.5f),
    s.z[f] = static_cast<float>(c.z) + (axis == 2 ? 0.0f : 0.5f);
    for (int b = 0; b < 3; ++b)
      s.v[b][f] = across(u[static_cast<std::size_t>(b)], mass[static_cast<std::size_t>(b)], axis, b, c), s.a[b][f] = 0;
    s.damping[f] = 0;
  }
}

/// Whether no particle reaches any face of a bucket.
template <class Tiles>
bool unreached(const Tiles& masses) {
  float most = 0;
  for (const auto& m : masses)
    for (int i = 0; i < bucket_size; ++i)
      for (int j = 0; j < bucket_size; ++j)
        for (int k = 0; k < bucket_size; ++k) most = std::max(most, m(i, j, k));
  return !(most > 0);
}

/// Changes of velocity wait here: forces look at the velocities of neighbouring buckets as they were.
constexpr FaceChannel<float> force_kick{"force_kick", unit::metre_per_second};

}  // namespace

std::vector<ChannelAccess> HybridObject::force_accesses() {
  const std::string& me = path();
  std::vector<ChannelAccess> all{writes(me, "vel"), reads(me, "vel", 1), reads(me, "face_mass", 1)};
  if (std::all_of(forces_.begin(), forces_.end(), [](const auto& f) { return f->uniform(); })) return all;
  for (const auto& f : forces_)
    for (const std::string& name : f->reads())
      derive(name, Asked::every_substep), face_attributes_.want(name, particles_, grid_);
  grid_.declare(force_kick);
  all.push_back(writes(me, force_kick.name)), all.push_back(reads(me, force_kick.name));
  for (ChannelAccess& a : face_attributes_.accesses(me)) all.push_back(std::move(a));
  return all;
}

// Where forces differ from place to place: 3 × 12 bytes read and 12 written per cell, some 50 flops per face besides
// those of the forces; then 3 × 12 bytes and 3 flops.
Status HybridObject::apply_forces(StepContext& c) {
  if (forces_.empty()) return {};
  bool uniform = true;
  for (const auto& f : forces_) f->begin_substep(c), uniform &= f->uniform();
  if (uniform) return kick_alike(c, grid_, forces_), Status();
  face_attributes_.update(c.exec, particles_, grid_);
  const FaceAttributes::Reader attributes(face_attributes_, c.exec, grid_);
  const auto dt = static_cast<float>(c.dt);
  const auto radius = static_cast<float>(particle_radius()), mass = static_cast<float>(particle_mass());
  for_each_bucket(
      c.exec, "forces", grid_.topology(),
      [&](const Bucket& bucket, auto& kick, auto& u, auto& masses) {
        for (auto& plane : kick) std::fill_n(plane.values, bucket_cells, 0.0f);
        if (unreached(masses)) return;
        FaceBlock s;
        FaceAttributes::Block values(attributes, bucket);
        const auto named = [&](std::string_view name) { return values.at(name); };
        const AttributeSource source(named);
        std::fill(std::begin(s.radius), std::end(s.radius), radius);
        std::fill(std::begin(s.mass), std::end(s.mass), mass);
        for (int axis = 0; axis < 3; ++axis)
          for (int first = 0; first < bucket_cells; first += 256) {
            fill_block(s, u, masses, axis, first);
            values.fill(axis, first, 256);
            ForceBlock b;
            b.count = 256, b.time = c.time, b.dt = c.dt, b.origin = bucket.origin(), b.spacing = bucket.spacing();
            b.x = s.x, b.y = s.y, b.z = s.z, b.vx = s.v[0], b.vy = s.v[1], b.vz = s.v[2], b.radius = s.radius,
            b.mass = s.mass, b.attributes = &source;
            b.ax = s.a[0], b.ay = s.a[1], b.az = s.a[2], b.damping = s.damping;
            for (const auto& f : forces_) f->accumulate(b);
            float* to = kick[static_cast<std::size_t>(axis)].values + first;
            for (int f = 0; f < 256; ++f) {
              const int cell = first + f;
              const float damp = s.damping[f] * dt;
              if (masses[static_cast<std::size_t>(axis)](cell >> 6, cell >> 3 & 7, cell & 7) > 0)
                to[f] = dt * s.a[axis][f] * (1 + 0.5f * damp) / (1 + damp + 0.5f * damp * damp);
            }
          }
      },
      grid_.overwrite(force_kick), grid_.read<Halo<1>>(grid::velocity), grid_.read<Halo<1>>(grid::face_mass));
  for_each_bucket(
      c.exec, "kick", grid_.topology(),
      [](const Bucket&, auto& u, auto& kick) {
        for (std::size_t a = 0; a < 3; ++a) {
          float* __restrict to = u[a].values;
          const float* __restrict by = kick[a].values;
          for (int f = 0; f < bucket_cells; ++f) to[f] += by[f];
        }
      },
      grid_.write(grid::velocity), grid_.read(force_kick));
  return {};
}

Vec3d HybridObject::uniform_acceleration(const StepContext& c) const {
  return Vec3d(aegir::uniform_acceleration(c, forces_, spacing()));
}

}  // namespace aegir
