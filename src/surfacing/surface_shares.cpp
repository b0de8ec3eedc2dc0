#include "surfacing/surface_shares.h"

#include <algorithm>

#include "domain/grid/bucket_key.h"
#include "surfacing/near_surface.h"

namespace aegir {
namespace {

/// What a particle near the surface costs more than one in the depth: a shape, and its share of voxels.
constexpr std::int64_t surface_cost = 4;

/// Blocks that the curve does not reach are where it ends.
std::uint64_t curve_of(const Vec3i& block, const Vec3i& origin) {
  return curve_position({min(max(block - origin, Vec3i(-coordinate_limit)), Vec3i(coordinate_limit - 1)), 0});
}

}  // namespace

SurfaceCut cut_surface(Comm& comm, const SurfaceLattice& lattice, std::span<const Vec3d> positions) {
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
  double low[3] = {-1e30, -1e30, -1e30};  // the lowest block, below zero
  for (const Vec3i& key : blocks.key)
    for (int a = 0; a < 3; ++a) low[a] = std::max(low[a], -static_cast<double>(key[a]));
  comm.max(low);
  SurfaceCut cut;
  // Room for what particles reach beyond their blocks.
  constexpr double room = 4;
  cut.origin = Vec3i(Vec3d{-low[0] - room, -low[1] - room, -low[2] - room});
  for (const Vec3i& key : blocks.key) curve.push_back(curve_of(key, cut.origin));
  cut.partition = Partition::by_weight(comm, curve, weight);
  return cut;
}

int SurfaceShares::rank_of_block(const Vec3i& block) {
  const std::int32_t known = ranks_.find(block);
  if (known != BucketMap::none) return known;
  return ranks_.insert(block, cut_.partition.owner(curve_of(block, cut_.origin))).first;
}

bool SurfaceShares::deep(const Vec3i& block) {
  const std::int32_t known = deep_.find(block);
  if (known != BucketMap::none) return known == 1;
  bool all = true;
  for (int i = -ring(); i <= ring(); ++i)
    for (int j = -ring(); j <= ring(); ++j)
      for (int k = -ring(); k <= ring(); ++k) all = all && rank_of_block(block + Vec3i{i, j, k}) == comm_.rank();
  return deep_.insert(block, all ? 1 : 0).first == 1;
}

std::vector<std::vector<std::uint32_t>> SurfaceShares::by_rank(std::span<const Vec3d> positions, std::size_t begin,
                                                               std::size_t end) {
  std::vector<std::vector<std::uint32_t>> lists(static_cast<std::size_t>(comm_.size()));
  const BlockLocator locate(lattice_);
  Vec3i last{INT32_MIN, 0, 0};
  std::size_t rank = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const Vec3i block = locate(positions[i]).block;
    if (block != last) rank = static_cast<std::size_t>(rank_of_block(block)), last = block;
    lists[rank].push_back(static_cast<std::uint32_t>(i));
  }
  return lists;
}

SurfaceParticles SurfaceShares::send_particles(const SurfaceParticles& particles, const PointSet& points,
                                               std::span<const std::size_t> parts) {
  const auto me = static_cast<std::size_t>(comm_.rank());
  const auto sources = [&](std::vector<std::uint32_t> list) {
    if (!particles.source.empty())
      for (std::uint32_t& i : list) i = particles.source[i];
    return list;
  };
  Parcels parcels(comm_);
  std::vector<std::vector<std::uint32_t>> staying;  // per part
  std::size_t begin = 0;
  for (const std::size_t end : parts) {
    const std::size_t stop =
        particles.source.empty()
            ? std::min(end, particles.position.size())
            : static_cast<std::size_t>(std::lower_bound(particles.source.begin(), particles.source.end(), end) -
                                       particles.source.begin());
    auto lists = by_rank(particles.position, begin, stop);
    begin = stop;
    staying.push_back(std::move(lists[me])), lists[me].clear();
    for (std::size_t r = 0; r < lists.size(); ++r) {
      if (r == me) continue;
      Bytes& to = parcels.to(static_cast<int>(r));
      parcels.put(static_cast<int>(r), static_cast<std::uint64_t>(lists[r].size()));
      put_picked(to, particles.position.data(), sizeof(Vec3d), lists[r]);
      put_picked(to, particles.radius.data(), sizeof(float), lists[r]);
      const auto from = sources(std::move(lists[r]));
      for (const PointAttribute& a : points.attributes)
        put_picked(to, a.data.data(), PointAttribute::size_of(a.type), from);
    }
  }
  PointSet own;
  for (const PointAttribute& a : points.attributes) own.add(a.name, a.type);
  SurfaceParticles here;
  std::vector<Parcel> arrived = parcels.exchange();
  const auto room = [](auto& values, std::size_t more) { values.resize(values.size() + more); };
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (std::size_t r = 0, next = 0; r < static_cast<std::size_t>(comm_.size()); ++r) {
      Parcel* parcel = r == me ? nullptr : &arrived[next++];
      const std::vector<std::uint32_t>& list = staying[part];
      const std::size_t count = parcel ? parcel->take<std::uint64_t>() : list.size(), before = here.position.size();
      const auto fill = [&](const void* from, std::size_t width, const auto& picked, void* to) {
        if (parcel)
          parcel->take(to, count * width);
        else
          pick_items(static_cast<const std::byte*>(from), width, picked, static_cast<std::byte*>(to));
      };
      room(here.position, count), room(here.radius, count);
      fill(particles.position.data(), sizeof(Vec3d), list, here.position.data() + before);
      fill(particles.radius.data(), sizeof(float), list, here.radius.data() + before);
      const auto from = parcel ? std::vector<std::uint32_t>() : sources(list);
      for (std::size_t a = 0; a < own.attributes.size(); ++a) {
        PointAttribute& to = own.attributes[a];
        const std::size_t width = PointAttribute::size_of(to.type);
        room(to.data, count * width);
        fill(points.attributes[a].data.data(), width, from, to.data.data() + before * width);
      }
    }
  carried = CarriedParticles(std::move(own.attributes), here.position.size(), comm_.rank());
  return here;
}

}  // namespace aegir
