// The parts of a setup file beside its nodes: timeline, scene and inputs.
//
//   timeline: {fps: 24, frames: [1001, 1120], substeps: {cfl: 3, max: 8}, checkpoint: {every: 10 min, keep: 3}}
//   scene: {up: y, metres_per_unit: 1}
//   inputs: {statue: {file: geo/statue.glb, motion: rigid}, flag: {file: geo/flag.$F4.ply, motion: deforming}}
#pragma once

#include <array>
#include <optional>

#include "pipeline/schema/schema.h"

namespace aegir {

/// How a frame is divided: by the speed of what moves (`substeps: {cfl, min, max}`), or always the same (`substeps:
/// 4`).
struct SubstepSettings {
  double cfl = 3;  ///< cells that the fastest thing may move in one substep
  int min = 1;
  int max = 64;
  int fixed = 0;  ///< 0: adaptive
};
void describe(Schema<SubstepSettings>& s);

/// When checkpoints are written and how many are kept.
struct CheckpointSettings {
  Interval every{.frames = 0, .seconds = 600};
  int keep = 3;
};
void describe(Schema<CheckpointSettings>& s);

/// Frames of the run; the first frame is the state at time zero.
struct Timeline {
  double fps = 24;
  std::array<int, 2> frames{1, 100};  ///< first and last, both included
  SubstepSettings substeps;
  CheckpointSettings checkpoint;

  int first() const { return frames[0]; }
  int last() const { return frames[1]; }
  /// Seconds since the first frame.
  double time(double frame) const { return (frame - frames[0]) / fps; }
};
void describe(Schema<Timeline>& s);

/// Which way is up in files that come in and go out.
enum class UpAxis { y, z };

/// How files that come in and go out relate to Aegir's metres with y up.
struct Scene {
  UpAxis up = UpAxis::y;
  double metres_per_unit = 1;
};
void describe(Schema<Scene>& s);

/// What an input does over time.
enum class InputMotion { static_, rigid, deforming };

/// One file, or one sequence of files, that the setup reads.
struct InputSettings {
  FilePath file;
  InputMotion motion = InputMotion::static_;
  std::optional<FilePath> deformation;
  double offset = 0;  ///< frames
};
void describe(Schema<InputSettings>& s);

}  // namespace aegir
