// Particle System: particles sorted by bucket, and inside a bucket by cell and then id. Each channel is one array per
// component over all particles; positions are in cells relative to the particle's bucket.
//
//   ParticleSystem particles("water", 0.01, Partition::even(comm.size()));
//   particles.declare(velocity);
//   ParticleBatch batch = particles.batch(1000);
//   … fill batch …
//   particles.add(batch);
//   particles.rebucket(exec);     // sorts, migrates, creates and removes buckets
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/result.h"
#include "domain/channel/channel.h"
#include "domain/channel/channel_store.h"
#include "domain/channel/grant.h"
#include "domain/exec.h"
#include "domain/grid/topology.h"
#include "domain/transport/halo.h"

namespace aegir {

/// Channels that every particle system has.
namespace particle {
inline constexpr ParticleChannel<Vec3f> position{"P"};    // cells, relative to the bucket
inline constexpr ParticleChannel<std::int64_t> id{"id"};  // never changes; its complement marks a particle for removal
}  // namespace particle

/// One particle channel's memory: [local particles | ghosts].
using ParticleStore = ChannelStore;

/// New particles on their way in: world positions and ids, and a value for every channel (its background until set).
struct ParticleBatch {
  std::vector<Vec3d> position;
  std::vector<std::int64_t> id;
  struct Column {
    ChannelInfo info;
    std::vector<std::vector<double>> planes;  // exact for float, int32 and ids below 2^53
  };
  std::vector<Column> columns;

  std::size_t size() const { return position.size(); }
  /// Sets a channel of particle i; a channel the system does not have is ignored.
  void set(std::string_view channel, std::size_t i, double value);
  void set(std::string_view channel, std::size_t i, const Vec3d& value);
};

/// Elements of one channel in one bucket; component planes for hot loops, operator[] for the rest.
template <class T>
struct ParticleSpan {
  std::array<typename Element<std::remove_const_t<T>>::Component*, Element<std::remove_const_t<T>>::components> plane;
  std::size_t count;
  using Value = std::remove_const_t<T>;

  std::size_t size() const { return count; }
  Value operator[](std::size_t i) const {
    AEGIR_CHECK(i < count, "particle index outside the bucket");
    if constexpr (Element<Value>::components == 1)
      return plane[0][i];
    else
      return {plane[0][i], plane[1][i], plane[2][i]};
  }
  void set(std::size_t i, const Value& v) const {
    AEGIR_CHECK(i < count, "particle index outside the bucket");
    if constexpr (Element<Value>::components == 1)
      plane[0][i] = v;
    else
      plane[0][i] = v.x, plane[1][i] = v.y, plane[2][i] = v.z;
  }
};

template <class T>
class ParticleRead;
template <class T>
class ParticleWrite;
template <class T>
class ParticleReadNeighbours;

class ParticleSystem {
 public:
  ParticleSystem(std::string owner, double spacing, const Partition& partition);

  const std::string& owner() const { return owner_; }
  const Topology& topology() const { return *topology_; }
  std::shared_ptr<const Topology> shared_topology() const { return topology_; }
  double spacing() const { return topology_->spacing(); }

  /// Adds a channel; particles that exist get its background. Declaring the same channel again changes nothing.
  template <class T>
  void declare(const ParticleChannel<T>& c) {
    declare(channel_info(c));
  }
  void declare(const ChannelInfo& info);
  bool has(std::string_view channel) const;

  /// Particles owned by this rank.
  std::size_t size() const { return first_[static_cast<std::size_t>(topology_->local_count())]; }
  std::int64_t global_size(Comm& comm) const { return comm.sum(static_cast<std::int64_t>(size())); }
  /// Particles added since the last rebucket().
  std::size_t pending() const { return arrivals_.size(); }
  std::uint64_t first(int bucket) const { return first_[static_cast<std::size_t>(bucket)]; }
  std::size_t count(int bucket) const {
    return first_[static_cast<std::size_t>(bucket) + 1] - first_[static_cast<std::size_t>(bucket)];
  }

  /// An empty batch with this system's channels.
  ParticleBatch batch(std::size_t count) const;
  /// Copies the channels of a local particle, by its place in memory, to a newcomer; not its position and id.
  void copy_to(ParticleBatch& batch, std::size_t slot, std::size_t from) const;
  /// Takes new particles in, from any rank for any place; they appear with the next rebucket().
  void add(const ParticleBatch& batch);
  /// Puts every particle into the bucket it now lies in, on the rank that owns it; drops those marked for removal.
  /// `padding` layers of empty buckets are kept around. Collective. Fails if a position is not finite or out of reach.
  Status rebucket(Exec& exec, int padding = 0) { return rebucket(exec, topology_->partition(), padding); }
  Status rebucket(Exec& exec, const Partition& partition, int padding);
  /// Particles per rank, worst over mean; 1 is perfect.
  double imbalance(Comm& comm) const;
  /// The cuts that give every rank about the same number of particles.
  Partition balanced(Comm& comm) const;

  template <class T>
  ParticleRead<T> read(const ParticleChannel<T>& c) const;
  template <class T>
  ParticleWrite<T> write(const ParticleChannel<T>& c);
  /// Own bucket and the 26 around it.
  template <class T>
  ParticleReadNeighbours<T> read_neighbours(const ParticleChannel<T>& c);

  /// World position from a bucket and a position in cells.
  Vec3d world(int bucket, const Vec3f& cells) const { return topology_->origin(bucket) + Vec3d(cells) * spacing(); }

  const std::deque<ParticleStore>& channels() const { return channels_; }
  const ParticleStore& store(std::string_view name) const;
  ParticleStore& store(std::string_view name);

  /// Restores from a checkpoint: buckets in curve order with their counts; channels hold their background until the
  /// caller fills them, in order.
  void restore(std::shared_ptr<const Topology> topology, std::span<const std::uint64_t> counts);
  /// Brings the ghosts of one channel up to date; with a flight, by the time it ends. With a width of 1 to 4 cells at
  /// least those whose positions are within so many of local buckets: first() and count() of ghost buckets are about
  /// what is there. Collective.
  void update_ghosts(Exec& exec, ParticleStore& store);
  void update_ghosts(Exec& exec, HaloFlight& flight, ParticleStore& store, int width = whole_buckets);
  /// Whether a bucket, local or ghost, holds particles; of ghosts once some have come.
  bool occupied(int bucket) const {
    const auto b = static_cast<std::size_t>(bucket), local = static_cast<std::size_t>(topology_->local_count());
    return b < local ? count(bucket) > 0 : occupied_ghosts_[b - local];
  }
  std::size_t memory_bytes() const;

 private:
  friend class Rebucketer;
  void resize_planes(std::size_t elements, std::size_t keep);
  void plan_ghosts(Exec& exec, int width);
  void send_ghosts(HaloFlight& flight, ParticleStore& store);
  std::vector<std::uint32_t> near_border(const PeerLayers& layers, const HaloPeer& peer,
                                         std::vector<std::uint64_t>& counts) const;

  std::string owner_;
  std::shared_ptr<const Topology> topology_;
  std::deque<ParticleStore> channels_;
  std::vector<std::uint64_t> first_;  // per bucket, local then (once exchanged) ghosts
  int ghost_width_ = 0;               // how far from local buckets first_ counts the particles of ghosts; 0: not at all
  std::vector<std::vector<std::uint32_t>> ghost_parcels_;  // for each peer the particles it gets, unless it gets all
  std::vector<char> occupied_ghosts_;
  std::vector<BucketKey> arrivals_;                  // buckets of the particles behind size(), not yet sorted in
  int padding_ = 0;                                  // layers of empty buckets the topology was built with; -1 unknown
  Buffer codes_, movers_, order_, spare4_, spare8_;  // scratch of rebucket(), kept to avoid page faults
};

}  // namespace aegir

#include "domain/particles/particle_access.h"
