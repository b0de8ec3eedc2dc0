// Expression: a snippet of OpenVDB AX that runs over the particles or cells of Objects, at a stage the user chooses.
#pragma once

namespace aegir {

class Catalog;
void register_expression(Catalog& catalog);

}  // namespace aegir
