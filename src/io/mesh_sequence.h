// A mesh whose vertices move: one file per frame, or one mesh and a deformation file.
//
//   auto cloth = MeshSequence::open("geo/cloth.$F4.ply", "", {.fps = 24, .first_frame = 1001});
//   if (!cloth) return cloth.error();
//   std::vector<Vec3d> places;
//   Status read = (*cloth)->positions(0.52, places);       // seconds since the first frame of the run
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "geometry/mesh.h"
#include "io/frame_path.h"
#include "io/mesh.h"
#include "io/point_cache.h"

namespace aegir {

struct MeshSequenceOptions {
  MeshImportOptions import{};
  double fps = 24;
  double first_frame = 1;  ///< of the run: time zero; MDD files begin there
  double offset = 0;       ///< frames by which everything in the file comes later
};

/// Vertices go straight from sample to sample, rest before the first and after the last. Only the two samples around
/// the time that was asked for last are kept. Calls may come from any thread, one waits for the other.
class MeshSequence {
 public:
  /// Looks for the files and reads the first sample. `file` is a frame pattern, or, with a `deformation` (.mdd, .pc2),
  /// the mesh whose vertices that moves, which must be .ply or .obj: other formats do not keep the order of vertices.
  static Result<std::unique_ptr<MeshSequence>> open(const std::string& file, const std::string& deformation,
                                                    const MeshSequenceOptions& options);

  /// The mesh as it is at the first sample.
  const TriangleMesh& first() const { return first_; }
  std::size_t samples() const { return times_.size(); }
  /// Seconds since the first frame of the run.
  double time(std::size_t sample) const { return times_[sample]; }
  /// Where the vertices are at a time in seconds since the first frame of the run.
  Status positions(double seconds, std::vector<Vec3d>& places);
  /// The greatest speed of any vertex between two times, m/s; samples that cannot be read count as resting.
  double fastest(double begin, double end);
  /// Every file that belongs to it.
  std::vector<std::string> files() const;

 private:
  struct Slot {
    std::size_t sample = static_cast<std::size_t>(-1);
    std::vector<Vec3d> places;
  };
  MeshSequence(std::string file, const MeshSequenceOptions& options);
  Status open_frames();
  Status open_deformation(const std::string& deformation);
  Status load(std::size_t sample, std::vector<Vec3d>& places) const;
  Result<const Slot*> slot(std::size_t sample, std::size_t keep);

  std::string file_;
  FramePattern pattern_;
  MeshSequenceOptions options_;
  std::string deformation_;
  PointCache cache_;
  std::vector<int> frames_;
  std::vector<double> times_;
  std::vector<double> speeds_;  // from each sample to the next; negative where nobody has asked yet
  TriangleMesh first_;
  std::mutex mutex_;
  std::array<Slot, 2> slots_;
};

}  // namespace aegir
