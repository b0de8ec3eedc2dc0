// Derived channels: what can be worked out of a liquid's state, and is only when somebody asks for it.
//
//   if (auto* source = dynamic_cast<DerivedSource*>(object)) source->derive("vorticity", Asked::frame_end);
//   …                                                     // from then on the Object's particles have the channel
//
// | name                | unit  | what                                                                               |
// |---------------------|-------|------------------------------------------------------------------------------------|
// | `surface_distance`  | m     | to the surface, negative inside; up to three cells, beyond that three cells         |
// | `density`           | kg/m³ | mass over the volume that the surface encloses, in the 27 cells around | |
// `vorticity`         | 1/s   | ∇ × u                                                                                |
// | `pressure_gradient` | Pa/m  | ∇p as the solve for pressure has it; 0 where there is none, as in drops | |
// `neighbours`        |       | how many other particles are within one cell size                                    |
// | `travelled`         | m     | length of the way since birth; carried along, and in checkpoints |
//
// Particles take theirs at the place where the substep began, and carry them on while they move: most of these change
// slowly along with the liquid.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "domain/channel/buffer.h"
#include "domain/exec.h"
#include "domain/particles/particle_system.h"
#include "domain/volume/discrete_volume.h"

namespace aegir {

namespace particle {
inline constexpr ParticleChannel<float> surface_distance{"surface_distance", unit::metre};
inline constexpr ParticleChannel<float> density{"density", unit::kilogram_per_metre3};
inline constexpr ParticleChannel<Vec3f> vorticity{"vorticity", unit::per_second};
inline constexpr ParticleChannel<Vec3f> pressure_gradient{"pressure_gradient", unit::pascal / unit::metre};
inline constexpr ParticleChannel<std::int32_t> neighbours{"neighbours"};
inline constexpr ParticleChannel<float> travelled{"travelled", unit::metre};
}  // namespace particle

namespace grid {
inline constexpr CellChannel<Vec3f> vorticity{"vorticity", unit::per_second};
inline constexpr CellChannel<Vec3f> pressure_gradient{"pressure_gradient", unit::pascal / unit::metre};
inline constexpr CellChannel<float> density{"density", unit::kilogram_per_metre3};
/// Scratch: mass and share of liquid of each cell, and the signed distance up to three cells.
inline constexpr CellChannel<float> cell_mass{"cell_mass", unit::kilogram};
inline constexpr CellChannel<float> cell_share{"cell_share"};
inline constexpr CellChannel<float> true_distance{"true_distance", {}, 3.0f};
}  // namespace grid

/// One derived channel, as far as it must be known before it exists.
struct DerivedInfo {
  const char* name;
  bool vector = false;
  bool on_cells = false;  ///< also as a volume
};

/// All of them, by name.
std::span<const DerivedInfo> derived_channels();
/// The one of a name, or null.
const DerivedInfo* find_derived(std::string_view name);

/// When a derived channel must be right: in files only, or whenever somebody looks.
enum class Asked { frame_end, every_substep };

/// An Object that can work them out.
class DerivedSource {
 public:
  virtual ~DerivedSource() = default;
  /// From now on particles have the channel; asks once or often. False for a name that is none.
  virtual bool derive(std::string_view name, Asked when) = 0;
};

/// What the kernels read of a liquid's grid.
struct FlowChannels {
  FaceChannel<float> velocity, open_area;
  CellChannel<float> surface_distance, room;  ///< cells, negative inside; open share of cells
  CellChannel<double> pressure;               ///< as a velocity: p dt / (ρ Δx)
};

/// Writes grid::vorticity. A slope is taken between the centres of liquid cells with an open face between them, from
/// both sides or from one: exact for linear flow, also at the surface and beside solids. Reads all with halo 1.
void derive_vorticity(Exec& exec, DiscreteVolume& volume, const FlowChannels& channels);

/// Writes grid::pressure_gradient, the mean of what the solve takes from a cell's two faces along each axis, where they
/// are open; at the surface with the ghost fluid's gradient. `scale`: pressure channel to pascals. Halo 1.
void derive_pressure_gradient(Exec& exec, DiscreteVolume& volume, const FlowChannels& channels, double scale);

/// Writes grid::density (and the scratch it needs): mass of the particles in the 27 cells around over the volume of
/// liquid in them; `least` is the volume, in cells, that no mass is thought to take less than. Reads P, mass, and
/// surface_distance and room with halo 1.
void derive_density(Exec& exec, const ParticleSystem& particles, DiscreteVolume& volume, const FlowChannels& channels,
                    double least);

/// Writes particle::surface_distance by way of grid::true_distance. Reads surface_distance, and room with halo 4.
void derive_surface_distance(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume,
                             const FlowChannels& channels, BufferPool* memory);

/// Sets a flag for each particle of a bucket whose neighbours somebody wants to know; from any number of threads.
using WantedOf = std::function<void(int bucket, std::span<std::uint8_t> wanted)>;
/// What particles have whose neighbours nobody wanted to know.
inline constexpr std::int32_t not_counted = std::numeric_limits<std::int32_t>::max();

/// Counts the others within one cell size of each particle, or of those that `wanted` flags. Reads P with a halo of one
/// bucket.
void derive_neighbours(Exec& exec, ParticleSystem& particles, const WantedOf& wanted = {});

/// Interpolates a cell channel to particles, linearly, between the cells that hold liquid; 0 where none does. Reads the
/// channel, surface_distance and room with halo 1.
void sample_cells(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume, const FlowChannels& channels,
                  const CellChannel<Vec3f>& from, const ParticleChannel<Vec3f>& to);

/// The same for densities: between the cells that have one.
void sample_density(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume);

}  // namespace aegir
