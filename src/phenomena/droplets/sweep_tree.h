// Droplets of every bucket in a small tree of boxes, each with the bounds of where its droplets are and of how far they
// move: what cannot meet within the substep is left out together, whatever the sizes, speeds and crowds.
//
//   SweepTrees trees;
//   trees.build(buckets, count_of, fill);                        // fill(bucket, list): droplets that may collide
//   trees.visit(trees.bounds(bucket, leaf), other, shift, 0, [&](std::uint32_t number, const SweptLeaf& near) { … });
//
// A tree holds its droplets in leaves of eight along a Morton curve; eight children make a node. Per droplet: 32 bytes
// in a leaf and 8 of boxes. Boxes carry velocities apart from places, so that no frame of reference is preferred: a jet
// of fast droplets that keep their distance costs as little as droplets at rest.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "base/vec.h"

namespace aegir {

/// A droplet as a ball that moves straight through one substep; cells, relative to its bucket.
struct SweptBall {
  Vec3f place, way;
  float radius = 0;
  std::uint32_t index = 0;  ///< in its bucket
};

/// Eight droplets; places that are not taken hold NaN and meet nobody.
struct alignas(64) SweptLeaf {
  static constexpr int width = 8;
  float x[width], y[width], z[width];
  float u[width], v[width], w[width];
  float radius[width];
  std::uint32_t index[width];
};

/// Bounds of balls and of their ways.
struct SweptBounds {
  Vec3f low{3e38f}, high{-3e38f}, slow{3e38f}, fast{-3e38f};

  void add(const SweptBounds& o) {
    low = min(low, o.low), high = max(high, o.high), slow = min(slow, o.slow), fast = max(fast, o.fast);
  }
  /// Whether something inside can meet something inside the other, which is shifted, within the substep.
  bool may_meet(const SweptBounds& o, const Vec3f& shift) const {
    constexpr float margin = 1e-5f;  // outweighs rounding of places up to 24 cells away
    bool may = true;
    for (int a = 0; a < 3; ++a) {
      const float above = (o.low[a] + shift[a]) - high[a] + std::min(0.0f, o.slow[a] - fast[a]);
      const float below = low[a] - (o.high[a] + shift[a]) + std::min(0.0f, slow[a] - o.fast[a]);
      may &= (above <= margin) & (below <= margin);
    }
    return may;
  }
};

/// Bounds of eight children side by side; those that are not there meet nobody.
struct alignas(64) SweptBoxes {
  static constexpr int width = 8;
  float low[3][width], high[3][width], slow[3][width], fast[3][width];

  SweptBounds at(std::uint32_t k) const {
    const auto take = [k](const float(&v)[3][width]) { return Vec3f(v[0][k], v[1][k], v[2][k]); };
    return {take(low), take(high), take(slow), take(fast)};
  }
  void set(std::uint32_t k, const SweptBounds& b) {
    for (int a = 0; a < 3; ++a)
      low[a][k] = b.low[a], high[a][k] = b.high[a], slow[a][k] = b.slow[a], fast[a][k] = b.fast[a];
  }
  SweptBounds all() const {
    SweptBounds sum;
    for (std::uint32_t k = 0; k < width; ++k) sum.add(at(k));
    return sum;
  }
};

/// Which of eight children may meet what is in the box, one bit each.
unsigned may_meet(const SweptBoxes& children, const SweptBounds& box, const Vec3f& shift);

class SweepTrees {
 public:
  using Fill = FunctionRef<void(int bucket, std::vector<SweptBall>& balls)>;

  /// Trees of buckets 0 … buckets - 1, at most `most(bucket)` droplets each; `fill` lists those that may collide.
  void build(int buckets, FunctionRef<std::size_t(int)> most, Fill fill);

  bool empty(int bucket) const { return tree(bucket).leaves == 0; }
  std::span<const SweptLeaf> leaves(int bucket) const {
    return {leaves_.data() + tree(bucket).first_leaf, tree(bucket).leaves};
  }
  /// Bounds of one leaf, and of all droplets of a bucket that is not empty.
  SweptBounds bounds(int bucket, std::uint32_t leaf) const {
    return boxes_[tree(bucket).first_box + leaf / SweptBoxes::width].at(leaf % SweptBoxes::width);
  }
  const SweptBounds& bounds(int bucket) const { return tree(bucket).bounds; }

  /// Calls fn(number, leaf) for the leaves of `bucket` from `first` on whose droplets may meet those in `box`; `shift`
  /// is where the bucket lies relative to the box's. Ends early if fn returns false.
  template <class Fn>
  void visit(const SweptBounds& box, int bucket, const Vec3f& shift, std::uint32_t first, Fn&& fn) const {
    const Tree& t = tree(bucket);
    if (t.leaves == 0 || !box.may_meet(t.bounds, shift)) return;
    struct Node {
      int level;
      std::uint32_t block;
    } stack[8 * most_levels];
    int top = 0;
    stack[top++] = {t.levels - 1, 0};
    while (top > 0) {
      const Node n = stack[--top];
      unsigned bits = may_meet(boxes_[t.first_box + t.level[static_cast<std::size_t>(n.level)] + n.block], box, shift);
      if (n.level == 0) {
        for (; bits; bits &= bits - 1) {
          const std::uint32_t leaf = 8 * n.block + static_cast<std::uint32_t>(std::countr_zero(bits));
          if (leaf >= first && !fn(leaf, leaves_[t.first_leaf + leaf])) return;
        }
        continue;
      }
      // The last child first, so that the first is the next to be looked at.
      while (bits) {
        const auto k = static_cast<std::uint32_t>(std::bit_width(bits) - 1);
        bits &= ~(1u << k);
        const std::uint32_t child = 8 * n.block + k;
        if ((std::uint64_t{child} + 1) << (3 * n.level) > first) stack[top++] = {n.level - 1, child};
      }
    }
  }

 private:
  static constexpr int most_levels = 11;  // 8^11 leaves
  struct Tree {
    std::size_t first_leaf = 0, first_box = 0;
    std::uint32_t leaves = 0;
    int levels = 0;
    std::array<std::uint32_t, most_levels>
        level{};  // where each level's blocks of boxes start; leaves first, root last
    SweptBounds bounds;
  };
  const Tree& tree(int bucket) const { return trees_[static_cast<std::size_t>(bucket)]; }
  void plant(Tree& tree, std::vector<SweptBall>& balls, std::vector<std::uint64_t>& keys);

  std::vector<Tree> trees_;
  std::vector<SweptLeaf> leaves_;
  std::vector<SweptBoxes> boxes_;
};

}  // namespace aegir
