// Coulomb's friction on rigid bodies that rest on solids.
//
// A body has the motion V = (v̄, ω). With the momentum b that it would have without friction and its inertia A, friction
// of contacts that bear known loads leaves the motion of
//
//   minimise ½ Vᵀ A V - bᵀ V + Σ T_i |s_i(V)|       s_i: slip of a contact along its solid, T_i = μ N_i
//
// which is Coulomb's law for the body as a whole: it rests where all contacts together can hold it, however the impulse
// is shared out among them, and slides with T_i at each of them where they cannot. Six unknowns, convex. |s| is rounded
// off below `creep` (Huber), so that contacts that hold have a definite impulse, and Newton's method, which starts with
// all contacts holding, finds the solution in a few steps.
//
// Solids hold bodies along their normals too (rows of A, stiff ones): what they give there adds to the load, N_i.
// Solids that move off let go where they would pull: their rows are taken out of A, and put back where the body would
// then meet them, until the two agree. Solids at rest hold always: what rests trembles, and would be lifted by the half
// of it that leads away.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/vec.h"
#include "domain/exec.h"
#include "parallel/exact_sum.h"
#include "parallel/threads.h"

namespace aegir::sand {

/// v̄ and ω, and whatever multiplies them.
using Row6 = std::array<double, 6>;

/// What a face or a contact at `r`, along `n`, sees of a motion.
inline Row6 row_of(const Vec3d& n, const Vec3d& r) {
  const Vec3d turn = cross(r, n);
  return {n.x, n.y, n.z, turn.x, turn.y, turn.z};
}
inline Vec3d velocity_at(const Row6& motion, const Vec3d& r) {
  return Vec3d(motion[0], motion[1], motion[2]) + cross(Vec3d(motion[3], motion[4], motion[5]), r);
}

/// Six equations: the upper half of a symmetric matrix, then the right-hand side.
constexpr std::size_t matrix_numbers = 21, equation_numbers = matrix_numbers + 6;
using Equations = std::array<double, equation_numbers>;

/// Where an entry of the matrix is.
constexpr std::size_t upper_place(std::size_t i, std::size_t j) {
  const std::size_t low = std::min(i, j), high = std::max(i, j);
  return low * (11 - low) / 2 + high;
}

/// Adds weight (row · V - value)² / 2 to what the equations minimise; `e` points to their numbers.
inline void add_row(double* e, const Row6& row, double weight, double value) {
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = i; j < 6; ++j) *e++ += weight * row[i] * row[j];
  for (std::size_t i = 0; i < 6; ++i) *e++ += weight * row[i] * value;
}

/// Solves by Cholesky; directions that the body's shape leaves open stay zero.
Row6 solve_six(const Equations& equations);

/// One contact of a body with a solid.
struct BodyContact {
  std::int32_t body = 0;
  Vec3d place;          ///< from the body's centre
  Vec3d normal;         ///< of the solid; unit, or a part of the speed along it would pass for slip
  Vec3d solid;          ///< the solid's velocity
  double load = 0;      ///< N without what holding the body adds to it, an impulse
  double below = 0;     ///< mass between the body's faces and the solid, whose weight is in the load
  double rough = 0;     ///< μ
  double stiff = 0;     ///< weight of the row of A that holds the body along the normal
  bool holds = true;    ///< false: has let go, as rub_bodies() finds it
  double most = 0;      ///< T, as rub_bodies() finds it
  Vec3d friction = {};  ///< what acts, as far as it is known; rub_bodies() finds it anew
};

/// N numbers for each body that a bucket knows of, in the order in which they came.
template <std::size_t N>
class BodyList {
 public:
  using Numbers = std::array<double, N>;
  /// `place` has a -1 for every body; take() gives it back so.
  explicit BodyList(std::vector<std::int32_t>& place) : place_(place) {}

  /// The numbers of a body, zeros at first.
  Numbers& of(std::int32_t body) {
    std::int32_t& at = place_[static_cast<std::size_t>(body)];
    if (at < 0) at = static_cast<std::int32_t>(items_.size()), items_.emplace_back(body, Numbers{});
    return items_[static_cast<std::size_t>(at)].second;
  }
  std::vector<std::pair<std::int32_t, Numbers>> take() {
    for (const auto& [body, numbers] : items_) place_[static_cast<std::size_t>(body)] = -1;
    return std::exchange(items_, {});
  }

 private:
  std::vector<std::int32_t>& place_;
  std::vector<std::pair<std::int32_t, Numbers>> items_;
};

/// Adds numbers in place over all ranks, exactly; those of one rank are the same on all afterwards.
void add_over_ranks(Comm& comm, std::span<ExactSum> sums);

/// Exact sums of lists of N numbers per body, over all buckets and ranks. `partial(bucket, list)` adds to the bucket's
/// BodyList. What one bucket alone knows of is that bucket's number: most bodies are small.
template <std::size_t N, class Partial>
std::vector<std::array<double, N>> body_sums(Exec& exec, std::size_t buckets, std::size_t bodies,
                                             const Partial& partial) {
  std::vector<std::vector<std::pair<std::int32_t, std::array<double, N>>>> parts(buckets);
  parallel_for(0, buckets, 16, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int32_t> place(bodies, -1);
    for (std::size_t b = begin; b < end; ++b) {
      BodyList<N> list(place);
      partial(static_cast<int>(b), list);
      parts[b] = list.take();
    }
  });
  std::vector<std::int64_t> known(bodies, 0);  // by how many buckets
  for (const auto& part : parts)
    for (const auto& [body, numbers] : part) ++known[static_cast<std::size_t>(body)];
  exec.comm.sum(std::span<std::int64_t>(known));
  std::vector<std::size_t> shared(bodies, 0);  // which of the sums is a body's
  std::size_t sums_needed = 0;
  for (std::size_t g = 0; g < bodies; ++g)
    if (known[g] > 1) shared[g] = sums_needed++;
  std::vector<ExactSum> sums(sums_needed * N);
  std::vector<std::array<double, N>> result(bodies, std::array<double, N>{});
  for (const auto& part : parts)
    for (const auto& [body, numbers] : part) {
      const auto g = static_cast<std::size_t>(body);
      if (known[g] > 1)
        for (std::size_t i = 0; i < N; ++i) sums[shared[g] * N + i].add(numbers[i]);
      else
        result[g] = numbers;
    }
  add_over_ranks(exec.comm, sums);
  if (exec.comm.size() > 1) {  // one rank has the bits of a number, the others have zeros
    std::vector<std::int64_t> bits(bodies * N);
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = std::bit_cast<std::int64_t>(result[i / N][i % N]);
    exec.comm.sum(std::span<std::int64_t>(bits));
    for (std::size_t i = 0; i < bits.size(); ++i) result[i / N][i % N] = std::bit_cast<double>(bits[i]);
  }
  for (std::size_t g = 0; g < bodies; ++g)
    if (known[g] > 1)
      for (std::size_t i = 0; i < N; ++i) result[g][i] = sums[shared[g] * N + i].value();
  return result;
}

/// The motions of bodies. `free` has A and b of each, `contacts` those of each bucket; `creep` is the slip below which
/// a contact counts as holding, `recede` the speed above which a solid moves off. Collective; the same bits on any
/// number of ranks.
std::vector<Row6> rub_bodies(Exec& exec, std::span<const Equations> free,
                             std::vector<std::vector<BodyContact>>& contacts, double creep,
                             double recede = std::numeric_limits<double>::infinity());

}  // namespace aegir::sand
