#include "engine/catalog.h"

#include "phenomena/common/register.h"
#include "phenomena/liquid/register.h"
#include "phenomena/sand/register.h"
#include "surfacing/register.h"

namespace aegir {

Catalog make_catalog() {
  Catalog catalog;
  register_common(catalog);
  register_liquid(catalog);
  register_sand(catalog);
  register_surfacing(catalog);
  // What setups of the language may name and this version does not have yet; types that exist are left out by
  // announce().
  catalog.announce("droplets", "droplets");
  catalog.announce("droplet_collisions", "droplets");
  catalog.announce("transition", "transitions between Objects");
  catalog.announce("expression", "expressions");
  catalog.announce("preview", "previews during a run");
  catalog.announce("report", "reports");
  return catalog;
}

}  // namespace aegir
