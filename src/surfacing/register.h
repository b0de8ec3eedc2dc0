// Everything that surfacing adds to the catalog.
#pragma once

namespace aegir {

class Catalog;
void register_surfacing(Catalog& catalog);

}  // namespace aegir
