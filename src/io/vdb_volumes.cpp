// Fields keep the tree of the file: what OpenVDB stores as one constant tile stays one, and its accessors, one per
// call, make reading safe from any number of threads.
#include "io/vdb_volumes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <openvdb/openvdb.h>

#include "io/vdb_archive.h"

namespace aegir {

namespace {

/// Cells further out than this are not addressed safely by OpenVDB's 32-bit coordinates.
constexpr double farthest_cell = 1 << 30;

/// Names that different programs give to the same thing.
const std::vector<std::vector<std::string>> synonyms = {
    {"surface", "phi"}, {"vel", "velocity", "v"}, {"temperature", "heat"}, {"flame", "flames"}};

/// The names to look for, best first.
std::vector<std::string> names_of(const std::string& wanted) {
  std::vector<std::string> names = {wanted};
  for (const auto& group : synonyms)
    if (std::find(group.begin(), group.end(), wanted) != group.end())
      for (const std::string& other : group)
        if (other != wanted) names.push_back(other);
  return names;
}

Error not_found(const std::string& path, const std::string& name, const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& k : known) list += (list.empty() ? "" : ", ") + ("'" + k + "'");
  if (known.empty()) return io_error("cannot read {}: it holds no volume of numbers or vectors", path);
  if (name.empty()) return io_error("cannot read {}: say which volume; there are {}", path, list);
  return io_error("cannot read {}: there is no volume '{}'; there are {}", path, name, list);
}

/// One grid of samples on a lattice: its values at positions in the file's space.
template <class Grid>
class Lattice {
 public:
  using Value = typename Grid::ValueType;
  static constexpr bool vector = openvdb::VecTraits<Value>::IsVec;

  Lattice(std::shared_ptr<const Grid> grid, const VolumeGrid& place) : grid_(std::move(grid)), size_(place.voxel_size) {
    staggered_ = vector && grid_->getGridClass() == openvdb::GRID_STAGGERED;
    // OpenVDB's staggered samples belong to the cell whose centre has their index.
    first_ = place.location == VolumeGrid::node ? place.origin : place.origin + Vec3d(size_ / 2);
  }

  /// Around all stored samples, constant tiles included, wider by what interpolation reaches.
  Box bounds() const {
    using Tree = typename Grid::TreeType;
    openvdb::CoordBBox cells, leaves;
    Box box;
    auto tile = grid_->tree().cbeginValueAll();
    for (tile.setMaxDepth(Tree::ValueAllCIter::LEAF_DEPTH - 1); tile; ++tile)
      if (tile.getValue() != grid_->background()) cells.expand(tile.getBoundingBox());
    if (grid_->tree().evalLeafBoundingBox(leaves)) cells.expand(leaves);
    if (cells.empty()) return box;
    // A staggered sample lies half a voxel below its index.
    const Vec3d reach(1.5 * size_);
    box.add(first_ + Vec3d(cells.min().x(), cells.min().y(), cells.min().z()) * size_ - reach);
    box.add(first_ + Vec3d(cells.max().x(), cells.max().y(), cells.max().z()) * size_ + reach);
    return box;
  }

  /// Calls out(i, value) for every position; `at` maps a world position to the file's space.
  template <class At, class Out>
  void sample(std::span<const Vec3d> world, const At& at, const Out& out) const {
    const auto values = grid_->getConstUnsafeAccessor();
    for (std::size_t i = 0; i < world.size(); ++i) {
      const Vec3d p = (at(world[i]) - first_) * (1 / size_);
      // Written so that what is no number fails, too.
      const bool reachable =
          std::abs(p.x) < farthest_cell && std::abs(p.y) < farthest_cell && std::abs(p.z) < farthest_cell;
      out(i, reachable ? interpolated(values, p) : grid_->background());
    }
  }

 private:
  using Number = typename openvdb::VecTraits<Value>::ElementType;

  template <class Accessor>
  Value interpolated(const Accessor& values, const Vec3d& p) const {
    const auto whole = [](const Value& v) { return v; };
    if constexpr (vector)
      if (staggered_) {
        Value v;
        for (int a = 0; a < 3; ++a) {
          Vec3d q = p;
          q[a] += 0.5;
          v[a] = between_corners(values, q, [a](const Value& corner) { return corner[a]; });
        }
        return v;
      }
    return between_corners(values, p, whole);
  }

  /// Trilinear between the eight samples around a place, of which `part` is taken; two in three times all of them lie
  /// in one leaf, which is then found only once.
  template <class Accessor, class Part>
  static auto between_corners(const Accessor& values, const Vec3d& p, const Part& part) {
    const double low[3] = {std::floor(p.x), std::floor(p.y), std::floor(p.z)};
    const openvdb::Coord c(static_cast<int>(low[0]), static_cast<int>(low[1]), static_cast<int>(low[2]));
    const Value* corner[8];
    const bool inside = (c.x() & 7) != 7 && (c.y() & 7) != 7 && (c.z() & 7) != 7;
    if (const auto* leaf = inside ? values.probeConstLeaf(c) : nullptr) {
      const Value* first = leaf->buffer().data() + leaf->coordToOffset(c);
      for (int i = 0; i < 8; ++i) corner[i] = first + (i >> 2) * 64 + (i >> 1 & 1) * 8 + (i & 1);
    } else {
      for (int i = 0; i < 8; ++i) corner[i] = &values.getValue(c.offsetBy(i >> 2, i >> 1 & 1, i & 1));
    }
    const auto x = static_cast<Number>(p.x - low[0]), y = static_cast<Number>(p.y - low[1]),
               z = static_cast<Number>(p.z - low[2]);
    const auto mix = [](const auto& a, const auto& b, Number t) { return a + (b - a) * t; };
    const auto line = [&](int i) { return mix(part(*corner[i]), part(*corner[i + 1]), z); };
    return mix(mix(line(0), line(2), y), mix(line(4), line(6), y), x);
  }

  std::shared_ptr<const Grid> grid_;
  double size_;
  Vec3d first_;
  bool staggered_ = false;
};

Vec3d to_file(const Vec3d& p, const VolumeImport& import) {
  const Vec3d q = p * (1 / import.metres_per_unit);
  return import.up == VolumeImport::z ? Vec3d{q.x, -q.z, q.y} : q;
}
template <class T>
Vec3<T> from_file(const Vec3<T>& v, const VolumeImport& import) {
  return import.up == VolumeImport::z ? Vec3<T>{v.x, v.z, -v.y} : v;
}

/// What a field is made of, in the space of the file.
struct Source {
  std::string name;
  std::vector<openvdb::GridBase::Ptr> grids;  // one, or three of which each is a component
  std::vector<VolumeGrid> places;             // of the grids: transforms only
};

template <class Grid, std::size_t Count>
class Field final : public VolumeField {
 public:
  Field(const Source& source, const VolumeImport& import) : import_(import) {
    for (std::size_t c = 0; c < Count; ++c) {
      lattices_.emplace_back(std::static_pointer_cast<const Grid>(source.grids[c]), source.places[c]);
      if (const Box box = lattices_[c].bounds(); !box.empty())
        for (const Vec3d& corner : {box.min, box.max})
          bounds_.add(from_file(corner, import_) * import_.metres_per_unit);
    }
    name_ = source.name;
    vector_ = lattices_[0].vector || Count == 3;
    level_set_ = !vector_ && source.grids[0]->getGridClass() == openvdb::GRID_LEVEL_SET;
    voxel_size_ = source.places[0].voxel_size * import_.metres_per_unit;
    scale_ = vector_ || level_set_ ? import_.metres_per_unit : 1;
  }

  void values(std::span<const Vec3d> world, std::span<float> out) const override {
    AEGIR_ASSERT(!vector_ && out.size() >= world.size(), "volume '" + name_ + "' is asked for numbers");
    if constexpr (!Lattice<Grid>::vector && Count == 1)
      lattices_[0].sample(
          world, [&](const Vec3d& p) { return to_file(p, import_); },
          [&](std::size_t i, const auto& value) { out[i] = static_cast<float>(value * scale_); });
  }

  void vectors(std::span<const Vec3d> world, std::span<Vec3f> out) const override {
    AEGIR_ASSERT(vector_ && out.size() >= world.size(), "volume '" + name_ + "' is asked for vectors");
    const auto at = [&](const Vec3d& p) { return to_file(p, import_); };
    if constexpr (Lattice<Grid>::vector)
      lattices_[0].sample(world, at, [&](std::size_t i, const auto& value) {
        out[i] = Vec3f(from_file(Vec3d(value[0], value[1], value[2]) * scale_, import_));
      });
    if constexpr (Count == 3) {
      for (int c = 0; c < 3; ++c)
        lattices_[static_cast<std::size_t>(c)].sample(
            world, at, [&](std::size_t i, const auto& value) { out[i][c] = static_cast<float>(value * scale_); });
      for (std::size_t i = 0; i < world.size(); ++i) out[i] = from_file(out[i], import_);
    }
  }

 private:
  VolumeImport import_;
  std::vector<Lattice<Grid>> lattices_;
  double scale_ = 1;
};

using FieldResult = Result<std::shared_ptr<const VolumeField>>;

bool is_scalar(const openvdb::GridBase& g) { return g.isType<openvdb::FloatGrid>() || g.isType<openvdb::DoubleGrid>(); }
bool is_volume(const openvdb::GridBase& g) {
  return is_scalar(g) || g.isType<openvdb::Vec3SGrid>() || g.isType<openvdb::Vec3DGrid>();
}

FieldResult make_field(const std::string& path, Source source, const VolumeImport& import) {
  for (const auto& grid : source.grids)
    if (Status s = read_transform(path, grid.get(), source.places.emplace_back()); !s) return s.error();
  std::shared_ptr<const VolumeField> field;
  const openvdb::GridBase& first = *source.grids[0];
  if (source.grids.size() == 3) {
    for (auto& grid : source.grids)
      if (grid->isType<openvdb::DoubleGrid>())
        grid = std::make_shared<openvdb::FloatGrid>(static_cast<const openvdb::DoubleGrid&>(*grid));
    field = std::make_shared<Field<openvdb::FloatGrid, 3>>(source, import);
  } else if (first.isType<openvdb::FloatGrid>()) {
    field = std::make_shared<Field<openvdb::FloatGrid, 1>>(source, import);
  } else if (first.isType<openvdb::DoubleGrid>()) {
    field = std::make_shared<Field<openvdb::DoubleGrid, 1>>(source, import);
  } else if (first.isType<openvdb::Vec3SGrid>()) {
    field = std::make_shared<Field<openvdb::Vec3SGrid, 1>>(source, import);
  } else {
    field = std::make_shared<Field<openvdb::Vec3DGrid, 1>>(source, import);
  }
  return field;
}

/// The grid of a name, or its three components; nothing when there is neither.
Source find_grids(const openvdb::GridPtrVec& all, const std::string& name) {
  Source source{name, {}, {}};
  const auto find = [&](const std::string& wanted, bool scalar) -> openvdb::GridBase::Ptr {
    for (const auto& grid : all)
      if (grid->getName() == wanted && (scalar ? is_scalar(*grid) : is_volume(*grid))) return grid;
    return nullptr;
  };
  if (auto grid = find(name, false)) {
    source.grids = {grid};
  } else {
    for (const char* axis : {".x", ".y", ".z"})
      if (auto part = find(name + axis, true)) source.grids.push_back(part);
    if (source.grids.size() != 3) source.grids.clear();
  }
  return source;
}

}  // namespace

float VolumeField::value(const Vec3d& world) const {
  float out = 0;
  values({&world, 1}, {&out, 1});
  return out;
}

Vec3f VolumeField::vector(const Vec3d& world) const {
  Vec3f out;
  vectors({&world, 1}, {&out, 1});
  return out;
}

FieldResult VolumeField::read(const std::string& path, const std::string& name, const VolumeImport& import) {
  if (!(import.metres_per_unit > 0) || !std::isfinite(import.metres_per_unit))
    return usage_error({}, "metres_per_unit is {}; it must be positive", import.metres_per_unit);
  const auto loaded = load_vdb(path);
  if (!loaded) return loaded.error();
  FieldResult field = io_error("cannot read {}", path);
  const Status done = guard_vdb(path, "read", [&]() -> Status {
    const auto& all = *static_cast<const openvdb::GridPtrVec*>(loaded->get());
    std::vector<std::string> known;
    for (const auto& grid : all)
      if (is_volume(*grid)) known.push_back(grid->getName());
    Source source;
    if (name.empty() && known.size() == 1) source = find_grids(all, known.front());
    for (const std::string& candidate : names_of(name))
      if (source.grids.empty() && !name.empty()) source = find_grids(all, candidate);
    if (source.grids.empty()) return not_found(path, name, known);
    field = make_field(path, std::move(source), import);
    return field ? Status() : Status(field.error());
  });
  if (!done) return done.error();
  return field;
}

FieldResult VolumeField::create(const VolumeGrid& grid) {
  FieldResult field = io_error("no field");
  const Status done = guard_vdb(grid.name, "make", [&]() -> Status {
    const auto made = make_volume_grid(grid, {.fill_inside = false});
    field = make_field(grid.name, {grid.name, {std::static_pointer_cast<openvdb::GridBase>(made)}, {}}, {});
    return field ? Status() : Status(field.error());
  });
  if (!done) return done.error();
  return field;
}

Result<VolumeGrid> read_volume(const std::string& path, const std::string& name) {
  Result<std::vector<VolumeGrid>> all = read_volumes(path);
  if (!all) return all.error();
  std::vector<std::string> known;
  for (const VolumeGrid& grid : *all) known.push_back(grid.name);
  if (name.empty() && known.size() == 1) return std::move(all->front());
  for (const std::string& candidate : names_of(name))
    if (const auto found = std::find(known.begin(), known.end(), candidate); found != known.end())
      return std::move((*all)[static_cast<std::size_t>(found - known.begin())]);
  return not_found(path, name, known);
}

}  // namespace aegir
