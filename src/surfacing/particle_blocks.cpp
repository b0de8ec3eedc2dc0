#include "surfacing/particle_blocks.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "base/assert.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

constexpr std::size_t chunk = 1 << 15;

/// All blocks that hold a particle: each chunk finds its own, then they are joined.
std::vector<Vec3i> find_blocks(std::span<const Vec3d> positions, const BlockLocator& locate) {
  const std::size_t chunks = (positions.size() + chunk - 1) / chunk;
  std::vector<std::vector<Vec3i>> found(chunks);
  parallel_for(0, chunks, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      BucketMap seen(64);
      Vec3i last{INT32_MIN, 0, 0};
      for (std::size_t i = c * chunk; i < std::min(positions.size(), (c + 1) * chunk); ++i) {
        const Vec3i block = locate(positions[i]).block;
        if (block == last) continue;
        last = block;
        if (seen.insert(block, 0).second) found[c].push_back(block);
      }
    }
  });
  BucketMap all(1024);
  std::vector<Vec3i> keys;
  for (const auto& part : found)
    for (const Vec3i& key : part)
      if (all.insert(key, 0).second) keys.push_back(key);
  std::sort(keys.begin(), keys.end(), key_less);
  return keys;
}

/// Number of every particle's block, and how many each has.
std::vector<std::uint32_t> block_of(std::span<const Vec3d> positions, const BlockLocator& locate, const BucketMap& map,
                                    std::vector<std::uint32_t>& counts) {
  std::vector<std::uint32_t> block(positions.size());
  parallel_for(0, positions.size(), chunk, [&](std::size_t begin, std::size_t end) {
    Vec3i last{INT32_MIN, 0, 0};
    std::uint32_t number = 0, run = 0;
    const auto book = [&] {
      if (run > 0) std::atomic_ref(counts[number]).fetch_add(run, std::memory_order_relaxed);
      run = 0;
    };
    for (std::size_t i = begin; i < end; ++i) {
      const Vec3i key = locate(positions[i]).block;
      if (key != last) book(), number = static_cast<std::uint32_t>(map.find(key)), last = key;
      block[i] = number;
      ++run;
    }
    book();
  });
  return block;
}

/// Brings the particles of one block, listed in the order of the input, into the order of cells.
void fill_block(std::span<const Vec3d> positions, std::span<const float> radii, const BlockLocator& locate,
                ParticleBlocks& out, std::size_t b, std::vector<std::uint32_t>& order) {
  const std::uint32_t first = out.first(b), last = out.cell_first[(b + 1) * 65];
  if (!std::is_sorted(&out.source[first], &out.source[first] + (last - first)))
    std::sort(&out.source[first], &out.source[first] + (last - first));
  order.assign(&out.source[first], &out.source[first] + (last - first));
  std::array<std::uint32_t, 65> next{};
  for (const std::uint32_t i : order) ++next[locate.cell(locate(positions[i]).local) + 1];
  next[0] = first;
  for (std::size_t c = 0; c < 64; ++c) next[c + 1] += next[c];
  // The first entry is there already, and the block before reads it.
  std::copy(next.begin() + 1, next.end(), &out.cell_first[b * 65 + 1]);
  for (const std::uint32_t i : order) {
    const Vec3f local = locate(positions[i]).local;
    const std::uint32_t to = next[locate.cell(local)]++;
    out.x[to] = local.x, out.y[to] = local.y, out.z[to] = local.z;
    out.radius[to] = static_cast<float>(radii[i] / out.lattice.voxel);
    out.source[to] = i;
  }
}

}  // namespace

BlockLocator::BlockLocator(const SurfaceLattice& lattice)
    : per_metre_(1 / lattice.voxel),
      edge_(lattice.block_voxels()),
      per_edge_(1.0 / lattice.block_voxels()),
      per_cell_(1.0f / static_cast<float>(lattice.cell_voxels)) {}

ParticleBlocks sort_particles(std::span<const Vec3d> positions, std::span<const float> radii,
                              const SurfaceLattice& lattice) {
  AEGIR_ASSERT(positions.size() == radii.size() && positions.size() < INT32_MAX - 64,
               "one radius per particle, at most 2^31");
  const BlockLocator locate(lattice);
  ParticleBlocks out;
  out.lattice = lattice;
  out.key = find_blocks(positions, locate);
  out.map = BucketMap(out.key.size());
  for (std::size_t b = 0; b < out.key.size(); ++b) out.map.insert(out.key[b], static_cast<std::int32_t>(b));

  std::vector<std::uint32_t> counts(out.key.size(), 0);
  const std::vector<std::uint32_t> block = block_of(positions, locate, out.map, counts);
  // A block's first entry is where it starts; the others follow when its cells are known.
  out.cell_first.assign(out.key.size() * 65 + 65, 0);
  std::vector<std::uint32_t> next(out.key.size());
  std::uint32_t sum = 0;
  for (std::size_t b = 0; b < counts.size(); ++b) {
    out.cell_first[b * 65] = next[b] = sum;
    sum += counts[b];
  }
  out.cell_first[out.key.size() * 65] = sum;
  out.source.resize(positions.size());
  parallel_for(0, positions.size(), chunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end;) {
      std::size_t run = i + 1;
      while (run < end && block[run] == block[i]) ++run;
      const auto length = static_cast<std::uint32_t>(run - i);
      std::uint32_t to = std::atomic_ref(next[block[i]]).fetch_add(length, std::memory_order_relaxed);
      for (; i < run; ++i) out.source[to++] = static_cast<std::uint32_t>(i);
    }
  });
  for (auto* v : {&out.x, &out.y, &out.z, &out.radius}) v->resize(positions.size() + ParticleBlocks::ahead);
  parallel_for(0, out.key.size(), 4, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint32_t> order;
    for (std::size_t b = begin; b < end; ++b) fill_block(positions, radii, locate, out, b, order);
  });
  return out;
}

}  // namespace aegir
