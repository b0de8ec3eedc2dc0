// Colours of sand: every grain has its own, which it keeps wherever it goes.
//
//   Vec3f color = sand_color(grain_of(rest));                      // by where it was born
//   Vec3f color = sand_color(grain_of(id), layer_of(rest.y, 0.1)); // in layers of ten centimetres
#pragma once

#include <cstdint>

#include "base/vec.h"

namespace aegir {

/// Numbers a grain by the place it was born at, bit by bit, so that no two frames differ.
std::uint64_t grain_of(const Vec3f& rest);

/// Numbers a grain by the id of its particle.
std::uint64_t grain_of(std::int64_t id);

/// The number of the layer that a height lies in; layers are counted from zero upwards, below zero downwards.
int layer_of(double height, double thickness);

/// The colour of a grain of dry sand as linear light: ochre, lighter and darker, redder and greyer, with a few dark
/// ones.
Vec3f sand_color(std::uint64_t grain);

/// What many grains look like from afar.
Vec3f plain_sand();

/// The colour of a grain in a layer of dyed sand; four dyes take turns.
Vec3f sand_color(std::uint64_t grain, int layer);

/// The colour of a surface of sand at a place where that grain is: less varied, because it stands for many.
Vec3f sand_surface_color(std::uint64_t grain);

/// Factor on a colour that differs between unit cells of space, one on average.
float speckle(const Vec3f& place);

/// A vector, each component between -1 and 1, that differs between unit cells of space.
Vec3f roughness(const Vec3f& place);

/// Factor on the colour of a particle at one place of it: one particle stands for many grains. `outward` is the place
/// from its middle in radii.
float speckle(const Vec3f& color, const Vec3f& outward);

}  // namespace aegir
