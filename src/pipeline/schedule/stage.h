// The timeline, cut into Stages. Objects and Actions place their Tasks on Stages at development time; a Stage is a
// barrier: whatever stands in an earlier one is done before a later one starts. Nothing else orders work.
//
//   run                 ingest
//   └─ frame            frame_begin
//      └─ substep       substep_begin · move_inputs · group_exit · group_enter · emit · after_emission · rebucket
//         └─ Newton     begin_iteration · to_grid · evaluate_forces · after_forces · boundaries · solve · after_solve ·
//         to_particles
//                       move · collide · after_move · remove · audit
//                       frame_end · output
//
// Fluids and particles pass the Newton block once; solids will repeat it until their residual vanishes.
#pragma once

#include <string_view>

namespace aegir {

/// User-facing stages are those where expressions may hook in; their names appear in setups and do not change.
enum class Stage {
  ingest,           ///< user: Objects and inputs are made; once
  frame_begin,      ///< user: a frame starts
  substep_begin,    ///< user: settings take their value of this time
  move_inputs,      ///< colliders and other kinematic Objects go to the end of the substep
  group_exit,       ///< what changes its nature leaves its Object
  group_enter,      ///< … and enters another
  emit,             ///< new particles and voxels
  after_emission,   ///< user: what is new can be seen
  rebucket,         ///< particles into buckets, buckets created and removed, ranks balanced
  begin_iteration,  ///< Newton block: residuals and forces start from zero
  to_grid,          ///< particles to grid
  evaluate_forces,  ///< forces change velocities
  after_forces,     ///< user: velocities after forces, before solves
  boundaries,       ///< solid fractions, distances, extrapolation
  solve,            ///< viscosity, pressure, contact
  after_solve,      ///< user: velocities as they will move things
  to_particles,     ///< grid to particles; end of the Newton block
  move,             ///< positions
  collide,          ///< what is left of collisions after the move
  after_move,       ///< user: the state of the substep's end
  remove,           ///< what is too old or outside goes
  audit,            ///< mass, momentum, energy, finiteness
  frame_end,        ///< user: the state that is written
  output,           ///< files
};

inline constexpr int stage_count = static_cast<int>(Stage::output) + 1;

std::string_view stage_name(Stage stage);
bool user_facing(Stage stage);
/// True for the stages that run in every substep.
constexpr bool in_substep(Stage s) { return s >= Stage::substep_begin && s <= Stage::audit; }

}  // namespace aegir
