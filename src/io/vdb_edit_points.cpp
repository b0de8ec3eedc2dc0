// Points of a leaf as planes and back. Values in other codecs than none go through OpenVDB's accessors, and only those
// that changed are stored again, so that a lossy codec does not wear out what nobody touched.
// Longer than most files: each that sees OpenVDB's points costs a minute to compile.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>

#include <openvdb/openvdb.h>
#include <openvdb/points/AttributeArrayString.h>
#include <openvdb/points/PointAttribute.h>
#include <openvdb/points/PointDataGrid.h>
#include <openvdb/points/PointGroup.h>

#include "base/assert.h"
#include "io/vdb_archive.h"
#include "io/vdb_edit_parts.h"
#include "parallel/threads.h"

namespace aegir {

namespace {

namespace pts = openvdb::points;
using openvdb::Coord;
using openvdb::Index;
using Leaf = pts::PointDataTree::LeafNodeType;
using pts::AttributeArray;
using pts::TypedAttributeArray;

/// Voxels further out than this are not addressed safely by OpenVDB's 32-bit coordinates.
constexpr double farthest_voxel = 1 << 30;
const std::string group_prefix = "group:";

template <class... T>
struct Types {};
using ValueTypes =
    Types<float, openvdb::Vec3f, std::int32_t, std::int64_t, double, bool, std::int16_t, std::int8_t, openvdb::Vec3d,
          openvdb::Vec3i, openvdb::Vec2i, openvdb::Vec2s, openvdb::Vec2d, openvdb::Vec4i, openvdb::Vec4s,
          openvdb::Vec4d, openvdb::Mat3s, openvdb::Mat3d, openvdb::Mat4s, openvdb::Mat4d>;

/// Calls f.template operator()<T>() for the value type of that name; false where there is none.
template <class F, class... T>
bool with_type(const std::string& name, Types<T...>, F&& f) {
  return ((name == openvdb::typeNameAsString<T>() ? (f.template operator()<T>(), true) : false) || ...);
}
template <class F>
bool with_type(const std::string& name, F&& f) {
  return with_type(name, ValueTypes{}, std::forward<F>(f));
}

/// The numbers that a value consists of, and what a plane holds of each.
template <class T>
struct Parts {
  using Stored = T;
  using Plane = std::conditional_t<(sizeof(T) < 4), std::int32_t, T>;
  static constexpr std::size_t count = 1;
};
template <class T>
requires requires { typename T::value_type; }
struct Parts<T> {
  using Stored = typename T::value_type;
  using Plane = Stored;
  static constexpr std::size_t count = sizeof(T) / sizeof(Stored);
};

using Planes = void* const*;

template <class T>
void unpack(const AttributeArray& array, std::size_t n, Planes planes) {
  using P = Parts<T>;
  if (array.isType<TypedAttributeArray<T, pts::NullCodec>>()) {
    const T* values = TypedAttributeArray<T, pts::NullCodec>::cast(array).constData();
    const std::size_t step = array.isUniform() ? 0 : P::count;
    for (std::size_t c = 0; c < P::count; ++c) {
      const auto* from = reinterpret_cast<const typename P::Stored*>(values) + c;
      auto* to = static_cast<typename P::Plane*>(planes[c]);
      for (std::size_t i = 0; i < n; ++i) to[i] = from[i * step];
    }
    return;
  }
  const pts::AttributeHandle<T> handle(array, false);
  for (std::size_t i = 0; i < n; ++i) {
    const T value = handle.get(static_cast<Index>(i));
    const auto* parts = reinterpret_cast<const typename P::Stored*>(&value);
    for (std::size_t c = 0; c < P::count; ++c) static_cast<typename P::Plane*>(planes[c])[i] = parts[c];
  }
}

/// A bool plane may hold any number; what is not 0 is true.
template <class Stored, class Plane>
Stored narrowed(Plane value) {
  if constexpr (std::is_same_v<Stored, bool>)
    return value != 0;
  else
    return static_cast<Stored>(value);
}

template <class T>
void pack_plain(AttributeArray& array, std::size_t n, Planes planes) {
  using P = Parts<T>;
  array.expand(/*fill=*/false);
  // The array's memory is its own; OpenVDB hands it out for reading only.
  T* values = const_cast<T*>(TypedAttributeArray<T, pts::NullCodec>::cast(array).constData());
  for (std::size_t c = 0; c < P::count; ++c) {
    auto* to = reinterpret_cast<typename P::Stored*>(values) + c;
    const auto* from = static_cast<const typename P::Plane*>(planes[c]);
    for (std::size_t i = 0; i < n; ++i) to[i * P::count] = narrowed<typename P::Stored>(from[i]);
  }
}

template <class T>
void pack_coded(AttributeArray& array, std::size_t n, Planes planes) {
  using P = Parts<T>;
  pts::AttributeWriteHandle<T> handle(array, /*expand=*/true);
  for (std::size_t i = 0; i < n; ++i) {
    const T before = handle.get(static_cast<Index>(i));
    T value = before;
    auto* parts = reinterpret_cast<typename P::Stored*>(&value);
    for (std::size_t c = 0; c < P::count; ++c)
      parts[c] = narrowed<typename P::Stored>(static_cast<const typename P::Plane*>(planes[c])[i]);
    if (std::memcmp(&value, &before, sizeof(T)) != 0) handle.set(static_cast<Index>(i), value);
  }
}

template <class T>
void pack(AttributeArray& array, std::size_t n, Planes planes) {
  if (array.isType<TypedAttributeArray<T, pts::NullCodec>>())
    pack_plain<T>(array, n, planes);
  else
    pack_coded<T>(array, n, planes);
  compact_points(&array);
}

/// One column: how many planes, how wide, and how they are filled and stored.
struct Column {
  VdbColumn what;
  std::size_t planes = 0, width = 0, first = 0;
  std::function<void(const Leaf&, std::size_t n, std::size_t number, Planes)> load;
  std::function<void(Leaf&, std::size_t n, Planes)> store;
};

template <class T>
void set_typed(Column& column) {
  column.planes = Parts<T>::count, column.width = sizeof(typename Parts<T>::Plane);
  column.load = [name = column.what.name](const Leaf& leaf, std::size_t n, std::size_t, Planes planes) {
    unpack<T>(*leaf.attributeSet().getConst(name), n, planes);
  };
  column.store = [name = column.what.name](Leaf& leaf, std::size_t n, Planes planes) {
    pack<T>(leaf.attributeArray(name), n, planes);
  };
}

/// An attribute that is not there and is not made: all values are 0.
template <class T>
void set_zero(Column& column) {
  column.planes = Parts<T>::count, column.width = sizeof(typename Parts<T>::Plane);
  column.load = [](const Leaf&, std::size_t n, std::size_t, Planes planes) {
    for (std::size_t c = 0; c < Parts<T>::count; ++c) std::memset(planes[c], 0, n * sizeof(typename Parts<T>::Plane));
  };
}

void set_group(Column& column) {
  column.planes = 1, column.width = sizeof(std::int32_t);
  const std::string name = column.what.name.substr(group_prefix.size());
  column.load = [name](const Leaf& leaf, std::size_t n, std::size_t, Planes planes) {
    const pts::GroupHandle handle = leaf.groupHandle(name);
    for (std::size_t i = 0; i < n; ++i)
      static_cast<std::int32_t*>(planes[0])[i] = handle.get(static_cast<Index>(i)) ? 1 : 0;
  };
  column.store = [name](Leaf& leaf, std::size_t n, Planes planes) {
    pts::GroupWriteHandle handle = leaf.groupWriteHandle(name);
    for (std::size_t i = 0; i < n; ++i)
      handle.set(static_cast<Index>(i), static_cast<const std::int32_t*>(planes[0])[i] != 0);
    handle.compact();
  };
}

/// The id of each point, or its place in the file.
void set_number(Column& column, const VdbGrid& grid) {
  column.planes = 1, column.width = sizeof(std::int64_t);
  const VdbAttribute* id = grid.find("id");
  const std::string type = id && id->editable ? id->type : "";
  column.load = [type](const Leaf& leaf, std::size_t n, std::size_t number, Planes planes) {
    auto* to = static_cast<std::int64_t*>(planes[0]);
    if (type == "int64") return unpack<std::int64_t>(*leaf.attributeSet().getConst("id"), n, planes);
    if (type == "int32") {
      const pts::AttributeHandle<std::int32_t> handle(*leaf.attributeSet().getConst("id"), false);
      for (std::size_t i = 0; i < n; ++i) to[i] = handle.get(static_cast<Index>(i));
      return;
    }
    for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<std::int64_t>(number + i);
  };
}

/// Memory of one thread for one leaf.
struct Scratch {
  std::vector<std::vector<std::byte>> memory;
  std::vector<void*> planes;
  std::vector<openvdb::Vec3d> voxels;
  std::vector<std::uint8_t> deleted;
};

/// World positions relative to the centre of a leaf's first voxel: r = q L with q in voxels from there.
class Positions {
 public:
  explicit Positions(const openvdb::math::Transform& transform) {
    if (!transform.isLinear()) return;
    const openvdb::Mat4d matrix = transform.baseMap()->getAffineMap()->getMat4();
    for (int a = 0; a < 3; ++a)
      for (int c = 0; c < 3; ++c) to_world_(a, c) = matrix(a, c);
    to_voxels_ = to_world_.inverse();
  }

  void load(const Leaf& leaf, std::size_t n, std::vector<openvdb::Vec3d>& voxels, Planes planes) const {
    voxels.resize(n);
    const pts::AttributeHandle<openvdb::Vec3f> handle(*leaf.attributeSet().getConst("P"), false);
    Index point = 0;
    for (Index v = 0; v < Leaf::SIZE; ++v) {
      const openvdb::Vec3d voxel = Leaf::offsetToLocalCoord(v).asVec3d();
      for (const Index end = leaf.getValue(v); point < end; ++point) {
        voxels[point] = voxel + openvdb::Vec3d(handle.get(point));
        for (int c = 0; c < 3; ++c) plane(planes, c)[point] = static_cast<float>(world(voxels[point], c));
      }
    }
  }

  /// Moves each point by what its planes changed; the rounding of the planes themselves does not enter. False where a
  /// position is not finite or too far away.
  bool store(Leaf& leaf, const Scratch& s, Planes planes, LeafChange& change) const {
    const std::vector<openvdb::Vec3d>& voxels = s.voxels;
    // The handle keeps the array alive and knows its codec.
    pts::AttributeWriteHandle<openvdb::Vec3f> handle(leaf.attributeArray("P"), /*expand=*/true);
    const Coord origin = leaf.origin();
    Index point = 0;
    for (Index v = 0; v < Leaf::SIZE; ++v)
      for (const Index end = leaf.getValue(v); point < end; ++point) {
        if (s.deleted[point]) continue;
        openvdb::Vec3d moved;
        for (int c = 0; c < 3; ++c) {
          const float before = static_cast<float>(world(voxels[point], c)), now = plane(planes, c)[point];
          moved[c] = now == before ? 0.0 : static_cast<double>(now) - static_cast<double>(before);
        }
        if (moved == openvdb::Vec3d(0.0)) continue;
        const openvdb::Vec3d to = voxels[point] + moved * to_voxels_;
        Coord voxel;
        openvdb::Vec3f local;
        for (int c = 0; c < 3; ++c) {
          const double lower = std::floor(to[c] + 0.5);
          if (!(std::abs(lower + origin[c]) < farthest_voxel)) return false;
          voxel[c] = origin[c] + static_cast<std::int32_t>(lower);
          local[c] = static_cast<float>(to[c] - lower);
        }
        handle.set(point, local);
        if (voxel != leaf.offsetToGlobalCoord(v)) change.moved.push_back({point, {voxel[0], voxel[1], voxel[2]}});
      }
    return true;
  }

 private:
  static float* plane(Planes planes, int c) { return static_cast<float*>(planes[c]); }
  double world(const openvdb::Vec3d& q, int c) const {
    return q[0] * to_world_(0, c) + q[1] * to_world_(1, c) + q[2] * to_world_(2, c);
  }
  openvdb::Mat3d to_world_ = openvdb::Mat3d::identity(), to_voxels_ = openvdb::Mat3d::identity();
};

class PointEdit {
 public:
  PointEdit(pts::PointDataGrid& grid, const std::vector<VdbColumn>& columns, const VdbKernel& kernel)
      : grid_(grid), kernel_(kernel), positions_(grid.transform()) {
    for (const VdbColumn& c : columns) columns_.push_back({c, 0, 0, 0, {}, {}});
  }

  Result<VdbEditReport> run() {
    VdbGrid description;
    if (Status ok = describe_points(grid_.getName(), &grid_, description); !ok) return ok.error();
    if (grid_.tree().empty()) return VdbEditReport{};
    for (Column& column : columns_)
      if (Status ok = prepare(column, description); !ok) return ok.error();
    for (Column& c : columns_) c.first = plane_count_, plane_count_ += c.planes;

    std::vector<Leaf*> leaves;
    std::vector<std::size_t> first{0};
    for (auto leaf = grid_.tree().beginLeaf(); leaf; ++leaf) {
      leaves.push_back(leaf.getLeaf());
      first.push_back(first.back() + leaf->getLastValue());
    }
    changes_.resize(leaves.size());
    parallel_for(0, leaves.size(), 8, [&](std::size_t begin, std::size_t end) {
      Scratch scratch;
      for (std::size_t l = begin; l < end && !failed_.load(std::memory_order_relaxed); ++l)
        if (Status ok = work(*leaves[l], first[l], changes_[l], scratch); !ok) fail(l, ok.error());
    });
    if (failed_) return failure_;
    VdbEditReport report;
    report.elements = static_cast<std::int64_t>(first.back());
    for (const LeafChange& c : changes_) report.deleted += static_cast<std::int64_t>(c.gone.size());
    const pts::AttributeSet& set = leaves.front()->attributeSet();
    for (std::size_t a = 0; a < set.size(); ++a)
      if (!set.getConst(a)->hasConstantStride() &&
          std::any_of(changes_.begin(), changes_.end(), [](const LeafChange& c) { return c.any(); }))
        return usage_error({}, "grid '{}' has lists of values per point, so that its points cannot be moved or deleted",
                           grid_.getName());
    sort_points_in(&grid_.tree(), changes_);
    return report;
  }

 private:
  Status prepare(Column& column, const VdbGrid& description) {
    const std::string& name = column.what.name;
    const bool absent = column.what.created && !column.what.written;
    if (column.what.type == "number") return set_number(column, description), Status();
    if (name.starts_with(group_prefix)) {
      if (absent) return set_zero<std::int32_t>(column), Status();
      if (column.what.created) pts::appendGroup(grid_.tree(), name.substr(group_prefix.size()));
      return set_group(column), Status();
    }
    if (name == "P") {
      if (!description.linear)
        return usage_error({},
                           "grid '{}' has a frustum transform, in which @P cannot be used; convert it to a linear one",
                           grid_.getName());
      column.planes = 3, column.width = sizeof(float);
      return {};
    }
    Status ok;
    const bool known = with_type(column.what.type, [&]<class T>() {
      if (absent) return set_zero<T>(column);
      if (column.what.created) {
        const openvdb::NamePair type = TypedAttributeArray<T>::attributeType();
        if (!AttributeArray::isRegistered(type)) {
          ok = usage_error({},
                           "OpenVDB's points have no attributes of type {}, as '{}' would be; other programs could not "
                           "read the file. Use a vector of three, or several attributes",
                           column.what.type, name);
          return;
        }
        pts::appendAttribute(grid_.tree(), name, type);
      }
      set_typed<T>(column);
    });
    if (!known) return usage_error({}, "attribute '{}' cannot be a {}", name, column.what.type);
    return ok;
  }

  void fail(std::size_t leaf, const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!failed_ || leaf < failed_leaf_) failure_ = error, failed_leaf_ = leaf;
    failed_ = true;
  }

  Status work(Leaf& leaf, std::size_t number, LeafChange& change, Scratch& s) {
    const std::size_t n = leaf.getLastValue();
    if (n == 0) return {};
    s.memory.resize(plane_count_), s.planes.resize(plane_count_);
    const Column* position = nullptr;
    for (const Column& c : columns_) {
      for (std::size_t p = 0; p < c.planes; ++p) {
        s.memory[c.first + p].resize(n * c.width);
        s.planes[c.first + p] = s.memory[c.first + p].data();
      }
      if (c.load)
        c.load(leaf, n, number, s.planes.data() + c.first);
      else
        position = &c, positions_.load(leaf, n, s.voxels, s.planes.data() + c.first);
    }
    s.deleted.assign(n, 0);
    const VdbRange all{0, static_cast<std::int64_t>(n)};
    VdbLeaf view;
    view.planes = s.planes.data(), view.count = all.end, view.ranges = &all, view.range_count = 1;
    view.deleted = s.deleted.data();
    const openvdb::Vec3d origin = grid_.transform().indexToWorld(leaf.origin());
    for (int a = 0; a < 3; ++a) view.origin[a] = origin[a], view.first_voxel[a] = leaf.origin()[a];
    if (Status ok = kernel_(view); !ok) return ok;
    for (const Column& c : columns_)
      if (c.what.written && c.store) c.store(leaf, n, s.planes.data() + c.first);
    if (position && position->what.written && !positions_.store(leaf, s, s.planes.data() + position->first, change))
      return usage_error(
          {}, "grid '{}': @P of a point became infinite or no number, or is too far away; guard what is added to it",
          grid_.getName());
    for (std::size_t i = 0; i < n; ++i)
      if (s.deleted[i]) change.gone.push_back(static_cast<std::uint32_t>(i));
    return {};
  }

  pts::PointDataGrid& grid_;
  const VdbKernel& kernel_;
  Positions positions_;
  std::vector<Column> columns_;
  std::size_t plane_count_ = 0;
  std::vector<LeafChange> changes_;
  std::mutex mutex_;
  std::atomic<bool> failed_{false};
  std::size_t failed_leaf_ = 0;
  Error failure_;
};

}  // namespace

Status describe_points(const std::string& path, const void* opaque_grid, VdbGrid& description) {
  const auto& grid = *static_cast<const pts::PointDataGrid*>(opaque_grid);
  description.linear = grid.transform().isLinear();
  description.uniform = description.linear && grid.hasUniformVoxels();
  description.count = 0;
  const pts::AttributeSet* first = nullptr;
  for (auto leaf = grid.tree().cbeginLeaf(); leaf; ++leaf) {
    if (!points_are_sound(&*leaf) || (first && leaf->attributeSet().descriptor() != first->descriptor()))
      return io_error("cannot read {}: the points grid '{}' is damaged", path, grid.getName());
    if (!first) first = &leaf->attributeSet();
    description.count += leaf->getLastValue();
  }
  description.attributes.clear();
  if (!first) return {};
  std::vector<std::pair<std::size_t, std::string>> names;
  for (const auto& [name, position] : first->descriptor().map()) names.emplace_back(position, name);
  std::sort(names.begin(), names.end());
  for (const auto& [position, name] : names) {
    const AttributeArray& array = *first->getConst(position);
    if (pts::isGroup(array)) continue;
    VdbAttribute attribute{name, pts::isString(array) ? "string" : array.valueType(), array.codecType(), false};
    attribute.editable = array.stride() == 1 && !pts::isString(array) && with_type(attribute.type, []<class T>() {});
    description.attributes.push_back(std::move(attribute));
  }
  for (const auto& [name, offset] : first->descriptor().groupMap())
    description.attributes.push_back({group_prefix + name, "group", "", true});
  return {};
}

Result<VdbEditReport> edit_point_grid(void* grid, const std::vector<VdbColumn>& columns, const VdbKernel& kernel) {
  return PointEdit(*static_cast<pts::PointDataGrid*>(grid), columns, kernel).run();
}

}  // namespace aegir
