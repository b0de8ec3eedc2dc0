// Pressure Material: keeps the volume of liquids.
#pragma once

namespace aegir {

class Catalog;
void register_pressure(Catalog& catalog);

}  // namespace aegir
