// aegir_hypre_peer SCENE N SOLVER TOLERANCE ROUNDS [option=value...]: the solvers of hypre on our scenes, one JSON
// line.
//
//   mpirun -n 2 aegir_hypre_peer sloshing 128 pfmg 1e-6 5
//
// Scenes: sloshing, hard (solvers pfmg, boomeramg) and viscosity (boomeramg). The tolerance is held by the true
// relative residual |b - A x| / |b| over the unknowns, computed here from the scene and not by hypre: where hypre stops
// too early, its own tolerance is tightened before the timed rounds. Times are hypre's setup and solve; filling its
// matrix is not counted.
// One file, though a long one: hypre's headers stand nowhere else.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <HYPRE.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <HYPRE_struct_ls.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <mpi.h>

#include "tests/solvers/scenes.h"
#include "tests/solvers/viscosity_system.h"

namespace aegir::bench {
namespace {

/// What the command line asks for.
struct Request {
  std::string scene, solver;
  int n = 0, rounds = 1;
  double tolerance = 1e-6;
  std::map<std::string, double> options;
  double option(const char* name, double otherwise) const {
    const auto found = options.find(name);
    return found == options.end() ? otherwise : found->second;
  }
};

struct Timing {
  double setup = 0, solve = 0;
  int iterations = 0;
};

int my_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int rank_count() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}
double sum_over_ranks(double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return value;
}
double slowest(double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return value;
}
double now() {
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime();
}

/// A number of /proc/self/status in bytes: VmRSS, VmHWM.
double status_bytes(const char* field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(field, 0) == 0) return 1024 * std::atof(line.c_str() + std::strlen(field) + 1);
  return 0;
}

/// Processor time of this rank.
double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// One system handed to hypre; solved as often as wanted, each time from zero.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual Timing solve(double tolerance) = 0;
  virtual double true_residual() = 0;
  virtual double unknowns() const = 0;
};

/// Which of our axes hypre's axes are: the digits of the option `order`, fastest first.
std::array<int, 3> axis_order(const Request& request) {
  const int digits = static_cast<int>(request.option("order", 12));
  return {digits / 100, digits / 10 % 10, digits % 10};
}

/// The part of the box that this rank fills: planes [first, last) along the last of hypre's axes. The box is the
/// scene's, or with the option `crop` only as much of it as holds unknowns. Arrays over the part have one plane more on
/// each side.
class Slab {
 public:
  Slab(const PressureScene& scene, const Request& request) : scene_(scene), order_(axis_order(request)) {
    Vec3i high(request.option("crop", 0) > 0 ? 0 : scene.n());
    for (int x = 0; x < scene.n(); ++x)
      for (int y = 0; y < scene.n(); ++y)
        for (int z = 0; z < scene.n(); ++z)
          if (scene.unknown({x, y, z})) high = max(high, Vec3i{x + 1, y + 1, z + 1});
    for (int a = 0; a < 3; ++a) size_[a] = high[order_[static_cast<std::size_t>(a)]];
    first_ = size_.z * my_rank() / rank_count();
    last_ = size_.z * (my_rank() + 1) / rank_count();
  }

  /// The corners of the part in hypre's indices, both included.
  std::array<int, 3> low() const { return {0, 0, first_}; }
  std::array<int, 3> high() const { return {size_.x - 1, size_.y - 1, last_ - 1}; }
  const std::array<int, 3>& order() const { return order_; }
  std::size_t size() const { return plane() * static_cast<std::size_t>(last_ - first_ + 2); }
  std::size_t plane() const { return static_cast<std::size_t>(size_.x) * static_cast<std::size_t>(size_.y); }
  /// Where a cell's value stands in an array; the cell is in the part or beside it.
  std::size_t at(const Vec3i& cell) const {
    return plane() * static_cast<std::size_t>(cell[order_[2]] - first_ + 1) +
           static_cast<std::size_t>(cell[order_[1]] * size_.x + cell[order_[0]]);
  }
  /// Calls f(cell) for every cell of the part in hypre's order.
  template <class F>
  void each_cell(F&& f) const {
    for (int k = first_; k < last_; ++k)
      for (int j = 0; j < size_.y; ++j)
        for (int i = 0; i < size_.x; ++i) {
          Vec3i cell;
          cell[order_[0]] = i, cell[order_[1]] = j, cell[order_[2]] = k;
          f(cell);
        }
  }
  /// Fills the planes outside the part from the neighbouring ranks.
  void exchange(std::vector<double>& values) const {
    const int below = my_rank() > 0 ? my_rank() - 1 : MPI_PROC_NULL;
    const int above = my_rank() + 1 < rank_count() ? my_rank() + 1 : MPI_PROC_NULL;
    const int count = static_cast<int>(plane());
    double *start = values.data(), *end = values.data() + values.size();
    MPI_Sendrecv(start + count, count, MPI_DOUBLE, below, 0, end - count, count, MPI_DOUBLE, above, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(end - 2 * count, count, MPI_DOUBLE, above, 1, start, count, MPI_DOUBLE, below, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  /// |b - A x| / |b| over the unknowns; fills the outer planes of x.
  double residual(std::vector<double>& x) const {
    exchange(x);
    double missing = 0, whole = 0;
    each_cell([&](const Vec3i& cell) {
      if (!scene_.unknown(cell)) return;
      const SceneRow row = scene_.row(cell);
      const double b = scene_.rhs(cell);
      double r = b - row.diagonal() * x[at(cell)];
      for (int f = 0; f < 6; ++f)
        if (const double w = row.weight[static_cast<std::size_t>(f)]; w > 0) r += w * x[at(neighbour(cell, f))];
      missing += r * r, whole += b * b;
    });
    return std::sqrt(sum_over_ranks(missing) / sum_over_ranks(whole));
  }
  static Vec3i neighbour(Vec3i cell, int face) {
    cell[face / 2] += face % 2 ? 1 : -1;
    return cell;
  }

 private:
  const PressureScene& scene_;
  std::array<int, 3> order_;
  Vec3i size_;  // of the cut box along hypre's axes
  int first_ = 0, last_ = 0;
};

/// Struct PFMG-PCG on the whole box, air and solid as identity rows.
class PfmgPeer : public Peer {
 public:
  PfmgPeer(const PressureScene& scene, const Request& request) : slab_(scene, request), request_(request) {
    auto low = slab_.low(), high = slab_.high();
    HYPRE_StructGridCreate(MPI_COMM_WORLD, 3, &grid_);
    HYPRE_StructGridSetExtents(grid_, low.data(), high.data());
    HYPRE_StructGridAssemble(grid_);
    int offsets[4][3] = {{0, 0, 0}, {-1, 0, 0}, {0, -1, 0}, {0, 0, -1}}, entries[4] = {0, 1, 2, 3};
    HYPRE_StructStencilCreate(3, 4, &stencil_);
    for (int e = 0; e < 4; ++e) HYPRE_StructStencilSetElement(stencil_, e, offsets[e]);
    HYPRE_StructMatrixCreate(MPI_COMM_WORLD, grid_, stencil_, &matrix_);
    HYPRE_StructMatrixSetSymmetric(matrix_, 1);
    HYPRE_StructMatrixInitialize(matrix_);
    std::vector<double> coefficients, right;
    slab_.each_cell([&](const Vec3i& cell) {
      const bool unknown = scene.unknown(cell);
      unknowns_ += unknown;
      const SceneRow row = unknown ? scene.row(cell) : SceneRow{};
      coefficients.push_back(unknown ? row.diagonal() : 1.0);
      for (const int axis : slab_.order()) coefficients.push_back(-row.weight[static_cast<std::size_t>(2 * axis)]);
      right.push_back(scene.rhs(cell));
    });
    HYPRE_StructMatrixSetBoxValues(matrix_, low.data(), high.data(), 4, entries, coefficients.data());
    HYPRE_StructMatrixAssemble(matrix_);
    for (HYPRE_StructVector* v : {&b_, &x_}) {
      HYPRE_StructVectorCreate(MPI_COMM_WORLD, grid_, v);
      HYPRE_StructVectorInitialize(*v);
    }
    HYPRE_StructVectorSetBoxValues(b_, low.data(), high.data(), right.data());
    HYPRE_StructVectorAssemble(b_), HYPRE_StructVectorAssemble(x_);
  }
  ~PfmgPeer() override {
    HYPRE_StructVectorDestroy(b_), HYPRE_StructVectorDestroy(x_), HYPRE_StructMatrixDestroy(matrix_);
    HYPRE_StructStencilDestroy(stencil_), HYPRE_StructGridDestroy(grid_);
  }

  Timing solve(double tolerance) override {
    HYPRE_StructVectorSetConstantValues(x_, 0);
    HYPRE_StructSolver solver, cycle;
    const double start = now();
    HYPRE_StructPCGCreate(MPI_COMM_WORLD, &solver);
    HYPRE_StructPCGSetTol(solver, tolerance), HYPRE_StructPCGSetTwoNorm(solver, 1);
    HYPRE_StructPCGSetMaxIter(solver, 200);
    HYPRE_StructPFMGCreate(MPI_COMM_WORLD, &cycle);
    HYPRE_StructPFMGSetMaxIter(cycle, 1), HYPRE_StructPFMGSetTol(cycle, 0), HYPRE_StructPFMGSetZeroGuess(cycle);
    HYPRE_StructPFMGSetRelaxType(cycle, static_cast<int>(request_.option("relax", 2)));
    HYPRE_StructPFMGSetRAPType(cycle, static_cast<int>(request_.option("rap", 0)));
    HYPRE_StructPFMGSetSkipRelax(cycle, static_cast<int>(request_.option("skip", 1)));
    HYPRE_StructPFMGSetNumPreRelax(cycle, static_cast<int>(request_.option("sweeps", 1)));
    HYPRE_StructPFMGSetNumPostRelax(cycle, static_cast<int>(request_.option("sweeps", 1)));
    HYPRE_StructPCGSetPrecond(solver, HYPRE_StructPFMGSolve, HYPRE_StructPFMGSetup, cycle);
    HYPRE_StructPCGSetup(solver, matrix_, b_, x_);
    const double ready = now();
    HYPRE_StructPCGSolve(solver, matrix_, b_, x_);
    Timing t{slowest(ready - start), slowest(now() - ready), 0};
    HYPRE_StructPCGGetNumIterations(solver, &t.iterations);
    HYPRE_StructPCGDestroy(solver), HYPRE_StructPFMGDestroy(cycle);
    HYPRE_ClearAllErrors();
    return t;
  }
  double true_residual() override {
    std::vector<double> x(slab_.size());
    auto low = slab_.low(), high = slab_.high();
    HYPRE_StructVectorGetBoxValues(x_, low.data(), high.data(), x.data() + slab_.plane());
    return slab_.residual(x);
  }
  double unknowns() const override { return sum_over_ranks(static_cast<double>(unknowns_)); }

 private:
  Slab slab_;
  const Request& request_;
  std::int64_t unknowns_ = 0;
  HYPRE_StructGrid grid_;
  HYPRE_StructStencil stencil_;
  HYPRE_StructMatrix matrix_;
  HYPRE_StructVector b_, x_;
};

/// The unknowns of a pressure scene as rows, numbered along the slabs; `number` gets the global row of each cell, -1
/// elsewhere.
SystemRows pressure_rows(const PressureScene& scene, const Slab& slab, std::vector<double>& number) {
  SystemRows rows;
  std::vector<Vec3i> cells;
  slab.each_cell([&](const Vec3i& cell) {
    if (scene.unknown(cell)) cells.push_back(cell);
  });
  std::int64_t count = static_cast<std::int64_t>(cells.size()), before = 0;
  MPI_Exscan(&count, &before, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  rows.first_row = my_rank() ? before : 0;
  rows.global_rows = static_cast<std::int64_t>(sum_over_ranks(static_cast<double>(count)));
  number.assign(slab.size(), -1.0);
  for (std::size_t i = 0; i < cells.size(); ++i)
    number[slab.at(cells[i])] = static_cast<double>(rows.first_row + static_cast<std::int64_t>(i));
  slab.exchange(number);
  rows.first.push_back(0);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const SceneRow row = scene.row(cells[i]);
    rows.column.push_back(rows.first_row + static_cast<std::int64_t>(i)), rows.value.push_back(row.diagonal());
    for (int f = 0; f < 6; ++f)
      if (const float w = row.weight[static_cast<std::size_t>(f)]; w > 0) {
        rows.column.push_back(static_cast<std::int64_t>(number[slab.at(Slab::neighbour(cells[i], f))]));
        rows.value.push_back(-w);
      }
    rows.first.push_back(static_cast<std::int64_t>(rows.column.size()));
    rows.rhs.push_back(scene.rhs(cells[i]));
  }
  return rows;
}

/// BoomerAMG-PCG on assembled rows.
class BoomerPeer : public Peer {
 public:
  BoomerPeer(SystemRows rows, const Request& request) : rows_(std::move(rows)), request_(request) {
    const int count = static_cast<int>(rows_.rows()), first = static_cast<int>(rows_.first_row);
    std::vector<int> sizes, numbers, columns(rows_.column.begin(), rows_.column.end());
    for (int r = 0; r < count; ++r) {
      sizes.push_back(
          static_cast<int>(rows_.first[static_cast<std::size_t>(r) + 1] - rows_.first[static_cast<std::size_t>(r)]));
      numbers.push_back(first + r);
    }
    HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, first + count - 1, first, first + count - 1, &matrix_);
    HYPRE_IJMatrixSetObjectType(matrix_, HYPRE_PARCSR);
    HYPRE_IJMatrixSetRowSizes(matrix_, sizes.data());
    HYPRE_IJMatrixInitialize(matrix_);
    HYPRE_IJMatrixSetValues(matrix_, count, sizes.data(), numbers.data(), columns.data(), rows_.value.data());
    HYPRE_IJMatrixAssemble(matrix_);
    HYPRE_IJMatrixGetObject(matrix_, reinterpret_cast<void**>(&a_));
    for (HYPRE_IJVector* v : {&b_, &x_}) {
      HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, first + count - 1, v);
      HYPRE_IJVectorSetObjectType(*v, HYPRE_PARCSR);
      HYPRE_IJVectorInitialize(*v);
      if (v == &b_) HYPRE_IJVectorSetValues(*v, count, numbers.data(), rows_.rhs.data());
      HYPRE_IJVectorAssemble(*v);
    }
    HYPRE_IJVectorGetObject(b_, reinterpret_cast<void**>(&right_));
    HYPRE_IJVectorGetObject(x_, reinterpret_cast<void**>(&solution_));
  }
  ~BoomerPeer() override { HYPRE_IJVectorDestroy(b_), HYPRE_IJVectorDestroy(x_), HYPRE_IJMatrixDestroy(matrix_); }

  Timing solve(double tolerance) override {
    HYPRE_ParVectorSetConstantValues(solution_, 0);
    HYPRE_Solver solver, cycle;
    const double start = now();
    HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &solver);
    HYPRE_PCGSetTol(solver, tolerance), HYPRE_PCGSetTwoNorm(solver, 1), HYPRE_PCGSetMaxIter(solver, 500);
    HYPRE_BoomerAMGCreate(&cycle);
    HYPRE_BoomerAMGSetMaxIter(cycle, 1), HYPRE_BoomerAMGSetTol(cycle, 0);
    HYPRE_BoomerAMGSetCoarsenType(cycle, static_cast<int>(request_.option("coarsen", 10)));
    HYPRE_BoomerAMGSetInterpType(cycle, static_cast<int>(request_.option("interpolation", 6)));
    HYPRE_BoomerAMGSetPMaxElmts(cycle, static_cast<int>(request_.option("pmax", 4)));
    HYPRE_BoomerAMGSetStrongThreshold(cycle, request_.option("strong", 0.25));
    HYPRE_BoomerAMGSetAggNumLevels(cycle, static_cast<int>(request_.option("aggressive", 1)));
    HYPRE_BoomerAMGSetRelaxType(cycle, static_cast<int>(request_.option("relax", 6)));
    HYPRE_BoomerAMGSetNumFunctions(cycle,
                                   static_cast<int>(request_.option("functions", rows_.component.empty() ? 1 : 3)));
    if (request_.option("functions", rows_.component.empty() ? 1 : 3) > 1) set_functions(cycle);
    HYPRE_ParCSRPCGSetPrecond(solver, HYPRE_BoomerAMGSolve, HYPRE_BoomerAMGSetup, cycle);
    HYPRE_ParCSRPCGSetup(solver, a_, right_, solution_);
    const double ready = now();
    HYPRE_ParCSRPCGSolve(solver, a_, right_, solution_);
    Timing t{slowest(ready - start), slowest(now() - ready), 0};
    HYPRE_PCGGetNumIterations(solver, &t.iterations);
    HYPRE_ParCSRPCGDestroy(solver), HYPRE_BoomerAMGDestroy(cycle);
    HYPRE_ClearAllErrors();
    return t;
  }
  /// The rows of ours against x gathered on every rank.
  double true_residual() override {
    const int count = static_cast<int>(rows_.rows());
    std::vector<int> numbers, counts(static_cast<std::size_t>(rank_count())), starts(counts.size());
    for (int r = 0; r < count; ++r) numbers.push_back(static_cast<int>(rows_.first_row) + r);
    std::vector<double> mine(static_cast<std::size_t>(count)), x(static_cast<std::size_t>(rows_.global_rows));
    HYPRE_IJVectorGetValues(x_, count, numbers.data(), mine.data());
    MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (std::size_t r = 1; r < counts.size(); ++r) starts[r] = starts[r - 1] + counts[r - 1];
    MPI_Allgatherv(mine.data(), count, MPI_DOUBLE, x.data(), counts.data(), starts.data(), MPI_DOUBLE, MPI_COMM_WORLD);
    double missing = 0, whole = 0;
    for (std::size_t r = 0; r < rows_.rhs.size(); ++r) {
      double left = rows_.rhs[r];
      for (std::int64_t e = rows_.first[r]; e < rows_.first[r + 1]; ++e)
        left -= rows_.value[static_cast<std::size_t>(e)] *
                x[static_cast<std::size_t>(rows_.column[static_cast<std::size_t>(e)])];
      missing += left * left, whole += rows_.rhs[r] * rows_.rhs[r];
    }
    return std::sqrt(sum_over_ranks(missing) / sum_over_ranks(whole));
  }
  double unknowns() const override { return static_cast<double>(rows_.global_rows); }

 private:
  /// hypre frees the array with the solver.
  void set_functions(HYPRE_Solver cycle) const {
    auto* function = static_cast<int*>(std::malloc(sizeof(int) * std::max<std::size_t>(1, rows_.component.size())));
    std::copy(rows_.component.begin(), rows_.component.end(), function);
    HYPRE_BoomerAMGSetDofFunc(cycle, function);
  }

  SystemRows rows_;
  const Request& request_;
  HYPRE_IJMatrix matrix_;
  HYPRE_ParCSRMatrix a_;
  HYPRE_IJVector b_, x_;
  HYPRE_ParVector right_, solution_;
};

/// The peer that is asked for, or nothing where there is no such one.
std::unique_ptr<Peer> make_peer(const Request& request) {
  if (request.scene == "viscosity" && request.solver == "boomeramg")
    return std::make_unique<BoomerPeer>(viscosity_system(request.n, my_rank(), rank_count()), request);
  if (request.scene != "sloshing" && request.scene != "hard") return nullptr;
  static const PressureScene scene = request.scene == "hard" ? hard_box(request.n) : sloshing_box(request.n);
  if (request.solver == "pfmg") return std::make_unique<PfmgPeer>(scene, request);
  if (request.solver != "boomeramg") return nullptr;
  std::vector<double> number;
  const Slab slab(scene, request);
  return std::make_unique<BoomerPeer>(pressure_rows(scene, slab, number), request);
}

double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

int run(const Request& request) {
  const auto peer = make_peer(request);
  if (!peer) {
    if (my_rank() == 0)
      fmt::print(stderr, "aegir_hypre_peer: no solver '{}' for '{}'\n", request.solver, request.scene);
    return 2;
  }
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts from here
  const double before = status_bytes("VmRSS");
  double tolerance = request.tolerance, residual = 1;
  for (int attempt = 0; attempt < 6; ++attempt) {  // also the warm-up
    peer->solve(tolerance);
    if ((residual = peer->true_residual()) <= request.tolerance) break;
    tolerance *= 0.9 * request.tolerance / residual;
  }
  const double memory = sum_over_ranks(status_bytes("VmHWM") - before);
  std::vector<double> setup, solve, total;
  Timing t;
  const double start = now(), start_cpu = cpu_seconds();
  for (int round = 0; round < request.rounds; ++round) {
    t = peer->solve(tolerance);
    setup.push_back(t.setup), solve.push_back(t.solve), total.push_back(t.setup + t.solve);
  }
  // Ranks never sleep: a share below one means that something else had their cores.
  const double cpu_share = -slowest(-(cpu_seconds() - start_cpu) / (now() - start));
  residual = peer->true_residual();
  const double unknowns = peer->unknowns();
  if (my_rank() == 0)
    fmt::print(
        "{{\"scene\": \"{}\", \"n\": {}, \"solver\": \"{}\", \"unknowns\": {:.0f}, \"iterations\": {}, \"seconds\": "
        "{:.5f}, "
        "\"setup\": {:.5f}, \"solve\": {:.5f}, \"rounds\": [{:.5f}], \"residual\": {:.3e}, \"memory\": {:.0f}, "
        "\"cpu_share\": {:.3f}}}\n",
        request.scene, request.n, request.solver, unknowns, t.iterations, middle(total), middle(setup), middle(solve),
        fmt::join(total, ", "), residual, memory, cpu_share);
  return residual <= request.tolerance ? 0 : 3;
}

}  // namespace
}  // namespace aegir::bench

int main(int argc, char** argv) {
  using namespace aegir::bench;
  if (argc < 6)
    return std::fprintf(stderr, "usage: aegir_hypre_peer SCENE N SOLVER TOLERANCE ROUNDS [option=value...]\n"), 2;
  Request request{argv[1], argv[3], std::atoi(argv[2]), std::max(1, std::atoi(argv[5])), std::atof(argv[4]), {}};
  for (int i = 6; i < argc; ++i)
    if (const char* value = std::strchr(argv[i], '='))
      request.options[std::string(static_cast<const char*>(argv[i]), value)] = std::atof(value + 1);
  MPI_Init(&argc, &argv);
  HYPRE_Init();
  const int code = request.n < 8 ? 2 : run(request);
  HYPRE_Finalize();
  MPI_Finalize();
  return code;
}
