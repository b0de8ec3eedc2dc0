// ShapeSettings as users write them: `shape: {kind: sphere, center: [0, 1, 0], radius: 25 cm}`.
#pragma once

#include "geometry/shapes.h"
#include "pipeline/schema/schema.h"

namespace aegir {

inline void describe(Schema<ShapeSettings>& s) {
  s.field("kind", &ShapeSettings::kind)
      .choices({{"sphere", ShapeKind::sphere, "Ball of `radius`."},
                {"box", ShapeKind::box, "Box of `size`."},
                {"plane", ShapeKind::plane, "Everything below the plane through `center` with normal `axis`."},
                {"cylinder", ShapeKind::cylinder, "Of `radius` and `height` along `axis`."},
                {"capsule", ShapeKind::capsule, "Cylinder with half spheres at its ends."},
                {"torus", ShapeKind::torus, "Ring of `radius` with a tube of `minor_radius`."},
                {"disc", ShapeKind::disc, "Thin round sheet."},
                {"rectangle", ShapeKind::rectangle, "Thin sheet, x and z of `size`."}})
      .doc("Which shape.");
  s.field("center", &ShapeSettings::center).unit("m").doc("Its middle.");
  s.field("size", &ShapeSettings::size).unit("m").doc("Whole edge lengths.");
  s.field("radius", &ShapeSettings::radius).unit("m").above(0).doc("Radius; of a torus that of the ring.");
  s.field("minor_radius", &ShapeSettings::minor_radius).unit("m").above(0).doc("Radius of a torus's tube.");
  s.field("height", &ShapeSettings::height)
      .unit("m")
      .above(0)
      .doc("Height of a cylinder; of a capsule without its ends.");
  s.field("axis", &ShapeSettings::axis).doc("Axis of round shapes, normal of flat ones.");
}

}  // namespace aegir
