// Lifespan.
#pragma once

namespace aegir {

class Catalog;
void register_lifespan(Catalog& catalog);

}  // namespace aegir
