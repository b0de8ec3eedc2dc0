// Accessors of a DiscreteVolume. An accessor says what a kernel does with a channel; its View is what the kernel sees
// of it for one bucket. Included by discrete_volume.h.
#pragma once

#include <array>

#include "domain/channel/grant.h"
#include "domain/exec.h"
#include "domain/transport/halo.h"
#include "domain/volume/discrete_volume.h"
#include "domain/volume/tile.h"
#include "parallel/threads.h"

namespace aegir {

template <class T, Site S>
inline constexpr int planes_of = S == Site::face ? 3 : Element<T>::components;
template <class T>
using ComponentOf = typename Element<T>::Component;

/// 512 values of one bucket; `values[cell_offset(i, j, k)]` or `(i, j, k)`.
template <class T>
struct CellSpan {
  T* values;
  T& operator()(int i, int j, int k) const {
    AEGIR_CHECK(i >= 0 && i < 8 && j >= 0 && j < 8 && k >= 0 && k < 8, "access outside the bucket");
    return values[cell_offset(i, j, k)];
  }
  T& operator[](int cell) const { return values[cell]; }
  T* row(int i, int j) const { return values + cell_offset(i, j, 0); }
  /// The row (i, j) as one SIMD value.
  auto line(int i, int j) const requires FitsRow<T> { return load_row<std::remove_const_t<T>>(row(i, j)); }
  template <class Value>
  void set_line(int i, int j, const Value& value) const requires FitsRow<T> {
    store_row(row(i, j), value);
  }
};

/// What accessors share: the store, and where its planes start.
template <class T, int Planes>
class GridAccess {
 public:
  GridAccess(const Topology& topology, GridStore& store) : topology_(&topology), store_(&store) {}
  const Topology& topology() const { return *topology_; }

 protected:
  T* bucket(int b, int p) const { return store_->plane<T>(p) + static_cast<std::size_t>(b) * bucket_cells; }
  std::int64_t plane_bytes() const {
    return std::int64_t{topology_->local_count()} * bucket_cells * static_cast<std::int64_t>(sizeof(T)) * Planes;
  }
  const Topology* topology_;
  GridStore* store_;
};

/// Brings the ghosts of a channel, as far as `width` cells from local buckets, where they are not those of their
/// owners.
inline void begin_ghosts(Exec& exec, HaloFlight& flight, const Topology& topology, GridStore& store, int width) {
  if (store.valid_ghosts >= width || exec.comm.size() == 1) return;
  for (Buffer& plane : store.planes)
    if (width == whole_buckets)
      flight.add(topology, plane.data(), store.bucket_bytes());
    else
      flight.add_layers(topology, plane.data(), store.bucket_bytes() / bucket_cells, width);
  store.valid_ghosts = width;
}

/// A view of one plane is the plane's span or tile itself; of several, an array of them: `u[axis](i, j, k)`.
template <class Plane, int Planes>
struct Views {
  std::array<Plane, static_cast<std::size_t>(Planes)> plane;
  decltype(auto) get() {
    if constexpr (Planes == 1)
      return (plane[0]);
    else
      return (plane);
  }
};

template <class T, int Planes>
class GridRead : public GridAccess<T, Planes> {
 public:
  using GridAccess<T, Planes>::GridAccess;
  using View = Views<CellSpan<const T>, Planes>;
  void prepare(Exec&) {}
  void load(View& v, int b) const {
    for (int p = 0; p < Planes; ++p) v.plane[static_cast<std::size_t>(p)].values = this->bucket(b, p);
  }
  void store(View&, int) const {}
  void finish(Exec&) {}
  std::int64_t bytes() const { return this->plane_bytes(); }
};

template <class T, int Planes>
class GridWrite : public GridAccess<T, Planes> {
 public:
  using GridAccess<T, Planes>::GridAccess;
  using View = Views<CellSpan<T>, Planes>;
  void prepare(Exec&) { this->store_->valid_ghosts = 0; }
  void load(View& v, int b) const {
    for (int p = 0; p < Planes; ++p) v.plane[static_cast<std::size_t>(p)].values = this->bucket(b, p);
  }
  void store(View&, int) const {}
  void finish(Exec&) { this->store_->valid_ghosts = 0; }  // a halo read of the same kernel may have filled them before
  std::int64_t bytes() const { return 2 * this->plane_bytes(); }
};

/// One bucket that a kernel fills: in its place, or in a tile that is on its way there.
template <class T>
struct CellTile : CellSpan<T> {
  alignas(64) T tile[bucket_cells];
  CellTile() {}  // not zeroed: the kernel writes every cell
  CellTile(const CellTile&) = delete;
};

/// The kernel writes every cell and reads none. What does not fit the caches goes around them, which saves reading the
/// memory that is about to be replaced.
template <class T, int Planes>
class GridOverwrite : public GridAccess<T, Planes> {
 public:
  using GridAccess<T, Planes>::GridAccess;
  using View = Views<CellTile<T>, Planes>;
  void prepare(Exec&) {
    this->store_->valid_ghosts = 0;
    around_caches_ = this->plane_bytes() >= std::int64_t{64} << 20;
  }
  void load(View& v, int b) const {
    for (int p = 0; p < Planes; ++p) {
      auto& out = v.plane[static_cast<std::size_t>(p)];
      out.values = around_caches_ ? out.tile : this->bucket(b, p);
    }
  }
  void store(View& v, int b) const {
    if (!around_caches_) return;
    for (int p = 0; p < Planes; ++p)
      copy_around_caches(this->bucket(b, p), v.plane[static_cast<std::size_t>(p)].tile, sizeof(T) * bucket_cells);
  }
  void end_range() const {
    if (around_caches_) finish_copies_around_caches();
  }
  void finish(Exec&) { this->store_->valid_ghosts = 0; }  // a halo read of the same kernel may have filled them before
  std::int64_t bytes() const { return (around_caches_ ? 1 : 2) * this->plane_bytes(); }

 private:
  bool around_caches_ = false;
};

template <class T, int Planes, class Pad>
class GridReadHalo : public GridAccess<T, Planes> {
 public:
  using GridAccess<T, Planes>::GridAccess;
  using View = Views<PaddedTile<T, Pad::width>, Planes>;
  void prepare(Exec& exec) {
    HaloFlight flight(exec.comm);
    begin(exec, flight);
    flight.end();
  }
  /// All of the ghosts, for who looks at them without a view.
  void prepare_whole(Exec& exec) {
    HaloFlight flight(exec.comm);
    begin_ghosts(exec, flight, *this->topology_, *this->store_, whole_buckets);
    flight.end();
  }
  /// What views read of the ghosts; it is there when the flight has ended.
  void begin(Exec& exec, HaloFlight& flight) {
    begin_ghosts(exec, flight, *this->topology_, *this->store_, Pad::width);
  }
  void load(View& v, int b) const {
    for (int p = 0; p < Planes; ++p)
      load_tile<Pad>(v.plane[static_cast<std::size_t>(p)], *this->topology_, b,
                     std::as_const(*this->store_).template plane<T>(p),
                     static_cast<T>(this->store_->info.background[p]));
  }
  void store(View&, int) const {}
  void finish(Exec&) {}
  std::int64_t bytes() const { return this->plane_bytes(); }
};

/// A padded tile that a kernel adds to.
template <class T, int Width>
struct AddTile {
  static constexpr int side = bucket_size + 2 * Width;
  static constexpr int cells = side * side * side;
  alignas(64) T values[cells];

  AddTile() {}  // zeroed bucket by bucket

  T& operator()(int i, int j, int k) {
    AEGIR_CHECK(i >= -Width && i < 8 + Width && j >= -Width && j < 8 + Width && k >= -Width && k < 8 + Width,
                "add beyond the declared halo");
    return values[((i + Width) * side + (j + Width)) * side + k + Width];
  }
};

/// Every bucket fills a tile of its own; afterwards each bucket sums its own tile and then its neighbours' tiles in the
/// order of neighbour_index(). Tiles travel between ranks like any channel, so the order does not depend on ranks.
template <class T, int Planes, class Pad>
class GridAdd : public GridAccess<T, Planes> {
 public:
  using GridAccess<T, Planes>::GridAccess;
  static constexpr int width = Pad::width;
  using Tile = AddTile<T, width>;
  using View = Views<Tile, Planes>;

  void prepare(Exec&) {
    this->store_->valid_ghosts = 0;
    for (Buffer& tiles : tiles_)
      tiles.reserve(tile_bytes * static_cast<std::size_t>(this->topology_->total_count()), 0);
  }
  void load(View& v, int) const {
    for (Tile& t : v.plane) std::fill(std::begin(t.values), std::end(t.values), T{});
  }
  void store(View& v, int b) {
    for (std::size_t p = 0; p < Planes; ++p)
      std::memcpy(tiles_[p].data() + static_cast<std::size_t>(b) * tile_bytes, v.plane[p].values, tile_bytes);
  }
  /// The tiles of buckets beside ghosts are done.
  void send(HaloFlight& flight) {
    for (Buffer& tiles : tiles_) flight.add(*this->topology_, tiles.data(), tile_bytes);
  }
  void finish(Exec&) {
    for (int p = 0; p < Planes; ++p) {
      const T* data = reinterpret_cast<const T*>(tiles_[static_cast<std::size_t>(p)].data());
      parallel_for(0, static_cast<std::size_t>(this->topology_->local_count()), 8,
                   [&](std::size_t begin, std::size_t end) {
                     for (std::size_t b = begin; b < end; ++b)
                       gather(static_cast<int>(b), data, this->bucket(static_cast<int>(b), p));
                   });
    }
  }
  std::int64_t bytes() const {
    return 2 * this->plane_bytes() +
           3 * Planes * this->topology_->local_count() * static_cast<std::int64_t>(tile_bytes);
  }

 private:
  static constexpr std::size_t tile_bytes = sizeof(T) * Tile::cells;

  void gather(int b, const T* tiles, T* out) const {
    const auto& neighbours = this->topology_->neighbours(b);
    add_part(tiles + static_cast<std::size_t>(b) * Tile::cells, {0, 0, 0}, out);
    for (int n = 0; n < 27; ++n)
      if (const int other = neighbours[static_cast<std::size_t>(n)]; n != neighbour_self && other >= 0) {
        AEGIR_CHECK(this->topology_->relation(b, n) == Relation::same, "sums across levels come with the gas solver");
        add_part(tiles + static_cast<std::size_t>(other) * Tile::cells, neighbour_offset(n), out);
      }
  }
  /// Adds the part of the tile of the neighbour at offset o that lies in this bucket.
  static void add_part(const T* tile, const Vec3i& o, T* out) {
    const auto first = [](int d) { return d > 0 ? bucket_size - width : 0; };
    const auto last = [](int d) { return d < 0 ? width : bucket_size; };
    for (int i = first(o.x); i < last(o.x); ++i)
      for (int j = first(o.y); j < last(o.y); ++j) {
        const T* in = tile +
                      ((i - bucket_size * o.x + width) * Tile::side + (j - bucket_size * o.y + width)) * Tile::side +
                      width - bucket_size * o.z;
        for (int k = first(o.z); k < last(o.z); ++k) out[cell_offset(i, j, k)] += in[k];
      }
  }

  std::array<Buffer, static_cast<std::size_t>(Planes)> tiles_;
};

template <class T, Site S>
auto DiscreteVolume::read(const ChannelOf<T, S>& c) const {
  require_access(owner_, c.name, AccessMode::read, 0);
  return GridRead<ComponentOf<T>, planes_of<T, S>>(*topology_, const_cast<DiscreteVolume*>(this)->store(c.name));
}
template <class Pad, class T, Site S>
auto DiscreteVolume::read(const ChannelOf<T, S>& c) {
  require_access(owner_, c.name, AccessMode::read, Pad::width);
  return GridReadHalo<ComponentOf<T>, planes_of<T, S>, Pad>(*topology_, store(c.name));
}
template <class T, Site S>
auto DiscreteVolume::write(const ChannelOf<T, S>& c) {
  require_access(owner_, c.name, AccessMode::write, 0);
  return GridWrite<ComponentOf<T>, planes_of<T, S>>(*topology_, store(c.name));
}
template <class T, Site S>
auto DiscreteVolume::overwrite(const ChannelOf<T, S>& c) {
  require_access(owner_, c.name, AccessMode::write, 0);
  return GridOverwrite<ComponentOf<T>, planes_of<T, S>>(*topology_, store(c.name));
}
template <class Pad, class T, Site S>
auto DiscreteVolume::add(const ChannelOf<T, S>& c) {
  require_access(owner_, c.name, AccessMode::add, Pad::width);
  return GridAdd<ComponentOf<T>, planes_of<T, S>, Pad>(*topology_, store(c.name));
}

}  // namespace aegir
