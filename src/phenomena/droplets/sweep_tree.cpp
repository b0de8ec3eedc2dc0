#include "phenomena/droplets/sweep_tree.h"

#include <cmath>
#include <limits>

#include "base/simd.h"
#include "domain/grid/bucket_key.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

/// Spreads the lower ten bits three apart.
std::uint32_t spread(std::uint32_t v) {
  v = (v | (v << 16)) & 0x030000ff;
  v = (v | (v << 8)) & 0x0300f00f;
  v = (v | (v << 4)) & 0x030c30c3;
  return (v | (v << 2)) & 0x09249249;
}

/// Where a place in its bucket lies on a Morton curve of 1024 steps along each axis.
std::uint32_t morton(const Vec3f& p) {
  const auto step = [](float cells) {
    return spread(static_cast<std::uint32_t>(std::clamp(cells * (1024.0f / bucket_size), 0.0f, 1023.0f)));
  };
  return step(p.x) | step(p.y) << 1 | step(p.z) << 2;
}

/// Blocks of eight boxes that a tree of so many leaves has.
std::uint32_t block_count(std::uint32_t leaves) {
  std::uint32_t blocks = 0;
  do leaves = (leaves + 7) / 8, blocks += leaves;
  while (leaves > 1);
  return blocks;
}

}  // namespace

/// About 40 flops for eight boxes.
AEGIR_HOT unsigned may_meet(const SweptBoxes& c, const SweptBounds& box, const Vec3f& shift) {
  constexpr float margin = 1e-5f;
  alignas(32) int may[SweptBoxes::width];
  for (int k = 0; k < SweptBoxes::width; ++k) {
    bool meets = true;
    for (int a = 0; a < 3; ++a)
      meets &= ((c.low[a][k] + shift[a]) - box.high[a] + std::min(0.0f, c.slow[a][k] - box.fast[a]) <= margin) &
               (box.low[a] - (c.high[a][k] + shift[a]) + std::min(0.0f, box.slow[a] - c.fast[a][k]) <= margin);
    may[k] = meets ? 1 << k : 0;
  }
  int bits = 0;
  for (int k = 0; k < SweptBoxes::width; ++k) bits |= may[k];
  return static_cast<unsigned>(bits);
}

void SweepTrees::build(int buckets, FunctionRef<std::size_t(int)> most, Fill fill) {
  trees_.assign(static_cast<std::size_t>(buckets), {});
  std::size_t leaves = 0, boxes = 0;
  for (int b = 0; b < buckets; ++b) {
    Tree& t = trees_[static_cast<std::size_t>(b)];
    t.first_leaf = leaves, t.first_box = boxes;
    const auto room = static_cast<std::uint32_t>((most(b) + SweptLeaf::width - 1) / SweptLeaf::width);
    leaves += room, boxes += block_count(room);
  }
  if (leaves_.size() < leaves) leaves_.resize(leaves + leaves / 8);
  if (boxes_.size() < boxes) boxes_.resize(boxes + boxes / 8);
  parallel_for(0, trees_.size(), 8, [&](std::size_t begin, std::size_t end) {
    std::vector<SweptBall> balls;
    std::vector<std::uint64_t> keys;
    for (std::size_t b = begin; b < end; ++b) {
      balls.clear();
      fill(static_cast<int>(b), balls);
      plant(trees_[b], balls, keys);
    }
  });
}

void SweepTrees::plant(Tree& tree, std::vector<SweptBall>& balls, std::vector<std::uint64_t>& keys) {
  constexpr auto width = static_cast<std::uint32_t>(SweptLeaf::width);
  const auto count = static_cast<std::uint32_t>(balls.size());
  tree.leaves = (count + width - 1) / width;
  if (count == 0) return;
  keys.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) keys[i] = std::uint64_t{morton(balls[i].place)} << 32 | i;
  if (count > width) std::sort(keys.begin(), keys.end());

  SweptBoxes* block = boxes_.data() + tree.first_box;
  for (std::uint32_t l = 0; l < tree.leaves; ++l) {
    SweptLeaf& leaf = leaves_[tree.first_leaf + l];
    SweptBounds bounds;
    for (std::uint32_t k = 0; k < width; ++k) {
      if (l * width + k >= count) {
        leaf.x[k] = std::numeric_limits<float>::quiet_NaN();
        leaf.y[k] = leaf.z[k] = leaf.u[k] = leaf.v[k] = leaf.w[k] = leaf.radius[k] = 0;
        leaf.index[k] = ~0u;
        continue;
      }
      const SweptBall& ball = balls[static_cast<std::uint32_t>(keys[l * width + k])];
      leaf.x[k] = ball.place.x, leaf.y[k] = ball.place.y, leaf.z[k] = ball.place.z;
      leaf.u[k] = ball.way.x, leaf.v[k] = ball.way.y, leaf.w[k] = ball.way.z;
      leaf.radius[k] = ball.radius, leaf.index[k] = ball.index;
      bounds.add({ball.place - Vec3f(ball.radius), ball.place + Vec3f(ball.radius), ball.way, ball.way});
    }
    block[l / 8].set(l % 8, bounds);
  }
  std::uint32_t begin = 0, size = tree.leaves;  // boxes of this level, in blocks from `begin` on
  for (tree.levels = 1;; ++tree.levels) {
    for (std::uint32_t k = size; k % 8 != 0; ++k) block[begin + k / 8].set(k % 8, {});
    const std::uint32_t blocks = (size + 7) / 8;
    if (blocks == 1) break;
    for (std::uint32_t p = 0; p < blocks; ++p) block[begin + blocks + p / 8].set(p % 8, block[begin + p].all());
    begin += blocks, size = blocks;
    tree.level[static_cast<std::size_t>(tree.levels)] = begin;
  }
  tree.bounds = block[begin].all();
}

}  // namespace aegir
