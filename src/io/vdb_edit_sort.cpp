// Points that moved to other voxels: only the leaves that lose, gain or reorder points are made anew, and values are
// copied as they are stored, so that attributes of every type and codec keep their bits.
#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include <openvdb/openvdb.h>
#include <openvdb/points/AttributeArrayString.h>
#include <openvdb/points/AttributeGroup.h>
#include <openvdb/points/PointDataGrid.h>

#include <tbb/parallel_sort.h>

#include "io/vdb_edit_parts.h"
#include "parallel/threads.h"

namespace aegir {

namespace {

namespace pts = openvdb::points;
using openvdb::Coord;
using openvdb::Index;
using Tree = pts::PointDataTree;
using Leaf = Tree::LeafNodeType;

constexpr std::size_t no_leaf = ~std::size_t{0};

std::uint16_t offset_in_leaf(const Coord& voxel) { return static_cast<std::uint16_t>(Leaf::coordToOffset(voxel)); }
Coord leaf_origin(const Coord& voxel) { return voxel & ~7; }

/// A point on its way to another leaf.
struct Emigrant {
  Coord target;  // origin of the leaf
  std::uint32_t point;
  std::uint16_t voxel;
};

/// Those of one leaf that go to the same other leaf: [begin, end) of its emigrants.
struct Group {
  Coord target;
  std::uint32_t leaf, begin, end;
  bool operator<(const Group& o) const { return std::tie(target, leaf) < std::tie(o.target, o.leaf); }
};

/// A leaf to be made anew: which it was, and its share of the sorted groups.
struct Target {
  Coord origin;
  std::size_t leaf = no_leaf;
  std::size_t begin = 0, end = 0;
};

/// Where a point of a new leaf comes from, and its place there.
struct Entry {
  std::uint32_t leaf, point, slot;
  std::uint16_t voxel;
};

/// Copies values of a width that the compiler knows: one load and one store each.
template <std::size_t Width>
void copy_values(const char* from, std::size_t step, char* to, const Entry* begin, const Entry* end) {
  for (const Entry* e = begin; e != end; ++e) std::memcpy(to + e->slot * Width, from + e->point * step, Width);
}

void copy_values(std::size_t width, const char* from, bool uniform, char* to, const Entry* begin, const Entry* end) {
  const std::size_t step = uniform ? 0 : width;
  if (width == 4) return copy_values<4>(from, step, to, begin, end);
  if (width == 8) return copy_values<8>(from, step, to, begin, end);
  if (width == 12) return copy_values<12>(from, step, to, begin, end);
  for (const Entry* e = begin; e != end; ++e) std::memcpy(to + e->slot * width, from + e->point * step, width);
}

struct NewLeaf {
  std::unique_ptr<pts::AttributeSet> set;
  std::vector<Leaf::ValueType> offsets;
};

class Sorter {
 public:
  Sorter(Tree& tree, const std::vector<LeafChange>& changes) : tree_(tree), changes_(changes) {
    for (auto leaf = tree.beginLeaf(); leaf; ++leaf) leaves_.push_back(leaf.getLeaf());
  }

  void run() {
    find_emigrants();
    find_targets();
    std::vector<NewLeaf> made(targets_.size());
    {
      const pts::AttributeArray::ScopedRegistryLock lock;
      parallel_for(0, targets_.size(), 4, [&](std::size_t begin, std::size_t end) {
        std::vector<Entry> entries;
        for (std::size_t t = begin; t < end; ++t) made[t] = make(targets_[t], entries, lock);
      });
    }
    for (std::size_t t = 0; t < targets_.size(); ++t) put(targets_[t], made[t]);
  }

 private:
  void find_emigrants() {
    emigrants_.resize(leaves_.size());
    std::vector<std::vector<Group>> groups(leaves_.size());
    parallel_for(0, leaves_.size(), 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t l = begin; l < end; ++l) leave(l, groups[l]);
    });
    for (const auto& part : groups) groups_.insert(groups_.end(), part.begin(), part.end());
    tbb::parallel_sort(groups_.begin(), groups_.end());
  }

  /// The emigrants of one leaf, by where they go and then in their order.
  void leave(std::size_t l, std::vector<Group>& groups) {
    std::vector<Emigrant>& all = emigrants_[l];
    for (const LeafChange::Moved& m : changes_[l].moved) {
      const Coord voxel(m.voxel[0], m.voxel[1], m.voxel[2]), origin = leaf_origin(voxel);
      if (origin != leaves_[l]->origin()) all.push_back({origin, m.point, offset_in_leaf(voxel)});
    }
    std::stable_sort(all.begin(), all.end(), [](const Emigrant& a, const Emigrant& b) { return a.target < b.target; });
    for (std::uint32_t e = 0; e < all.size(); ++e) {
      if (e == 0 || all[e].target != all[e - 1].target)
        groups.push_back({all[e].target, static_cast<std::uint32_t>(l), e, e});
      groups.back().end = e + 1;
    }
  }

  void find_targets() {
    std::vector<std::pair<Coord, std::size_t>> by_origin;
    if (!groups_.empty())
      for (std::size_t l = 0; l < leaves_.size(); ++l) by_origin.emplace_back(leaves_[l]->origin(), l);
    std::sort(by_origin.begin(), by_origin.end());
    std::vector<bool> listed(leaves_.size(), false);
    for (std::size_t begin = 0; begin < groups_.size();) {
      std::size_t end = begin;
      while (end < groups_.size() && groups_[end].target == groups_[begin].target) ++end;
      Target target{groups_[begin].target, no_leaf, begin, end};
      const auto found =
          std::lower_bound(by_origin.begin(), by_origin.end(), std::make_pair(target.origin, std::size_t{0}));
      if (found != by_origin.end() && found->first == target.origin) target.leaf = found->second;
      if (target.leaf != no_leaf) listed[target.leaf] = true;
      targets_.push_back(target);
      begin = end;
    }
    for (std::size_t l = 0; l < leaves_.size(); ++l)
      if (!listed[l] && changes_[l].any()) targets_.push_back({leaves_[l]->origin(), l, 0, 0});
  }

  /// The points that stay in a leaf, with the voxels they have now.
  void residents(std::size_t l, std::vector<Entry>& entries) const {
    const Leaf& leaf = *leaves_[l];
    auto moved = changes_[l].moved.begin();
    auto gone = changes_[l].gone.begin();
    std::uint32_t point = 0;
    for (Index v = 0; v < Leaf::SIZE; ++v)
      for (const std::uint32_t end = leaf.getValue(v); point < end; ++point) {
        std::uint16_t voxel = static_cast<std::uint16_t>(v);
        bool stays = true;
        if (moved != changes_[l].moved.end() && moved->point == point) {
          const Coord to(moved->voxel[0], moved->voxel[1], moved->voxel[2]);
          stays = leaf_origin(to) == leaf.origin();
          voxel = offset_in_leaf(to);
          ++moved;
        }
        if (gone != changes_[l].gone.end() && *gone == point) stays = false, ++gone;
        if (stays) entries.push_back({static_cast<std::uint32_t>(l), point, 0, voxel});
      }
  }

  NewLeaf make(const Target& target, std::vector<Entry>& entries,
               const pts::AttributeArray::ScopedRegistryLock& lock) const {
    entries.clear();
    if (target.leaf != no_leaf) residents(target.leaf, entries);
    for (std::size_t g = target.begin; g < target.end; ++g)
      for (std::uint32_t e = groups_[g].begin; e < groups_[g].end; ++e) {
        const Emigrant& one = emigrants_[groups_[g].leaf][e];
        entries.push_back({groups_[g].leaf, one.point, 0, one.voxel});
      }
    NewLeaf made;
    if (entries.empty()) return made;
    std::array<std::uint32_t, Leaf::SIZE + 1> start{};
    for (const Entry& e : entries) ++start[e.voxel + 1u];
    for (std::size_t v = 0; v < Leaf::SIZE; ++v) start[v + 1] += start[v];
    made.offsets.assign(start.begin() + 1, start.end());
    for (Entry& e : entries) e.slot = start[e.voxel]++;
    const pts::AttributeSet& pattern = leaves_[entries.front().leaf]->attributeSet();
    made.set = std::make_unique<pts::AttributeSet>(pattern, static_cast<Index>(entries.size()), &lock);
    for (std::size_t a = 0; a < pattern.size(); ++a) copy(a, entries, *made.set->get(a));
    return made;
  }

  /// Bytes per point: twice what is stored. Entries of one leaf follow each other.
  void copy(std::size_t attribute, const std::vector<Entry>& entries, pts::AttributeArray& to) const {
    to.expand(/*fill=*/false);
    // The array's memory is its own; OpenVDB hands it out for reading only.
    char* memory = const_cast<char*>(to.constDataAsByteArray());
    const std::size_t width = to.storageTypeSize() * to.stride();
    for (std::size_t begin = 0; begin < entries.size();) {
      std::size_t end = begin;
      while (end < entries.size() && entries[end].leaf == entries[begin].leaf) ++end;
      const pts::AttributeArray& from = *leaves_[entries[begin].leaf]->attributeSet().getConst(attribute);
      copy_values(width, from.constDataAsByteArray(), from.isUniform(), memory, entries.data() + begin,
                  entries.data() + end);
      begin = end;
    }
    compact_points(&to);
  }

  void put(const Target& target, NewLeaf& made) {
    if (!made.set) {
      const std::unique_ptr<Leaf> empty(tree_.stealNode<Leaf>(target.origin, 0, false));
      return;
    }
    Leaf* leaf = target.leaf == no_leaf ? new Leaf(target.origin) : leaves_[target.leaf];
    leaf->replaceAttributeSet(made.set.release(), /*allowMismatchingDescriptors=*/true);
    leaf->setOffsets(made.offsets, /*updateValueMask=*/true);
    if (target.leaf == no_leaf) tree_.addLeaf(leaf);
  }

  Tree& tree_;
  const std::vector<LeafChange>& changes_;
  std::vector<Leaf*> leaves_;
  std::vector<std::vector<Emigrant>> emigrants_;  // by leaf
  std::vector<Group> groups_;
  std::vector<Target> targets_;
};

}  // namespace

void compact_points(void* opaque_array) {
  auto& array = *static_cast<pts::AttributeArray*>(opaque_array);
  const std::string codec = array.codecType();
  if (codec == pts::NullCodec::name() || codec == pts::GroupCodec::name() || codec == pts::StringCodec<false>::name())
    array.compact();
}

void sort_points_in(void* tree, const std::vector<LeafChange>& changes) {
  if (std::none_of(changes.begin(), changes.end(), [](const LeafChange& c) { return c.any(); })) return;
  Sorter(*static_cast<Tree*>(tree), changes).run();
}

}  // namespace aegir
