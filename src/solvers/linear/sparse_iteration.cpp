// Conjugate gradients whose direction p is single precision and exactly what both x and r are updated with, so that r
// stays the true residual to double rounding: y = A p in double, alpha = r·p / p·y, x += alpha p, r -= alpha y. The
// next direction z - (z·y / p·y) p is conjugate to p whatever the rounding of the cycle that made z.
#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "solvers/linear/sparse_solve.h"

namespace aegir {
namespace {

constexpr int patience = 60;            // iterations without progress before giving up
constexpr double worth_keeping = 1e-3;  // share of |r|² of the iterate kept last at which the next one is kept
constexpr std::size_t grain = 8192;

}  // namespace

SparseIteration::SparseIteration(Exec& exec, const SparseMatrix& a, std::span<const double> b, double scale)
    : exec_(exec), a_(a), b_(b), scale_(scale) {
  const std::size_t rows = a.rows(), room = a.structure().ghosts.size();
  r_.resize(rows), y_.resize(rows), single_.resize(rows), p_.resize(room), whole_x_.resize(room);
  b_squared_ = block_sums<1>(exec.comm, a.structure(), [&](std::size_t begin, std::size_t end, double* sums) {
    for (std::size_t i = begin; i < end; ++i) sums[0] += (scale * b[i]) * (scale * b[i]);
  })[0];
}

sparse::View<double> SparseIteration::view() const {
  return {a_.structure().first.data(), a_.structure().column.data(), a_.values().data()};
}

double SparseIteration::evaluate(std::span<const double> x) {
  const SparseStructure& s = a_.structure();
  if (!exec_.comm.any(std::any_of(x.begin(), x.end(), [](double v) { return v != 0; }))) {
    parallel_for(0, x.size(), grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) r_[i] = scale_ * b_[i], single_[i] = static_cast<float>(r_[i]);
    });
    return squared_ = b_squared_;
  }
  parallel_for(0, x.size(), grain, [&](std::size_t begin, std::size_t end) {
    std::copy(x.data() + begin, x.data() + end, whole_x_.data() + begin);
  });
  s.ghosts.fill(exec_.comm, whole_x_.data());
  squared_ = block_sums<1>(exec_.comm, s, [&](std::size_t begin, std::size_t end, double* sums) {
    sums[0] = sparse::true_residual(view(), scale_, b_.data(), whole_x_.data(), r_.data(), begin, end);
    for (std::size_t i = begin; i < end; ++i) single_[i] = static_cast<float>(r_[i]);
  })[0];
  return squared_;
}

std::string SparseIteration::step(AggregationHierarchy& cycle, std::span<double> x, bool fresh) {
  const SparseStructure& s = a_.structure();
  const auto rows = static_cast<std::int64_t>(a_.rows()), entries = static_cast<std::int64_t>(a_.values().size());
  Stopwatch cycle_watch;
  const float* z = cycle.apply(single_.data());
  exec_.profile.kernel("sparse cycle", cycle_watch.seconds(), cycle.cycle_bytes());

  Stopwatch vector_watch;
  double beta = 0;
  if (fresh) {
    p_.fill(0);
  } else {
    const auto sums = block_sums<2>(exec_.comm, s, [&](std::size_t begin, std::size_t end, double* out) {
      sparse::two_products(z, r_.data(), y_.data(), begin, end, out);
    });
    if (!(sums[0] > 0)) return "the preconditioner broke down";
    beta = -sums[1] / curvature_;
  }
  parallel_for(0, a_.rows(), grain, [&](std::size_t begin, std::size_t end) {
    sparse::new_direction(static_cast<float>(beta), z, p_.data(), begin, end);
  });
  s.ghosts.fill(exec_.comm, p_.data());
  double seconds = vector_watch.seconds();

  Stopwatch multiply_watch;
  const auto sums = block_sums<2>(exec_.comm, s, [&](std::size_t begin, std::size_t end, double* out) {
    sparse::multiply(view(), p_.data(), r_.data(), y_.data(), begin, end, out);
  });
  exec_.profile.kernel("sparse multiply", multiply_watch.seconds(), 12 * entries + 36 * rows);
  const double alpha = sums[1] / sums[0];
  if (!(sums[0] > 0)) return "the matrix is not positive definite (p·Ap <= 0)";
  if (!std::isfinite(alpha) || !std::isfinite(sums[0])) return "numbers grew out of range";
  curvature_ = sums[0];

  Stopwatch advance_watch;
  squared_ = block_sums<1>(exec_.comm, s, [&](std::size_t begin, std::size_t end, double* out) {
    out[0] = sparse::advance(alpha, p_.data(), y_.data(), x.data(), r_.data(), single_.data(), begin, end);
  })[0];
  seconds += advance_watch.seconds();
  exec_.profile.kernel("sparse vectors", seconds, (20 + 16 + 68) * rows);
  ++iterations_;
  return std::isfinite(squared_) ? "" : "numbers grew out of range";
}

void SparseIteration::keep(std::span<const double> x) {
  kept_.resize(x.size());
  parallel_for(0, x.size(), grain, [&](std::size_t begin, std::size_t end) {
    std::copy(x.data() + begin, x.data() + end, kept_.data() + begin);
  });
  kept_squared_ = squared_;
}

void SparseIteration::restore_best(std::span<double> x) {
  // True residuals decide: what was carried along may have drifted from them.
  std::vector<double> last(x.begin(), x.end());
  const double reached = evaluate(x);
  std::copy(kept_.begin(), kept_.end(), x.begin());
  if (!(evaluate(x) < reached)) {
    std::copy(last.begin(), last.end(), x.begin());
    evaluate(x);
  }
  if (squared_ <= b_squared_) return;
  std::fill(x.begin(), x.end(), 0.0);  // better than either
  evaluate(x);
}

std::string SparseIteration::run(AggregationHierarchy& cycle, std::span<double> x, double target, int max_iterations) {
  double best = squared_, last_true = squared_;
  int since_best = 0;
  bool fresh = true;
  keep(x);
  while (iterations_ < max_iterations) {
    if (std::string trouble = step(cycle, x, fresh); !trouble.empty()) return trouble;
    fresh = false;
    if (squared_ < worth_keeping * kept_squared_ && squared_ > target) keep(x);
    if (squared_ <= target) {
      if (evaluate(x) <= target) return "";
      if (squared_ > 0.25 * last_true) return "rounding keeps the residual from falling further";
      last_true = squared_, fresh = true;
    }
    since_best = squared_ < 0.9 * best ? 0 : since_best + 1;
    best = std::min(best, squared_);
    if (since_best > patience) return fmt::format("no progress in {} iterations", patience);
  }
  return fmt::format("the tolerance was not reached in {} iterations", max_iterations);
}

}  // namespace aegir
