// Coupling: Behaviors that know two kinds of Objects.
#pragma once

namespace aegir {

class Catalog;
void register_coupling(Catalog& catalog);

}  // namespace aegir
