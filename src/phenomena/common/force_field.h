// Force field: a vector volume from a file that pushes.
#pragma once

namespace aegir {

class Catalog;
void register_force_field(Catalog& catalog);

}  // namespace aegir
