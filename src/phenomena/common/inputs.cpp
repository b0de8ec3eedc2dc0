#include "phenomena/common/inputs.h"

#include <algorithm>
#include <set>

#include "io/gltf_motion.h"
#include "io/mesh.h"
#include "pipeline/schema/suggest.h"

namespace aegir {

namespace {

Result<const InputSettings*> find_input(Builder& build, const Located<std::string>& input) {
  const auto found = build.inputs().find(input.value);
  if (found != build.inputs().end()) return &found->second;
  std::vector<std::string> names;
  for (const auto& [name, settings] : build.inputs()) names.push_back(name);
  return usage_error(input.where, "'{}' is not an input of this setup{}", input.value, suggestion(input.value, names));
}

MeshImportOptions import_options(const Builder& build) {
  return {.up = build.scene().up == UpAxis::z ? MeshImportOptions::z : MeshImportOptions::y,
          .metres_per_unit = build.scene().metres_per_unit};
}

/// A user's mistake at the place that names the file.
Error located(const Error& error, const FilePath& file) {
  const std::string message = error.where.file.empty() ? error.message : error.text();
  return {error.kind == Failure::memory ? Failure::memory : Failure::usage, message, file.where};
}

void warn_of(Builder& build, const FilePath& file, const MeshReport& report) {
  if (!report.assumption.empty()) build.warn(fmt::format("mesh '{}' {}", file.text, report.assumption));
}

Result<std::shared_ptr<const Surface>> make_surface(Builder& build, const FilePath& file, TriangleMesh mesh,
                                                    double thickness) {
  auto surface = Surface::create(std::move(mesh), thickness);
  if (!surface) return usage_error(file.where, "{}: {}", file.text, surface.error().message);
  warn_of(build, file, (*surface)->report());
  return *surface;
}

Result<MovingMesh> load_rigid(Builder& build, const InputSettings& settings, double thickness) {
  const FilePath& file = settings.file;
  const std::string& path = file.resolved;
  if (!path.ends_with(".glb") && !path.ends_with(".gltf") && !path.ends_with(".GLB") && !path.ends_with(".GLTF"))
    return usage_error(file.where,
                       "'{}': rigid motion is read from glTF (.glb, .gltf); other meshes move with 'translate' and "
                       "'rotate' of the node, or as a sequence with 'motion: deforming'",
                       file.text);
  const MeshImportOptions options = import_options(build);
  const auto motion = read_gltf_motion(path, options, build.timeline().fps);
  if (!motion) return located(motion.error(), file);
  auto mesh = read_mesh(path, options);
  if (!mesh) return located(mesh.error(), file);
  for (Vec3d& p : mesh->positions) p = motion->rest.apply_inverse(p);
  auto surface = make_surface(build, file, std::move(*mesh), thickness);
  if (!surface) return surface.error();
  MovingMesh moving{*surface, {motion->keys, motion->interpolation}, nullptr, nullptr};
  for (MotionKey& key : moving.motion.keys) key.time += settings.offset / build.timeline().fps;
  return moving;
}

Result<MovingMesh> load_deforming(Builder& build, const InputSettings& settings, double thickness) {
  const Timeline& timeline = build.timeline();
  auto sequence = MeshSequence::open(settings.file.resolved, settings.deformation ? settings.deformation->resolved : "",
                                     {.import = import_options(build),
                                      .fps = timeline.fps,
                                      .first_frame = static_cast<double>(timeline.first()),
                                      .offset = settings.offset});
  if (!sequence) return located(sequence.error(), settings.file);
  auto surface = DeformingSurface::create((*sequence)->first(), thickness);
  if (!surface) return usage_error(settings.file.where, "{}: {}", settings.file.text, surface.error().message);
  warn_of(build, settings.file, (*surface)->report());
  return MovingMesh{nullptr, {}, std::move(*sequence), std::move(*surface)};
}

}  // namespace

Result<std::shared_ptr<const Surface>> load_surface(Builder& build, const Located<std::string>& input,
                                                    double thickness) {
  const auto found = find_input(build, input);
  if (!found) return found.error();
  const InputSettings& settings = **found;
  if (settings.motion != InputMotion::static_)
    return usage_error(settings.file.where,
                       "input '{}' moves, and only colliders follow files that move; use 'motion: static', and "
                       "'translate' and 'rotate' of the node",
                       input.value);
  auto mesh = read_mesh(settings.file.resolved, import_options(build));
  if (!mesh) return located(mesh.error(), settings.file);
  return make_surface(build, settings.file, std::move(*mesh), thickness);
}

Result<MovingMesh> load_moving_mesh(Builder& build, const Located<std::string>& input, double thickness) {
  const auto found = find_input(build, input);
  if (!found) return found.error();
  if ((*found)->motion == InputMotion::rigid) return load_rigid(build, **found, thickness);
  if ((*found)->motion == InputMotion::deforming) return load_deforming(build, **found, thickness);
  auto surface = load_surface(build, input, thickness);
  if (!surface) return surface.error();
  return MovingMesh{*surface, {}, nullptr, nullptr};
}

std::vector<std::string> input_files(const InputSettings& input) {
  std::vector<std::string> files;
  const FramePattern pattern(input.file.resolved);
  if (pattern.animated()) {
    if (const auto frames = pattern.existing())
      for (const int frame : *frames) files.push_back(pattern.path(frame));
  } else {
    files.push_back(input.file.resolved);
  }
  if (input.deformation) files.push_back(input.deformation->resolved);
  return files;
}

Result<Motion> keyed_motion(const Parameter<Vec3d>& translate, const Parameter<Vec3d>& rotate,
                            const Timeline& timeline) {
  constexpr double degrees = 57.29577951308232;
  const auto key = [&](double frame) {
    return MotionKey{timeline.time(frame), translate.at(frame), rotate.at(frame) * degrees, 1};
  };
  std::set<double> frames;
  bool smooth = false, step = false;
  for (const auto* p : {&translate, &rotate}) {
    for (const auto& k : p->keys()) frames.insert(k.frame);
    if (p->animated())
      smooth |= p->interpolation() == Interpolation::smooth, step |= p->interpolation() == Interpolation::step;
  }
  if (frames.empty()) return Motion::create({key(timeline.first())});
  if (smooth) {  // the curve between the keys, in eighths of a frame, as far as the run goes
    const double first = std::max<double>(*frames.begin(), timeline.first()),
                 last = std::min<double>(*frames.rbegin(), timeline.last());
    const double apart = std::max(0.125, (last - first) / 100000);
    for (double f = first; f < last; f += apart) frames.insert(f);
    if (last > first) frames.insert(last);
  }
  std::vector<MotionKey> keys;
  for (double f : frames) keys.push_back(key(f));
  return Motion::create(std::move(keys), step && !smooth ? MotionInterpolation::step : MotionInterpolation::linear);
}

Result<Motion> composed_motion(const Parameter<Vec3d>& translate, const Parameter<Vec3d>& rotate,
                               const FileMotion& file, const Timeline& timeline) {
  const Result<Motion> outer = keyed_motion(translate, rotate, timeline);
  if (!outer || file.keys.empty()) return outer;
  const Result<Motion> inner = Motion::create(file.keys, file.interpolation);
  if (!inner) return inner;
  // On a body that rests, the file's keys are enough; where both move, eighths of a frame follow the curve.
  std::set<double> times;
  for (const MotionKey& key : file.keys) times.insert(key.time);
  if (!outer->is_static()) {
    const double last = timeline.time(timeline.last());
    const double apart = std::max(0.125 / timeline.fps, last / 100000);
    for (double t = 0; t < last; t += apart) times.insert(t);
    times.insert(last);
  }
  std::vector<MotionKey> keys;
  for (const double time : times) {
    const Pose a = outer->at(time), b = inner->at(time);
    const Pose both{a.rotation * b.rotation, a.apply(b.translation), a.scale * b.scale};
    keys.push_back(key_at(time, both, keys.empty() ? MotionKey{} : keys.back()));
  }
  return Motion::create(std::move(keys), outer->is_static() ? file.interpolation : MotionInterpolation::linear);
}

}  // namespace aegir
