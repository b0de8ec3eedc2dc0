#include "engine/catalog.h"

#include "phenomena/common/register.h"
#include "phenomena/coupling/register.h"
#include "phenomena/droplets/register.h"
#include "phenomena/liquid/register.h"
#include "phenomena/sand/register.h"
#include "surfacing/register.h"

namespace aegir {

Catalog make_catalog() {
  Catalog catalog;
  register_common(catalog);
  register_liquid(catalog);
  register_sand(catalog);
  register_droplets(catalog);
  register_coupling(catalog);
  register_surfacing(catalog);
  // What setups of the language may name and this version does not have yet; types that exist are left out by
  // announce().
  catalog.announce("preview", "previews during a run");
  catalog.announce("report", "reports");
  return catalog;
}

}  // namespace aegir
