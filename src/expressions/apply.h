// Runs a compiled snippet over a whole particle system or volume, bucket by bucket on all threads.
//
//   Application how;
//   how.values = {{"dt", {0.01f}}, {"time", {2.5f}}};
//   how.seed = setup_seed; how.step = substep; how.purpose = number_of_the_expression;
//   how.stop = &cancelled;                                   // Ctrl-C
//   Status done = apply(exec, "expression.heat", program, particles, how);
//
// Channels that the snippet creates are declared first; channels it writes lose their ghosts; particles that
// deletepoint() marked get the complement of their id, so that the next rebucket() drops them. The caller's grant must
// cover Program::attributes(), `id` for writing where Uses::deletes.
#pragma once

#include "domain/exec.h"
#include "domain/particles/particle_system.h"
#include "domain/volume/discrete_volume.h"
#include "expressions/program.h"

namespace aegir::expression {

/// With what a program is run.
struct Application {
  std::vector<Value> values;
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t purpose = 0;
  const std::int32_t* stop = nullptr;
  std::int64_t loop_budget = 1'000'000;
  const Services* services = nullptr;
};

/// The channels that exist, as CompileOptions::channels wants them; those of a type the language lacks are left out.
std::vector<Named> channels_of(const ParticleSystem& particles);
std::vector<Named> channels_of(const DiscreteVolume& volume);

/// Declares what the program creates. apply() does this; a scheduler that plans ahead may do it earlier.
Status declare_created(const Program& program, ParticleSystem& particles);
Status declare_created(const Program& program, DiscreteVolume& volume);

/// Runs over every local particle. Fails when it was interrupted or a loop went on too long.
Status apply(Exec& exec, const char* label, const Program& program, ParticleSystem& particles,
             const Application& how = {});
/// Runs over particles or cells without changing any channel: what the snippet writes goes to copies. For services that
/// have to know what they are asked before they can answer. How loops end is not told.
void rehearse(const Program& program, ParticleSystem& particles, const Application& how);
void rehearse(const Program& program, DiscreteVolume& volume, const Application& how);

/// Runs over every cell of every local bucket; a face channel is seen as a vec3f of the three faces of its cell.
Status apply(Exec& exec, const char* label, const Program& program, DiscreteVolume& volume,
             const Application& how = {});

}  // namespace aegir::expression
