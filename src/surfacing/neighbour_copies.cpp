#include "surfacing/neighbour_copies.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace aegir {
namespace {

/// Appends a block of another rank without particles.
void add_copy(ParticleBlocks& blocks, const Vec3i& key) {
  if (!blocks.map.insert(key, static_cast<std::int32_t>(blocks.key.size())).second) return;
  blocks.key.push_back(key), ++blocks.copies;
  blocks.cell_first.resize(blocks.key.size() * 65, static_cast<std::uint32_t>(blocks.size()));
}

/// Cells of other ranks' blocks that are looked at, one word per block.
class WantedCells {
 public:
  explicit WantedCells(SurfaceShares& shares) : shares_(shares) {}
  std::vector<Vec3i> key;
  std::vector<std::uint64_t> cells;

  /// Whether a box of blocks is all this rank's.
  bool all_mine(const Vec3i& low, const Vec3i& high) {
    for (int i = low.x; i <= high.x; ++i)
      for (int j = low.y; j <= high.y; ++j)
        for (int k = low.z; k <= high.z; ++k)
          if (!mine({i, j, k})) return false;
    return true;
  }
  void add(const Vec3i& cell) {
    const Vec3i block{cell.x >> 2, cell.y >> 2, cell.z >> 2};
    if (block != last_) {
      last_ = block, at_ = nothing;
      if (!mine(block)) {
        const auto [number, fresh] = map_.insert(block, static_cast<std::int32_t>(key.size()));
        if (fresh) key.push_back(block), cells.push_back(0);
        at_ = static_cast<std::size_t>(number);
      }
    }
    if (at_ != nothing) cells[at_] |= std::uint64_t{1} << (((cell.x & 3) * 4 + (cell.y & 3)) * 4 + (cell.z & 3));
  }

 private:
  static constexpr std::size_t nothing = ~std::size_t{0};
  bool mine(const Vec3i& block) { return shares_.rank_of_block(block) == shares_.comm().rank(); }

  SurfaceShares& shares_;
  BucketMap map_;
  Vec3i last_{INT32_MIN, 0, 0};
  std::size_t at_ = nothing;
};

/// How many cells beyond its own a particle of each cell of a block looks at most; -1: none there gets a shape from its
/// neighbours.
std::array<int, 64> cells_beyond(const ParticleBlocks& blocks, const NearSurface& near, std::size_t b,
                                 float search_radius, float large) {
  std::array<int, 64> beyond;
  for (std::size_t c = 0; c < 64; ++c) {
    float radius = 0;
    for (std::uint32_t i = blocks.cell_first[b * 65 + c]; i < blocks.cell_first[b * 65 + c + 1]; ++i)
      if ((near.shaped[b] >> c & 1) || blocks.radius[i] > large) radius = std::max(radius, blocks.radius[i]);
    // A little more, because a particle may lie on the side of a cell.
    const float reach = search_radius * radius / static_cast<float>(blocks.lattice.cell_voxels);
    beyond[c] = radius > 0 ? static_cast<int>(std::ceil(reach + 0.01f)) : -1;
  }
  return beyond;
}

WantedCells wanted_cells(const ParticleBlocks& blocks, const NearSurface& near, float search_radius, float large,
                         SurfaceShares& shares) {
  WantedCells wanted(shares);
  for (std::size_t b = 0; b < blocks.blocks(); ++b) {
    const std::array<int, 64> beyond = cells_beyond(blocks, near, b, search_radius, large);
    const int most = *std::max_element(beyond.begin(), beyond.end());
    const Vec3i around((most + 3) >> 2);
    if (most < 0 || wanted.all_mine(blocks.key[b] - around, blocks.key[b] + around)) continue;
    for (int c = 0; c < 64; ++c) {
      const int n = beyond[static_cast<std::size_t>(c)];
      if (n < 0) continue;
      const Vec3i cell = blocks.key[b] * 4 + Vec3i{c >> 4, c >> 2 & 3, c & 3};
      for (int i = -n; i <= n; ++i)
        for (int j = -n; j <= n; ++j)
          for (int k = -n; k <= n; ++k) wanted.add(cell + Vec3i{i, j, k});
    }
  }
  return wanted;
}

/// Answers with how many particles each cell has, then what is known of them.
void answer(const ParticleBlocks& blocks, const Vec3i& key, std::uint64_t cells, Bytes& bytes) {
  const std::int32_t found = blocks.map.find(key);
  if (found < 0 || static_cast<std::size_t>(found) >= blocks.blocks()) cells = 0;
  const std::uint32_t* first = cells ? &blocks.cell_first[static_cast<std::size_t>(found) * 65] : nullptr;
  std::array<std::uint32_t, 64> counts{};
  for (std::uint64_t left = cells; left != 0; left &= left - 1) {
    const auto c = static_cast<std::size_t>(__builtin_ctzll(left));
    counts[c] = first[c + 1] - first[c];
  }
  put_bytes(bytes, std::span<const std::uint32_t>(counts));
  for (const auto* from : {&blocks.x, &blocks.y, &blocks.z, &blocks.radius})
    for (std::size_t c = 0; c < 64; ++c)
      if (counts[c]) put_bytes(bytes, std::span<const float>(from->data() + first[c], counts[c]));
}

/// Puts an answer into its copy.
void fill_copy(ParticleBlocks& blocks, const Vec3i& key, Parcel& parcel) {
  const auto counts = parcel.take_all<std::uint32_t>(64);
  add_copy(blocks, key);
  std::uint32_t* first = &blocks.cell_first[static_cast<std::size_t>(blocks.map.find(key)) * 65];
  auto at = static_cast<std::uint32_t>(blocks.x.size()) - ParticleBlocks::ahead;
  std::uint32_t total = 0;
  for (std::size_t c = 0; c < 64; ++c) first[c] = at + total, total += counts[c];
  first[64] = at + total;
  for (auto* to : {&blocks.x, &blocks.y, &blocks.z, &blocks.radius}) {
    to->resize(to->size() + total);
    parcel.take(to->data() + at, total * sizeof(float));
  }
}

}  // namespace

SurfaceHalo copy_blocks_around(ParticleBlocks& blocks, SurfaceShares& shares) {
  SurfaceHalo halo;
  const auto rank_of = [&](const Vec3i& key) { return shares.rank_of_block(key); };
  const auto deep = [&](const Vec3i& key) { return shares.deep(key); };
  for (const Vec3i& key : halo.build(shares.comm(), blocks.key, shares.ring(), rank_of, deep)) add_copy(blocks, key);
  return halo;
}

void copy_neighbours(ParticleBlocks& blocks, const NearSurface& near, float search_radius, float large,
                     SurfaceShares& shares) {
  const WantedCells wanted = wanted_cells(blocks, near, search_radius, large, shares);
  Parcels questions(shares.comm()), answers(shares.comm());
  std::vector<std::vector<Vec3i>> asked(static_cast<std::size_t>(shares.comm().size()));
  for (std::size_t w = 0; w < wanted.key.size(); ++w) {
    const int rank = shares.rank_of_block(wanted.key[w]);
    asked[static_cast<std::size_t>(rank)].push_back(wanted.key[w]);
    questions.put(rank, wanted.key[w]), questions.put(rank, wanted.cells[w]);
  }
  for (Parcel& parcel : questions.exchange())
    while (!parcel.at_end()) {
      const auto key = parcel.take<Vec3i>();
      answer(blocks, key, parcel.take<std::uint64_t>(), answers.to(parcel.rank()));
    }
  const std::size_t before = blocks.x.size();
  for (Parcel& parcel : answers.exchange())
    for (const Vec3i& key : asked[static_cast<std::size_t>(parcel.rank())]) fill_copy(blocks, key, parcel);
  shares.copied += static_cast<std::int64_t>(blocks.x.size() - before);
}

}  // namespace aegir
