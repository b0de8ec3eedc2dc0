#include "io/mesh_sequence.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "parallel/threads.h"

namespace aegir {
namespace {

bool ends_with(std::string text, std::string_view end) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text.ends_with(end);
}

}  // namespace

MeshSequence::MeshSequence(std::string file, const MeshSequenceOptions& options)
    : file_(std::move(file)), pattern_(file_), options_(options) {}

Result<std::unique_ptr<MeshSequence>> MeshSequence::open(const std::string& file, const std::string& deformation,
                                                         const MeshSequenceOptions& options) {
  std::unique_ptr<MeshSequence> sequence(new MeshSequence(file, options));
  const Status opened = deformation.empty() ? sequence->open_frames() : sequence->open_deformation(deformation);
  if (!opened) return opened.error();
  sequence->slots_[0] = {0, sequence->first_.positions};
  return sequence;
}

Status MeshSequence::open_frames() {
  if (!pattern_.animated())
    return usage_error({},
                       "'{}' names one file; a mesh that deforms has a frame pattern like 'name.$F4.ply', or a "
                       "'deformation' file",
                       file_);
  auto frames = pattern_.existing();
  if (!frames) return frames.error();
  if (frames->empty()) return io_error("no file matches '{}'", file_);
  for (std::size_t i = 1; i < frames->size(); ++i)
    if ((*frames)[i] != (*frames)[i - 1] + 1)
      return io_error("'{}' is missing: there are frames {} to {} of '{}'", pattern_.path((*frames)[i - 1] + 1),
                      frames->front(), frames->back(), file_);
  frames_ = std::move(*frames);
  for (const int f : frames_) times_.push_back((f + options_.offset - options_.first_frame) / options_.fps);
  auto mesh = read_mesh_in_order(pattern_.path(frames_[0]), options_.import);
  if (!mesh) return mesh.error();
  first_ = std::move(*mesh);
  return {};
}

Status MeshSequence::open_deformation(const std::string& deformation) {
  if (pattern_.animated())
    return usage_error({}, "'{}' is a frame pattern; a 'deformation' moves the vertices of one file", file_);
  if (!ends_with(file_, ".ply") && !ends_with(file_, ".obj"))
    return usage_error({}, "'{}' does not keep the order of vertices; save the mesh of a 'deformation' as .obj or .ply",
                       file_);
  auto mesh = read_mesh_in_order(file_, options_.import);
  if (!mesh) return mesh.error();
  auto cache = PointCache::open(deformation);
  if (!cache) return cache.error();
  if (cache->points() != mesh->positions.size())
    return io_error("'{}' moves {} vertices, but '{}' has {}", deformation, cache->points(), file_,
                    mesh->positions.size());
  first_ = std::move(*mesh);
  cache_ = std::move(*cache);
  deformation_ = deformation;
  for (std::size_t i = 0; i < cache_.samples(); ++i) {
    const double t = cache_.time(i);
    times_.push_back(cache_.in_frames() ? (t + options_.offset - options_.first_frame) / options_.fps
                                        : t + options_.offset / options_.fps);
  }
  return load(0, first_.positions);
}

Status MeshSequence::load(std::size_t sample, std::vector<Vec3d>& places) const {
  if (!deformation_.empty()) {
    if (Status read = cache_.read(sample, places); !read) return read;
    for (Vec3d& p : places) p = imported(p, options_.import);
    return {};
  }
  const std::string path = pattern_.path(frames_[sample]), first = pattern_.path(frames_[0]);
  auto mesh = read_mesh_in_order(path, options_.import);
  if (!mesh) return mesh.error();
  if (mesh->positions.size() != first_.positions.size() || mesh->triangles.size() != first_.triangles.size())
    return io_error("'{}' has {} vertices and {} triangles, but '{}' has {} and {}; a deforming mesh keeps both", path,
                    mesh->positions.size(), mesh->triangles.size(), first, first_.positions.size(),
                    first_.triangles.size());
  const auto [a, b] = std::mismatch(mesh->triangles.begin(), mesh->triangles.end(), first_.triangles.begin());
  if (a != mesh->triangles.end())
    return io_error("'{}' and '{}' join their {} vertices to different triangles, the first is number {}", path, first,
                    first_.positions.size(), a - mesh->triangles.begin());
  places = std::move(mesh->positions);
  return {};
}

Result<const MeshSequence::Slot*> MeshSequence::slot(std::size_t sample, std::size_t keep) {
  for (const Slot& s : slots_)
    if (s.sample == sample) return &s;
  Slot& slot = slots_[0].sample == keep ? slots_[1] : slots_[0];
  slot.sample = static_cast<std::size_t>(-1);
  if (Status loaded = load(sample, slot.places); !loaded) return loaded.error();
  slot.sample = sample;
  return &slot;
}

Status MeshSequence::positions(double seconds, std::vector<Vec3d>& places) {
  const std::scoped_lock lock(mutex_);
  const auto next = static_cast<std::size_t>(std::upper_bound(times_.begin(), times_.end(), seconds) - times_.begin());
  const std::size_t after = std::min(next, times_.size() - 1), before = next == 0 ? 0 : next - 1;
  // What is loaded already must not be pushed out by the other of the two.
  const auto a = slot(before, after);
  if (!a) return a.error();
  if (before == after || seconds == times_[before]) {
    places = (*a)->places;
    return {};
  }
  const auto b = slot(after, before);
  if (!b) return b.error();
  const double s = (seconds - times_[before]) / (times_[after] - times_[before]);
  const std::vector<Vec3d>&p = (*a)->places, &q = (*b)->places;
  places.resize(p.size());
  parallel_for(0, p.size(), 16384, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) places[i] = p[i] + (q[i] - p[i]) * s;
  });
  return {};
}

double MeshSequence::fastest(double begin, double end) {
  const std::scoped_lock lock(mutex_);
  speeds_.resize(times_.size(), -1);
  double most = 0;
  for (std::size_t i = 0; i + 1 < times_.size(); ++i) {
    if (!(times_[i] < end && begin < times_[i + 1])) continue;
    if (speeds_[i] < 0) {
      const auto a = slot(i, i + 1), b = slot(i + 1, i);
      double way2 = 0;
      for (std::size_t v = 0; a && b && v < (*a)->places.size(); ++v) {
        const Vec3d way = (*b)->places[v] - (*a)->places[v];
        way2 = std::max(way2, dot(way, way));
      }
      speeds_[i] = std::sqrt(way2) / (times_[i + 1] - times_[i]);
    }
    most = std::max(most, speeds_[i]);
  }
  return most;
}

std::vector<std::string> MeshSequence::files() const {
  if (!deformation_.empty()) return {file_, deformation_};
  std::vector<std::string> all;
  for (const int f : frames_) all.push_back(pattern_.path(f));
  return all;
}

}  // namespace aegir
