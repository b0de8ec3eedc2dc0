// Droplets: particles that collide, merge and break.
#pragma once

namespace aegir {

class Catalog;
void register_droplets(Catalog& catalog);

}  // namespace aegir
