// The pressure system of free-surface flow, cell by cell.
//
//   sum over faces of w (p_i - p_j) + s p_i = b_i
//
// w is the open area fraction of the face between two liquid cells [Ng, Min, Gibou 2009: the finite-volume form, whose
// weights lie in [0, 1]]. Towards air the pressure is zero where the surface crosses the line between the two
// cell centres, at the fraction theta = phi_i / (phi_i - phi_j) of the way, and the face contributes w / theta to the
// sink s [Gibou, Fedkiw, Cheng, Kang 2002]. All is per unit spacing.
#pragma once

namespace aegir {

/// The closest to a cell's centre, in cells, that the surface is taken to cross: bounds the sink by 1/least_theta.
inline constexpr float least_theta = 0.001f;

/// What a face of open area `area` adds to the sink of a liquid cell at distance `inside` < 0 whose neighbour is air at
/// distance `outside` >= 0.
inline float ghost_fluid_sink(float area, float inside, float outside) {
  const float theta = inside / (inside - outside);
  return area / (theta > least_theta ? theta : least_theta);
}

}  // namespace aegir
