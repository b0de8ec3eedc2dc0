// Surfaces of point files, frame by frame: what `aegir surface` does.
//
//   SurfaceJob job;
//   job.inputs = {"sim/water/water.points.$F4.vdb"}, job.output = "skin";
//   Result<SurfaceJobReport> done = run_surface_job(job, *comm, [](const SurfacedFrame& f) { … });
//
// Files whose frame is the same are surfaced together. Frames go around the ranks; every file is there whole or not at
// all.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "io/vdb.h"
#include "parallel/comm.h"
#include "surfacing/make_surface.h"
#include "surfacing/mesh_file.h"

namespace aegir {

/// What is written of a surface.
struct SurfaceOutput {
  bool volumes = true;
  MeshFormat mesh = MeshFormat::none;
  double adaptivity = 0;  ///< of the mesh, 0 to 1
  VdbOptions vdb;
};

struct SurfaceJob {
  std::vector<std::string> inputs;  ///< files and frame patterns
  std::string output;               ///< folder
  std::string name = "surface";     ///< of the files: NAME.volumes.FRAME.vdb, NAME.mesh.FRAME.ply
  std::optional<std::pair<int, int>> frames;
  std::vector<double> shutter{0};  ///< frames after each frame at which a surface is made
  double fps = 24;
  SurfaceSettings settings;
  SurfaceOutput files;
};

/// One surface that was made.
struct SurfacedFrame {
  double frame = 0;
  int index = 0, count = 0;  ///< of all surfaces of the job, from 1
  SurfaceReport surface;
  std::int64_t buckets = 0, triangles = 0, non_manifold_edges = 0, open_edges = 0;
  double seconds = 0;
  std::vector<std::string> remarks;
};

struct SurfaceJobReport {
  int frames = 0;
  std::vector<SurfacedFrame> made;  ///< of all ranks on rank 0, in order; of its own elsewhere
};

/// The name of a surface's files: "surface.mesh.0012.ply", between frames "surface.mesh.0012_250.ply".
std::string surface_file_name(const std::string& name, const char* kind, double frame, const char* extension);

/// Writes one surface; fills in what is known of its mesh.
Status write_surface(const std::string& folder, const std::string& name, double frame, const ParticleSurface& surface,
                     const PointSet& points, const SurfaceSettings& settings, const SurfaceOutput& output,
                     SurfacedFrame& done);

/// Collective; `made` is called for every surface of this rank. The first failure ends the job on all ranks, when they
/// have finished what they were at.
Result<SurfaceJobReport> run_surface_job(const SurfaceJob& job, Comm& comm,
                                         const std::function<void(const SurfacedFrame&)>& made);

}  // namespace aegir
