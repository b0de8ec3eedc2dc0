// Sums on the faces of a bucket and one layer around it: where particles leave their mass and momentum.
//
// Lines run along the axis that four lanes of the scatter kernel lie on (y, and x for the y component), so that a cell
// adds whole vectors; mass and momentum of a face stand next to each other's lines. gather() turns them back.
#pragma once

#include <vector>

#include "domain/channel/grant.h"
#include "domain/exec.h"
#include "domain/transport/halo.h"
#include "domain/volume/discrete_volume.h"

namespace aegir {

/// One bucket's contributions: m w and m w v of each component.
struct FaceSumTile {
  static constexpr int line = 12, pair = 2 * line;   // ten faces -1…8; a vector of four may start at 7
  static constexpr int lateral_layer = 9 * pair;     // x and y components: per z, faces 0…8 along the normal
  static constexpr int vertical_layer = 10 * pair;   // z component: per z, faces -1…8 along x
  static constexpr int floats = 10 * lateral_layer;  // 10 layers, or 9 of the z component
  static_assert(floats == 9 * vertical_layer);
  alignas(64) float values[3][floats];

  /// Where a step along x, y and z leads.
  static constexpr Vec3i strides(int axis) {
    return axis == 0   ? Vec3i{pair, 1, lateral_layer}
           : axis == 1 ? Vec3i{1, pair, lateral_layer}
                       : Vec3i{pair, 1, vertical_layer};
  }
  /// Place of the mass of a face; its momentum is one line further. Faces 0…8 along the axis, -1…8 across it.
  static constexpr int place(int axis, const Vec3i& f) {
    const Vec3i s = strides(axis), first{axis != 0, axis != 1, axis != 2};
    return (f.x + first.x) * s.x + (f.y + first.y) * s.y + (f.z + first.z) * s.z;
  }
  void add(int axis, const Vec3i& face, float mass, float momentum) {
    float* at = values[axis] + place(axis, face);
    at[0] += mass, at[line] += momentum;
  }
};

/// Accessor for for_each_bucket(): every bucket with particles fills a tile of its own; afterwards each bucket sums its
/// tile and then its neighbours' in the order of neighbour_index(), and divides. Tiles exist for occupied buckets only.
/// Between ranks the parts of tiles travel that lie in buckets of the other.
class FaceSums {
 public:
  /// `occupied` says which local buckets get a tile.
  FaceSums(DiscreteVolume& volume, const FaceChannel<float>& velocity, const FaceChannel<float>& mass,
           std::vector<char> occupied, BufferPool* memory);

  struct View {
    FaceSumTile* tile;  ///< null where the bucket is not occupied; zeroed otherwise
    View& get() { return *this; }
  };
  const Topology& topology() const { return *topology_; }
  void prepare(Exec& exec);
  void load(View& v, int b) const;
  void store(View&, int) const {}
  void send(HaloFlight& flight);
  void finish(Exec& exec);
  std::int64_t bytes() const;

 private:
  /// Parts that come from another rank.
  struct Arrival {
    const HaloPeer* peer;
    FlightBuffer parts;
  };
  FaceSumTile* tile(int b) const;
  void unpack(Arrival& arrival);
  void gather(int b);

  const Topology* topology_;
  GridStore *velocity_, *mass_;
  std::vector<char> occupied_;
  std::vector<std::uint64_t> first_;
  BufferPool* memory_;
  PooledBuffer tiles_;
  std::vector<Arrival> arrivals_;
};

}  // namespace aegir
