// Discrete Volume: cell, face and node channels over the buckets of a topology.
//
//   DiscreteVolume volume("water", topology);
//   volume.declare(pressure);
//   for_each_bucket(exec, "jacobi", volume.topology(), jacobi, volume.read<Star<1>>(pressure),
//   volume.write(next_pressure));
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "domain/channel/channel.h"
#include "domain/channel/channel_store.h"
#include "domain/grid/topology.h"

namespace aegir {

template <class T, int Planes, class Pad>
class GridReadHalo;
template <class T, int Planes>
class GridRead;
template <class T, int Planes>
class GridWrite;
template <class T, int Planes>
class GridOverwrite;
template <class T, int Planes, class Pad>
class GridAdd;

/// One channel's memory: 512 values per bucket, ghosts last.
struct GridStore : ChannelStore {
  std::size_t bucket_bytes() const { return scalar_size(info.scalar) * bucket_cells; }
};

class DiscreteVolume {
 public:
  /// `owner` is the Object whose name accesses are declared under.
  DiscreteVolume(std::string owner, std::shared_ptr<const Topology> topology)
      : owner_(std::move(owner)), topology_(std::move(topology)) {}

  const std::string& owner() const { return owner_; }
  const Topology& topology() const { return *topology_; }
  std::shared_ptr<const Topology> shared_topology() const { return topology_; }

  /// Adds a channel, filled with its background; declaring the same channel again changes nothing.
  template <class T, Site S>
  void declare(const ChannelOf<T, S>& c) {
    declare(channel_info(c));
  }
  void declare(const ChannelInfo& info);

  /// Moves to other buckets: kept channels carry their values over, new buckets hold the background. For a topology
  /// with the same partition, or where the values are read anew; buckets that another rank held do not bring their
  /// values.
  void adopt(std::shared_ptr<const Topology> topology);
  /// The same where buckets may have changed their rank: kept channels follow them. Collective.
  void adopt(Comm& comm, std::shared_ptr<const Topology> topology);

  /// Own bucket only.
  template <class T, Site S>
  auto read(const ChannelOf<T, S>& c) const;
  /// Own bucket and cells around it.
  template <class Pad, class T, Site S>
  auto read(const ChannelOf<T, S>& c);
  /// Own bucket, to read and write.
  template <class T, Site S>
  auto write(const ChannelOf<T, S>& c);
  /// Own bucket, every cell of which the kernel writes and none of which it reads.
  template <class T, Site S>
  auto overwrite(const ChannelOf<T, S>& c);
  /// Contributions to the own bucket and to cells around it, summed in a fixed order.
  template <class Pad, class T, Site S>
  auto add(const ChannelOf<T, S>& c);

  const std::deque<GridStore>& channels() const { return channels_; }
  std::deque<GridStore>& channels() { return channels_; }
  const GridStore& store(std::string_view name) const;
  GridStore& store(std::string_view name);
  std::size_t memory_bytes() const;

 private:
  void relayout(GridStore& store, const Topology& next);

  std::string owner_;
  std::shared_ptr<const Topology> topology_;
  std::deque<GridStore> channels_;
  Buffer spare_;  // takes turns with the planes of kept channels
};

}  // namespace aegir

#include "domain/volume/grid_access.h"
