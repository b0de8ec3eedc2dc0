#include "phenomena/common/register.h"

#include "phenomena/common/cached_object.h"
#include "phenomena/common/collider.h"
#include "phenomena/common/emitter.h"
#include "phenomena/common/expression.h"
#include "phenomena/common/force_field.h"
#include "phenomena/common/forces.h"
#include "phenomena/common/hybrid_object.h"
#include "phenomena/common/lifespan.h"
#include "phenomena/common/limits.h"
#include "phenomena/common/particle_object.h"
#include "phenomena/common/points_output.h"
#include "phenomena/common/pressure.h"
#include "phenomena/common/source.h"
#include "phenomena/common/volumes_output.h"

namespace aegir {

void register_common(Catalog& catalog) {
  register_particles(catalog);
  register_hybrid(catalog);
  register_limits(catalog);
  register_source(catalog);
  register_sink(catalog);
  register_pressure(catalog);
  register_forces(catalog);
  register_force_field(catalog);
  register_emitter(catalog);
  register_collider(catalog);
  register_lifespan(catalog);
  register_expression(catalog);
  register_cached_object(catalog);
  register_points_output(catalog);
  register_volumes_output(catalog);
}

}  // namespace aegir
