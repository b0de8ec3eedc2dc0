#include "domain/particles/particle_system.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "domain/transport/halo.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

/// Stores a double as the channel's scalar.
void put(std::byte* plane, Scalar scalar, std::size_t i, double value) {
  const auto as = [&]<class T>(T v) { std::memcpy(plane + i * sizeof(T), &v, sizeof(T)); };
  switch (scalar) {
    case Scalar::f32:
      return as(static_cast<float>(value));
    case Scalar::f64:
      return as(value);
    case Scalar::i32:
      return as(static_cast<std::int32_t>(value));
    case Scalar::i64:
      return as(static_cast<std::int64_t>(value));
  }
}

/// The channel's scalar as a double.
double get(const std::byte* plane, Scalar scalar, std::size_t i) {
  const auto as = [&]<class T>(T v) {
    std::memcpy(&v, plane + i * sizeof(T), sizeof(T));
    return static_cast<double>(v);
  };
  switch (scalar) {
    case Scalar::f32:
      return as(0.0f);
    case Scalar::f64:
      return as(0.0);
    case Scalar::i32:
      return as(std::int32_t{0});
    case Scalar::i64:
      break;
  }
  return as(std::int64_t{0});
}

}  // namespace

void ParticleBatch::set(std::string_view channel, std::size_t i, double value) {
  for (Column& c : columns)
    if (c.info.name == channel) c.planes[0][i] = value;
}

void ParticleBatch::set(std::string_view channel, std::size_t i, const Vec3d& value) {
  for (Column& c : columns)
    if (c.info.name == channel)
      for (int a = 0; a < c.info.components; ++a) c.planes[static_cast<std::size_t>(a)][i] = value[a];
}

ParticleSystem::ParticleSystem(std::string owner, double spacing, const Partition& partition)
    : owner_(std::move(owner)), topology_(Topology::empty(spacing, partition)), first_{0} {
  declare(particle::position);
  declare(particle::id);
}

bool ParticleSystem::has(std::string_view channel) const {
  return std::any_of(channels_.begin(), channels_.end(),
                     [&](const ParticleStore& s) { return s.info.name == channel; });
}

ParticleStore& ParticleSystem::store(std::string_view name) {
  for (ParticleStore& s : channels_)
    if (s.info.name == name) return s;
  bug(fmt::format("'{}' has no particle channel '{}'", owner_, name), __FILE__, __LINE__);
}
const ParticleStore& ParticleSystem::store(std::string_view name) const {
  return const_cast<ParticleSystem*>(this)->store(name);
}

void ParticleSystem::declare(const ChannelInfo& info) {
  AEGIR_ASSERT(info.components <= 3, "particle channels have at most three planes");
  for (const ParticleStore& s : channels_)
    if (s.info.name == info.name) {
      AEGIR_ASSERT(s.info.scalar == info.scalar && s.info.components == info.components,
                   fmt::format("channel '{}' of '{}' is declared twice with different types", info.name, owner_));
      return;
    }
  ParticleStore& s = channels_.emplace_back();
  s.info = info;
  const std::size_t n = first_.back() + arrivals_.size(), width = scalar_size(info.scalar);
  for (int p = 0; p < info.components; ++p) {
    Buffer& plane = s.planes.emplace_back(n * width);
    for (std::size_t i = 0; i < n; ++i) put(plane.data(), info.scalar, i, info.background[p]);
  }
}

void ParticleSystem::resize_planes(std::size_t elements, std::size_t keep) {
  for (ParticleStore& s : channels_)
    for (Buffer& plane : s.planes)
      plane.reserve(elements * scalar_size(s.info.scalar), keep * scalar_size(s.info.scalar));
}

ParticleBatch ParticleSystem::batch(std::size_t count) const {
  ParticleBatch b;
  b.position.resize(count);
  b.id.resize(count, -1);
  for (const ParticleStore& s : channels_) {
    if (s.info.name == particle::position.name || s.info.name == particle::id.name) continue;
    auto& column = b.columns.emplace_back(ParticleBatch::Column{s.info, {}});
    for (int p = 0; p < s.info.components; ++p) column.planes.emplace_back(count, s.info.background[p]);
  }
  return b;
}

void ParticleSystem::copy_to(ParticleBatch& batch, std::size_t slot, std::size_t from) const {
  AEGIR_CHECK(from < size(), "only local particles are copied");
  for (ParticleBatch::Column& column : batch.columns) {
    const ParticleStore& s = store(column.info.name);
    for (std::size_t p = 0; p < column.planes.size(); ++p)
      column.planes[p][slot] = get(s.planes[p].data(), s.info.scalar, from);
  }
}

void ParticleSystem::add(const ParticleBatch& batch) {
  // Ghosts lie where newcomers will; they are exchanged again after the rebucket that follows.
  const std::size_t before = size() + arrivals_.size(), after = before + batch.size();
  ghost_width_ = 0;
  first_.resize(static_cast<std::size_t>(topology_->local_count()) + 1);
  for (ParticleStore& s : channels_) s.valid_ghosts = 0;
  resize_planes(after, before);
  ParticleStore& positions = store(particle::position.name);
  auto* ids = store(particle::id.name).plane<std::int64_t>(0);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    AEGIR_ASSERT(batch.id[i] >= 0, "a new particle needs an id");
    const BucketPosition at = locate(batch.position[i], spacing());
    arrivals_.push_back(at.key);
    for (int a = 0; a < 3; ++a) positions.plane<float>(a)[before + i] = at.cell[a];
    ids[before + i] = batch.id[i];
  }
  for (const auto& column : batch.columns) {
    ParticleStore& s = store(column.info.name);
    for (std::size_t p = 0; p < column.planes.size(); ++p)
      for (std::size_t i = 0; i < batch.size(); ++i)
        put(s.planes[p].data(), s.info.scalar, before + i, column.planes[p][i]);
  }
}

double ParticleSystem::imbalance(Comm& comm) const {
  const auto mine = static_cast<std::int64_t>(size()), total = comm.sum(mine), worst = comm.max(mine);
  return total ? static_cast<double>(worst) * comm.size() / static_cast<double>(total) : 1.0;
}

Partition ParticleSystem::balanced(Comm& comm) const {
  std::vector<std::int64_t> weights(static_cast<std::size_t>(topology_->local_count()));
  for (std::size_t b = 0; b < weights.size(); ++b) weights[b] = static_cast<std::int64_t>(count(static_cast<int>(b)));
  return Partition::by_weight(comm, topology_->local_curve(), weights);
}

void ParticleSystem::restore(std::shared_ptr<const Topology> topology, std::span<const std::uint64_t> counts) {
  topology_ = std::move(topology);
  AEGIR_ASSERT(counts.size() == static_cast<std::size_t>(topology_->local_count()), "one count per bucket");
  first_.assign(counts.size() + 1, 0);
  for (std::size_t b = 0; b < counts.size(); ++b) first_[b + 1] = first_[b] + counts[b];
  arrivals_.clear();
  ghost_width_ = 0;
  padding_ = -1;
  resize_planes(first_.back(), 0);
  for (ParticleStore& s : channels_) {
    s.valid_ghosts = 0;
    for (std::size_t p = 0; p < s.planes.size(); ++p)
      for (std::size_t i = 0; i < first_.back(); ++i) put(s.planes[p].data(), s.info.scalar, i, s.info.background[p]);
  }
}

std::size_t ParticleSystem::memory_bytes() const {
  std::size_t bytes = codes_.capacity() + movers_.capacity() + order_.capacity() + spare4_.capacity() +
                      spare8_.capacity() + arrivals_.capacity() * sizeof(BucketKey) +
                      first_.capacity() * sizeof(std::uint64_t) + topology_->memory_bytes();
  for (const ParticleStore& s : channels_)
    for (const Buffer& p : s.planes) bytes += p.capacity();
  return bytes;
}

}  // namespace aegir
