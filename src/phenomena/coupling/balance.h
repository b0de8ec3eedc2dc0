// What a transition hands over, summed exactly: both sides are counted as they are stored, so that a loss would show.
#pragma once

#include <array>

#include "base/vec.h"
#include "domain/exec.h"
#include "domain/state/state_tree.h"

namespace aegir {

/// Mass and momentum of one handing over, on this rank.
class Handover {
 public:
  void leaves(double mass, const Vec3d& velocity) { add(0, mass, velocity); }
  void enters(double mass, const Vec3d& velocity) { add(1, mass, velocity); }

  struct Sums {
    double mass = 0, momentum_size = 0;
    Vec3d momentum;
  };
  /// Over all ranks; collective.
  Sums left(Exec& exec) const { return total(exec, 0); }
  Sums entered(Exec& exec) const { return total(exec, 1); }

 private:
  void add(std::size_t side, double mass, const Vec3d& v) {
    auto& s = sums_[side];
    s[0].add(mass), s[1].add(mass * length(v));
    for (int a = 0; a < 3; ++a) s[static_cast<std::size_t>(2 + a)].add(mass * v[a]);
  }
  Sums total(Exec& exec, std::size_t side) const {
    const auto sum = [&](std::size_t n) { return exec.comm.sum(sums_[side][n]); };
    Sums s;
    s.mass = sum(0), s.momentum_size = sum(1), s.momentum = {sum(2), sum(3), sum(4)};
    return s;
  }

  std::array<std::array<ExactSum, 5>, 2> sums_;  // mass, |momentum|, momentum; left, entered
};

/// The sum of all that was handed over in a run, for the statistics and checkpoints.
struct Balance {
  double left = 0, entered = 0;  ///< kg
  double momentum_error = 0;     ///< |Σ momentum that entered - left| over Σ m |v| that left
  double difference[3] = {0, 0, 0}, momentum_size = 0;

  /// Collective.
  void book(Exec& exec, const Handover& handover) {
    const Handover::Sums out = handover.left(exec), in = handover.entered(exec);
    left += out.mass, entered += in.mass, momentum_size += out.momentum_size;
    for (int a = 0; a < 3; ++a) difference[a] += in.momentum[a] - out.momentum[a];
    const double size = length(Vec3d(difference[0], difference[1], difference[2]));
    momentum_error = momentum_size > 0 ? size / momentum_size : 0;
  }
  void keep_in(StateTree& state) {
    state.record("left", &left).record("entered", &entered).record("momentum_error", &momentum_error);
    state.record("momentum_size", &momentum_size);
    state.record("difference_x", &difference[0]).record("difference_y", &difference[1]);
    state.record("difference_z", &difference[2]);
  }
};

}  // namespace aegir
