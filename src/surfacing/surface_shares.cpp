#include "surfacing/surface_shares.h"

#include <algorithm>

#include "domain/grid/bucket_key.h"
#include "surfacing/near_surface.h"

namespace aegir {
namespace {

/// What a particle near the surface costs more than one in the depth: a shape, and its share of voxels.
constexpr std::int64_t surface_cost = 4;

/// Blocks beyond the curve are where it ends.
std::uint64_t curve_of(const Vec3i& block) {
  const Vec3i low(-coordinate_limit), high(coordinate_limit - 1);
  return curve_position({min(max(block, low), high), 0});
}

}  // namespace

Partition cut_surface(Comm& comm, const SurfaceLattice& lattice, std::span<const Vec3d> positions) {
  ParticleBlocks blocks;
  std::vector<std::uint32_t> counts;  // 64 per block
  const BlockLocator locate(lattice);
  Vec3i last{INT32_MIN, 0, 0};
  std::size_t b = 0;
  for (const Vec3d& p : positions) {
    const BlockPlace place = locate(p);
    if (place.block != last) {
      const auto [number, fresh] = blocks.map.insert(place.block, static_cast<std::int32_t>(blocks.key.size()));
      if (fresh) blocks.key.push_back(place.block), counts.resize(counts.size() + 64, 0);
      b = static_cast<std::size_t>(number), last = place.block;
    }
    ++counts[b * 64 + locate.cell(place.local)];
  }
  std::vector<std::uint64_t> occupied(blocks.blocks(), 0), curve;
  for (std::size_t c = 0; c < counts.size(); ++c)
    occupied[c / 64] |= static_cast<std::uint64_t>(counts[c] > 0) << (c % 64);
  const std::vector<std::uint64_t> deep = surrounded_cells(blocks, occupied);
  std::vector<std::int64_t> weight(blocks.blocks(), 0);
  for (std::size_t c = 0; c < counts.size(); ++c)
    weight[c / 64] += counts[c] * (deep[c / 64] >> (c % 64) & 1 ? 1 : 1 + surface_cost);
  for (const Vec3i& key : blocks.key) curve.push_back(curve_of(key));
  return Partition::by_weight(comm, curve, weight);
}

int SurfaceShares::rank_of_block(const Vec3i& block) {
  const std::int32_t known = ranks_.find(block);
  if (known != BucketMap::none) return known;
  return ranks_.insert(block, partition_.owner(curve_of(block))).first;
}

SurfaceParticles SurfaceShares::send_particles(const SurfaceParticles& particles, const PointSet& points,
                                               std::span<const std::size_t> parts) {
  Parcels parcels(comm_);
  const BlockLocator locate(lattice_);
  const auto source = [&](std::size_t i) { return particles.source.empty() ? i : particles.source[i]; };
  std::size_t i = 0;
  for (const std::size_t end : parts) {
    std::vector<std::vector<std::uint32_t>> to(static_cast<std::size_t>(comm_.size()));
    for (; i < particles.position.size() && source(i) < end; ++i)
      to[static_cast<std::size_t>(rank_of_block(locate(particles.position[i]).block))].push_back(
          static_cast<std::uint32_t>(i));
    for (int r = 0; r < comm_.size(); ++r) {
      const auto& list = to[static_cast<std::size_t>(r)];
      parcels.put(r, static_cast<std::uint64_t>(list.size()));
      for (const std::uint32_t p : list) parcels.put(r, particles.position[p]);
      for (const std::uint32_t p : list) parcels.put(r, particles.radius[p]);
      for (const PointAttribute& a : points.attributes) {
        const std::size_t width = PointAttribute::size_of(a.type);
        for (const std::uint32_t p : list)
          parcels.put(r, std::span<const std::byte>(a.data.data() + source(p) * width, width));
      }
    }
  }
  PointSet own;
  for (const PointAttribute& a : points.attributes) own.add(a.name, a.type);
  SurfaceParticles here;
  std::vector<Parcel> arrived = parcels.exchange();
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (Parcel& parcel : arrived) {
      const auto count = static_cast<std::size_t>(parcel.take<std::uint64_t>()), before = here.position.size();
      here.position.resize(before + count), here.radius.resize(before + count);
      parcel.take(here.position.data() + before, count * sizeof(Vec3d));
      parcel.take(here.radius.data() + before, count * sizeof(float));
      for (PointAttribute& a : own.attributes) {
        const std::size_t width = PointAttribute::size_of(a.type);
        a.data.resize((before + count) * width);
        parcel.take(a.data.data() + before * width, count * width);
      }
    }
  carried = CarriedParticles(std::move(own.attributes), here.position.size(), comm_.rank());
  return here;
}

}  // namespace aegir
