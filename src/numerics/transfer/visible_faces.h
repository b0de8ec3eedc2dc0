// The faces around a particle that a barrier does not hide from it.
#pragma once

#include "numerics/barrier.h"
#include "numerics/transfer/face_stencil.h"

namespace aegir {

/// Velocity and gradient of one component from the faces a particle sees.
struct VisibleSample {
  bool any = false;
  double value = 0;
  Vec3d gradient;  ///< per cell; hidden faces count as `value`
};

/// Samples component `axis` at `cells` with the faces seen from `eye` (both in cells relative to the bucket). With
/// `Walls`, faces that a sheet closes are seen from both sides: without them the velocity would not end at the sheet,
/// and what flows along it would crowd there.
template <bool Walls = false, class Face>
VisibleSample sample_visible(const Bucket& bucket, const Barrier& barrier, int axis, const Vec3d& cells,
                             const Vec3d& eye, const Face& face) {
  const FaceStencil<double> stencil(axis, cells);
  const double spacing = bucket.spacing();
  const Vec3d origin = bucket.origin();
  VisibleSample sample;
  double weight = 0, u[8];
  bool seen[8];
  for (int n = 0; n < 8; ++n) {
    const double w = stencil.weight(n);
    seen[n] = (Walls && barrier.closes(bucket.index, axis, stencil.face(n))) ||
              !barrier.blocks(origin + eye * spacing, origin + stencil.position(n) * spacing);
    if (!seen[n]) continue;
    u[n] = face(axis, stencil.face(n));
    weight += w, sample.value += w * u[n];
  }
  if (!(weight > 0)) return {};
  sample.any = true;
  sample.value /= weight;
  for (int n = 0; n < 8; ++n)
    if (seen[n]) sample.gradient += stencil.gradient(n) * (u[n] - sample.value);
  return sample;
}

}  // namespace aegir
