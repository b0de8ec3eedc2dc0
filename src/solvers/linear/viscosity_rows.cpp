#include "solvers/linear/viscosity_rows.h"

#include <array>
#include <cmath>

namespace aegir {
namespace {

constexpr Vec3i unit(int axis) { return {axis == 0, axis == 1, axis == 2}; }

/// Coefficients of a bucket's samples by their corner, uniform or not.
struct Samples {
  const ViscosityBucket* bucket;
  double k;
  static int at(const Vec3i& c) { return ViscosityBucket::at(c.x, c.y, c.z); }
  double normal(int a, const Vec3i& c) const { return bucket ? bucket->normal[a][at(c)] : 2 * k; }
  /// Of the difference along `across` of the velocity along a.
  double edge(int a, int across, const Vec3i& c) const {
    const int e = 3 - a - across;
    return bucket ? (a < across ? bucket->first[e] : bucket->second[e])[at(c)] : std::sqrt(k);
  }
};

}  // namespace

ViscosityRows::ViscosityRows(Exec& exec, const ViscosityLevel& level)
    : level_(level), number_(level.topology(), nullptr) {
  const Topology& t = level.topology();
  for (int b = 0; b < t.total_count(); ++b) std::fill_n(number_.at(b), face_values, std::int64_t{-1});
  std::int64_t count = 0;
  for (const int b : level.buckets())
    for (int f = 0; f < face_values; ++f)
      if (!level.bucket(b) || level.bucket(b)->inverse[f] > 0) number_.at(b)[f] = count++;
  std::int64_t before = 0;
  const std::vector<std::int64_t> counts = gather_all(exec.comm, std::vector<std::int64_t>{count});
  for (int r = 0; r < exec.comm.rank(); ++r) before += counts[static_cast<std::size_t>(r)];
  for (const int b : level.buckets())
    for (int f = 0; f < face_values; ++f)
      if (number_.at(b)[f] >= 0) number_.at(b)[f] += before;
  number_.exchange(exec, t);
  for (const int b : level.buckets()) add_bucket(b);
}

/// Row of face u: mass u + sum of its samples' strain times their derivative by u.
void ViscosityRows::add_bucket(int b) {
  const Topology& t = level_.topology();
  const ViscosityOperator op = level_.bucket_operator(b);
  const Samples samples{op.bucket, op.stiffness};
  const auto number = [&](int a, const Vec3i& c) -> std::int64_t {
    const int other = t.neighbours(b)[static_cast<std::size_t>(neighbour_index(c.x >> 3, c.y >> 3, c.z >> 3))];
    return other < 0 ? -1 : number_.at(other)[a * bucket_cells + cell_offset(c.x & 7, c.y & 7, c.z & 7)];
  };
  const auto add = [&](int a, const Vec3i& c, double value) {
    if (const std::int64_t n = number(a, c); n >= 0 && value != 0) column_.push_back(n), value_.push_back(value);
  };
  for (int f = 0; f < face_values; ++f) {
    if (number_.at(b)[f] < 0) continue;
    const int a = f / bucket_cells, cell = f % bucket_cells;
    const Vec3i c{cell >> 6, (cell >> 3) & 7, cell & 7};
    add(a, c, op.bucket ? static_cast<double>(op.bucket->mass[f]) : 1.0);
    for (int upper = 0; upper < 2; ++upper) {
      const double sign = upper ? -1 : 1;
      const Vec3i s = upper ? c + unit(a) : c;
      const double k = samples.normal(a, s) * sign;
      add(a, s, k), add(a, s - unit(a), -k);
      for (int across = 0; across < 3; ++across) {
        if (across == a) continue;
        const Vec3i e = upper ? c + unit(across) : c;
        const double own = samples.edge(a, across, e), other = samples.edge(across, a, e), w = own * sign;
        add(a, e, w * own), add(a, e - unit(across), -w * own);
        add(across, e, w * other), add(across, e - unit(a), -w * other);
      }
    }
    first_.push_back(static_cast<std::int64_t>(column_.size()));
    component_.push_back(static_cast<std::uint8_t>(a));
  }
  block_.push_back(static_cast<std::int64_t>(component_.size()));
}

Result<SparseMatrix> ViscosityRows::matrix(Comm& comm) const {
  return SparseMatrix::from_rows(
      comm, {.first = first_, .column = column_, .value = value_, .block = block_, .component = component_});
}

}  // namespace aegir
