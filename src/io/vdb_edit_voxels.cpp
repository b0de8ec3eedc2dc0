// Voxels of a leaf as planes and back.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <set>

#include <openvdb/openvdb.h>
#include <openvdb/tools/Prune.h>

#include "base/assert.h"
#include "io/vdb_edit_parts.h"
#include "parallel/threads.h"

namespace aegir {

namespace {

using openvdb::Coord;
using openvdb::GridBase;
using openvdb::Index;

/// Active tiles beyond this many voxels are not made into leaves.
constexpr std::uint64_t most_voxels = std::uint64_t{1} << 31;
constexpr Index leaf_voxels = 512;
using Mask = openvdb::util::NodeMask<3>;
using Planes = void* const*;

template <class... T>
struct Types {};
using GridTypes = Types<openvdb::FloatGrid, openvdb::Vec3SGrid, openvdb::DoubleGrid, openvdb::Vec3DGrid,
                        openvdb::Int32Grid, openvdb::Int64Grid, openvdb::Vec3IGrid, openvdb::BoolGrid>;

/// Calls f.template operator()<Grid>() for volumes of values of that name; false where there is none.
template <class F, class... G>
bool with_grid_type(const std::string& name, Types<G...>, F&& f) {
  return ((name == openvdb::typeNameAsString<typename G::ValueType>() ? (f.template operator()<G>(), true) : false) ||
          ...);
}

template <class T>
struct Parts {
  using Stored = T;
  using Plane = std::conditional_t<std::is_same_v<T, bool>, std::int32_t, T>;
  static constexpr std::size_t count = 1;
  static Stored get(const T& value, std::size_t) { return value; }
  static void set(T& value, std::size_t, Plane part) {
    if constexpr (std::is_same_v<T, bool>)
      value = part != 0;
    else
      value = part;
  }
};
template <class T>
requires openvdb::VecTraits<T>::IsVec struct Parts<T> {
  using Stored = typename T::value_type;
  using Plane = Stored;
  static constexpr std::size_t count = 3;
  static Stored get(const T& value, std::size_t c) { return value[static_cast<int>(c)]; }
  static void set(T& value, std::size_t c, Plane part) { value[static_cast<int>(c)] = part; }
};

/// One volume of the edit, whatever its type.
class Volume {
 public:
  Volume(VdbColumn what, GridBase::Ptr which) : column(std::move(what)), grid(std::move(which)) {}
  virtual ~Volume() = default;
  virtual std::size_t planes() const = 0;
  virtual std::size_t width() const = 0;
  virtual void collect(std::set<Coord>& origins) const = 0;
  /// The active voxels of a leaf, none where there is no leaf.
  virtual Mask active(const Coord& origin) const = 0;
  virtual void load(const Coord& origin, const openvdb::math::Transform& transform, Planes planes) const = 0;
  virtual void store(const Coord& origin, Planes planes) = 0;
  virtual void finish() = 0;

  VdbColumn column;
  GridBase::Ptr grid;
  std::size_t first = 0;
  bool elsewhere = false;  ///< its transform is not that of the volumes that are written
  bool had_tiles = false;
};

template <class Grid>
class TypedVolume : public Volume {
 public:
  using Volume::Volume;
  using T = typename Grid::ValueType;
  using P = Parts<T>;
  std::size_t planes() const override { return P::count; }
  std::size_t width() const override { return sizeof(typename P::Plane); }

  void collect(std::set<Coord>& origins) const override {
    for (auto leaf = tree().cbeginLeaf(); leaf; ++leaf) origins.insert(leaf->origin());
  }
  Mask active(const Coord& origin) const override {
    const auto* leaf = tree().probeConstLeaf(origin);
    return leaf ? leaf->getValueMask() : Mask();
  }

  void load(const Coord& origin, const openvdb::math::Transform& transform, Planes planes) const override {
    if (elsewhere) return load_nearest(origin, transform, planes);
    const auto* leaf = tree().probeConstLeaf(origin);
    const T background = leaf ? T() : tree().getValue(origin);
    for (Index i = 0; i < leaf_voxels; ++i) put(leaf ? leaf->getValue(i) : background, i, planes);
  }

  void store(const Coord& origin, Planes planes) override {
    auto* leaf = tree().probeLeaf(origin);
    if (!leaf) return;
    for (auto voxel = leaf->getValueMask().beginOn(); voxel; ++voxel) {
      T value = leaf->getValue(voxel.pos());
      for (std::size_t c = 0; c < P::count; ++c)
        P::set(value, c, static_cast<const typename P::Plane*>(planes[c])[voxel.pos()]);
      leaf->setValueOnly(voxel.pos(), value);
    }
  }

  void finish() override {
    if (had_tiles) openvdb::tools::prune(tree());
  }

 private:
  Grid& typed() { return static_cast<Grid&>(*grid); }
  const Grid& typed() const { return static_cast<const Grid&>(*grid); }
  typename Grid::TreeType& tree() { return typed().tree(); }
  const typename Grid::TreeType& tree() const { return typed().tree(); }

  static void put(const T& value, Index i, Planes planes) {
    for (std::size_t c = 0; c < P::count; ++c) static_cast<typename P::Plane*>(planes[c])[i] = P::get(value, c);
  }
  void load_nearest(const Coord& origin, const openvdb::math::Transform& transform, Planes planes) const {
    const auto accessor = typed().getConstUnsafeAccessor();
    for (Index i = 0; i < leaf_voxels; ++i) {
      const Coord voxel =
          origin.offsetBy(static_cast<int>(i >> 6), static_cast<int>(i >> 3 & 7), static_cast<int>(i & 7));
      put(accessor.getValue(grid->transform().worldToIndexCellCentered(transform.indexToWorld(voxel))), i, planes);
    }
  }
};

class VoxelEdit {
 public:
  VoxelEdit(openvdb::GridPtrVec& grids, const std::vector<VdbColumn>& columns, const VdbKernel& kernel)
      : grids_(grids), columns_(columns), kernel_(kernel) {}

  Result<VdbEditReport> run() {
    if (Status ok = find_volumes(); !ok) return ok.error();
    std::set<Coord> found;
    for (const auto& v : volumes_)
      if (v->column.written) v->collect(found);
    const std::vector<Coord> origins(found.begin(), found.end());
    std::vector<std::int64_t> counts(origins.size());
    parallel_for(0, origins.size(), 8, [&](std::size_t begin, std::size_t end) {
      Scratch scratch(*this);
      for (std::size_t l = begin; l < end && !failed_.load(std::memory_order_relaxed); ++l)
        if (Status ok = work(origins[l], scratch, counts[l]); !ok) fail(l, ok.error());
    });
    if (failed_) return failure_;
    for (const auto& v : volumes_) {
      if (v->column.written) v->finish();
      if (v->column.created && v->column.written) grids_.push_back(v->grid);
    }
    VdbEditReport report;
    for (const std::int64_t c : counts) report.elements += c;
    return report;
  }

 private:
  /// Memory of one thread for one leaf.
  struct Scratch {
    explicit Scratch(const VoxelEdit& edit) {
      for (const auto& v : edit.volumes_)
        for (std::size_t p = 0; p < v->planes(); ++p) memory.emplace_back(leaf_voxels * v->width());
      for (auto& m : memory) planes.push_back(m.data());
    }
    std::vector<std::vector<std::byte>> memory;
    std::vector<void*> planes;
    std::vector<VdbRange> ranges;
  };

  GridBase::Ptr find(const std::string& name) const {
    for (const GridBase::Ptr& g : grids_)
      if (g->getName() == name && with_grid_type(g->valueType(), GridTypes{}, []<class G>() {})) return g;
    return nullptr;
  }

  /// Whose voxels and transform count: the first that is written and exists, else the first that exists.
  GridBase::Ptr leader() const {
    for (const bool written : {true, false})
      for (const VdbColumn& c : columns_)
        if (!c.created && c.written == written)
          if (GridBase::Ptr g = find(c.name)) return g;
    return nullptr;
  }

  Status find_volumes() {
    const GridBase::Ptr lead = leader();
    if (!lead)
      return usage_error({}, "there is no volume whose voxels the expression could run over; read or write one");
    if (!lead->transform().isLinear())
      return usage_error({}, "volume '{}' has a frustum transform; resample it to a linear one", lead->getName());
    transform_ = lead->transformPtr();
    for (const VdbColumn& c : columns_) {
      GridBase::Ptr grid = c.created ? nullptr : find(c.name);
      if (!c.created && !grid) return usage_error({}, "there is no volume '{}'", c.name);
      if (c.written && grid && grid->transform() != *transform_)
        return usage_error({}, "volumes '{}' and '{}' are written and have different transforms; write one at a time",
                           lead->getName(), c.name);
      if (c.written && grid)
        if (Status ok = make_dense(*grid); !ok) return ok;
      if (!with_grid_type(grid ? grid->valueType() : c.type, GridTypes{}, [&]<class G>() { add<G>(c, grid, *lead); }))
        return usage_error({}, "volume '{}' cannot hold values of type {}", c.name, c.type);
    }
    return {};
  }

  /// Makes leaves of active tiles; a tree that several grids share becomes one of its own.
  Status make_dense(GridBase& grid) {
    const auto& tree = grid.constBaseTree();
    if (grid.constBaseTreePtr().use_count() > 2) grid.setTree(tree.copy());
    if (grid.constBaseTree().activeTileCount() == 0) return {};
    const std::uint64_t voxels = grid.activeVoxelCount();
    if (voxels > most_voxels)
      return usage_error({}, "volume '{}' has {} active voxels in constant tiles, too many to work on", grid.getName(),
                         voxels);
    dense_.insert(&grid);
    with_grid_type(grid.valueType(), GridTypes{},
                   [&]<class G>() { static_cast<G&>(grid).tree().voxelizeActiveTiles(); });
    return {};
  }

  /// The active voxels of all volumes that exist and have the transform of the first.
  openvdb::MaskTree::Ptr topology() const {
    auto mask = std::make_shared<openvdb::MaskTree>();
    for (const VdbColumn& c : columns_) {
      const GridBase::Ptr grid = c.created ? nullptr : find(c.name);
      if (!grid || grid->transform() != *transform_) continue;
      with_grid_type(grid->valueType(), GridTypes{},
                     [&]<class G>() { mask->topologyUnion(static_cast<const G&>(*grid).tree()); });
    }
    return mask;
  }

  template <class G>
  void add(const VdbColumn& c, GridBase::Ptr grid, GridBase& lead) {
    if (!grid) {
      auto fresh = G::create();
      fresh->setTree(std::make_shared<typename G::TreeType>(*topology(), openvdb::zeroVal<typename G::ValueType>(),
                                                            openvdb::TopologyCopy()));
      fresh->tree().voxelizeActiveTiles();
      fresh->setTransform(lead.transform().copy());
      fresh->setName(c.name);
      if (lead.getGridClass() == openvdb::GRID_FOG_VOLUME && !openvdb::VecTraits<typename G::ValueType>::IsVec)
        fresh->setGridClass(openvdb::GRID_FOG_VOLUME);
      fresh->setSaveFloatAsHalf(lead.saveFloatAsHalf());
      grid = fresh;
    }
    auto volume = std::make_unique<TypedVolume<G>>(c, grid);
    volume->first = plane_count_, plane_count_ += volume->planes();
    volume->elsewhere = grid->transform() != *transform_;
    volume->had_tiles = dense_.contains(grid.get());
    volumes_.push_back(std::move(volume));
  }

  void fail(std::size_t leaf, const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!failed_ || leaf < failed_leaf_) failure_ = error, failed_leaf_ = leaf;
    failed_ = true;
  }

  Status work(const Coord& origin, Scratch& s, std::int64_t& count) {
    Mask active;
    for (const auto& v : volumes_)
      if (v->column.written) active |= v->active(origin);
    count = active.countOn();
    if (count == 0) return {};
    s.ranges.clear();
    for (auto voxel = active.beginOn(); voxel; ++voxel) {
      const std::int64_t at = voxel.pos();
      if (s.ranges.empty() || s.ranges.back().end != at) s.ranges.push_back({at, at});
      s.ranges.back().end = at + 1;
    }
    for (const auto& v : volumes_) v->load(origin, *transform_, s.planes.data() + v->first);
    VdbLeaf view;
    view.planes = s.planes.data(), view.count = leaf_voxels, view.voxel_size = transform_->voxelSize()[0];
    view.ranges = s.ranges.data(), view.range_count = s.ranges.size();
    const openvdb::Vec3d world = transform_->indexToWorld(origin);
    for (int a = 0; a < 3; ++a) view.origin[a] = world[a], view.first_voxel[a] = origin[a];
    if (Status ok = kernel_(view); !ok) return ok;
    for (const auto& v : volumes_)
      if (v->column.written) v->store(origin, s.planes.data() + v->first);
    return {};
  }

  openvdb::GridPtrVec& grids_;
  const std::vector<VdbColumn>& columns_;
  const VdbKernel& kernel_;
  openvdb::math::Transform::Ptr transform_;
  std::vector<std::unique_ptr<Volume>> volumes_;
  std::set<const GridBase*> dense_;
  std::size_t plane_count_ = 0;
  std::mutex mutex_;
  std::atomic<bool> failed_{false};
  std::size_t failed_leaf_ = 0;
  Error failure_;
};

}  // namespace

Status describe_volume(const void* opaque_grid, VdbGrid& description) {
  const auto& grid = *static_cast<const GridBase*>(opaque_grid);
  description.type = grid.valueType();
  const bool known = with_grid_type(description.type, GridTypes{}, [&]<class G>() {
    if (grid.isType<G>()) description.kind = VdbGrid::voxels;
  });
  if (!known || description.kind != VdbGrid::voxels) return {};
  description.count = static_cast<std::int64_t>(grid.activeVoxelCount());
  description.linear = grid.transform().isLinear();
  description.uniform = false;
  if (!description.linear) return {};
  const openvdb::Mat4d m = grid.transform().baseMap()->getAffineMap()->getMat4();
  const double size = description.voxel_size = m(0, 0);
  description.uniform = size > 0 && std::isfinite(size);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) description.uniform &= std::abs(m(i, j) - (i == j ? size : 0)) <= 1e-9 * size;
  return {};
}

Result<VdbEditReport> edit_volume_grids(void* grids, const std::vector<VdbColumn>& columns, const VdbKernel& kernel) {
  return VoxelEdit(*static_cast<openvdb::GridPtrVec*>(grids), columns, kernel).run();
}

}  // namespace aegir
