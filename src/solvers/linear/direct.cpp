// The matrix is scaled to a unit diagonal with powers of two before it is factorised, so that a pivot can be judged
// by its size whatever the units and weights of a row are; the scaling itself does not round.
//
// Same bits: CHOLMOD and a BLAS on one thread repeat themselves on one kind of machine. OpenBLAS and OpenMP are
// therefore held to one thread while they work for us. OpenBLAS's environment (OPENBLAS_CORETYPE) is read when it is
// loaded, before any code of ours: the launcher's business, not ours.
#include "solvers/linear/direct.h"

#include <dlfcn.h>

#include <array>
#include <cmath>
#include <cstring>
#include <mutex>
#include <vector>

#include <cholmod.h>

#include "base/assert.h"

namespace aegir {
namespace {

constexpr double smallest_pivot = 1e-14;    // of a unit diagonal; below it is rounding error of a singular matrix
constexpr int one_ordering_limit = 10'000;  // rows up to which minimum degree is good enough and nothing else is tried

/// Holds the threads of other libraries, where the process has them, to one: OpenBLAS's own, and OpenMP's, of which
/// CHOLMOD would start four beside ours (no active level of parallel regions is allowed).
class OneThread {
 public:
  OneThread() : lock_(mutex()) {
    for (Knob& k : knobs_)
      if (k.get && k.set) k.before = k.get(), k.set(k.one);
  }
  ~OneThread() {
    for (const Knob& k : knobs_)
      if (k.get && k.set) k.set(k.before);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  using Get = int (*)();
  using Set = void (*)(int);
  struct Knob {
    Get get;
    Set set;
    int one, before;
  };
  static Knob knob(const char* get, const char* set, int one) {
    return {reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, get)), reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, set)), one, one};
  }
  static const std::array<Knob, 2>& known() {
    static const std::array<Knob, 2> knobs{knob("openblas_get_num_threads", "openblas_set_num_threads", 1),
                                           knob("omp_get_max_active_levels", "omp_set_max_active_levels", 0)};
    return knobs;
  }
  /// The settings belong to the process: one at a time.
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  std::lock_guard<std::mutex> lock_;
  std::array<Knob, 2> knobs_ = known();
};

/// One triangle of a matrix as the caller gave it.
struct Triangle {
  int n = 0;
  std::span<const int> first, row;
  std::span<const double> value;
  bool lower = false, upper = false;  // has entries below, above the diagonal
};

Status check(Triangle& a, std::vector<double>& diagonal) {
  AEGIR_ASSERT(a.n >= 0 && a.first.size() == static_cast<std::size_t>(a.n) + 1, "one start per column and the end");
  AEGIR_ASSERT(a.first[0] == 0 && a.row.size() == a.value.size() &&
                   a.row.size() == static_cast<std::size_t>(a.first[static_cast<std::size_t>(a.n)]),
               "as many entries as the columns say");
  diagonal.assign(static_cast<std::size_t>(a.n), 0.0);
  std::vector<int> seen(static_cast<std::size_t>(a.n), -1);
  for (int c = 0; c < a.n; ++c) {
    const auto column = static_cast<std::size_t>(c);
    AEGIR_ASSERT(a.first[column] <= a.first[column + 1], "columns in order");
    for (auto e = static_cast<std::size_t>(a.first[column]); e < static_cast<std::size_t>(a.first[column + 1]); ++e) {
      const int r = a.row[e];
      AEGIR_ASSERT(r >= 0 && r < a.n, "row inside the matrix");
      AEGIR_ASSERT(seen[static_cast<std::size_t>(r)] != c, "an entry is given once");
      seen[static_cast<std::size_t>(r)] = c;
      if (!std::isfinite(a.value[e])) return simulation_error("the entry in row {}, column {} is not finite", r, c);
      if (r > c) a.lower = true;
      if (r < c) a.upper = true;
      if (r == c) diagonal[column] = a.value[e];
    }
    if (!(diagonal[column] > 0))
      return simulation_error("not positive definite: the diagonal of row {} is {}", c, diagonal[column]);
  }
  AEGIR_ASSERT(!(a.lower && a.upper), "one triangle, not both");
  return {};
}

}  // namespace

struct DirectSolver::Factor {
  mutable cholmod_common common;
  cholmod_factor* factor = nullptr;
  int n = 0;
  std::vector<double> scale;  // powers of two
  mutable std::mutex mutex;
  mutable std::vector<double> right_hand_side;
  mutable cholmod_dense *x = nullptr, *y = nullptr, *e = nullptr;  // kept between solves

  Factor() {
    cholmod_start(&common);
    common.print = 0;
    common.error_handler = nullptr;
    common.try_catch = 1;
    common.final_ll = 1;  // LLᵀ even where LDLᵀ would do: only then is an indefinite matrix noticed
    common.itype = CHOLMOD_INT;
  }
  ~Factor() {
    cholmod_free_factor(&factor, &common);
    cholmod_free_dense(&x, &common);
    cholmod_free_dense(&y, &common);
    cholmod_free_dense(&e, &common);
    cholmod_finish(&common);
  }
  Factor(const Factor&) = delete;
  Factor& operator=(const Factor&) = delete;

  Status compute(const Triangle& a, const std::vector<double>& diagonal, std::int64_t memory_limit);

 private:
  Status analyse(cholmod_sparse& matrix, std::int64_t memory_limit);
  Status judge_pivots() const;
  Status out_of_memory() const { return Error{Failure::memory, "out of memory in the direct solver", {}}; }
  int original(std::size_t pivot) const { return static_cast<const int*>(factor->Perm)[pivot]; }
};

Status DirectSolver::Factor::analyse(cholmod_sparse& matrix, std::int64_t memory_limit) {
  if (n <= one_ordering_limit) {
    common.nmethods = 1;
    common.method[0].ordering = CHOLMOD_AMD;
    common.postorder = 1;
  }
  factor = cholmod_analyze(&matrix, &common);
  if (!factor) {
    if (common.status == CHOLMOD_TOO_LARGE)
      return Error{Failure::memory, "the factor has more entries than the direct solver can count", {}};
    return out_of_memory();
  }
  // Entries and row numbers of the factor, the largest block update, and the permuted copy of the matrix.
  const double entries = factor->is_super ? static_cast<double>(factor->xsize) : common.lnz;
  const double indices = factor->is_super ? static_cast<double>(factor->ssize) : common.lnz;
  const double work = factor->is_super ? static_cast<double>(factor->maxcsize) * 8 : 0.0;
  const double bytes = entries * 8 + indices * 4 + work + static_cast<double>(matrix.nzmax) * 12 + n * 80.0;
  if (bytes > static_cast<double>(memory_limit))
    return Error{Failure::memory,
                 fmt::format("a direct solve of {} unknowns needs {:.0f} MiB, the limit is {:.0f} MiB", n,
                             bytes / 1048576, static_cast<double>(memory_limit) / 1048576),
                 {}};
  return {};
}

Status DirectSolver::Factor::judge_pivots() const {
  const auto* values = static_cast<const double*>(factor->x);
  const auto judge = [&](std::size_t pivot, double entry) -> Status {
    if (entry * entry >= smallest_pivot) return {};
    return simulation_error("not positive definite to working precision at column {}", original(pivot));
  };
  if (!factor->is_super) {
    const auto* start = static_cast<const int*>(factor->p);
    for (std::size_t c = 0; c < factor->n; ++c)
      if (Status ok = judge(c, values[start[c]]); !ok) return ok;
    return {};
  }
  const auto *super = static_cast<const int*>(factor->super), *rows = static_cast<const int*>(factor->pi),
             *start = static_cast<const int*>(factor->px);
  for (std::size_t s = 0; s < factor->nsuper; ++s) {
    const auto height = static_cast<std::size_t>(rows[s + 1] - rows[s]);
    for (int c = super[s]; c < super[s + 1]; ++c)
      if (Status ok =
              judge(static_cast<std::size_t>(c),
                    values[static_cast<std::size_t>(start[s]) + static_cast<std::size_t>(c - super[s]) * (height + 1)]);
          !ok)
        return ok;
  }
  return {};
}

Status DirectSolver::Factor::compute(const Triangle& a, const std::vector<double>& diagonal,
                                     std::int64_t memory_limit) {
  n = a.n;
  const auto size = static_cast<std::size_t>(n);
  scale.resize(size);
  right_hand_side.resize(size);
  for (std::size_t i = 0; i < size; ++i) scale[i] = std::ldexp(1.0, -(std::ilogb(diagonal[i]) / 2));
  std::vector<double> scaled(a.value.size());
  for (std::size_t c = 0; c < size; ++c)
    for (auto k = static_cast<std::size_t>(a.first[c]); k < static_cast<std::size_t>(a.first[c + 1]); ++k) {
      scaled[k] = a.value[k] * scale[c] * scale[static_cast<std::size_t>(a.row[k])];
      if (!std::isfinite(scaled[k])) return simulation_error("not positive definite at column {}", c);
    }

  cholmod_sparse matrix{};
  matrix.nrow = matrix.ncol = size;
  matrix.nzmax = scaled.size();
  matrix.p = const_cast<int*>(a.first.data());  // CHOLMOD only reads them
  matrix.i = const_cast<int*>(a.row.data());
  matrix.x = scaled.data();
  matrix.stype = a.lower ? -1 : 1;
  matrix.itype = CHOLMOD_INT;
  matrix.xtype = CHOLMOD_REAL;
  matrix.dtype = CHOLMOD_DOUBLE;
  matrix.sorted = 0;
  matrix.packed = 1;

  const OneThread one_thread;
  if (Status ok = analyse(matrix, memory_limit); !ok) return ok;
  cholmod_factorize(&matrix, factor, &common);
  if (common.status == CHOLMOD_OUT_OF_MEMORY || common.status == CHOLMOD_TOO_LARGE) return out_of_memory();
  if (common.status == CHOLMOD_NOT_POSDEF || factor->minor < factor->n)
    return simulation_error("not positive definite at column {}", original(factor->minor));
  if (common.status < CHOLMOD_OK) return simulation_error("CHOLMOD failed with status {}", common.status);
  return judge_pivots();
}

Result<DirectSolver> DirectSolver::factor(int n, std::span<const int> first, std::span<const int> row,
                                          std::span<const double> value, std::int64_t memory_limit) {
  Triangle triangle{n, first, row, value};
  std::vector<double> diagonal;
  if (Status ok = check(triangle, diagonal); !ok) return ok.error();
  auto factor = std::make_unique<Factor>();
  if (n > 0)
    if (Status ok = factor->compute(triangle, diagonal, memory_limit); !ok) return ok.error();
  return DirectSolver(std::move(factor));
}

DirectSolver::DirectSolver(std::unique_ptr<Factor> factor) : factor_(std::move(factor)) {}
DirectSolver::DirectSolver(DirectSolver&&) noexcept = default;
DirectSolver& DirectSolver::operator=(DirectSolver&&) noexcept = default;
DirectSolver::~DirectSolver() = default;

void DirectSolver::solve(std::span<const double> b, std::span<double> x) const {
  const Factor& f = *factor_;
  const auto size = static_cast<std::size_t>(f.n);
  AEGIR_ASSERT(b.size() == size && x.size() == size, "as many numbers as rows");
  if (size == 0) return;
  const std::lock_guard lock(f.mutex);
  for (std::size_t i = 0; i < size; ++i) f.right_hand_side[i] = b[i] * f.scale[i];
  cholmod_dense right{};
  right.nrow = right.nzmax = right.d = size;
  right.ncol = 1;
  right.x = f.right_hand_side.data();
  right.xtype = CHOLMOD_REAL;
  right.dtype = CHOLMOD_DOUBLE;
  const OneThread one_thread;
  const int solved = cholmod_solve2(CHOLMOD_A, f.factor, &right, nullptr, &f.x, nullptr, &f.y, &f.e, &f.common);
  AEGIR_ASSERT(solved && f.x, "a factor always solves");
  const auto* solution = static_cast<const double*>(f.x->x);
  for (std::size_t i = 0; i < size; ++i) x[i] = solution[i] * f.scale[i];
}

int DirectSolver::size() const { return factor_->n; }

std::int64_t DirectSolver::memory_bytes() const {
  return static_cast<std::int64_t>(factor_->common.memory_inuse + factor_->scale.size() * 2 * sizeof(double));
}

}  // namespace aegir
