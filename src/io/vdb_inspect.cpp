// Fingerprints and descriptions of VDB files: both walk every active value and every attribute of every point.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <openvdb/openvdb.h>
#include <openvdb/points/AttributeArrayString.h>
#include <openvdb/points/PointDataGrid.h>
#include <openvdb/tree/LeafManager.h>
#include <openvdb/tree/NodeManager.h>

#include <tbb/parallel_for.h>

#include "io/vdb_archive.h"

namespace aegir {

namespace {

namespace pts = openvdb::points;
using openvdb::Index;
using PointLeaf = pts::PointDataTree::LeafNodeType;
using openvdb::typeNameAsString;

template <class... T>
struct Types {};
using VolumeGrids =
    Types<openvdb::FloatGrid, openvdb::Vec3SGrid, openvdb::DoubleGrid, openvdb::Vec3DGrid, openvdb::Int32Grid,
          openvdb::Int64Grid, openvdb::Vec3IGrid, openvdb::BoolGrid, openvdb::MaskGrid>;
using AttributeTypes = Types<float, openvdb::Vec3f, std::int32_t, std::int64_t, double, std::int16_t, std::int8_t, bool,
                             openvdb::Vec3d, openvdb::Vec3i, openvdb::math::Quat<float>, openvdb::math::Quat<double>,
                             openvdb::math::Mat3<float>, openvdb::Mat3d, openvdb::math::Mat4<float>, openvdb::Mat4d>;

/// Calls f with the grid as its own type; false when it is none of the list.
template <class F, class... Grid>
bool with_grid(const openvdb::GridBase& base, Types<Grid...>, F&& f) {
  return ((base.isType<Grid>() ? (f(static_cast<const Grid&>(base)), true) : false) || ...);
}

/// Calls f.template operator()<T>() for the attribute type of that name.
template <class F, class... T>
bool with_type(const std::string& name, Types<T...>, F&& f) {
  return ((name == typeNameAsString<T>() ? (f.template operator()<T>(), true) : false) || ...);
}

template <class T>
void add_value(Hash128& hash, const T& value) {
  if constexpr (sizeof(T) <= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(T));
    hash.add(word);
  } else {
    hash.add_bytes(&value, sizeof(T));
  }
}

void add_coord(Hash128& hash, const openvdb::Coord& c) {
  hash.add(static_cast<std::uint32_t>(c.x()) | std::uint64_t{static_cast<std::uint32_t>(c.y())} << 32);
  hash.add(static_cast<std::uint32_t>(c.z()));
}

void add_transform(Hash128& hash, const openvdb::math::Transform& transform) {
  if (transform.isLinear()) {
    const openvdb::Mat4d m = transform.baseMap()->getAffineMap()->getMat4();
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) add_value(hash, m(i, j));
    return;
  }
  std::ostringstream text;
  transform.print(text);
  hash.add_text(text.str());
}

/// Active values as a set of blocks; a constant tile of the size of a block counts like the block it stands for.
template <class Grid>
void hash_volume(const Grid& grid, Hash128& hash) {
  using Tree = typename Grid::TreeType;
  openvdb::tree::LeafManager<const Tree> leaves(grid.tree());
  std::vector<Hash128> parts(leaves.leafCount(), Hash128::zero());
  tbb::parallel_for(std::size_t{0}, parts.size(), [&](std::size_t l) {
    const auto& leaf = leaves.leaf(l);
    if (leaf.isEmpty()) return;
    Hash128 block;
    add_coord(block, leaf.origin());
    for (auto v = leaf.cbeginValueOn(); v; ++v) {
      block.add(v.pos());
      add_value(block, typename Grid::ValueType(*v));
    }
    parts[l].merge(block);
  });
  for (const auto& part : parts) hash.merge_sum(part);
  auto tile = grid.tree().cbeginValueOn();
  for (tile.setMaxDepth(Tree::ValueOnCIter::LEAF_DEPTH - 1); tile; ++tile) {
    const openvdb::CoordBBox box = tile.getBoundingBox();
    const typename Grid::ValueType value(*tile);
    Hash128 block;
    add_coord(block, box.min());
    if (box.dim() == openvdb::Coord(8)) {
      for (Index v = 0; v < 512; ++v) block.add(v), add_value(block, value);
    } else {
      add_coord(block, box.max());
      add_value(block, value);
    }
    hash.merge(block);
  }
}

/// Attributes of a leaf by name, without groups.
std::vector<std::pair<std::string, std::size_t>> named_attributes(const PointLeaf& leaf) {
  std::vector<std::pair<std::string, std::size_t>> named;
  for (const auto& [name, position] : leaf.attributeSet().descriptor().map())
    if (!pts::isGroup(*leaf.attributeSet().getConst(position))) named.emplace_back(name, position);
  std::sort(named.begin(), named.end());
  return named;
}

/// Adds one attribute to the hash of every point of a leaf.
void hash_attribute(const PointLeaf& leaf, std::size_t position, std::vector<Hash128>& points) {
  const pts::AttributeArray& array = *leaf.attributeSet().getConst(position);
  const auto count = static_cast<Index>(points.size());
  if (pts::isString(array)) {
    const pts::StringAttributeHandle handle(array, leaf.attributeSet().descriptor().getMetadata());
    for (Index i = 0; i < count; ++i) points[i].add_text(handle.get(i));
    return;
  }
  if (!array.hasConstantStride()) return;  // such values belong to no point
  with_type(array.valueType(), AttributeTypes(), [&]<class T>() {
    const pts::AttributeHandle<T> handle(array, false);
    for (Index i = 0; i < count; ++i)
      for (Index k = 0; k < array.stride(); ++k) add_value(points[i], handle.get(i, k));
  });
}

Status check_points(const std::string& path, const pts::PointDataGrid& grid) {
  for (auto leaf = grid.tree().cbeginLeaf(); leaf; ++leaf)
    if (!points_are_sound(&*leaf))
      return io_error("cannot read {}: the points grid '{}' is damaged", path, grid.getName());
  return {};
}

/// Points as a set: adding their hashes gives what hashing them in the order of their ids would, without the sort.
void hash_points(const pts::PointDataGrid& grid, Hash128& hash) {
  openvdb::tree::LeafManager<const pts::PointDataTree> leaves(grid.tree());
  std::vector<Hash128> parts(leaves.leafCount(), Hash128::zero());
  tbb::parallel_for(std::size_t{0}, parts.size(), [&](std::size_t l) {
    const PointLeaf& leaf = leaves.leaf(l);
    std::vector<Hash128> points(leaf.getValue(511));
    Index point = 0;
    for (Index v = 0; v < 512; ++v)
      for (const Index end = leaf.getValue(v); point < end; ++point)
        add_coord(points[point], leaf.offsetToGlobalCoord(v));
    for (const auto& [name, position] : named_attributes(leaf)) hash_attribute(leaf, position, points);
    for (const auto& h : points) parts[l].merge(h);
  });
  for (const auto& part : parts) hash.merge_sum(part);
  std::set<std::pair<std::string, std::string>> types;
  for (auto leaf = grid.tree().cbeginLeaf(); leaf; ++leaf)
    for (const auto& [name, position] : named_attributes(*leaf))
      types.emplace(name, leaf->attributeSet().getConst(position)->valueType());
  for (const auto& [name, type] : types) hash.add_text(name), hash.add_text(type);
}

}  // namespace

Result<Hash128> hash_vdb(const std::string& path) {
  const auto grids = load_vdb(path);
  if (!grids) return grids.error();
  Hash128 whole;
  const Status s = guard_vdb(path, "read", [&]() -> Status {
    for (const auto& base : *static_cast<openvdb::GridPtrVec*>(grids->get())) {
      Hash128 hash;
      hash.add_text(base->getName());
      hash.add_text(base->type());
      add_transform(hash, base->transform());
      if (base->isType<pts::PointDataGrid>()) {
        const auto& points = static_cast<const pts::PointDataGrid&>(*base);
        if (Status checked = check_points(path, points); !checked) return checked;
        hash_points(points, hash);
      } else if (!with_grid(*base, VolumeGrids(), [&](const auto& grid) { hash_volume(grid, hash); })) {
        return io_error("cannot hash {}: grid '{}' is of type {}", path, base->getName(), base->type());
      }
      whole.merge(hash);
    }
    return {};
  });
  if (!s) return s.error();
  return whole;
}

namespace {

/// The smallest and largest finite value per component.
struct Range {
  std::array<double, 3> low{HUGE_VAL, HUGE_VAL, HUGE_VAL}, high{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};

  void add(int component, double value) {
    if (!std::isfinite(value)) return;
    const auto c = static_cast<std::size_t>(component);
    low[c] = std::min(low[c], value), high[c] = std::max(high[c], value);
  }
  template <class T>
  void add(const T& value) {
    if constexpr (openvdb::VecTraits<T>::IsVec)
      for (int c = 0; c < 3; ++c) add(c, static_cast<double>(value[c]));
    else if constexpr (std::is_arithmetic_v<T>)
      add(0, static_cast<double>(value));
  }
  void add_range(const Range& r) {
    for (std::size_t c = 0; c < 3; ++c) low[c] = std::min(low[c], r.low[c]), high[c] = std::max(high[c], r.high[c]);
  }
  void store(AttributeInfo& info) const {
    for (std::size_t c = 0; c < 3; ++c)
      if (low[c] <= high[c]) info.minimum[c] = low[c], info.maximum[c] = high[c];
  }
};

template <class T>
constexpr int components_of() {
  return openvdb::VecTraits<T>::IsVec ? 3 : std::is_arithmetic_v<T> ? 1 : 0;
}

std::string class_name(openvdb::GridClass grid_class) {
  return grid_class == openvdb::GRID_UNKNOWN ? "" : openvdb::GridBase::gridClassToString(grid_class);
}

Box world_box(const openvdb::GridBase& grid, const openvdb::CoordBBox& cells) {
  Box box;
  if (cells.empty()) return box;
  const openvdb::Vec3d low = cells.min().asVec3d() - openvdb::Vec3d(0.5),
                       high = cells.max().asVec3d() + openvdb::Vec3d(0.5);
  for (int corner = 0; corner < 8; ++corner) {
    const openvdb::Vec3d at((corner & 1 ? high : low).x(), (corner & 2 ? high : low).y(),
                            (corner & 4 ? high : low).z());
    const openvdb::Vec3d p = grid.indexToWorld(at);
    box.add(Vec3d{p.x(), p.y(), p.z()});
  }
  return box;
}

template <class Grid>
void describe_volume(const Grid& grid, GridInfo& info) {
  using Value = typename Grid::ValueType;
  info.active_voxels = grid.activeVoxelCount();
  AttributeInfo values{"value", grid.valueType(), components_of<Value>(), {}, {}};
  Range range;
  for (auto v = grid.cbeginValueOn(); v; ++v) range.add(Value(*v));
  range.store(values);
  info.attributes.push_back(values);
}

Range range_of(const pts::AttributeArray& array, AttributeInfo& info) {
  Range range;
  info.type = array.valueType();
  info.components = 0;
  if (pts::isString(array) || array.stride() != 1) return range;
  with_type(array.valueType(), AttributeTypes(), [&]<class T>() {
    info.components = components_of<T>();
    const pts::AttributeHandle<T> handle(array, false);
    for (Index i = 0; i < array.size(); ++i) range.add(handle.get(i));
  });
  return range;
}

/// World positions of a leaf's points.
Range position_range(const pts::PointDataGrid& grid, const PointLeaf& leaf) {
  Range range;
  const pts::AttributeHandle<openvdb::Vec3f> handle(*leaf.attributeSet().get("P"), false);
  Index point = 0;
  for (Index v = 0; v < 512; ++v)
    for (const Index end = leaf.getValue(v); point < end; ++point)
      range.add(grid.indexToWorld(leaf.offsetToGlobalCoord(v).asVec3d() + openvdb::Vec3d(handle.get(point))));
  return range;
}

void describe_points(const pts::PointDataGrid& grid, GridInfo& info) {
  info.type = "points";
  info.active_voxels = grid.activeVoxelCount();
  std::map<std::string, std::pair<AttributeInfo, Range>> found;
  for (auto leaf = grid.tree().cbeginLeaf(); leaf; ++leaf) {
    if (leaf->getValue(511) == 0) continue;
    info.points += leaf->getValue(511);
    for (const auto& [name, position] : named_attributes(*leaf)) {
      auto& [attribute, range] = found[name];
      attribute.name = name;
      const auto& array = *leaf->attributeSet().getConst(position);
      range.add_range(name == "P"
                          ? (attribute.type = array.valueType(), attribute.components = 3, position_range(grid, *leaf))
                          : range_of(array, attribute));
    }
  }
  for (auto& [name, both] : found) {
    both.second.store(both.first);
    const auto &low = both.second.low, &high = both.second.high;
    if (name == "P" && low[0] <= high[0])
      info.bounds.add(Vec3d{low[0], low[1], low[2]}), info.bounds.add(Vec3d{high[0], high[1], high[2]});
    info.attributes.push_back(both.first);
  }
}

}  // namespace

Status inspect_vdb(const std::string& path, FileInfo& info) {
  const auto grids = load_vdb(path, &info.metadata);
  if (!grids) return grids.error();
  return guard_vdb(path, "read", [&]() -> Status {
    for (const auto& base : *static_cast<openvdb::GridPtrVec*>(grids->get())) {
      GridInfo grid;
      grid.name = base->getName();
      grid.type = base->valueType();
      grid.grid_class = class_name(base->getGridClass());
      const openvdb::Vec3d size = base->voxelSize();
      grid.voxel_size = {size.x(), size.y(), size.z()};
      if (base->isType<pts::PointDataGrid>()) {
        const auto& points = static_cast<const pts::PointDataGrid&>(*base);
        if (Status checked = check_points(path, points); !checked) return checked;
        describe_points(points, grid);
      } else {
        grid.bounds = world_box(*base, base->evalActiveVoxelBoundingBox());
        with_grid(*base, VolumeGrids(), [&](const auto& typed) { describe_volume(typed, grid); });
      }
      info.grids.push_back(std::move(grid));
    }
    return {};
  });
}

}  // namespace aegir
