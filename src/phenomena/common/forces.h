// Gravity, air and wind drag, attractor.
#pragma once

namespace aegir {

class Catalog;
void register_forces(Catalog& catalog);

}  // namespace aegir
