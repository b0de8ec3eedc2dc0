// Deformation files: places of all vertices of a mesh at many times, without the mesh.
//
//   auto cache = PointCache::open("geo/cloth.mdd");
//   if (!cache) return cache.error();
//   std::vector<Vec3d> places;
//   Status read = cache->read(0, places);
//
// MDD (big endian):    int32 samples, int32 points, float32 seconds[samples], float32 xyz[samples][points]
// PC2 (little endian): "POINTCACHE2\0", int32 1, int32 points, float32 first frame, float32 frames per sample,
//                      int32 samples, float32 xyz[samples][points]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/vec.h"

namespace aegir {

/// An MDD or PC2 file; its kind is told by its first bytes. Samples are read one at a time.
class PointCache {
 public:
  /// Reads the header; refuses files whose size does not fit it and times that do not increase.
  static Result<PointCache> open(const std::string& path);

  std::size_t points() const { return points_; }
  std::size_t samples() const { return times_.size(); }
  /// When a sample is: in frames or in seconds.
  double time(std::size_t sample) const { return times_[sample]; }
  bool in_frames() const { return in_frames_; }
  /// One sample as the file has it; refuses places that are not finite.
  Status read(std::size_t sample, std::vector<Vec3d>& places) const;

 private:
  std::string path_;
  std::size_t points_ = 0, data_ = 0;  // byte of the first place
  bool in_frames_ = false;             // PC2; MDD counts seconds
  std::vector<double> times_;
};

}  // namespace aegir
