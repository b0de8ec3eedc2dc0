#include "engine/catalog.h"

#include "phenomena/common/register.h"

namespace aegir {

Catalog make_catalog() {
  Catalog catalog;
  register_common(catalog);
  // What setups of the language may name and this version does not have yet; types that exist are left out by
  // announce().
  catalog.announce("hybrid", "liquids");
  catalog.announce("pressure", "liquids");
  catalog.announce("viscosity", "liquids");
  catalog.announce("domain", "liquids");
  catalog.announce("source", "liquids");
  catalog.announce("sand", "sand");
  catalog.announce("droplets", "droplets");
  catalog.announce("droplet_collisions", "droplets");
  catalog.announce("transition", "transitions between Objects");
  catalog.announce("expression", "expressions");
  catalog.announce("surface", "surfacing");
  catalog.announce("preview", "previews during a run");
  catalog.announce("report", "reports");
  return catalog;
}

}  // namespace aegir
