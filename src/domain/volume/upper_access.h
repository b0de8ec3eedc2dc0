// Reads a bucket's faces, and the faces that close its cells on the upper side. A cell's flux needs no more of its
// neighbours than that, and no padded tile.
//
//   for_each_bucket(exec, "divergence", topology, [](const Bucket&, auto& u, auto& d) {
//     for (…) d.set_line(i, j, u[0].upper(i, j) - u[0].line(i, j) + …);
//   }, read_upper(volume, velocity), volume.overwrite(divergence));
#pragma once

#include "domain/volume/discrete_volume.h"

namespace aegir {

/// The faces of one axis in one bucket: rows along z as SIMD values.
template <class T>
struct UpperFaces {
  const T* own;
  const T* next;  ///< the bucket beyond, along the faces' axis, or a bucket of background
  int axis;

  Row<T> line(int i, int j) const { return load_row(own + cell_offset(i, j, 0)); }
  /// The upper faces of the cells of row (i, j).
  Row<T> upper(int i, int j) const {
    if (axis == 0) return load_row((i < 7 ? own + cell_offset(i + 1, j, 0) : next + cell_offset(0, j, 0)));
    if (axis == 1) return load_row((j < 7 ? own + cell_offset(i, j + 1, 0) : next + cell_offset(i, 0, 0)));
    T row[bucket_size];
    std::memcpy(row, own + cell_offset(i, j, 1), 7 * sizeof(T));
    row[7] = next[cell_offset(i, j, 0)];
    return load_row(static_cast<const T*>(row));
  }
};

template <class T>
class GridReadUpper : public GridAccess<T, 3> {
 public:
  GridReadUpper(const Topology& topology, GridStore& store) : GridAccess<T, 3>(topology, store) {
    for (std::size_t p = 0; p < 3; ++p)
      std::fill_n(outside_[p].begin(), bucket_cells, static_cast<T>(store.info.background[p]));
  }
  using View = Views<UpperFaces<T>, 3>;
  void prepare(Exec& exec) {
    HaloFlight flight(exec.comm);
    begin(exec, flight);
    flight.end();
  }
  /// What views read of the ghosts; it is there when the flight has ended.
  void begin(Exec& exec, HaloFlight& flight) { begin_ghosts(exec, flight, *this->topology_, *this->store_, 1); }
  void load(View& v, int b) const {
    constexpr int beyond[3] = {neighbour_index(1, 0, 0), neighbour_index(0, 1, 0), neighbour_index(0, 0, 1)};
    for (int p = 0; p < 3; ++p) {
      const int other = this->topology_->neighbours(b)[static_cast<std::size_t>(beyond[p])];
      v.plane[static_cast<std::size_t>(p)] = {
          this->bucket(b, p), other < 0 ? outside_[static_cast<std::size_t>(p)].data() : this->bucket(other, p), p};
    }
  }
  void store(View&, int) const {}
  void finish(Exec&) {}
  std::int64_t bytes() const { return this->plane_bytes(); }

 private:
  std::array<std::array<T, bucket_cells>, 3> outside_;
};

/// Own faces and the upper faces of own cells; a task declares it as a read with a halo of 1.
template <class T>
GridReadUpper<T> read_upper(DiscreteVolume& volume, const FaceChannel<T>& channel) {
  require_access(volume.owner(), channel.name, AccessMode::read, 1);
  return {volume.topology(), volume.store(channel.name)};
}

}  // namespace aegir
