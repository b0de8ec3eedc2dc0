// How the buckets of one multigrid level become those of the next, wherever these live.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "domain/exec.h"
#include "domain/grid/topology.h"
#include "solvers/linear/bucket_kernels.h"

namespace aegir {

/// What a bucket holds: no unknown, 512 of them with equal links and no sink, or anything else.
enum class BucketKind : std::uint8_t { empty, uniform, mixed };

/// A box of cells of a bucket; empty where low > high. May reach one cell beyond the bucket.
struct ChangeBox {
  std::int8_t low[3] = {100, 100, 100}, high[3] = {-100, -100, -100};
  void add(int i, int j, int k);
  bool empty() const { return low[0] > high[0]; }
};

/// A uniform bucket may have whole sides closed.
struct BucketShape {
  BucketKind kind = BucketKind::empty;
  Sides closed = 0;
  /// Cells of a mixed bucket whose links to lower neighbours are not those of a uniform one, or that have a sink; may
  /// be too large.
  ChangeBox unlike{{0, 0, 0}, {bucket_size - 1, bucket_size - 1, bucket_size - 1}};
};

/// Finds the box of some of the cells of a bucket.
class BoxOfCells {
 public:
  /// Cells (i, j, k) whose bit k is set.
  void add_row(int i, int j, unsigned cells) {
    if (cells) x_ |= 1u << i, y_ |= 1u << j, z_ |= cells;
  }
  ChangeBox box() const;

 private:
  unsigned x_ = 0, y_ = 0, z_ = 0;
};

/// Octant of a bucket in its parent, x slowest.
constexpr int octant_of(const BucketKey& key) {
  return ((key.coord.x & 1) << 2) | ((key.coord.y & 1) << 1) | (key.coord.z & 1);
}

/// Which coarse bucket a bucket becomes a part of, here or on another rank.
class ParentPlan {
 public:
  ParentPlan() = default;
  /// For the fine buckets that are not empty. Collective.
  ParentPlan(Exec& exec, const Topology& fine, const Topology& coarse, std::span<const BucketShape> shapes);

  /// The coarse bucket of a fine one, -1 where another rank owns it; the octant is that of the fine bucket's
  /// coordinate.
  int parent(int fine) const { return parent_[static_cast<std::size_t>(fine)]; }

  /// `out(fine bucket, values)` writes `count` floats of every bucket whose parent lives elsewhere; `in(coarse bucket,
  /// octant, values)` gets them there. Collective.
  void send_up(Exec& exec, int count, FunctionRef<void(int, float*)> out,
               FunctionRef<void(int, int, const float*)> in) const;
  /// The other way round: coarse owners write, owners of fine buckets read.
  void send_down(Exec& exec, int count, FunctionRef<void(int, int, float*)> out,
                 FunctionRef<void(int, const float*)> in) const;

 private:
  struct Peer {
    int rank = 0;
    std::vector<std::int32_t> fine;                             // ours, with parents there
    std::vector<std::pair<std::int32_t, std::int32_t>> coarse;  // ours, with children there: bucket and octant
  };
  std::vector<std::int32_t> parent_;
  std::vector<Peer> peers_;
};

}  // namespace aegir
