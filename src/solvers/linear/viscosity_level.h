// The operator of a viscosity system over all buckets, and vectors of faces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/channel/buffer.h"
#include "domain/exec.h"
#include "domain/for_each_bucket.h"
#include "domain/transport/halo.h"
#include "parallel/threads.h"
#include "solvers/linear/viscosity_coefficients.h"

namespace aegir {

/// A vector of faces: 3 × 512 values per bucket, ghosts included, zeroed.
template <class T>
class FaceField {
 public:
  FaceField() = default;
  FaceField(const Topology& topology, BufferPool* pool)
      : memory_(static_cast<std::size_t>(topology.total_count()) * face_values * sizeof(T), pool) {
    parallel_for(0, static_cast<std::size_t>(topology.total_count()), 16, [&](std::size_t begin, std::size_t end) {
      std::memset(static_cast<void*>(data() + begin * face_values), 0, (end - begin) * face_values * sizeof(T));
    });
  }
  T* data() { return reinterpret_cast<T*>(memory_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.data()); }
  T* at(int bucket) { return data() + static_cast<std::size_t>(bucket) * face_values; }
  const T* at(int bucket) const { return data() + static_cast<std::size_t>(bucket) * face_values; }
  /// Brings the ghosts from their owners. Collective.
  void exchange(Exec& exec, const Topology& topology) {
    if (exec.comm.size() > 1) exchange_halo(exec.comm, topology, memory_.data(), face_values * sizeof(T));
  }

 private:
  PooledBuffer memory_;
};

/// The system over the buckets of one topology.
class ViscosityLevel {
 public:
  /// Looks at all buckets and fills the coefficients. The input's memory is not needed afterwards. Collective.
  ViscosityLevel(Exec& exec, const ViscosityInput& input, BufferPool* pool);

  const Topology& topology() const { return *topology_; }
  ViscosityKind kind(int b) const { return looks_[static_cast<std::size_t>(b)].kind; }
  /// Over all ranks.
  std::int64_t unknowns() const { return unknowns_; }
  /// Of this rank's buckets, what was wrong first; -1 where all is well.
  int bad_bucket() const { return bad_bucket_; }
  ViscosityTrouble trouble(int b) const { return looks_[static_cast<std::size_t>(b)].trouble; }
  /// Coefficients; null where the bucket is uniform or far.
  const ViscosityBucket* bucket(int b) const { return bucket_of_[static_cast<std::size_t>(b)]; }
  /// Of a bucket with unknowns.
  ViscosityOperator bucket_operator(int b) const { return {bucket_of_[static_cast<std::size_t>(b)], stiffness_}; }
  std::span<const std::int32_t> buckets() const { return active_; }

  /// Calls body(bucket) for the buckets with unknowns, on all threads.
  template <class Body>
  void for_unknowns(const Body& body) const {
    parallel_for(0, active_.size(), 4, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) body(active_[i]);
    });
  }
  /// The same under a name; `body` returns N numbers per bucket, which are summed exactly. Collective.
  template <std::size_t N, class Body>
  std::array<double, N> sums(Exec& exec, const char* label, std::int64_t bytes_per_cell, const Body& body) const {
    Stopwatch watch;
    std::vector<std::array<double, N>> parts(static_cast<std::size_t>(topology_->local_count()));
    for_unknowns([&](int b) { parts[static_cast<std::size_t>(b)] = body(b); });
    exec.profile.kernel(label, watch.seconds(), pass_bytes(bytes_per_cell));
    return exact_sums<N>(exec, *topology_, [&](const Bucket& b) { return parts[static_cast<std::size_t>(b.index)]; });
  }
  /// What a pass over the buckets with unknowns moves: so many bytes per cell, and the coefficients.
  std::int64_t pass_bytes(std::int64_t per_cell) const {
    return static_cast<std::int64_t>(active_.size()) * bucket_cells * per_cell +
           mixed_ * static_cast<std::int64_t>(sizeof(ViscosityBucket));
  }

 private:
  const Topology* topology_;
  float stiffness_;
  std::vector<ViscosityLook> looks_;
  std::vector<const ViscosityBucket*> bucket_of_;
  std::vector<std::int32_t> active_;
  PooledBuffer memory_;
  std::int64_t unknowns_ = 0, mixed_ = 0;
  int bad_bucket_ = -1;
};

}  // namespace aegir
