// Implicit viscosity of free-surface flow, in the variational form of Batty and Bridson (2008): the velocity u that
// minimises
//
//   sum over faces of rho V |u - u*|² / 2  +  dt sum over strain samples of mu V |(grad u + grad uᵀ) / 2|²
//
// where V is the share of liquid around each sample. The free surface is free of traction by itself: a rigid motion of
// a free blob costs nothing and is left as it is, and momentum and angular momentum are conserved. Faces whose centre
// lies in a solid have the solid's velocity (no slip); differences across a wall are taken over the distance to the
// wall, so walls need not lie on faces. With ViscositySettings::free_slip walls bear no shear: then only faces that
// look towards a wall have the solid's velocity.
//
//   const SolveReport report = solve_viscosity(exec, volume, {velocity, known, distance, solid, solid_velocity, {}},
//                                              {.dt = dt, .density = 1400, .constant_viscosity = 10});
//   if (!report.converged) context.warn(report.trouble);
//
// Conjugate gradients from the start u*, preconditioned by multigrid where the system is stiff, by its diagonal where
// it is not. The iteration is single precision, around it the true residual is evaluated in double. Same bits for any
// number of threads and ranks.
//
// Accesses to declare: read `liquid_distance`, `solid_distance` and `open_area` with halo 2, `viscosity` with halo 1,
// `known` and `solid_velocity` without; write `velocity`, and `known` with `forget_others`. Liquid must keep a layer of
// buckets around it: what lies outside all buckets neither holds liquid nor a wall.
#pragma once

#include "domain/channel/buffer.h"
#include "domain/exec.h"
#include "domain/volume/discrete_volume.h"
#include "solvers/report.h"

namespace aegir {

/// The channels of a viscosity system.
struct ViscosityChannels {
  FaceChannel<float> velocity;               ///< u* in, u out (m/s); faces that no liquid reaches are left as they are
  FaceChannel<float> known;                  ///< > 0 where u* means something; elsewhere a face has no mass and follows
  CellChannel<float> liquid_distance;        ///< cells, negative in liquid
  NodeChannel<float> solid_distance;         ///< cells, negative in solids
  FaceChannel<float> solid_velocity;         ///< m/s, read where a face's centre lies in a solid
  CellChannel<float> viscosity = {nullptr};  ///< Pa s, >= 0; nameless: ViscositySettings::constant_viscosity
  /// Open share of each face; nameless: no solid is thinner than a cell. A face that is closed (0) outside solids is
  /// closed by a sheet: it has the solid's velocity, and what lies on both sides slips past it.
  FaceChannel<float> open_area = {nullptr};
};

/// How viscous, how exactly, how long.
struct ViscositySettings {
  double dt = 0;                  ///< s
  double density = 1000;          ///< kg/m³
  double constant_viscosity = 0;  ///< Pa s, where there is no channel of it
  bool free_slip = false;         ///< walls bear no shear; only the velocity towards them is prescribed
  /// Makes `known` 0 on faces that the liquid's viscosity does not reach: their u* has not felt it, and is to be
  /// replaced by the velocity of faces nearby.
  bool forget_others = false;
  double tolerance = 1e-4;  ///< of the true relative residual |b - A x| / |b|
  int max_iterations = 1000;
  BufferPool* memory = nullptr;  ///< outlives the solve, for the next one: saves clearing fresh pages
  /// Smoothed aggregation with its direct fail-safe takes over where conjugate gradients fail, up to this many
  /// unknowns.
  std::int64_t failsafe_limit = 2'000'000;
};

/// Replaces the velocity by the one after dt of viscosity. Never throws or gives up silently: the report says what
/// happened, and where the input is unusable the velocity is left as it is. Collective.
SolveReport solve_viscosity(Exec& exec, DiscreteVolume& volume, const ViscosityChannels& channels,
                            const ViscositySettings& settings);

}  // namespace aegir
