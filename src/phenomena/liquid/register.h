// Behaviors that are particular to liquids.
#pragma once

namespace aegir {

class Catalog;
void register_liquid(Catalog& catalog);

}  // namespace aegir
