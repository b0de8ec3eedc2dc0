#include "solvers/linear/sparse_solve.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace aegir {
namespace {

bool finite(Comm& comm, std::span<const double> x) {
  bool good = true;
  for (const double v : x) good = good && std::isfinite(v);
  return !comm.any(!good);
}

void multiply_by(std::span<double> x, double factor) {
  parallel_for(0, x.size(), 8192, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) x[i] *= factor;
  });
}

double relative(double squared, double b_squared) {
  return b_squared > 0 ? std::sqrt(squared / b_squared) : std::sqrt(squared);
}

/// Direct solve after an iteration that failed for a reason; the better of both results stays in x.
void fall_back(Exec& exec, const SparseMatrix& a, SparseIteration& iteration, std::span<double> x, double target,
               const AggregationSettings& settings, SolveReport& report) {
  iteration.restore_best(x);
  const double reached = iteration.residual();
  report.residual = relative(reached, iteration.right_hand_side());
  if (reached <= target) {
    report.converged = true;
    report.trouble.clear();
    return;
  }
  std::vector<double> iterate(x.begin(), x.end());
  const std::string trouble = solve_directly(exec, a, iteration, x, target, settings);
  const double direct = trouble.empty() ? iteration.residual() : iteration.evaluate(x);
  if (trouble.empty()) {
    report.method = SolveMethod::direct, report.converged = true;
    report.trouble += "; solved directly";
  } else {
    report.trouble += "; " + trouble;
    if (!(direct < reached)) std::copy(iterate.begin(), iterate.end(), x.begin());
    if (looks_unsymmetric(exec.comm, a)) report.trouble += "; the matrix is not symmetric";
  }
  report.residual = relative(direct < reached ? direct : reached, iteration.right_hand_side());
}

void solve_scaled(Exec& exec, const SparseMatrix& a, std::span<const double> b, std::span<double> x, double scale,
                  const AggregationSettings& settings, SolveReport& report) {
  const Stopwatch watch;
  SparseIteration iteration(exec, a, b, scale);
  const double target = settings.tolerance * settings.tolerance * iteration.right_hand_side();
  if (!(iteration.evaluate(x) <= iteration.right_hand_side())) {  // a start worse than none
    std::fill(x.begin(), x.end(), 0.0);
    iteration.evaluate(x);
  }
  report.method = SolveMethod::aggregation_cg;
  const double start = iteration.residual();
  report.residual = relative(start, iteration.right_hand_side());
  if (start <= target) {
    report.converged = true;
    return;
  }
  AggregationHierarchy hierarchy(exec, a, settings);
  report.setup_seconds = watch.seconds();
  report.trouble = iteration.run(hierarchy, x, target, settings.max_iterations);
  report.iterations = iteration.iterations();
  report.residual = relative(iteration.residual(), iteration.right_hand_side());
  report.converged = report.trouble.empty();
  if (report.converged) return;
  fall_back(exec, a, iteration, x, target, settings, report);
}

}  // namespace

SolveReport solve_sparse(Exec& exec, const SparseMatrix& a, std::span<const double> b, std::span<double> x,
                         const AggregationSettings& settings) {
  AEGIR_ASSERT(b.size() == a.rows() && x.size() == a.rows(), "as many numbers as rows");
  const Stopwatch watch;
  SolveReport report;
  report.unknowns = a.global_rows();
  if (!finite(exec.comm, x)) std::fill(x.begin(), x.end(), 0.0);
  double largest_b = 0;
  report.trouble = find_trouble(exec.comm, a, b, largest_b);
  if (largest_b == 0 && report.trouble.empty()) {
    std::fill(x.begin(), x.end(), 0.0);
    report.converged = true;
    report.seconds = watch.seconds();
    return report;
  }
  // b near one by a power of two, so that neither its square nor single precision runs out of range.
  const double scale = std::isfinite(largest_b) && largest_b > 0
                           ? std::ldexp(1.0, std::clamp(-std::ilogb(largest_b), -1000, 1000))
                           : 1.0;
  if (report.trouble.empty()) {
    multiply_by(x, scale);
    solve_scaled(exec, a, b, x, scale, settings, report);
    multiply_by(x, 1 / scale);
  } else {
    SparseIteration iteration(exec, a, b, 1.0);
    report.residual = relative(iteration.evaluate(x), iteration.right_hand_side());  // not a number where b or A is not
  }
  report.seconds = watch.seconds();
  return report;
}

}  // namespace aegir
