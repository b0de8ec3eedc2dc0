// Emitter.
#pragma once

namespace aegir {

class Catalog;
void register_emitter(Catalog& catalog);

}  // namespace aegir
