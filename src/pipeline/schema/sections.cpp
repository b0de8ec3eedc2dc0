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
      .choices(
          {{"static", InputMotion::static_, "It does not move."},
           {"rigid", InputMotion::rigid,
            "Keyed transforms of a glTF file (.glb, .gltf) move it as one body; time zero of the file is the first "
            "frame of the run."},
           {"deforming", InputMotion::deforming,
            "Every vertex moves by itself: one file per frame, or one mesh and a `deformation`. Vertices go straight "
            "from frame to frame, rest before the first and after the last, and are as many and joined in the same "
            "way in all of them."}})
      .doc("What it does over time.");
  s.field("deformation", &InputSettings::deformation)
      .doc(
          "MDD or PC2 file that moves the vertices of a `file` in .obj or .ply, in the order of that file. MDD counts "
          "seconds from the first frame of the run, PC2 counts frames.");
  s.field("offset", &InputSettings::offset)
      .soft(-100, 100)
      .doc(
          "Frames by which all motion of the file comes later; files that count time from frame 0 take minus the first "
          "frame of the run.");
  s.check([](const InputSettings& v) {
    if (v.deformation && v.motion != InputMotion::deforming)
      return std::string("a 'deformation' needs 'motion: deforming'");
    return std::string();
  });
}

}  // namespace aegir
