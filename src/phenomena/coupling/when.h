// `when` of a transition: an expression that decides, particle by particle, who changes its nature.
//
//   const std::string channel = when_channel(*from.particles(), build.path());      // where the outcome is kept
//   WhenSettings when{text, liquid, density, seed};
//   if (Status ok = add_when(build, from, channel, when); !ok) return ok;
//
// Of simulated particles it is evaluated in Stage::audit, where grids can be sampled, and kept with them until
// Stage::group_exit of the next substep; those of a cached run are read anew there and looked at on the spot.
#pragma once

#include <string>

#include "phenomena/common/hybrid_object.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/types.h"

namespace aegir {

struct WhenSettings {
  Located<std::string> text;
  const HybridObject* liquid = nullptr;  ///< whose density and gravity $density and $g are; null: a cached run
  double density = 1000;                 ///< kg/m³, of a cached run
  std::int64_t seed = 1;
};

/// A name for the channel that keeps what `when` of a Behavior says: 1 and 0, or a number.
std::string when_channel(const ParticleSystem& particles, const std::string& behavior);

/// Compiles the expression and plans its task; mistakes carry their place. Channels that it may read exist already.
Status add_when(Builder& build, Object& from, const std::string& channel, const WhenSettings& settings);

}  // namespace aegir
