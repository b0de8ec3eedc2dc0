// A V-cycle for viscosity: coarse levels are the same system made from distances of every second node and of eight
// cells each; a fixed symmetric positive definite operator, to precondition conjugate gradients with.
//
//   ViscosityMultigrid cycle(exec, level, input, memory);
//   … fill cycle.residual() and cycle.begin_scale() of it into cycle.solution() …
//   const double rz = cycle.run(exec);        // solution ≈ A⁻¹ residual; returns their product
#pragma once

#include <memory>
#include <vector>

#include "solvers/linear/level.h"
#include "solvers/linear/viscosity_level.h"

namespace aegir {

/// The levels and the cycle over them. With one level it is the diagonal.
class ViscosityMultigrid {
 public:
  /// Builds the coarse levels, as many as the stiffness asks for. Collective.
  ViscosityMultigrid(Exec& exec, const ViscosityLevel& fine, const ViscosityInput& input, BufferPool* pool);

  /// The right-hand side on the finest level, for the caller to fill; ghosts are not read.
  FaceField<float>& residual() { return floors_.front()->rhs; }
  /// The first relaxation from zero, for the caller: solution = first_factor() residual / diagonal.
  FaceField<float>& solution() { return floors_.front()->z; }
  float first_factor() const { return floors_.front()->omega.front(); }

  /// Memory of the cycle's that may hold anything while it does not run.
  FaceField<float>& scratch() { return floors_.front()->other; }

  /// The rest of the cycle; returns residual · solution. Not to be called where there is one level. Collective.
  double run(Exec& exec);

  /// Leaves nothing but the diagonal.
  void drop_levels() {
    floors_.resize(1);
    floors_.front()->omega = {1.0f};
  }

  int level_count() const { return static_cast<int>(floors_.size()); }

 private:
  /// One level and its memory.
  struct Floor {
    std::shared_ptr<const Topology> topology;
    std::unique_ptr<ViscosityLevel> own;
    const ViscosityLevel* level = nullptr;
    BucketField liquid, node, viscosity;  // on coarse levels, while they are built
    FaceField<float> rhs, z, other;
    std::vector<float> omega;  // of the relaxations
    ParentPlan parents;        // to the next level
    PooledBuffer weights;      // of interpolation to this level's faces, by bucket with coefficients
    std::vector<const float*> weight_of;
    BucketField around;  // coarse faces of buckets whose parent lives elsewhere
  };

  bool coarsen(Exec& exec, const ViscosityInput& fine_input, ViscosityInput& coarse_input);
  void fill_coarse(Exec& exec, const ViscosityInput& input, Floor& fine, Floor& coarse);
  void fill_weights(Exec& exec, Floor& fine, Floor& coarse);
  void restrict_to(Exec& exec, Floor& fine, Floor& coarse);
  void prolong_from(Exec& exec, Floor& fine, Floor& coarse);
  double relax(Exec& exec, Floor& floor, float omega, bool product);
  double cycle(Exec& exec, std::size_t l);
  static const float* faces_around(const Floor& fine, const Floor& coarse, const FaceField<float>& values, int b,
                                   float* scratch);
  void fetch(Exec& exec, Floor& fine, Floor& coarse, FaceField<float>& values);

  BufferPool* pool_;
  std::vector<std::unique_ptr<Floor>> floors_;
};

}  // namespace aegir
