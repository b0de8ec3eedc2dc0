// Between the faces of a bucket and those of the next coarser level: linear along the own axis, where every second fine
// face lies on a coarse one, and linear across, where fine faces lie a quarter off the coarse ones.
#pragma once

#include "solvers/linear/viscosity_kernels.h"

namespace aegir {

/// Coarse faces around a fine bucket: −1 … 4 along each axis, axis by axis.
inline constexpr int coarse_faces_side = 6, coarse_faces = 3 * 6 * 6 * 6;

/// out = interpolated values of 6×6×6 coarse faces along each axis, at the 3 × 512 fine faces.
void prolong_faces(const float* coarse, float* out);

/// The adjoint, over eight: 3 × 4×4×4 coarse values from a bucket's fine faces and those one beyond.
void restrict_faces(const VelocityTile<float>& fine, float* out);

/// Fills a tile with all faces around a bucket; zero where there is no bucket.
void load_all_faces(VelocityTile<float>& tile, const Topology& topology, int bucket, const float* values);

/// The coarse faces that a fine bucket in this octant of a coarse bucket is interpolated from.
void coarse_faces_around(const Topology& coarse, int bucket, int octant, const float* values, float* out);

}  // namespace aegir
