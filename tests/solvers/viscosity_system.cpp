#include "tests/solvers/viscosity_system.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/random.h"
#include "domain/grid/topology.h"

namespace aegir {
namespace {

/// A velocity sample: component `axis` on the lower face of a cell.
struct Sample {
  int axis;
  Vec3i cell;
};

class Numbering {
 public:
  explicit Numbering(int n) : n_(n), number_(3 * static_cast<std::size_t>(n) * n * n, -1) {
    const int buckets = (n + bucket_size - 1) / bucket_size;
    for (int x = 0; x < buckets; ++x)
      for (int y = 0; y < buckets; ++y)
        for (int z = 0; z < buckets; ++z) keys_.push_back({{x, y, z}, 0});
    sort_unique(keys_);
    for (const BucketKey& key : keys_) {
      block_.push_back(static_cast<std::int64_t>(samples_.size()));
      for (int c = 0; c < bucket_cells; ++c)
        for (int axis = 0; axis < 3; ++axis) {
          const Vec3i cell = key.coord * bucket_size + Vec3i{c >> 6, (c >> 3) & 7, c & 7};
          if (cell.x >= n || cell.y >= n || cell.z >= n || cell[axis] == 0) continue;
          number_[slot({axis, cell})] = static_cast<std::int32_t>(samples_.size());
          samples_.push_back({axis, cell});
        }
    }
    block_.push_back(static_cast<std::int64_t>(samples_.size()));
  }

  /// Global row of a sample, -1 where the velocity is given.
  std::int64_t row(const Sample& s) const {
    for (int a = 0; a < 3; ++a)
      if (s.cell[a] < 0 || s.cell[a] >= n_) return -1;
    return number_[slot(s)];
  }
  const Sample& sample(std::int64_t row) const { return samples_[static_cast<std::size_t>(row)]; }
  const std::vector<std::int64_t>& blocks() const { return block_; }

 private:
  std::size_t slot(const Sample& s) const {
    const auto n = static_cast<std::size_t>(n_);
    return 3 * ((static_cast<std::size_t>(s.cell.x) * n + static_cast<std::size_t>(s.cell.y)) * n +
                static_cast<std::size_t>(s.cell.z)) +
           static_cast<std::size_t>(s.axis);
  }

  int n_;
  std::vector<std::int32_t> number_;
  std::vector<Sample> samples_;
  std::vector<BucketKey> keys_;
  std::vector<std::int64_t> block_;
};

/// dt mu / (rho h²) at a place in cells: 10 to the power of waves in [-1, 1], times 10.
double stiffness(const Vec3d& place, int n) {
  const double w = 2 * std::numbers::pi / n;
  return 10 * std::pow(10.0, std::sin(w * place.x + 1) * std::cos(w * place.y) * std::sin(2 * w * place.z + 0.5));
}

constexpr Vec3i unit(int axis) { return {axis == 0, axis == 1, axis == 2}; }

using Entries = std::vector<std::pair<std::int64_t, double>>;

/// Adds k g_self gᵀ for one strain term g: sample `self` and its partners with their signs.
void add_term(Entries& row, const Numbering& numbering, double k, double own_sign,
              std::initializer_list<std::pair<Sample, double>> term) {
  for (const auto& [sample, sign] : term)
    if (const std::int64_t column = numbering.row(sample); column >= 0) row.push_back({column, k * own_sign * sign});
}

/// One row of I + sum over cells of 2 mu (du_a/dx_a)² + sum over edges of mu (du_a/dx_b + du_b/dx_a)², differentiated.
void fill_row(Entries& row, const Numbering& numbering, std::int64_t self, int n) {
  const auto [a, cell] = numbering.sample(self);
  row.assign(1, {self, 1.0});
  for (int side = 0; side < 2; ++side) {  // the cells on both sides of the face
    const Vec3i c = side ? cell : cell - unit(a);
    const double k = 2 * stiffness(Vec3d(c) + Vec3d(0.5), n);
    add_term(row, numbering, k, side ? -1 : 1, {{{a, c + unit(a)}, 1}, {{a, c}, -1}});
  }
  for (int b = 0; b < 3; ++b) {
    if (b == a) continue;
    for (int side = 0; side < 2; ++side) {  // the edges below and above the face along b, at the lower corner of c
      const Vec3i c = side ? cell + unit(b) : cell;
      Vec3d place = Vec3d(c) + Vec3d(0.5);
      place[a] -= 0.5, place[b] -= 0.5;
      add_term(row, numbering, stiffness(place, n), side ? -1 : 1,
               {{{a, c}, 1}, {{a, c - unit(b)}, -1}, {{b, c}, 1}, {{b, c - unit(a)}, -1}});
    }
  }
  std::sort(row.begin(), row.end());
  std::size_t kept = 0;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i].first == row[kept].first)
      row[kept].second += row[i].second;
    else
      row[++kept] = row[i];
  }
  row.resize(kept + 1);
}

}  // namespace

SystemRows viscosity_system(int n, int rank, int ranks) {
  const Numbering numbering(n);
  const std::vector<std::int64_t>& blocks = numbering.blocks();
  const std::size_t count = blocks.size() - 1;
  const std::size_t begin = count * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks);
  const std::size_t end = count * static_cast<std::size_t>(rank + 1) / static_cast<std::size_t>(ranks);
  SystemRows rows;
  rows.global_rows = blocks.back();
  rows.first_row = blocks[begin];
  for (std::size_t b = begin; b <= end; ++b) rows.block.push_back(blocks[b] - blocks[begin]);
  rows.first.push_back(0);
  Entries row;
  for (std::int64_t r = blocks[begin]; r < blocks[end]; ++r) {
    fill_row(row, numbering, r, n);
    for (const auto& [column, value] : row) rows.column.push_back(column), rows.value.push_back(value);
    rows.first.push_back(static_cast<std::int64_t>(rows.column.size()));
    const auto [axis, cell] = numbering.sample(r);
    rows.component.push_back(static_cast<std::uint8_t>(axis));
    const Random random(5, static_cast<std::uint64_t>(r), 0, Purpose::test);
    rows.rhs.push_back(std::sin(0.1 * cell.x + axis) * std::cos(0.07 * cell.y - 0.05 * cell.z) +
                       random.uniform(0, -0.5, 0.5));
  }
  return rows;
}

}  // namespace aegir
