// Channels of sand on a Hybrid Object's grid. Stress is kept as the velocity it gives to a face between two cells,
// s dt / (ρ Δx), like the pressure.
#pragma once

#include "domain/channel/channel.h"

namespace aegir::sand {

/// Deviatoric stress at cell centres, tension positive: xx yy zz, and yz xz xy. Kept: the next substep starts from it.
inline constexpr CellChannel<Vec3f> stress{"sand_stress", unit::metre_per_second, {}, Keep::between_steps};
inline constexpr CellChannel<Vec3f> shear{"sand_shear", unit::metre_per_second, {}, Keep::between_steps};
/// Velocity that friction at solids gives to faces.
inline constexpr FaceChannel<float> wall{"sand_wall", unit::metre_per_second, 0.0f, Keep::between_steps};
/// Velocity that friction at solids across the grid, in a cell, gives to the cell's open faces along each axis.
inline constexpr CellChannel<Vec3f> grip{"sand_grip", unit::metre_per_second, {}, Keep::between_steps};

/// The same, carried on by the sweeps' momentum.
inline constexpr CellChannel<Vec3f> stress_ahead{"sand_stress_ahead", unit::metre_per_second};
inline constexpr CellChannel<Vec3f> shear_ahead{"sand_shear_ahead", unit::metre_per_second};
inline constexpr FaceChannel<float> wall_ahead{"sand_wall_ahead", unit::metre_per_second};

/// Velocity that a face gets from the grip of the cells beside it.
inline constexpr FaceChannel<float> grip_face{"sand_grip_face", unit::metre_per_second};
/// Velocity without friction.
inline constexpr FaceChannel<float> base{"sand_base", unit::metre_per_second};
/// Cells that belong to a face, inverted; 0 where stress does not act.
inline constexpr FaceChannel<float> ease{"sand_ease"};
/// A quarter on edges along each axis whose four faces stress acts on, 0 on others; lower edges of a cell.
inline constexpr FaceChannel<float> edge{"sand_edge"};
/// 1 along axes on which both faces of a cell bear stress, 0 where one is closed: there the pressure alone presses on
/// the solid, and sand may slide past steps of a tilted one.
inline constexpr CellChannel<Vec3f> span{"sand_span"};
/// Step τ of the search for stress: shorter where faces have less than a cell.
inline constexpr CellChannel<float> pace{"sand_pace"};
/// p tan φ + c at cell centres; 0 outside sand.
inline constexpr CellChannel<float> yield{"sand_yield", unit::metre_per_second};

}  // namespace aegir::sand
