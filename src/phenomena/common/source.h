// Sources and sinks of liquid.
#pragma once

namespace aegir {

class Catalog;
void register_source(Catalog& catalog);
void register_sink(Catalog& catalog);

}  // namespace aegir
