#include "phenomena/common/inputs.h"

#include <algorithm>
#include <set>

#include "io/mesh.h"
#include "pipeline/schema/suggest.h"

namespace aegir {

Result<std::shared_ptr<const Surface>> load_surface(Builder& build, const Located<std::string>& input,
                                                    double thickness) {
  const auto found = build.inputs().find(input.value);
  if (found == build.inputs().end()) {
    std::vector<std::string> names;
    for (const auto& [name, settings] : build.inputs()) names.push_back(name);
    return usage_error(input.where, "'{}' is not an input of this setup{}", input.value,
                       suggestion(input.value, names));
  }
  const InputSettings& settings = found->second;
  if (settings.motion != InputMotion::static_)
    return usage_error(settings.file.where,
                       "input '{}': files that move are not part of this version yet; use 'translate' and 'rotate' of "
                       "the node instead",
                       input.value);
  Result<TriangleMesh> mesh = read_mesh(
      settings.file.resolved, {.up = build.scene().up == UpAxis::z ? MeshImportOptions::z : MeshImportOptions::y,
                               .metres_per_unit = build.scene().metres_per_unit});
  if (!mesh) return Error{Failure::usage, mesh.error().message, settings.file.where};
  auto surface = Surface::create(std::move(*mesh), thickness);
  if (!surface)
    return Error{Failure::usage, fmt::format("{}: {}", settings.file.text, surface.error().message),
                 settings.file.where};
  if (const std::string& assumed = (*surface)->report().assumption; !assumed.empty())
    build.warn(fmt::format("mesh '{}' {}", settings.file.text, assumed));
  return *surface;
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

}  // namespace aegir
