// Every type that this build of Aegir knows, and those that later versions bring.
//
//   const Catalog catalog = make_catalog();
//   Result<Setup> setup = load_setup("rain.yaml", {}, catalog, messages);
#pragma once

#include "pipeline/schema/catalog.h"

namespace aegir {

/// All types of all phenomena.
Catalog make_catalog();

}  // namespace aegir
