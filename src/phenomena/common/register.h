// Everything that common/ adds to the catalog.
#pragma once

namespace aegir {

class Catalog;
void register_common(Catalog& catalog);

}  // namespace aegir
