// Cached Object.
#pragma once

namespace aegir {

class Catalog;
void register_cached_object(Catalog& catalog);

}  // namespace aegir
