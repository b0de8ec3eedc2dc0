// Points output.
#pragma once

namespace aegir {

class Catalog;
void register_points_output(Catalog& catalog);

}  // namespace aegir
