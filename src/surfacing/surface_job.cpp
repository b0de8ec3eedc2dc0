#include "surfacing/surface_job.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "domain/exec.h"
#include "io/atomic_file.h"
#include "io/frame_path.h"
#include "surfacing/points_file.h"
#include "surfacing/spacing.h"
#include "surfacing/subframe.h"
#include "surfacing/surface_attributes.h"
#include "surfacing/surface_mesh.h"

namespace aegir {
namespace {

namespace fs = std::filesystem;

/// Reads the points of a time, keeping the two frames around it.
class PointReader {
 public:
  PointReader(std::vector<PointSequence> sequences, const SurfaceJob& job)
      : sequences_(std::move(sequences)), job_(job), kept_(sequences_.size()) {}

  /// All sequences together at a time in frames.
  Result<PointSet> at(double time) {
    PointSet all;
    bool first = true;
    for (std::size_t s = 0; s < sequences_.size(); ++s) {
      Result<PointSet> part = at(s, time);
      if (!part) return part;
      if (sequences_.size() > 1) complete_radii(*part);
      if (first)
        all = std::move(*part), first = false;
      else
        append_points(all, *part);
    }
    return all;
  }

 private:
  /// Radii that a file lacks must not become zero beside those of another.
  void complete_radii(PointSet& points) const {
    if (points.find("pscale") || points.size() == 0) return;
    const double radius = job_.settings.default_radius > 0 ? job_.settings.default_radius
                                                           : radius_per_spacing * estimate_spacing(points.position);
    auto values = points.add("pscale", PointAttribute::float32).as<float>();
    std::fill(values.begin(), values.end(), static_cast<float>(radius));
  }

  Result<PointSet> at(std::size_t s, double time) {
    const auto& files = sequences_[s].files;
    const double whole = std::floor(time + 1e-9), share = time - whole;
    const int frame = static_cast<int>(whole);
    if (std::abs(share) < 1e-9) {
      const auto found = files.find(frame);
      if (found == files.end()) return PointSet();
      return load(s, frame);
    }
    auto after = files.upper_bound(frame);
    if (after == files.begin()) return extrapolate(s, after->first, time);
    const int before = std::prev(after)->first;
    if (after == files.end()) return extrapolate(s, before, time);
    const Result<PointSet> first = load(s, before);
    if (!first) return first;
    const Result<PointSet> second = load(s, after->first);
    if (!second) return second;
    const double between = after->first - before;
    Result<PointSet> points = between_frames(*first, *second, {(time - before) / between, between / job_.fps});
    if (!points) return Error{points.error().kind, sequences_[s].files.at(before) + ": " + points.error().message, {}};
    return points;
  }

  Result<PointSet> extrapolate(std::size_t s, int frame, double time) {
    Result<PointSet> points = load(s, frame);
    if (!points) return points;
    return carried_on(std::move(*points), (time - frame) / job_.fps);
  }

  Result<PointSet> load(std::size_t s, int frame) {
    auto& kept = kept_[s];
    if (const auto found = kept.find(frame); found != kept.end()) return found->second;
    Result<PointSet> points = read_point_file(sequences_[s].files.at(frame));
    if (!points) return points;
    if (job_.shutter.size() == 1 && job_.shutter[0] == 0) return points;
    while (kept.size() >= 3) kept.erase(kept.begin());
    kept[frame] = *points;
    return points;
  }

  std::vector<PointSequence> sequences_;
  const SurfaceJob& job_;
  std::vector<std::map<int, PointSet>> kept_;
};

Result<std::vector<double>> times_of(const SurfaceJob& job, const std::vector<PointSequence>& sequences) {
  std::set<int> frames;
  for (const PointSequence& s : sequences)
    for (const auto& [frame, file] : s.files)
      if (!job.frames || (frame >= job.frames->first && frame <= job.frames->second)) frames.insert(frame);
  if (frames.empty())
    return usage_error(
        {}, "there are no points{}",
        job.frames ? fmt::format(" between frames {} and {}", job.frames->first, job.frames->second) : "");
  std::vector<double> times;
  for (const int frame : frames)
    for (const double offset : job.shutter) times.push_back(frame + offset);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end(), [](double a, double b) { return b - a < 5e-4; }), times.end());
  return times;
}

Status check(const SurfaceJob& job) {
  for (const double offset : job.shutter)
    if (!(std::abs(offset) <= 10))
      return usage_error({}, "a shutter time of {} frames makes no sense; it is a share of a frame", offset);
  if (!(job.fps > 0 && job.fps < 1e6)) return usage_error({}, "{} frames per second make no sense", job.fps);
  if (!(job.files.adaptivity >= 0 && job.files.adaptivity <= 1))
    return usage_error({}, "adaptivity is {:g}; it must be from 0 to 1", job.files.adaptivity);
  if (job.inputs.empty()) return usage_error({}, "there are no points to make a surface of");
  return {};
}

Status make_folder(const std::string& folder) {
  std::error_code failed;
  if (!folder.empty()) fs::create_directories(folder, failed);
  if (failed) return system_error("cannot make", folder, failed.value());
  return {};
}

Result<SurfacedFrame> make_one(const SurfaceJob& job, PointReader& reader, double time,
                               const std::shared_ptr<BufferPool>& pool) {
  const Stopwatch watch;
  const Result<PointSet> points = reader.at(time);
  if (!points) return points.error();
  for (const std::string& name : job.settings.attributes)
    if (points->size() > 0 && !points->find(name)) return missing_attribute(*points, name);
  const Result<ParticleSurface> surface = make_surface(*points, job.settings, pool);
  if (!surface) return Error{surface.error().kind, fmt::format("frame {:g}: {}", time, surface.error().message), {}};
  SurfacedFrame done;
  done.frame = time;
  if (Status ok = make_folder(job.output); !ok) return ok.error();
  if (Status ok = write_surface(job.output, job.name, time, *surface, *points, job.settings, job.files, done); !ok)
    return ok.error();
  done.seconds = watch.seconds();
  return done;
}

/// A frame's report as plain numbers, and its remarks, for the way to rank 0.
struct Packed {
  double frame, seconds;
  int index, count;
  SurfaceReport surface;
  std::int64_t buckets, triangles, non_manifold_edges, open_edges;
};

void gather_reports(SurfaceJobReport& report, Comm& comm) {
  if (comm.size() == 1) return;
  Bytes bytes;
  const auto put = [&](const void* data, std::size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), from, from + size);
  };
  for (const SurfacedFrame& f : report.made) {
    const Packed p{f.frame,     f.seconds, f.index, f.count, f.surface, f.buckets, f.triangles, f.non_manifold_edges,
                   f.open_edges};
    put(&p, sizeof p);
    const std::uint64_t remarks = f.remarks.size();
    put(&remarks, sizeof remarks);
    for (const std::string& r : f.remarks) {
      const std::uint64_t size = r.size();
      put(&size, sizeof size), put(r.data(), r.size());
    }
  }
  const std::vector<Bytes> all = comm.gather(std::move(bytes));
  if (!comm.root()) return;
  report.made.clear();
  for (const Bytes& part : all) {
    std::size_t at = 0;
    const auto take = [&](void* to, std::size_t size) { std::memcpy(to, part.data() + at, size), at += size; };
    while (at < part.size()) {
      Packed p;
      take(&p, sizeof p);
      SurfacedFrame f;
      f.frame = p.frame, f.seconds = p.seconds, f.index = p.index, f.count = p.count, f.surface = p.surface;
      f.buckets = p.buckets, f.triangles = p.triangles, f.non_manifold_edges = p.non_manifold_edges;
      f.open_edges = p.open_edges;
      std::uint64_t remarks = 0;
      take(&remarks, sizeof remarks);
      for (; remarks > 0; --remarks) {
        std::uint64_t size = 0;
        take(&size, sizeof size);
        f.remarks.emplace_back(reinterpret_cast<const char*>(part.data() + at), size);
        at += size;
      }
      report.made.push_back(std::move(f));
    }
  }
  std::sort(report.made.begin(), report.made.end(), [](const auto& a, const auto& b) { return a.frame < b.frame; });
}

}  // namespace

std::string surface_file_name(const std::string& name, const char* kind, double frame, const char* extension) {
  const double whole = std::floor(frame + 5e-4);
  const int thousandths = static_cast<int>(std::lround((frame - whole) * 1000));
  return fmt::format("{}.{}.{}{}.{}", name, kind, frame_text(static_cast<int>(whole)),
                     thousandths > 0 ? fmt::format("_{:03}", thousandths) : "", extension);
}

Status write_surface(const std::string& folder, const std::string& name, double frame, const ParticleSurface& surface,
                     const PointSet& points, const SurfaceSettings& settings, const SurfaceOutput& output,
                     SurfacedFrame& done) {
  done.surface = surface.report;
  done.remarks = surface.report.remarks();
  done.buckets = static_cast<std::int64_t>(surface.grid.size());
  if (output.volumes) {
    std::vector<VolumeGrid> grids{level_set_of(surface.grid)};
    std::vector<std::pair<std::string, std::string>> wanted;
    if (const PointAttribute* v = points.find("v"); v && v->type == PointAttribute::vec3f)
      wanted.push_back({"v", "vel"});
    for (const std::string& a : settings.attributes)
      if (a != "v" && surface.report.particles > 0) wanted.push_back({a, a});
    for (const auto& [attribute, grid_name] : wanted) {
      Result<VolumeGrid> grid = attribute_volume(surface.grid, points, attribute, grid_name);
      if (!grid) return grid.error();
      grids.push_back(std::move(*grid));
    }
    const std::string path = (fs::path(folder) / surface_file_name(name, "volumes", frame, "vdb")).string();
    if (Status ok = write_volumes(path, grids, {{"frame", fmt::format("{:g}", frame)}, {"object", name}}, output.vdb);
        !ok)
      return ok;
  }
  if (output.mesh == MeshFormat::none) return {};
  Result<SurfaceMesh> mesh = output.adaptivity > 0 ? mesh_adaptively(surface.grid, output.adaptivity)
                                                   : Result<SurfaceMesh>(mesh_surface(surface.grid));
  if (!mesh) return mesh.error();
  done.triangles = static_cast<std::int64_t>(mesh->triangles.size());
  if (output.adaptivity > 0) {
    const EdgeCount edges = count_edges(*mesh);
    done.non_manifold_edges = edges.non_manifold, done.open_edges = edges.open;
    if (edges.non_manifold + edges.open > 0)
      done.remarks.push_back(
          fmt::format("the adaptive mesh has {} non-manifold and {} open edges of {}; adaptivity 0 has none",
                      edges.non_manifold, edges.open, edges.edges));
  }
  const std::string path =
      (fs::path(folder) / surface_file_name(name, "mesh", frame, extension_of(output.mesh))).string();
  return write_surface_mesh(path, *mesh, points,
                            surface.report.particles > 0 ? settings.attributes : std::vector<std::string>());
}

Result<SurfaceJobReport> run_surface_job(const SurfaceJob& job, Comm& comm,
                                         const std::function<void(const SurfacedFrame&)>& made) {
  if (Status ok = check(job); !ok) return ok.error();
  auto sequences = find_point_files(job.inputs);
  if (!sequences) return sequences.error();
  const auto times = times_of(job, *sequences);
  if (!times) return times.error();

  PointReader reader(std::move(*sequences), job);
  const auto pool = std::make_shared<BufferPool>();
  SurfaceJobReport report;
  report.frames = static_cast<int>(times->size());
  Status status;
  // Neighbouring frames on one rank, so that each reads a file only once.
  const auto ranks = static_cast<std::size_t>(comm.size()), rank = static_cast<std::size_t>(comm.rank());
  const std::size_t first = times->size() * rank / ranks, last = times->size() * (rank + 1) / ranks;
  for (std::size_t i = first; i < last && status; ++i) {
    Result<SurfacedFrame> done = make_one(job, reader, (*times)[i], pool);
    if (!done) {
      status = done.error();
      break;
    }
    done->index = static_cast<int>(i + 1), done->count = report.frames;
    made(*done);
    report.made.push_back(std::move(*done));
  }
  if (Status ok = comm.agree(status); !ok) return ok.error();
  gather_reports(report, comm);
  return report;
}

}  // namespace aegir
