// Volumes output: grids of Objects as OpenVDB volumes.
//
//   VolumeGrid local = extract_volume(description);        // this rank's buckets
//   VolumeGrid whole = gather_volume(std::move(local), comm);
#pragma once

#include "phenomena/common/volume_source.h"

namespace aegir {

class Catalog;
class Comm;
void register_volumes_output(Catalog& catalog);

/// This rank's buckets of a volume in file units, without those that are all background.
///
/// Values that differ from the background are active. A level set is clamped to its band, values inside the band are
/// active; every bucket that is not wholly outside is there, so that missing ones are outside.
VolumeGrid extract_volume(const VolumeDescription& description);

/// All ranks' buckets on rank 0, in rank order, which is curve order; elsewhere without buckets. Collective.
VolumeGrid gather_volume(VolumeGrid mine, Comm& comm);

}  // namespace aegir
