// What an Object offers to those who look at its grid from outside: `volumes` outputs, surfacing, other programs.
//
//   std::vector<VolumeDescription> Water::volumes() {
//     const double dx = grid_.topology().spacing();
//     return {{.name = "surface", .volume = &grid_, .channel = "surface_distance", .kind = VolumeGrid::level_set,
//              .scale = dx, .background = 3 * dx},
//             {.name = "vel", .volume = &grid_, .channel = "vel", .kind = VolumeGrid::vector}};
//   }
#pragma once

#include <string>
#include <vector>

#include "domain/volume/discrete_volume.h"
#include "io/point_set.h"

namespace aegir {

/// One channel of a grid under the name that files give it.
///
/// Where values lie follows from the channel: cells, faces (staggered vectors) or nodes. The channel must hold what it
/// says in Stage::output; a scratch channel is fine if nothing overwrites it after its last use.
struct VolumeDescription {
  std::string name;                            ///< "surface", "vel", "pressure", …: Houdini's words
  const DiscreteVolume* volume = nullptr;      ///< owned by the Object
  std::string channel;                         ///< of the volume; one number, or three for vectors and faces
  VolumeGrid::Kind kind = VolumeGrid::scalar;  ///< vector for face channels
  double scale = 1;                            ///< file value = channel value · scale
  double background = 0;                       ///< file value outside; half width of the band of a level set
};

class VolumeSource {
 public:
  virtual ~VolumeSource() = default;
  /// Everything on offer; names and channels stay the same for the whole run, scale and background may change.
  virtual std::vector<VolumeDescription> volumes() = 0;
  /// Says that a volume on offer will be looked at; one that is worked out on demand exists only then.
  virtual void want_volume(const std::string&) {}
};

}  // namespace aegir
