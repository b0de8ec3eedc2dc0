// Sources and sinks of liquid.
#pragma once

namespace aegir {

class Catalog;
void register_source(Catalog& catalog);

}  // namespace aegir
