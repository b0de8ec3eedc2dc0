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
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <span>
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
  Vec3d normal;         ///< of the solid
  Vec3d solid;          ///< the solid's velocity
  double load = 0;      ///< N without what holding the body adds to it, an impulse
  double below = 0;     ///< mass between the body's faces and the solid, whose weight is in the load
  double rough = 0;     ///< μ
  double stiff = 0;     ///< weight of the row of A that holds the body along the normal
  double most = 0;      ///< T, as rub_bodies() finds it
  Vec3d friction = {};  ///< what acts, as far as it is known; rub_bodies() finds it anew
};

/// Exact sums of lists of N numbers per body, over all buckets and ranks. `partial(bucket, list)` adds (body, numbers)
/// of a bucket in order.
template <std::size_t N, class Partial>
std::vector<std::array<double, N>> body_sums(Exec& exec, std::size_t buckets, std::size_t bodies,
                                             const Partial& partial) {
  std::vector<ExactSum> sums(bodies * N);
  std::mutex mutex;
  parallel_for(0, buckets, 16, [&](std::size_t begin, std::size_t end) {
    std::vector<std::pair<std::int32_t, std::array<double, N>>> list;
    for (std::size_t b = begin; b < end; ++b) {
      list.clear();
      partial(static_cast<int>(b), list);
      if (list.empty()) continue;
      std::lock_guard lock(mutex);
      for (const auto& [body, values] : list)
        for (std::size_t i = 0; i < N; ++i) sums[static_cast<std::size_t>(body) * N + i].add(values[i]);
    }
  });
  constexpr std::size_t stride = ExactSum::limbs + 3;
  std::vector<std::int64_t> packed(exec.comm.size() > 1 ? sums.size() * stride : 0);
  if (!packed.empty()) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto one = sums[i].packed();
      std::copy(one.begin(), one.end(), packed.begin() + static_cast<std::ptrdiff_t>(i * stride));
    }
    exec.comm.sum(std::span<std::int64_t>(packed));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      std::array<std::int64_t, stride> one;
      std::copy_n(packed.begin() + static_cast<std::ptrdiff_t>(i * stride), stride, one.begin());
      sums[i] = ExactSum::unpacked(one);
    }
  }
  std::vector<std::array<double, N>> result(bodies);
  for (std::size_t i = 0; i < sums.size(); ++i) result[i / N][i % N] = sums[i].value();
  return result;
}

/// The numbers of a body in a bucket's list.
template <std::size_t N>
std::array<double, N>& entry(std::vector<std::pair<std::int32_t, std::array<double, N>>>& list, std::int32_t body) {
  for (auto& [b, numbers] : list)
    if (b == body) return numbers;
  return list.emplace_back(body, std::array<double, N>{}).second;
}

/// The motions of bodies. `free` has A and b of each, `contacts` those of each bucket; `creep` is the slip below which
/// a contact counts as holding. Collective; the same bits on any number of ranks.
std::vector<Row6> rub_bodies(Exec& exec, std::span<const Equations> free,
                             std::vector<std::vector<BodyContact>>& contacts, double creep);

}  // namespace aegir::sand
