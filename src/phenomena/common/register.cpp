#include "phenomena/common/register.h"

#include "phenomena/common/cached_object.h"
#include "phenomena/common/collider.h"
#include "phenomena/common/emitter.h"
#include "phenomena/common/forces.h"
#include "phenomena/common/lifespan.h"
#include "phenomena/common/particle_object.h"
#include "phenomena/common/points_output.h"

namespace aegir {

void register_common(Catalog& catalog) {
  register_particles(catalog);
  register_forces(catalog);
  register_emitter(catalog);
  register_collider(catalog);
  register_lifespan(catalog);
  register_cached_object(catalog);
  register_points_output(catalog);
}

}  // namespace aegir
