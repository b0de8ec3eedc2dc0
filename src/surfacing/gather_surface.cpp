#include "surfacing/gather_surface.h"

#include <algorithm>

#include "surfacing/surface_shares.h"

namespace aegir {

WholeSurface gather_surface(ParticleSurface part) {
  WholeSurface whole;
  const std::shared_ptr<SurfaceShares> shares = part.grid.shares();
  Comm& comm = shares->comm();
  BandGrid& grid = part.grid;
  Parcels parcels(comm);
  parcels.put(0, static_cast<std::uint64_t>(grid.size()));
  parcels.put(0, static_cast<std::uint64_t>(grid.inside_keys().size()));
  parcels.put(0, std::span<const Vec3i>(grid.keys()));
  parcels.put(0, std::span<const Vec3i>(grid.inside_keys()));
  parcels.put(0, std::span<const float>(grid.values(), grid.size() * 512));
  if (grid.has_owners()) shares->carried.pack({grid.owners(0), grid.size() * 512}, parcels.to(0));
  std::vector<Parcel> arrived = parcels.exchange();
  if (!comm.root()) return whole;
  std::vector<Vec3i> keys, inside;
  std::vector<std::vector<Vec3i>> keys_of;
  for (Parcel& parcel : arrived) {
    const auto here = static_cast<std::size_t>(parcel.take<std::uint64_t>()),
               deep = static_cast<std::size_t>(parcel.take<std::uint64_t>());
    keys_of.push_back(parcel.take_all<Vec3i>(here));
    keys.insert(keys.end(), keys_of.back().begin(), keys_of.back().end());
    const auto more = parcel.take_all<Vec3i>(deep);
    inside.insert(inside.end(), more.begin(), more.end());
  }
  std::sort(keys.begin(), keys.end(), key_less), std::sort(inside.begin(), inside.end(), key_less);
  BandGrid all(grid.voxel(), static_cast<int>(grid.band()), std::move(keys), std::move(inside), grid.has_owners(),
               grid.pool());
  for (std::size_t r = 0; r < arrived.size(); ++r) {
    for (const Vec3i& key : keys_of[r])
      arrived[r].take(all.bucket(static_cast<std::size_t>(all.find(key))), 512 * sizeof(float));
    if (all.has_owners()) {
      const auto owners = shares->carried.unpack(arrived[r], keys_of[r].size() * 512);
      for (std::size_t n = 0; n < keys_of[r].size(); ++n)
        std::copy_n(&owners[n * 512], 512, all.owners(static_cast<std::size_t>(all.find(keys_of[r][n]))));
    }
    arrived[r] = Parcel(0, {});
  }
  whole.surface.grid = std::move(all), whole.surface.report = part.report;
  whole.points = shares->carried.take_points();
  return whole;
}

}  // namespace aegir
