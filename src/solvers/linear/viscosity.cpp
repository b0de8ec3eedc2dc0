#include "solvers/linear/viscosity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "solvers/linear/viscosity_level.h"
#include "solvers/linear/viscosity_solve.h"

namespace aegir {
namespace {

bool positive(double x) { return std::isfinite(x) && x > 0; }

Status check(const ViscosityChannels& channels, const ViscositySettings& s) {
  if (!positive(s.dt)) return simulation_error("the time step of viscosity is {}, not a positive number", s.dt);
  if (!positive(s.density)) return simulation_error("the density is {}, not a positive number", s.density);
  if (!channels.viscosity.name && !(std::isfinite(s.constant_viscosity) && s.constant_viscosity >= 0))
    return simulation_error("the viscosity is {}, not a number of at least 0", s.constant_viscosity);
  return {};
}

std::string place_of(const BucketKey& key, int cell) {
  const Vec3i at = key.coord * bucket_size + Vec3i{cell >> 6, (cell >> 3) & 7, cell & 7};
  return fmt::format("cell ({}, {}, {})", at.x, at.y, at.z);
}

/// What is wrong with the distances or the viscosity in or next to a bucket.
std::string describe(const ViscosityLevel& level, const ViscosityChannels& channels) {
  const int b = level.bad_bucket();
  const ViscosityTrouble t = level.trouble(b);
  return fmt::format(
      "'{}' in or next to the bucket of {} {}",
      t == ViscosityTrouble::liquid_distance  ? channels.liquid_distance.name
      : t == ViscosityTrouble::solid_distance ? channels.solid_distance.name
                                              : channels.viscosity.name,
      place_of(level.topology().key(b), 0),
      t == ViscosityTrouble::viscosity ? "is negative or not a finite number" : "is not a finite number");
}

/// The channels as memory, ghosts filled. Collective.
ViscosityInput open_channels(Exec& exec, DiscreteVolume& volume, const ViscosityChannels& channels,
                             const ViscositySettings& settings) {
  const Topology& t = volume.topology();
  ViscosityInput input;
  input.topology = &t;
  volume.read<Halo<2>>(channels.liquid_distance).prepare_whole(exec);
  volume.read<Halo<2>>(channels.solid_distance).prepare_whole(exec);
  volume.read(channels.known).prepare(exec);
  const GridStore& solid = volume.store(channels.solid_distance.name);
  input.liquid_distance = std::as_const(volume).store(channels.liquid_distance.name).plane<float>(0);
  input.solid_distance = solid.plane<float>(0);
  input.free_slip = settings.free_slip;
  input.solid_background = static_cast<float>(solid.info.background[0]);
  for (int a = 0; a < 3; ++a) input.known[a] = std::as_const(volume).store(channels.known.name).plane<float>(a);
  input.stiffness = settings.dt / (settings.density * t.spacing() * t.spacing());
  if (channels.open_area.name) {
    volume.read<Halo<2>>(channels.open_area).prepare_whole(exec);
    for (int a = 0; a < 3; ++a) input.area[a] = std::as_const(volume).store(channels.open_area.name).plane<float>(a);
  }
  if (channels.viscosity.name) {
    volume.read<Halo<1>>(channels.viscosity).prepare_whole(exec);
    input.viscosity = std::as_const(volume).store(channels.viscosity.name).plane<float>(0);
  } else {
    input.stiffness *= settings.constant_viscosity;
  }
  return input;
}

}  // namespace

SolveReport solve_viscosity(Exec& exec, DiscreteVolume& volume, const ViscosityChannels& channels,
                            const ViscositySettings& settings) {
  Stopwatch watch;
  SolveReport report;
  const auto leave = [&](const std::string& why) {
    report.trouble = why + "; the velocity was left as it is";
    report.seconds = watch.seconds();
    return report;
  };
  if (const Status status = check(channels, settings); !status) return leave(status.error().message);
  const ViscosityInput input = open_channels(exec, volume, channels, settings);
  if (!(input.stiffness <= 1e12)) return leave("the viscosity is too large for this time step and voxel size");
  const ViscosityLevel level(exec, input, settings.memory);
  report.unknowns = level.unknowns();
  Status found;
  if (level.bad_bucket() >= 0) found = simulation_error("{}", describe(level, channels));
  found = exec.comm.agree(found);
  if (!found) return leave(found.error().message);
  report.setup_seconds = watch.seconds();
  if (report.unknowns == 0) {
    report.converged = true;
    report.seconds = watch.seconds();
    return report;
  }
  volume.read(channels.solid_velocity).prepare(exec);
  volume.write(channels.velocity).prepare(exec);
  ViscositySolve solve(exec, level, input, volume.store(channels.velocity.name),
                       volume.store(channels.solid_velocity.name), settings);
  solve.run(report);
  if (settings.forget_others) {
    volume.write(channels.known).prepare(exec);
    solve.forget_others(volume.store(channels.known.name));
  }
  report.seconds = watch.seconds();
  return report;
}

}  // namespace aegir
