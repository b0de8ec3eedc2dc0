// A Behavior that a stranger adds: one folder, one register function.
#pragma once

namespace aegir {

class Catalog;
void register_speed_limit(Catalog& catalog);

}  // namespace aegir
