// Channels of a Hybrid Object's grid. Distances are in cells, velocities in m/s on lower faces.
#pragma once

#include "domain/channel/channel.h"

namespace aegir {

namespace particle {
/// Rows of the velocity gradient that APIC particles carry, 1/s: row a is ∇u_a.
inline constexpr ParticleChannel<Vec3f> affine[3] = {
    {"affine_x", unit::per_second}, {"affine_y", unit::per_second}, {"affine_z", unit::per_second}};
/// Where a particle was born, in the world: a coordinate for textures.
inline constexpr ParticleChannel<Vec3f> rest{"rest", unit::metre};
}  // namespace particle

namespace grid {
inline constexpr FaceChannel<float> velocity{"vel", unit::metre_per_second};
inline constexpr FaceChannel<float> velocity_before{"vel_before", unit::metre_per_second};  // after to_grid
inline constexpr FaceChannel<float> face_mass{"face_mass", unit::kilogram};  // 0: no velocity is known there
inline constexpr FaceChannel<float> open_area{"open_area", {}, 1.0f};
inline constexpr FaceChannel<float> solid_velocity{"solid_velocity", unit::metre_per_second};
inline constexpr NodeChannel<float> solid_distance{"solid_distance", {}, 1000.0f};
inline constexpr CellChannel<float> surface_distance{"surface_distance", {}, 4.0f};
inline constexpr CellChannel<float> divergence{"divergence", unit::metre_per_second};
/// Pressure as a velocity: p dt / (density Δx). Kept: the next solve starts from it.
inline constexpr CellChannel<double> pressure{"pressure", unit::metre_per_second, 0.0, Keep::between_steps};
/// What restores volume after friction, and then what spreads crowds, in the same unit.
inline constexpr CellChannel<double> restoring_pressure{"restoring_pressure", unit::metre_per_second};
/// How fast what friction holds is sheared, times Δx. Where it rests it keeps its crowds: spreading them would stir it.
inline constexpr CellChannel<float> shear_rate{"shear_rate", unit::metre_per_second};
/// The velocity that particles move along where crowds are spread without giving them momentum.
inline constexpr FaceChannel<float> way_velocity{"way_velocity", unit::metre_per_second};
}  // namespace grid

}  // namespace aegir
