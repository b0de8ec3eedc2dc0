// Sand: friction inside a Hybrid Object.
#pragma once

namespace aegir {

class Catalog;
void register_sand(Catalog& catalog);

}  // namespace aegir
