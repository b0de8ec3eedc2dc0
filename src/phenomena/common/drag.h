// Drag of still and moving air on particles, and on liquids where they are thin.
#pragma once

namespace aegir {

class Catalog;
void register_drag(Catalog& catalog);

}  // namespace aegir
