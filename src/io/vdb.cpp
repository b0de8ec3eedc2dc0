#include "io/vdb.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <tuple>

#include <openvdb/io/Archive.h>
#include <openvdb/io/Stream.h>
#include <openvdb/openvdb.h>
#include <openvdb/tools/Prune.h>
#include <openvdb/tools/SignedFloodFill.h>
#include <openvdb/tree/LeafManager.h>

#include <sys/stat.h>
#include <tbb/parallel_for.h>

#include "io/atomic_file.h"
#include "io/file_sink.h"
#include "io/vdb_archive.h"
#include "io/vdb_seal.h"

namespace aegir {

namespace {

constexpr const char* location_key = "aegir_location";
/// Active tiles beyond this many voxels are not made into buckets.
constexpr std::uint64_t most_voxels = std::uint64_t{1} << 31;

void initialize_openvdb() {
  static const bool once = (openvdb::initialize(), true);
  (void)once;
}

/// Writes a seekable archive to a stream of ours, so that failures of the disk are seen.
class ArchiveWriter : public openvdb::io::Archive {
 public:
  explicit ArchiveWriter(VdbOptions::Compression compression) {
    namespace io = openvdb::io;
    const std::uint32_t packing = compression == VdbOptions::blosc && hasBloscCompression() ? io::COMPRESS_BLOSC
                                  : compression != VdbOptions::none                         ? io::COMPRESS_ZIP
                                                                                            : io::COMPRESS_NONE;
    setCompression(packing | io::COMPRESS_ACTIVE_MASK);
  }
  void write_to(std::ostream& out, const openvdb::GridCPtrVec& grids, const openvdb::MetaMap& metadata) const {
    Archive::write(out, grids, /*seekable=*/true, metadata);
  }
};

}  // namespace

Status guard_vdb(const std::string& path, const char* doing, const std::function<Status()>& work) {
  try {
    initialize_openvdb();
    return work();
  } catch (const BugFound&) {
    throw;
  } catch (const std::bad_alloc&) {
    return Error{
        Failure::memory, fmt::format("cannot {} {}: not enough memory, or the file is damaged", doing, path), {}};
  } catch (const std::ios_base::failure&) {
    return io_error("cannot {} {}: the file is damaged or cut short", doing, path);
  } catch (const std::exception& e) {
    return io_error("cannot {} {}: {}", doing, path, e.what());
  }
}

Status open_vdb(const std::string& path, std::ifstream& in) {
  in.open(path, std::ios::binary);
  if (!in) return system_error("cannot read", path, errno);
  // OpenVDB does not look at its stream after every read: a cut file must stop it here.
  in.exceptions(std::ios::failbit | std::ios::badbit);
  std::int64_t magic = 0;
  in.read(reinterpret_cast<char*>(&magic), sizeof magic);
  if (magic != openvdb::OPENVDB_MAGIC) return io_error("cannot read {}: it is not a VDB file", path);
  in.seekg(0);
  return {};
}

Result<OpaqueGrids> load_vdb(const std::string& path, Metadata* metadata) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return system_error("cannot read", path, errno);
  if (S_ISDIR(status.st_mode)) return system_error("cannot read", path, EISDIR);
  if (Status sound = check_seal(path); !sound) return sound.error();
  OpaqueGrids grids;
  const Status read = guard_vdb(path, "read", [&]() -> Status {
    std::ifstream in;
    if (Status ok = open_vdb(path, in); !ok) return ok;
    openvdb::io::Stream stream(in, /*delayLoad=*/false);
    grids = stream.getGrids();
    if (metadata) {
      const auto stored = stream.getMetadata();  // a copy of its own
      for (auto m = stored->beginMeta(); m != stored->endMeta(); ++m) (*metadata)[m->first] = m->second->str();
      metadata->erase(seal_key);
    }
    return {};
  });
  if (!read) return read.error();
  if (!grids) return io_error("cannot read {}: no grids", path);
  return grids;
}

Status store_vdb(const std::string& path, const void* grids, const Metadata& metadata, const VdbOptions& options) {
  return write_atomically(path, [&](const std::string& temporary) {
    FileSink sink(temporary);
    const Status written = guard_vdb(path, "write", [&]() -> Status {
      std::ostream out(&sink);
      out.exceptions(std::ios::failbit | std::ios::badbit);
      openvdb::MetaMap meta;
      meta.insertMeta("creator", openvdb::StringMetadata("Aegir"));
      for (const auto& [key, value] : metadata) meta.insertMeta(key, openvdb::StringMetadata(value));
      meta.insertMeta(seal_key, openvdb::StringMetadata(empty_seal()));
      ArchiveWriter(options.compression).write_to(out, *static_cast<const openvdb::GridCPtrVec*>(grids), meta);
      return {};
    });
    // The sink knows the reason; the stream only knows that something failed.
    if (Status finished = sink.finish(); !finished) return finished;
    if (!written) return written;
    return seal_vdb(temporary);
  });
}

namespace {

std::string file_name_of(const VolumeGrid& volume, VdbOptions::Naming naming) {
  if (naming == VdbOptions::blender && volume.name == "surface") return "phi";
  if (naming == VdbOptions::blender && volume.name == "vel") return "velocity";
  return volume.name;
}

/// Where sample (0,0,0) lies: a staggered grid has the transform of its cell centres.
Vec3d first_sample(const VolumeGrid& volume) {
  return volume.location == VolumeGrid::node ? volume.origin : volume.origin + Vec3d(volume.voxel_size / 2);
}

template <class Leaf>
void copy_to_leaf(const VolumeGrid& volume, std::size_t bucket, Leaf& leaf) {
  auto* out = leaf.buffer().data();
  if constexpr (std::is_same_v<typename Leaf::ValueType, float>) {
    std::memcpy(out, volume.plane(bucket).data(), 512 * sizeof(float));
  } else {
    const auto x = volume.plane(bucket, 0), y = volume.plane(bucket, 1), z = volume.plane(bucket, 2);
    for (std::size_t i = 0; i < 512; ++i) out[i] = {x[i], y[i], z[i]};
  }
  auto mask = leaf.valueMask();
  for (openvdb::Index w = 0; w < 8; ++w)
    mask.template getWord<std::uint64_t>(w) = volume.active.empty() ? ~std::uint64_t{0} : volume.active[bucket * 8 + w];
  leaf.setValueMask(mask);
}

template <class Grid>
openvdb::GridBase::Ptr make_grid(const VolumeGrid& volume, const VdbOptions& options) {
  using Leaf = typename Grid::TreeType::LeafNodeType;
  const typename Grid::ValueType background(volume.background);
  auto grid = Grid::create(background);
  std::vector<Leaf*> leaves(volume.buckets.size());
  for (std::size_t b = 0; b < leaves.size(); ++b) {
    const Vec3i c = volume.buckets[b];
    auto leaf = std::make_unique<Leaf>(openvdb::Coord(c.x * 8, c.y * 8, c.z * 8), background, false);
    leaf->allocate();
    leaves[b] = leaf.get();
    grid->tree().addLeaf(leaf.release());
  }
  tbb::parallel_for(std::size_t{0}, leaves.size(), [&](std::size_t b) { copy_to_leaf(volume, b, *leaves[b]); });
  grid->setName(file_name_of(volume, options.naming));
  const Vec3d at = first_sample(volume);
  auto transform = openvdb::math::Transform::createLinearTransform(volume.voxel_size);
  transform->postTranslate({at.x, at.y, at.z});
  grid->setTransform(transform);
  grid->setSaveFloatAsHalf(options.half);
  if (volume.location == VolumeGrid::face)
    grid->setGridClass(openvdb::GRID_STAGGERED);
  else if (volume.kind == VolumeGrid::level_set)
    grid->setGridClass(openvdb::GRID_LEVEL_SET);
  else if (volume.kind == VolumeGrid::scalar)
    grid->setGridClass(openvdb::GRID_FOG_VOLUME);
  if (volume.kind == VolumeGrid::vector) grid->setVectorType(openvdb::VEC_CONTRAVARIANT_RELATIVE);
  constexpr const char* locations[] = {"cell", "face", "node"};
  grid->insertMeta(location_key, openvdb::StringMetadata(locations[volume.location]));
  if constexpr (std::is_same_v<Grid, openvdb::FloatGrid>)
    if (volume.kind == VolumeGrid::level_set && volume.background > 0) {
      if (options.fill_inside) openvdb::tools::signedFloodFill(grid->tree());
      openvdb::tools::pruneLevelSet(grid->tree());
    }
  return grid;
}

void check_consistent(const VolumeGrid& volume) {
  const std::size_t n = volume.buckets.size();
  AEGIR_ASSERT(volume.voxel_size > 0 && std::isfinite(volume.voxel_size), "volume '" + volume.name + "': voxel size");
  AEGIR_ASSERT(volume.values.size() == n * 512 * static_cast<std::size_t>(volume.components()),
               "volume '" + volume.name + "': number of values");
  AEGIR_ASSERT(volume.active.empty() || volume.active.size() == n * 8, "volume '" + volume.name + "': active words");
  AEGIR_ASSERT(volume.location != VolumeGrid::face || volume.kind == VolumeGrid::vector,
               "volume '" + volume.name + "': face samples are vectors");
  auto sorted = volume.buckets;
  const auto less = [](const Vec3i& a, const Vec3i& b) { return std::tie(a.x, a.y, a.z) < std::tie(b.x, b.y, b.z); };
  std::sort(sorted.begin(), sorted.end(), less);
  AEGIR_ASSERT(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(),
               "volume '" + volume.name + "': a bucket twice");
}

}  // namespace

OpaqueGrid make_volume_grid(const VolumeGrid& volume, const VdbOptions& options) {
  check_consistent(volume);
  return volume.kind == VolumeGrid::vector ? make_grid<openvdb::Vec3SGrid>(volume, options)
                                           : make_grid<openvdb::FloatGrid>(volume, options);
}

Status write_volumes(const std::string& path, const std::vector<VolumeGrid>& volumes, const Metadata& metadata,
                     const VdbOptions& options) {
  return guard_vdb(path, "write", [&] {
    openvdb::GridCPtrVec grids;
    for (const auto& volume : volumes)
      grids.push_back(std::static_pointer_cast<openvdb::GridBase>(make_volume_grid(volume, options)));
    return store_vdb(path, &grids, metadata, options);
  });
}

Status read_transform(const std::string& path, const void* opaque_grid, VolumeGrid& volume) {
  const auto& grid = *static_cast<const openvdb::GridBase*>(opaque_grid);
  const auto& transform = grid.transform();
  if (!transform.isLinear())
    return io_error("cannot read {}: grid '{}' has a frustum transform; resample it to a uniform grid", path,
                    grid.getName());
  const openvdb::Mat4d m = transform.baseMap()->getAffineMap()->getMat4();
  const double size = m(0, 0);
  bool uniform = size > 0 && std::isfinite(size);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) uniform &= std::abs(m(i, j) - (i == j ? size : 0)) <= 1e-6 * size;
  uniform &= std::isfinite(m(3, 0)) && std::isfinite(m(3, 1)) && std::isfinite(m(3, 2));
  if (!uniform)
    return io_error("cannot read {}: grid '{}' is rotated, mirrored or stretched; resample it to a uniform grid", path,
                    grid.getName());
  volume.voxel_size = size;
  const Vec3d translate{m(3, 0), m(3, 1), m(3, 2)};
  const auto location = grid.getMetadata<openvdb::StringMetadata>(location_key);
  if (grid.getGridClass() == openvdb::GRID_STAGGERED)
    volume.location = VolumeGrid::face;
  else if (location)
    volume.location = location->value() == "node" ? VolumeGrid::node : VolumeGrid::cell;
  else
    volume.location = translate == Vec3d{} ? VolumeGrid::node : VolumeGrid::cell;
  volume.origin = volume.location == VolumeGrid::node ? translate : translate - Vec3d(size / 2);
  return {};
}

namespace {

template <class Leaf>
void copy_from_leaf(const Leaf& leaf, std::size_t bucket, VolumeGrid& volume) {
  const auto* in = leaf.buffer().data();
  for (openvdb::Index w = 0; w < 8; ++w)
    volume.active[bucket * 8 + w] = leaf.getValueMask().template getWord<std::uint64_t>(w);
  const openvdb::Coord o = leaf.origin();
  volume.buckets[bucket] = {o.x() >> 3, o.y() >> 3, o.z() >> 3};
  if constexpr (openvdb::VecTraits<typename Leaf::ValueType>::IsVec) {
    for (int c = 0; c < 3; ++c) {
      auto out = volume.plane(bucket, c);
      for (std::size_t i = 0; i < 512; ++i) out[i] = static_cast<float>(in[i][c]);
    }
  } else {
    auto out = volume.plane(bucket);
    for (std::size_t i = 0; i < 512; ++i) out[i] = static_cast<float>(in[i]);
  }
}

template <class Grid>
Status copy_grid(const std::string& path, Grid& grid, std::vector<VolumeGrid>& volumes) {
  VolumeGrid volume;
  volume.name = grid.getName();
  constexpr bool vector = openvdb::VecTraits<typename Grid::ValueType>::IsVec;
  volume.kind = vector                                           ? VolumeGrid::vector
                : grid.getGridClass() == openvdb::GRID_LEVEL_SET ? VolumeGrid::level_set
                                                                 : VolumeGrid::scalar;
  if constexpr (vector)
    volume.background = static_cast<float>(grid.background()[0]);
  else
    volume.background = static_cast<float>(grid.background());
  if (Status s = read_transform(path, static_cast<const openvdb::GridBase*>(&grid), volume); !s) return s;
  if (!vector && volume.location == VolumeGrid::face) volume.location = VolumeGrid::cell;
  if (grid.tree().activeTileCount() > 0) {
    if (grid.activeVoxelCount() > most_voxels)
      return io_error("cannot read {}: grid '{}' has {} active voxels in constant tiles, too many to expand", path,
                      volume.name, grid.activeVoxelCount());
    grid.tree().voxelizeActiveTiles();
  }
  openvdb::tree::LeafManager<const typename Grid::TreeType> leaves(grid.tree());
  const std::size_t n = leaves.leafCount();
  volume.buckets.resize(n);
  volume.values.resize(n * 512 * static_cast<std::size_t>(volume.components()));
  volume.active.resize(n * 8);
  tbb::parallel_for(std::size_t{0}, n, [&](std::size_t b) { copy_from_leaf(leaves.leaf(b), b, volume); });
  if (std::all_of(volume.active.begin(), volume.active.end(), [](std::uint64_t w) { return w == ~std::uint64_t{0}; }))
    volume.active.clear();
  volumes.push_back(std::move(volume));
  return {};
}

}  // namespace

Result<std::vector<VolumeGrid>> read_volumes(const std::string& path) {
  const auto grids = load_vdb(path);
  if (!grids) return grids.error();
  std::vector<VolumeGrid> volumes;
  const Status read = guard_vdb(path, "read", [&]() -> Status {
    for (const auto& base : *static_cast<openvdb::GridPtrVec*>(grids->get())) {
      Status s;
      if (auto f = openvdb::gridPtrCast<openvdb::FloatGrid>(base))
        s = copy_grid(path, *f, volumes);
      else if (auto v = openvdb::gridPtrCast<openvdb::Vec3SGrid>(base))
        s = copy_grid(path, *v, volumes);
      else if (auto d = openvdb::gridPtrCast<openvdb::DoubleGrid>(base))
        s = copy_grid(path, *d, volumes);
      else if (auto w = openvdb::gridPtrCast<openvdb::Vec3DGrid>(base))
        s = copy_grid(path, *w, volumes);
      if (!s) return s;
    }
    return {};
  });
  if (!read) return read.error();
  return volumes;
}

}  // namespace aegir
