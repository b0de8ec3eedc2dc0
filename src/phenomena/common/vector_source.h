// Vectors in space that Behaviors follow over a run: a volume file, a sequence of them, later a simulated gas.
//
//   VectorSources sources(build, "wind");                             // in create_actions()
//   auto wind = sources.open(settings.velocity_file, settings.velocity_volume);
//   if (!wind) return wind.error();
//   (*wind)->vectors(places, velocities);                             // in a force, from any thread
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/vec.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/types.h"

namespace aegir {

struct StepContext;

/// Vectors at any place, at the middle of the present substep.
class VectorSource {
 public:
  virtual ~VectorSource() = default;
  /// Whether it has to be told of every substep.
  virtual bool changes() const { return false; }
  /// Goes to the middle of a substep, before any force of it is evaluated. Collective; the outcome is the same on every
  /// rank.
  virtual Status go_to(StepContext&) { return {}; }
  /// The vectors at many places, from any number of threads.
  virtual void vectors(std::span<const Vec3d> world, std::span<Vec3f> out) const = 0;
};

/// The sources of one Behavior: each file is opened once, and what changes gets a task that follows the time.
class VectorSources {
 public:
  /// `what` is what the vectors are for, as in "a force field needs one".
  VectorSources(Builder& build, std::string what) : build_(build), what_(std::move(what)) {}

  /// Opens a vector volume of a file. A name with a frame pattern (`$F4`, `%04d`, `####`) is a sequence: linear in time
  /// between frames, held before the first and after the last. Frames that are missing in between are an error; every
  /// error has the place of the file's name in the setup.
  Result<std::shared_ptr<const VectorSource>> open(const FilePath& file, const std::string& volume);

 private:
  Result<std::shared_ptr<VectorSource>> make(const FilePath& file, const std::string& volume);

  Builder& build_;
  std::string what_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const VectorSource>> opened_;
};

/// Whether a file's name stands for one file per frame; a file that exists under the name as written is that file.
bool is_sequence(const FilePath& file);

}  // namespace aegir
