// A multigrid V-cycle on buckets, in single precision: a fixed symmetric positive definite operator, to precondition
// conjugate gradients with.
//
//   Multigrid cycle(exec, topology, shapes, unknowns, load, settings);
//   cycle.begin(exec, rhs, rhs);
//   cycle.finish(exec, rhs, [](int bucket, const float* z) { … });
//
// Traffic per cell and cycle on the finest level, uniform buckets: right-hand side read 2.5 times, unknowns written 2.5
// and read 2 times; coarse levels add a seventh. Relaxation and residual share a pass wherever the colour of the
// buckets lets them.
#pragma once

#include <memory>
#include <vector>

#include "solvers/linear/direct.h"
#include "solvers/linear/level.h"

namespace aegir {

/// The levels and the cycle over them.
class Multigrid {
 public:
  struct Settings {
    int sweeps = 3;                      ///< relaxations of a uniform bucket before and after each coarse correction
    std::int64_t direct_unknowns = 600;  ///< at most this many are solved directly on the coarsest level
    int most_levels = 16;
    BufferPool* memory = nullptr;  ///< where memory comes from and goes back to
    bool base_only = false;        ///< to build others from: keeps links and sinks of the coarse levels, has no cycle
    bool relax_last = false;       ///< a coarsest level of few buckets is relaxed: for guesses, not worth a factor
  };

  /// Builds all levels. `shapes` and `load` describe the finest one, `unknowns` is their number over all ranks; cells
  /// in `held` are held on all levels but the finest. Collective.
  Multigrid(Exec& exec, std::shared_ptr<const Topology> topology, std::vector<BucketShape> shapes,
            std::int64_t unknowns, TileLoader load, const Settings& settings, const HeldCells* held = nullptr);

  /// The hierarchy below level `first` of `base`, for a network that differs from that level's in the cells in
  /// `changed`, by bucket, ghosts included. Base must outlive it and be built as `base_only`. Collective.
  Multigrid(Exec& exec, const Multigrid& base, int first, std::vector<BucketShape> shapes,
            std::span<const ChangeBox> changed, TileLoader load, const Settings& settings);

  /// The hierarchy of `base` with cells held on all levels but the finest, which keeps its operators. Base must outlive
  /// it, be built as `base_only` and have two levels. Collective.
  Multigrid(Exec& exec, const Multigrid& base, const HeldCells& held, TileLoader load, const Settings& settings);

  /// The right-hand side of a bucket of the finest level as 512 floats, in `scratch` or elsewhere.
  using RightHandSide = FunctionRef<const float*(int bucket, float* scratch)>;

  /// One cycle from zero, in two halves, so that the caller may stop when it has seen the residual. begin() asks every
  /// bucket with unknowns once for its right-hand side through `first`, before anything else reads it, then through
  /// `again`; finish() hands 512 values of each to `finished` as soon as they are final. Both are called from several
  /// threads. Collective.
  void begin(Exec& exec, RightHandSide first, RightHandSide again);
  void finish(Exec& exec, RightHandSide again, FunctionRef<void(int bucket, const float* values)> finished);

  /// Bounds of the cycle's result on the finest level.
  struct Bounds {
    FunctionRef<const float*(int bucket)> least;  ///< 512 floats; null where there are none
    float correction = 1;                         ///< weight of the coarse correction
    int rounds = 1;                               ///< relaxations of all buckets after it
  };

  /// The same cycle where relaxation on the finest level stays at or above bounds, and what is at its bound after the
  /// first relaxations takes no part in the coarse correction. Needs two levels. Collective.
  void begin_bounded(Exec& exec, RightHandSide first, RightHandSide again, const Bounds& bounds);
  void finish_bounded(Exec& exec, RightHandSide again, const Bounds& bounds,
                      FunctionRef<void(int bucket, const float* values)> finished);

  /// Fills the right-hand side of level l + 1 with the restriction of one of level l. Collective.
  void restrict_to(Exec& exec, int l, const float* rhs);
  /// Interpolates values of level l + 1 to level l; only where there are unknowns. Collective.
  void prolong_from(Exec& exec, int l, const double* coarse, double* fine);

  /// True when the last level is solved directly; else it is relaxed.
  bool direct() const { return direct_ != nullptr; }

  int level_count() const { return static_cast<int>(levels_.size()); }
  Level& level(int l) { return *levels_[static_cast<std::size_t>(l)]; }
  const Level& level(int l) const { return *levels_[static_cast<std::size_t>(l)]; }

 private:
  void derive_below(Exec& exec, const Multigrid& base, int first);
  int sweeps(const Level& level, int bucket) const;
  void correct_below(Exec& exec, int l, RightHandSide again, const Bounds& bounds,
                     FunctionRef<void(int, const float*)> finished);
  void descend(Exec& exec, Level& level, RightHandSide first, RightHandSide again, const Bounds& bounds);
  void ascend(Exec& exec, Level& level, Level& coarse, RightHandSide again, const Bounds& bounds,
              FunctionRef<void(int, const float*)> finished);
  void gather_coarse(Exec& exec, Level& fine, Level& coarse);
  void fetch_coarse(Exec& exec, Level& fine, Level& coarse);
  bool relaxes_last(Exec& exec) const;
  void solve_last(Exec& exec, RightHandSide rhs, FunctionRef<void(int, const float*)> finished);
  void factor_last(Exec& exec);

  Settings settings_;
  std::vector<std::unique_ptr<Level>> levels_;
  // The last level: unknowns of this rank by bucket and cell, where they start among all, and the factor of the whole.
  std::vector<std::int64_t> last_cells_;
  std::int64_t last_first_ = 0, last_total_ = 0;
  std::vector<std::int32_t> last_closed_;  // by unknown of all ranks: its component, where that has no sink
  bool few_last_ = false;                  // few enough to factorise
  std::unique_ptr<DirectSolver> direct_;
};

}  // namespace aegir
