// Points grids are built by hand rather than through OpenVDB's conversion: particles come sorted by bucket, and a
// bucket is a leaf, so that each leaf gathers a few runs of the input and nothing is sorted that already is. Writing
// and reading share one file because every file that sees OpenVDB costs many seconds to compile.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <tuple>

#include <openvdb/openvdb.h>
#include <openvdb/points/PointDataGrid.h>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include "io/vdb.h"
#include "io/vdb_archive.h"

namespace aegir {

namespace {

namespace pts = openvdb::points;
using Leaf = pts::PointDataTree::LeafNodeType;
using pts::AttributeArray;
using pts::TypedAttributeArray;

constexpr std::size_t chunk_points = 1 << 16;
/// OpenVDB counts the points of a leaf in 32 bits.
constexpr std::size_t most_points_per_leaf = std::size_t{1} << 31;
/// Cells further out than this are not addressed safely by OpenVDB's 32-bit coordinates.
constexpr double farthest_cell = 1 << 30;

/// Consecutive points of the input that lie in one leaf.
struct Run {
  Vec3i leaf;
  std::size_t begin, end;
};

/// The runs of one leaf: [begin, end) of the sorted runs.
struct LeafRuns {
  std::size_t begin, end, points;
};

struct CellPosition {
  Vec3i cell;
  Vec3f local;  // from the centre, in voxels
};

CellPosition locate(const Vec3d& p, double voxel_size) {
  CellPosition r;
  for (int a = 0; a < 3; ++a) {
    const double q = p[a] / voxel_size, lower = std::floor(q);
    r.cell[a] = static_cast<std::int32_t>(lower);
    r.local[a] = static_cast<float>(q - lower - 0.5);
  }
  return r;
}

bool addressable(const Vec3d& p, double voxel_size) {
  return std::abs(p.x / voxel_size) < farthest_cell && std::abs(p.y / voxel_size) < farthest_cell &&
         std::abs(p.z / voxel_size) < farthest_cell;
}

Vec3i leaf_of(const Vec3d& p, double voxel_size) {
  const Vec3i c = locate(p, voxel_size).cell;
  return {c.x >> 3, c.y >> 3, c.z >> 3};
}

/// Finds runs chunk by chunk; `bad` becomes the index of the first point that has no cell.
std::vector<Run> find_runs(const PointSet& points, double voxel_size, std::size_t& bad) {
  const std::size_t n = points.size(), chunks = (n + chunk_points - 1) / chunk_points;
  std::vector<std::vector<Run>> found(chunks);
  std::vector<std::size_t> bad_in(chunks, n);
  tbb::parallel_for(std::size_t{0}, chunks, [&](std::size_t c) {
    const std::size_t end = std::min(n, (c + 1) * chunk_points);
    for (std::size_t i = c * chunk_points; i < end; ++i) {
      if (!addressable(points.position[i], voxel_size)) {
        bad_in[c] = i;
        return;
      }
      const Vec3i leaf = leaf_of(points.position[i], voxel_size);
      if (found[c].empty() || found[c].back().leaf != leaf) found[c].push_back({leaf, i, i});
      found[c].back().end = i + 1;
    }
  });
  bad = chunks == 0 ? n : *std::min_element(bad_in.begin(), bad_in.end());
  std::vector<Run> runs;
  for (auto& part : found) runs.insert(runs.end(), part.begin(), part.end());
  const auto less = [](const Run& a, const Run& b) {
    return std::tie(a.leaf.x, a.leaf.y, a.leaf.z, a.begin) < std::tie(b.leaf.x, b.leaf.y, b.leaf.z, b.begin);
  };
  tbb::parallel_sort(runs.begin(), runs.end(), less);
  return runs;
}

std::vector<LeafRuns> group_runs(const std::vector<Run>& runs) {
  std::vector<LeafRuns> leaves;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (r == 0 || runs[r].leaf != runs[r - 1].leaf) leaves.push_back({r, r, 0});
    leaves.back().end = r + 1;
    leaves.back().points += runs[r].end - runs[r].begin;
  }
  return leaves;
}

template <class T, class Codec>
void fill(AttributeArray& array, const T* source, const std::vector<std::size_t>& order) {
  const T first = source[order[0]];
  bool uniform = true;
  for (std::size_t i = 1; uniform && i < order.size(); ++i)
    uniform = std::memcmp(&source[order[i]], &first, sizeof(T)) == 0;
  if (uniform) {
    TypedAttributeArray<T, Codec>::cast(array).collapse(first);
    return;
  }
  pts::AttributeWriteHandle<T, Codec> handle(array, /*expand=*/false);
  handle.expand(/*fill=*/false);
  for (std::size_t i = 0; i < order.size(); ++i) handle.set(static_cast<openvdb::Index>(i), source[order[i]]);
}

/// How one attribute is stored: the name of its type and the function that gathers it into a leaf.
struct Column {
  openvdb::NamePair type;
  std::function<void(AttributeArray&, const std::vector<std::size_t>&)> gather;
};

template <class T, class Codec = pts::NullCodec>
Column column(const PointAttribute& attribute) {
  const auto* source = reinterpret_cast<const T*>(attribute.data.data());
  return {TypedAttributeArray<T, Codec>::attributeType(),
          [source](AttributeArray& array, const auto& order) { fill<T, Codec>(array, source, order); }};
}

Column make_column(const PointAttribute& a, bool half) {
  switch (a.type) {
    case PointAttribute::float32:
      return half ? column<float, pts::TruncateCodec>(a) : column<float>(a);
    case PointAttribute::vec3f:
      return half ? column<openvdb::Vec3f, pts::TruncateCodec>(a) : column<openvdb::Vec3f>(a);
    case PointAttribute::int32:
      return column<std::int32_t>(a);
    case PointAttribute::int64:
      return column<std::int64_t>(a);
    case PointAttribute::float64:
      return column<double>(a);
  }
  AEGIR_ASSERT(false, "unknown attribute type");
  return {};
}

/// Buffers a thread uses again for every leaf it fills.
struct Scratch {
  std::vector<std::uint16_t> voxel;
  std::vector<openvdb::Vec3f> local, sorted;
  std::vector<std::size_t> source, order;
};

/// Sorts the points of a leaf by voxel, stably, and sets the leaf's offsets.
void arrange(const PointSet& points, double voxel_size, const std::vector<Run>& runs, const LeafRuns& group, Leaf& leaf,
             Scratch& s) {
  s.voxel.clear(), s.local.clear(), s.source.clear();
  std::vector<Leaf::ValueType> offsets(512);
  std::array<std::uint32_t, 513> start{};
  for (std::size_t r = group.begin; r < group.end; ++r)
    for (std::size_t i = runs[r].begin; i < runs[r].end; ++i) {
      const CellPosition at = locate(points.position[i], voxel_size);
      const int offset = ((at.cell.x & 7) * 8 + (at.cell.y & 7)) * 8 + (at.cell.z & 7);
      s.voxel.push_back(static_cast<std::uint16_t>(offset));
      s.local.emplace_back(at.local.x, at.local.y, at.local.z);
      s.source.push_back(i);
      ++start[static_cast<std::size_t>(offset) + 1];
    }
  for (std::size_t v = 0; v < 512; ++v) {
    start[v + 1] += start[v];
    offsets[v] = start[v + 1];
  }
  leaf.setOffsets(offsets);
  s.order.resize(group.points), s.sorted.resize(group.points);
  for (std::size_t k = 0; k < group.points; ++k) {
    const std::size_t slot = start[s.voxel[k]]++;
    s.order[slot] = s.source[k];
    s.sorted[slot] = s.local[k];
  }
}

template <class Codec>
void store_positions(AttributeArray& array, const std::vector<openvdb::Vec3f>& local) {
  pts::AttributeWriteHandle<openvdb::Vec3f, Codec> handle(array, false);
  handle.expand(false);
  for (std::size_t i = 0; i < local.size(); ++i) handle.set(static_cast<openvdb::Index>(i), local[i]);
}

using Fixed16 = pts::FixedPointCodec<false, pts::PositionRange>;
using Fixed8 = pts::FixedPointCodec<true, pts::PositionRange>;

openvdb::NamePair position_type(VdbOptions::PositionCodec codec) {
  if (codec == VdbOptions::fixed16) return TypedAttributeArray<openvdb::Vec3f, Fixed16>::attributeType();
  if (codec == VdbOptions::fixed8) return TypedAttributeArray<openvdb::Vec3f, Fixed8>::attributeType();
  return TypedAttributeArray<openvdb::Vec3f, pts::NullCodec>::attributeType();
}

void fill_leaf(const PointSet& points, double voxel_size, const std::vector<Run>& runs, const LeafRuns& group,
               const std::vector<Column>& columns, VdbOptions::PositionCodec codec, Leaf& leaf, Scratch& scratch) {
  arrange(points, voxel_size, runs, group, leaf, scratch);
  AttributeArray& positions = leaf.attributeArray(0);
  if (codec == VdbOptions::fixed16)
    store_positions<Fixed16>(positions, scratch.sorted);
  else if (codec == VdbOptions::fixed8)
    store_positions<Fixed8>(positions, scratch.sorted);
  else
    store_positions<pts::NullCodec>(positions, scratch.sorted);
  for (std::size_t a = 0; a < columns.size(); ++a) columns[a].gather(leaf.attributeArray(a + 1), scratch.order);
}

openvdb::GridBase::Ptr make_points_grid(const PointSet& points, double voxel_size, const std::vector<Run>& runs,
                                        const std::vector<LeafRuns>& groups, const VdbOptions& options) {
  std::vector<Column> columns;
  auto descriptor = pts::AttributeSet::Descriptor::create(position_type(options.position));
  for (const auto& a : points.attributes) {
    columns.push_back(make_column(a, options.half));
    descriptor = descriptor->duplicateAppend(a.name, columns.back().type);
  }
  auto tree = std::make_shared<pts::PointDataTree>();
  std::vector<Leaf*> leaves(groups.size());
  {
    const AttributeArray::ScopedRegistryLock lock;
    tbb::parallel_for(std::size_t{0}, groups.size(), [&](std::size_t g) {
      const Vec3i c = runs[groups[g].begin].leaf;
      leaves[g] = new Leaf(openvdb::Coord(c.x * 8, c.y * 8, c.z * 8));
      const auto count = static_cast<openvdb::Index>(groups[g].points);
      leaves[g]->replaceAttributeSet(new pts::AttributeSet(descriptor, count, &lock),
                                     /*allowMismatchingDescriptors=*/true);
    });
  }
  for (Leaf* leaf : leaves) tree->addLeaf(leaf);
  tbb::enumerable_thread_specific<Scratch> scratch;
  tbb::parallel_for(std::size_t{0}, groups.size(), [&](std::size_t g) {
    fill_leaf(points, voxel_size, runs, groups[g], columns, options.position, *leaves[g], scratch.local());
  });
  auto grid = pts::PointDataGrid::create(tree);
  grid->setName("points");
  auto transform = openvdb::math::Transform::createLinearTransform(voxel_size);
  transform->postTranslate(openvdb::Vec3d(voxel_size / 2));
  grid->setTransform(transform);
  return grid;
}

void check_consistent(const PointSet& points, double voxel_size) {
  AEGIR_ASSERT(voxel_size > 0 && std::isfinite(voxel_size), "points need a positive voxel size");
  std::set<std::string> names{"P"};
  for (const auto& a : points.attributes) {
    AEGIR_ASSERT(names.insert(a.name).second, "attribute '" + a.name + "' twice");
    AEGIR_ASSERT(a.data.size() == points.size() * PointAttribute::size_of(a.type),
                 "attribute '" + a.name + "' has another length than its points");
  }
}

}  // namespace

Status write_points(const std::string& path, const PointSet& points, double voxel_size, const Metadata& metadata,
                    const VdbOptions& options) {
  check_consistent(points, voxel_size);
  return guard_vdb(path, "write", [&]() -> Status {
    std::size_t bad = 0;
    const std::vector<Run> runs = find_runs(points, voxel_size, bad);
    if (bad < points.size()) {
      const Vec3d p = points.position[bad];
      return simulation_error(
          "cannot write {}: point {} is at ({}, {}, {}), which is not finite or too far away for voxels of {} m", path,
          bad, p.x, p.y, p.z, voxel_size);
    }
    const std::vector<LeafRuns> groups = group_runs(runs);
    for (const auto& g : groups)
      if (g.points >= most_points_per_leaf)
        return simulation_error("cannot write {}: {} points in one block of 8³ voxels", path, g.points);
    const openvdb::GridCPtrVec grids{make_points_grid(points, voxel_size, runs, groups, options)};
    return store_vdb(path, &grids, metadata, options);
  });
}

bool points_are_sound(const void* opaque_leaf) {
  const auto& leaf = *static_cast<const Leaf*>(opaque_leaf);
  openvdb::Index last = 0;
  for (openvdb::Index v = 0; v < 512; ++v) {
    const openvdb::Index end = leaf.getValue(v);
    if (end < last) return false;
    last = end;
  }
  const auto& set = leaf.attributeSet();
  for (const auto& [name, position] : set.descriptor().map())
    if (position >= set.size()) return false;
  for (std::size_t a = 0; a < set.size(); ++a)
    if (!set.getConst(a) || set.getConst(a)->size() != last) return false;
  if (last == 0) return true;
  const auto* position = set.get("P");
  return position && position->stride() == 1 && position->valueType() == openvdb::typeNameAsString<openvdb::Vec3f>();
}

namespace {

/// A leaf of the file and where its points go in the result.
struct Source {
  const pts::PointDataGrid* grid;
  const Leaf* leaf;
  std::size_t begin, count;
};

/// Calls f.template operator()<T>() with the stored type of that name; false for types PointSet cannot hold.
template <class F>
bool with_stored_type(const std::string& name, F&& f) {
  const auto is = [&](const char* other) { return name == other; };
  if (is(openvdb::typeNameAsString<float>())) return f.template operator()<float>(), true;
  if (is(openvdb::typeNameAsString<openvdb::Vec3f>())) return f.template operator()<openvdb::Vec3f>(), true;
  if (is(openvdb::typeNameAsString<std::int32_t>())) return f.template operator()<std::int32_t>(), true;
  if (is(openvdb::typeNameAsString<std::int64_t>())) return f.template operator()<std::int64_t>(), true;
  if (is(openvdb::typeNameAsString<double>())) return f.template operator()<double>(), true;
  if (is(openvdb::typeNameAsString<std::int16_t>())) return f.template operator()<std::int16_t>(), true;
  if (is(openvdb::typeNameAsString<std::int8_t>())) return f.template operator()<std::int8_t>(), true;
  if (is(openvdb::typeNameAsString<bool>())) return f.template operator()<bool>(), true;
  if (is(openvdb::typeNameAsString<openvdb::Vec3d>())) return f.template operator()<openvdb::Vec3d>(), true;
  if (is(openvdb::typeNameAsString<openvdb::Vec3i>())) return f.template operator()<openvdb::Vec3i>(), true;
  return false;
}

template <class T>
constexpr PointAttribute::Type held_as() {
  if constexpr (openvdb::VecTraits<T>::IsVec)
    return PointAttribute::vec3f;
  else if constexpr (std::is_same_v<T, float>)
    return PointAttribute::float32;
  else if constexpr (std::is_same_v<T, double>)
    return PointAttribute::float64;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return PointAttribute::int64;
  else
    return PointAttribute::int32;
}

template <class T>
auto converted(const T& value) {
  if constexpr (openvdb::VecTraits<T>::IsVec)
    return Vec3f(Vec3<typename T::ValueType>(value[0], value[1], value[2]));
  else if constexpr (held_as<T>() == PointAttribute::int32)
    return static_cast<std::int32_t>(value);
  else
    return value;
}

template <class T, class Codec, class Out>
void copy_values(const AttributeArray& array, std::size_t count, Out* out) {
  const pts::AttributeHandle<T, Codec> handle(array, false);
  for (std::size_t i = 0; i < count; ++i) out[i] = converted<T>(handle.get(static_cast<openvdb::Index>(i)));
}

/// Copies one attribute of one leaf; other codecs than none go through OpenVDB's own accessors.
template <class T>
void copy_array(const AttributeArray& array, const Source& source, PointAttribute& attribute) {
  using Out = decltype(converted(T{}));
  auto* out = attribute.as<Out>().data() + source.begin;
  if (array.isType<TypedAttributeArray<T, pts::NullCodec>>())
    copy_values<T, pts::NullCodec>(array, source.count, out);
  else
    copy_values<T, pts::UnknownCodec>(array, source.count, out);
}

void copy_positions(const Source& source, Vec3d* out) {
  const auto* position = source.leaf->attributeSet().get("P");
  const pts::AttributeHandle<openvdb::Vec3f> handle(*position, false);
  const auto& transform = source.grid->transform();
  openvdb::Index point = 0;
  for (openvdb::Index v = 0; v < 512; ++v) {
    const openvdb::Vec3d cell = source.leaf->offsetToGlobalCoord(v).asVec3d();
    const openvdb::Index end = source.leaf->getValue(v);
    for (; point < end; ++point) {
      const openvdb::Vec3d p = transform.indexToWorld(cell + openvdb::Vec3d(handle.get(point)));
      out[point] = {p.x(), p.y(), p.z()};
    }
  }
}

Result<std::vector<Source>> collect(const std::string& path, const openvdb::GridPtrVec& grids) {
  std::vector<Source> sources;
  std::size_t total = 0;
  bool any = false;
  for (const auto& base : grids) {
    const auto grid = openvdb::gridConstPtrCast<pts::PointDataGrid>(base);
    if (!grid) continue;
    any = true;
    for (auto leaf = grid->tree().cbeginLeaf(); leaf; ++leaf) {
      if (!points_are_sound(&*leaf))
        return io_error("cannot read {}: the points grid '{}' is damaged", path, grid->getName());
      const std::size_t count = leaf->getValue(511);
      if (count > 0) sources.push_back({grid.get(), &*leaf, total, count});
      total += count;
    }
  }
  if (!any) return io_error("cannot read {}: there is no points grid in it", path);
  return sources;
}

/// Attributes of all leaves by first appearance; only those that PointSet can hold.
void declare_attributes(const std::vector<Source>& sources, PointSet& points) {
  const pts::AttributeSet::Descriptor* seen = nullptr;
  for (const auto& source : sources) {
    const auto& set = source.leaf->attributeSet();
    if (&set.descriptor() == seen) continue;
    seen = &set.descriptor();
    std::map<std::size_t, std::string> by_position;
    for (const auto& [name, position] : seen->map()) by_position[position] = name;
    for (const auto& [position, name] : by_position) {
      const AttributeArray& array = *set.getConst(position);
      if (name == "P" || points.find(name) || array.stride() != 1 || pts::isGroup(array) || pts::isString(array))
        continue;
      with_stored_type(array.valueType(),
                       [&points, &attribute = name]<class T>() { points.add(attribute, held_as<T>()); });
    }
  }
}

void copy_leaf(const Source& source, PointSet& points) {
  copy_positions(source, points.position.data() + source.begin);
  for (auto& attribute : points.attributes) {
    const AttributeArray* array = source.leaf->attributeSet().getConst(attribute.name);
    if (!array || array->stride() != 1 || pts::isGroup(*array) || pts::isString(*array)) continue;
    with_stored_type(array->valueType(), [&]<class T>() {
      if (held_as<T>() == attribute.type) copy_array<T>(*array, source, attribute);
    });
  }
}

}  // namespace

Result<PointSet> read_points(const std::string& path) {
  const auto grids = load_vdb(path);
  if (!grids) return grids.error();
  PointSet points;
  const Status read = guard_vdb(path, "read", [&]() -> Status {
    const auto sources = collect(path, *static_cast<openvdb::GridPtrVec*>(grids->get()));
    if (!sources) return sources.error();
    points.position.resize(sources->empty() ? 0 : sources->back().begin + sources->back().count);
    declare_attributes(*sources, points);
    tbb::parallel_for(std::size_t{0}, sources->size(), [&](std::size_t s) { copy_leaf((*sources)[s], points); });
    return {};
  });
  if (!read) return read.error();
  return points;
}

}  // namespace aegir
