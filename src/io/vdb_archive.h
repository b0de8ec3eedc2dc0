// How VDB files are opened and stored, shared by the sources whose names begin with vdb. Grids travel as void so that
// OpenVDB stays out of every header.
//
//   Result<OpaqueGrids> grids = load_vdb(path);
//   for (const openvdb::GridBase::Ptr& g : *static_cast<openvdb::GridPtrVec*>(grids->get())) …
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include "base/result.h"
#include "io/hash128.h"
#include "io/info.h"
#include "io/vdb.h"

namespace aegir {

/// An openvdb::GridPtrVec.
using OpaqueGrids = std::shared_ptr<void>;
/// An openvdb::GridBase.
using OpaqueGrid = std::shared_ptr<void>;

/// Reads all grids of a file; a damaged file is an io error. File metadata goes to `metadata` where it is wanted.
Result<OpaqueGrids> load_vdb(const std::string& path, Metadata* metadata = nullptr);

/// Writes an openvdb::GridCPtrVec, whole or not at all.
Status store_vdb(const std::string& path, const void* grids, const Metadata& metadata, const VdbOptions& options);

/// Opens a file for openvdb::io::Stream; one that is cut short then throws. Call it under guard_vdb.
Status open_vdb(const std::string& path, std::ifstream& in);

/// Runs `work` and turns what OpenVDB throws into an Error about `path`.
Status guard_vdb(const std::string& path, const char* doing, const std::function<Status()>& work);

/// The grid of a volume with class, transform and metadata; call it under guard_vdb.
OpaqueGrid make_volume_grid(const VolumeGrid& volume, const VdbOptions& options);

/// Voxel size, location and origin of an openvdb::GridBase; an Error when it is rotated or stretched.
Status read_transform(const std::string& path, const void* grid, VolumeGrid& volume);

/// Checks what OpenVDB takes on trust in a leaf of a points grid: offsets that rise, arrays as long as they say, a P.
bool points_are_sound(const void* leaf);

/// Fingerprint of a VDB file, see content_hash.
Result<Hash128> hash_vdb(const std::string& path);

/// Grids of a VDB file, see inspect_file.
Status inspect_vdb(const std::string& path, FileInfo& info);

}  // namespace aegir
