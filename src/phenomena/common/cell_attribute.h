// What particles say, cell by cell: the mean of a parameter that comes from one of their attributes.
#pragma once

#include "phenomena/common/hybrid_object.h"
#include "pipeline/schema/parameter.h"

namespace aegir {

/// Channels of one such parameter; the Object declares both.
struct CellAttribute {
  CellChannel<float> mean;  ///< of cells with particles; below zero in others
  CellChannel<float> value;
};

/// Writes `value`: the mean of what `of(parameter)` is for each cell's particles. Cells without any take the mean of
/// those around, so that air and walls beside particles do not change it; `otherwise` where there are none. `of` gives
/// numbers that are not negative. Reads P and the attribute; writes mean and value, reads mean with halo 1.
void cell_attribute(Exec& exec, HybridObject& object, const AttributeBinding& binding, const CellAttribute& channels,
                    double otherwise, FunctionRef<double(double)> of);

/// Whether a parameter is bound to an attribute that the Object's particles have.
bool from_particles(const Parameter<double>& parameter, HybridObject& object);

}  // namespace aegir
