// What the particles of a shared surface carry: a voxel names its nearest particle by a number that only this rank
// understands, so values travel with the voxels.
//
//   carried.pack(owners, bytes);                           // numbers, and the values of whom they name
//   std::vector<std::int32_t> here = carried.unpack(parcel, owners.size());
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "io/point_set.h"
#include "surfacing/parcels.h"

namespace aegir {

/// A rank's own particles, then those of others that came with shapes or voxels, in the order in which they came.
class CarriedParticles {
 public:
  CarriedParticles() = default;
  /// The values of `count` own particles; all are in company until they are found alone.
  CarriedParticles(std::vector<PointAttribute> values, std::size_t count, int rank);

  /// Attributes without positions.
  const PointSet& points() const { return points_; }
  /// The same, given away.
  PointSet take_points() { return std::move(points_); }
  /// Per particle: 1 shaped by its neighbours, 0 alone.
  std::vector<float>& company() { return company_; }
  std::size_t own() const { return own_; }
  std::size_t size() const { return company_.size(); }

  /// Appends numbers of particles, -1 for none, and once for each its values.
  void pack(std::span<const std::int32_t> numbers, Bytes& bytes);
  /// Reads what another rank packed, as numbers of this rank.
  std::vector<std::int32_t> unpack(Parcel& parcel, std::size_t count);

 private:
  using Name = std::uint64_t;  // rank and number there
  Name name_of(std::size_t number) const {
    return number < own_ ? static_cast<Name>(rank_) << 32 | number : foreign_[number - own_];
  }

  int rank_ = 0;
  std::size_t own_ = 0;
  PointSet points_;
  std::vector<float> company_;
  std::vector<Name> foreign_;
  std::unordered_map<Name, std::int32_t> known_;  // of the foreign ones
  std::vector<std::int32_t> place_;               // while packing: where a particle is in the list
};

}  // namespace aegir
