#include "pipeline/schema/sections.h"

namespace aegir {

void describe(Schema<SubstepSettings>& s) {
  s.field("cfl", &SubstepSettings::cfl)
      .above(0)
      .soft(0.5, 5)
      .doc("Cells that the fastest thing may move in one substep.");
  s.field("min", &SubstepSettings::min).min(1).max(10000).doc("Fewest substeps of a frame.");
  s.field("max", &SubstepSettings::max).min(1).max(10000).doc("Most substeps of a frame.");
  s.field("fixed", &SubstepSettings::fixed)
      .min(0)
      .max(10000)
      .doc("The same number of substeps in every frame; 0 lets `cfl` decide. `substeps: 4` is short for this.");
  s.shorthand("fixed");
  s.check([](const SubstepSettings& v) {
    return v.min > v.max ? fmt::format("'min' is {}, which is more than 'max', {}", v.min, v.max) : std::string();
  });
}

void describe(Schema<CheckpointSettings>& s) {
  s.field("every", &CheckpointSettings::every)
      .min(0)
      .doc("Frames (`10`) or time (`10 min`) between two checkpoints; 0 writes none but the last.");
  s.field("keep", &CheckpointSettings::keep).min(1).max(100000).doc("How many of the newest checkpoints stay.");
}

void describe(Schema<Timeline>& s) {
  s.field("fps", &Timeline::fps).above(0).max(100000).soft(12, 120).doc("Frames in a second.");
  s.field("frames", &Timeline::frames)
      .min(-10000000)
      .max(10000000)
      .doc("First and last frame, both included; the first is the state at time zero.");
  s.field("substeps", &Timeline::substeps).doc("How a frame is divided.");
  s.field("checkpoint", &Timeline::checkpoint).doc("What a stopped run goes on from.");
  s.check([](const Timeline& t) {
    return t.first() > t.last() ? fmt::format("the last frame, {}, is before the first, {}", t.last(), t.first())
                                : std::string();
  });
}

void describe(Schema<Scene>& s) {
  s.field("up", &Scene::up)
      .choices({{"y", UpAxis::y, "Houdini, Maya, glTF."}, {"z", UpAxis::z, "Blender, 3ds Max."}})
      .doc("Which axis points up in the files that come in and go out; Aegir itself has y up.");
  s.field("metres_per_unit", &Scene::metres_per_unit)
      .above(0)
      .soft(0.001, 1)
      .doc("Metres that one unit of length in these files means.");
}

void describe(Schema<InputSettings>& s) {
  s.field("file", &InputSettings::file)
      .required()
      .doc(
          "File, from the folder of the setup file; a frame pattern (`$F4`, `%04d`, `####`, `{frame}`) names one file "
          "per frame.");
  s.shorthand("file");
  s.field("motion", &InputSettings::motion)
      .choices({{"static", InputMotion::static_, "It does not move."},
                {"rigid", InputMotion::rigid, "Keyed transforms of the file move it."},
                {"deforming", InputMotion::deforming,
                 "Every vertex moves by itself, one file per frame or a deformation file."}})
      .doc("What it does over time.");
}

}  // namespace aegir
