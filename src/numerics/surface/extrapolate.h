// Velocities of faces that no particle reaches, from those nearby.
//
//   extrapolate(exec, volume, {.velocity = vel, .known = face_mass, .area = &open_area}, 4, &pool);
//
// Layer by layer, each face that borders on faces with a value takes their mean (six neighbours of the same component).
// A closed face (area 0) lies in a solid or on a sheet thinner than a cell. It counts as unknown, because the pressure
// does not act on it; it takes a value like any other but gives it to closed faces only, so that velocities reach into
// solids and nothing comes out of them. Nor do values pass between two open faces where the faces between them are
// closed: a sheet is not crossed.
#pragma once

#include "domain/channel/buffer.h"
#include "domain/exec.h"
#include "domain/volume/discrete_volume.h"

namespace aegir {

/// The channels of an extrapolation.
struct ExtrapolateChannels {
  FaceChannel<float> velocity;               ///< read with halo 4, written
  FaceChannel<float> known;                  ///< above 0 where the velocity is known
  const FaceChannel<float>* area = nullptr;  ///< open share of each face; all open where there is none
};

/// Open faces with known > 0 keep their velocity; faces within `layers` (1 to 4) steps of one get the mean of their
/// neighbours; all others 0. Collective; same bits for any threads and ranks.
void extrapolate(Exec& exec, DiscreteVolume& volume, const ExtrapolateChannels& channels, int layers,
                 BufferPool* pool = nullptr);

}  // namespace aegir
