// Setup of the hierarchy and its V-cycle.
//
// The smoother is a Chebyshev polynomial in D⁻¹A on [largest / smoothing_range, largest] (Adams et al. 2003): the
// same before and after the coarse correction, so the cycle is symmetric. The coarsest level is solved directly, or by
// a longer polynomial where the rows' sums show that it is well conditioned (implicit steps: identity plus stiffness).
#include "solvers/linear/aggregation.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/assert.h"
#include "parallel/threads.h"
#include "solvers/linear/sparse_build.h"
#include "solvers/linear/sparse_kernels.h"

namespace aegir {
namespace {

constexpr std::size_t grain = 2048, slices_grain = grain / sparse::slice_rows;
constexpr double smoothing_range = 8;
constexpr double well_conditioned = 0.05;  // least row sum over diagonal from which a level needs no coarser one
constexpr double stalled = 0.7;            // rows of the next level over rows of this one
constexpr std::size_t most_levels = 30;

sparse::Slices view(const SlicedRows& m) { return {m.start.data(), m.column.data(), m.value.data(), m.rows}; }
sparse::View<float> view(const FloatRows& rows) { return {rows.first.data(), rows.column.data(), rows.value.data()}; }

/// The power of two that brings the largest entry of the diagonal near one.
double scale_of(Comm& comm, const SparseMatrix& matrix) {
  const SparseStructure& s = matrix.structure();
  const std::size_t rows = s.count(), pieces = rows / grain + 1;
  std::vector<double> found(pieces, 0.0);
  parallel_for(0, pieces, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin * grain; r < std::min(rows, end * grain); ++r)
      for (auto k = static_cast<std::size_t>(s.first[r]); k < static_cast<std::size_t>(s.first[r + 1]); ++k)
        if (static_cast<std::size_t>(s.column[k]) == r)
          found[r / grain] = std::max(found[r / grain], matrix.values()[k]);
  });
  const double largest = comm.max(*std::max_element(found.begin(), found.end()));
  return largest > 0 ? std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000)) : 1.0;
}

/// The matrix in single precision, without couplings between components: those cost as much as they help. Where the
/// couplings are bounded by the components' own blocks, as in viscosity, the cycle for the blocks serves the whole.
AggregationLevel finest_level(const SparseMatrix& matrix, double scale) {
  AggregationLevel finest;
  const SparseStructure& s = matrix.structure();
  if (s.component.empty()) {
    finest.structure = matrix.shared_structure();
    finest.value.resize(matrix.values().size());
    parallel_for(0, finest.value.size(), 16 * grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) finest.value[k] = static_cast<float>(matrix.values()[k] * scale);
    });
    return finest;
  }
  FloatRows own = build_rows<RowList>(s.count(), s.ghosts.size(), grain, [&](std::size_t r, RowList& sum) {
    for (auto k = static_cast<std::size_t>(s.first[r]); k < static_cast<std::size_t>(s.first[r + 1]); ++k)
      if (s.component[r] == s.component[static_cast<std::size_t>(s.column[k])])
        sum.add(s.column[k], matrix.values()[k] * scale);
  });
  auto structure = std::make_shared<SparseStructure>();
  structure->rows = s.rows, structure->ghosts = s.ghosts, structure->block = s.block, structure->chunk = s.chunk;
  structure->first = std::move(own.first), structure->column = std::move(own.column);
  finest.structure = std::move(structure);
  finest.value = std::move(own.value);
  return finest;
}

}  // namespace

SlicedRows slice(const Array<std::int64_t>& first, const Array<std::int32_t>& column, const Array<float>& value) {
  constexpr std::size_t width = sparse::slice_rows;
  SlicedRows sliced;
  sliced.rows = first.size() - 1;
  const std::size_t slices = (sliced.rows + width - 1) / width;
  sliced.start.resize(slices + 1);
  sliced.start[0] = 0;
  for (std::size_t s = 0; s < slices; ++s) {
    std::int64_t longest = 0;
    for (std::size_t r = s * width; r < std::min(sliced.rows, (s + 1) * width); ++r)
      longest = std::max(longest, first[r + 1] - first[r]);
    sliced.start[s + 1] = sliced.start[s] + longest * static_cast<std::int64_t>(width);
  }
  sliced.column.resize(static_cast<std::size_t>(sliced.start[slices]));
  sliced.value.resize(sliced.column.size());
  parallel_for(0, slices, grain / width, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s)
      for (std::size_t l = 0; l < width; ++l) {
        const std::size_t r = s * width + l;
        auto at = static_cast<std::size_t>(sliced.start[s]) + l;
        std::int32_t last = 0;
        if (r < sliced.rows)
          for (auto k = static_cast<std::size_t>(first[r]); k < static_cast<std::size_t>(first[r + 1]);
               ++k, at += width)
            sliced.column[at] = last = column[k], sliced.value[at] = value[k];
        for (; at < static_cast<std::size_t>(sliced.start[s + 1]); at += width)
          sliced.column[at] = last, sliced.value[at] = 0;
      }
  });
  return sliced;
}

void measure_rows(Comm& comm, AggregationLevel& level) {
  const SparseStructure& s = *level.structure;
  const std::size_t rows = s.count(), pieces = rows / grain + 1;
  level.diagonal.resize(s.ghosts.size());
  level.inverse_diagonal.resize(rows);
  std::vector<double> largest(pieces, 0.0), least(pieces, 1.0);
  parallel_for(0, pieces, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin * grain; r < std::min(rows, end * grain); ++r) {
      double diagonal = 0, size = 0, sum = 0;
      for (auto k = static_cast<std::size_t>(s.first[r]); k < static_cast<std::size_t>(s.first[r + 1]); ++k) {
        const auto c = static_cast<std::size_t>(s.column[k]);
        const double a = level.value[k];
        if (c == r) diagonal = a;
        size += std::abs(a);
        sum += a;
      }
      level.diagonal[r] = static_cast<float>(diagonal);
      const bool good = level.diagonal[r] > 0;
      level.inverse_diagonal[r] = good ? 1 / level.diagonal[r] : 0.0f;
      if (!good) continue;
      largest[r / grain] = std::max(largest[r / grain], size / diagonal);
      least[r / grain] = std::min(least[r / grain], sum / diagonal);
    }
  });
  double bounds[2] = {0, -1};
  for (std::size_t p = 0; p < pieces; ++p) {
    bounds[0] = std::max(bounds[0], largest[p]);
    bounds[1] = std::max(bounds[1], -least[p]);
  }
  comm.max(std::span<double>(bounds));
  level.largest = bounds[0] > 0 ? bounds[0] : 1.0;
  level.least_sum = -bounds[1];
  s.ghosts.fill(comm, level.diagonal.data());
}

AggregationHierarchy::AggregationHierarchy(Exec& exec, const SparseMatrix& matrix, const AggregationSettings& settings)
    : comm_(exec.comm), settings_(settings) {
  const double scale = scale_of(comm_, matrix);
  AggregationLevel finest = finest_level(matrix, scale);
  measure_rows(comm_, finest);
  levels_.push_back(std::move(finest));
  build();
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    AggregationLevel& level = levels_[l];
    if (l + 1 < levels_.size() || !direct_)
      level.matrix = slice(level.structure->first, level.structure->column, level.value);
    if (l + 1 < levels_.size())
      level.interpolation = slice(level.prolong.first, level.prolong.column, level.prolong.value);
    level.value = {}, level.prolong = {};
    std::size_t room = level.structure->ghosts.size();
    if (l > 0) room = std::max(room, levels_[l - 1].prolong_ghosts.size());
    for (Array<float>* a : {&level.x, &level.other}) a->resize(room);
    level.step.resize(level.rows());
    level.b.resize(level.rows());
    level.residual.resize(std::max(level.rows(), level.restrict_ghosts.size()));
  }
}

void AggregationHierarchy::build() {
  while (levels_.size() < most_levels) {
    const std::size_t l = levels_.size() - 1;
    const std::int64_t total = levels_[l].structure->rows.total();
    if (comm(l).size() > 1 && total <= std::max(settings_.gather_rows, settings_.coarsest_rows)) {
      gathered_share_ = levels_[l].structure->rows;
      levels_[l] = gather_level(comm_, levels_[l]);
      gathered_from_ = l;
    }
    AggregationLevel& level = levels_[l];
    if (total <= settings_.coarsest_rows && factor_coarsest()) return;
    if (level.least_sum >= well_conditioned || total <= 1) break;
    const StrongGraph graph = strong_graph(comm(l), level, settings_.strength);
    const Aggregates aggregates = form_aggregates(comm(l), level, graph);
    const std::int64_t coarse = aggregates.share.total();
    if (coarse == 0 || static_cast<double>(coarse) > stalled * static_cast<double>(total)) break;
    std::optional<AggregationLevel> next = coarsen_level(comm(l), level, graph, aggregates);
    if (!next) break;
    levels_.push_back(std::move(*next));
  }
  const AggregationLevel& level = levels_.back();
  coarsest_lowest_ = std::max(0.5 * level.least_sum, 0.01 * level.largest);
  coarsest_degree_ = std::clamp(static_cast<int>(std::sqrt(level.largest / coarsest_lowest_)), 2, 8);
}

bool AggregationHierarchy::factor_coarsest() {
  const AggregationLevel& level = levels_.back();
  const SparseStructure& s = *level.structure;
  for (const double shift : {0.0, 1e-5, 1e-3}) {  // closed components are singular
    std::vector<int> first{0}, row;
    std::vector<double> value;
    for (std::size_t r = 0; r < level.rows(); ++r) {
      row.push_back(static_cast<int>(r));
      value.push_back(level.diagonal[r] > 0 ? static_cast<double>(level.diagonal[r]) * (1 + shift) : 1.0);
      for (auto k = static_cast<std::size_t>(s.first[r]); k < static_cast<std::size_t>(s.first[r + 1]); ++k)
        if (static_cast<std::size_t>(s.column[k]) < r) row.push_back(s.column[k]), value.push_back(level.value[k]);
      first.push_back(static_cast<int>(row.size()));
    }
    Result<DirectSolver> solver = DirectSolver::factor(static_cast<int>(level.rows()), first, row, value);
    if (!solver) continue;
    direct_.emplace(std::move(*solver));
    direct_b_.resize(level.rows()), direct_x_.resize(level.rows());
    return true;
  }
  return false;
}

void AggregationHierarchy::smooth(std::size_t l, const float* b, bool from_zero, int degree, double lowest) {
  AggregationLevel& level = levels_[l];
  const SparseStructure& s = *level.structure;
  const double middle = 0.5 * (level.largest + lowest), half = 0.5 * (level.largest - lowest), sigma = middle / half;
  double rho = 1 / sigma;
  for (int k = 0; k < degree; ++k) {
    double c = 0, e = 1 / middle;
    if (k > 0) {
      const double next = 1 / (2 * sigma - rho);
      c = next * rho, e = 2 * next / half, rho = next;
    }
    if (k == 0 && from_zero) {
      parallel_for(0, level.rows(), 4 * grain, [&](std::size_t begin, std::size_t end) {
        sparse::chebyshev_start(level.inverse_diagonal.data(), b, level.step.data(), level.x.data(),
                                static_cast<float>(e), begin, end);
      });
      continue;
    }
    if (k == 0) level.step.fill(0);
    s.ghosts.fill(comm(l), level.x.data());
    parallel_for(0, level.matrix.slices(), slices_grain, [&](std::size_t begin, std::size_t end) {
      sparse::chebyshev_step(view(level.matrix), level.inverse_diagonal.data(), b, level.x.data(), level.step.data(),
                             level.other.data(), static_cast<float>(c), static_cast<float>(e), begin, end);
    });
    std::swap(level.x, level.other);
  }
}

void AggregationHierarchy::solve_coarsest(std::size_t l, const float* b) {
  AggregationLevel& level = levels_[l];
  if (!direct_) return smooth(l, b, true, coarsest_degree_, coarsest_lowest_);
  std::copy(b, b + level.rows(), direct_b_.begin());
  direct_->solve(direct_b_, direct_x_);
  for (std::size_t r = 0; r < level.rows(); ++r) level.x[r] = static_cast<float>(direct_x_[r]);
}

const float* AggregationHierarchy::whole_vector(const float* mine) {
  const std::size_t count = gathered_share_.count();
  Bytes bytes(count * sizeof(float));
  if (count) std::memcpy(bytes.data(), mine, bytes.size());
  gathered_b_.clear();
  for (const Bytes& part : comm_.all_gather(bytes)) {
    const std::size_t at = gathered_b_.size();
    gathered_b_.resize(at + part.size() / sizeof(float));
    if (!part.empty()) std::memcpy(gathered_b_.data() + at, part.data(), part.size());
  }
  return gathered_b_.data();
}

void AggregationHierarchy::cycle(std::size_t l, const float* b) {
  if (l == gathered_from_) b = whole_vector(b);
  if (l + 1 == levels_.size()) return solve_coarsest(l, b);
  AggregationLevel& level = levels_[l];
  AggregationLevel& coarse = levels_[l + 1];
  const SparseStructure& s = *level.structure;
  const double lowest = level.largest / smoothing_range;
  smooth(l, b, true, settings_.smoothing_degree, lowest);

  s.ghosts.fill(comm(l), level.x.data());
  parallel_for(0, level.matrix.slices(), slices_grain, [&](std::size_t begin, std::size_t end) {
    sparse::residual(view(level.matrix), b, level.x.data(), level.residual.data(), begin, end);
  });
  level.restrict_ghosts.fill(comm(l), level.residual.data());
  parallel_for(0, level.restrict_rows.rows(), grain / 8, [&](std::size_t begin, std::size_t end) {
    sparse::apply(view(level.restrict_rows), level.residual.data(), coarse.b.data(), begin, end);
  });
  cycle(l + 1, coarse.b.data());

  float* correction = coarse.x.data();
  if (l + 1 == gathered_from_) {  // ours and our ghosts' part of the whole
    correction = coarse.other.data();
    for (std::size_t k = 0; k < level.prolong_ghosts.size(); ++k)
      correction[k] = coarse.x[static_cast<std::size_t>(level.prolong_ghosts.global(static_cast<std::int32_t>(k)))];
  } else {
    level.prolong_ghosts.fill(comm(l), correction);
  }
  parallel_for(0, level.interpolation.slices(), slices_grain, [&](std::size_t begin, std::size_t end) {
    sparse::apply_add(view(level.interpolation), correction, level.x.data(), begin, end);
  });
  smooth(l, b, false, settings_.smoothing_degree, lowest);
}

const float* AggregationHierarchy::apply(const float* r) {
  cycle(0, r);
  return levels_[0].x.data() + (gathered_from_ == 0 ? gathered_share_.first() : 0);
}

double AggregationHierarchy::operator_complexity() const {
  double all = 0;
  for (const AggregationLevel& level : levels_) all += static_cast<double>(level.structure->column.size());
  const auto finest = static_cast<double>(levels_[0].structure->column.size());
  return finest > 0 ? all / finest : 1.0;
}

std::int64_t AggregationHierarchy::cycle_bytes() const {
  std::int64_t bytes = 0;
  const int degree = settings_.smoothing_degree;
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    const auto entries = static_cast<std::int64_t>(levels_[l].matrix.value.size()),
               rows = static_cast<std::int64_t>(levels_[l].rows());
    if (l + 1 == levels_.size()) {
      bytes += direct_ ? 2 * direct_->memory_bytes() : (coarsest_degree_ - 1) * (8 * entries + 36 * rows);
      continue;
    }
    bytes += (2 * degree - 1) * (8 * entries + 36 * rows) + 8 * entries + 20 * rows + 24 * rows;
    bytes += 8 * static_cast<std::int64_t>(levels_[l].interpolation.value.size()) + 16 * rows;
    bytes += 8 * static_cast<std::int64_t>(levels_[l].restrict_rows.value.size()) + 4 * rows;
  }
  return bytes;
}

}  // namespace aegir
