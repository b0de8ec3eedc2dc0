// Channels that particles of any kind share; the names are those other programs know.
#pragma once

#include "domain/channel/channel.h"

namespace aegir {

namespace particle {
inline constexpr ParticleChannel<Vec3f> velocity{"v", unit::metre_per_second};
inline constexpr ParticleChannel<float> radius{"pscale", unit::metre, 0.001f};
inline constexpr ParticleChannel<float> mass{"mass", unit::kilogram, 4.2e-6f};
inline constexpr ParticleChannel<float> age{"age", unit::second};
}  // namespace particle

}  // namespace aegir
