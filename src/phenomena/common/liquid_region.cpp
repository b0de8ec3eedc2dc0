#include "phenomena/common/liquid_region.h"

#include <cmath>
#include <utility>

#include "io/vdb.h"
#include "phenomena/common/inputs.h"
#include "phenomena/common/shape_settings.h"

namespace aegir {
namespace {

using Volume = std::shared_ptr<const VolumeField>;

/// A file that cannot be used is a mistake at the place that names it.
Error located(const Error& error, const FilePath& file) {
  const std::string message = error.where.file.empty() ? error.message : error.text();
  return {error.kind == Failure::memory ? Failure::memory : Failure::usage, message, file.where};
}

Result<Volume> load_volume(Builder& build, const VolumeReference& r) {
  auto field = VolumeField::read(r.file.resolved, r.volume,
                                 {.up = build.scene().up == UpAxis::z ? VolumeImport::z : VolumeImport::y,
                                  .metres_per_unit = build.scene().metres_per_unit});
  if (!field) return located(field.error(), r.file);
  if ((*field)->bounds().empty())
    return usage_error(r.file.where, "volume '{}' of '{}' is empty", (*field)->name(), r.file.text);
  return field;
}

Result<Region> inside_level_set(Builder& build, const VolumeReference& r) {
  const Result<Volume> field = load_volume(build, r);
  if (!field) return field.error();
  if (!(*field)->is_level_set())
    return usage_error(r.file.where, "volume '{}' of '{}' is no level set; name one of distances, e.g. 'surface'",
                       (*field)->name(), r.file.text);
  return inside(*field);
}

}  // namespace

void describe(Schema<VolumeReference>& s) {
  s.field("file", &VolumeReference::file).required().doc("OpenVDB file.");
  s.field("volume", &VolumeReference::volume).doc("Name of the volume; the only one of the file if not given.");
}

void describe(Schema<PointsReference>& s) {
  s.field("file", &PointsReference::file).required().doc("OpenVDB file with points.");
}

std::string RegionSettings::trouble() const {
  if (shape && (shape->kind == ShapeKind::disc || shape->kind == ShapeKind::rectangle))
    return "a thin sheet has no inside and holds no liquid; use a cylinder or a box";
  return "";
}

Result<Region> load_region(Builder& build, const RegionSettings& s) {
  if (s.shape) {
    const Result<Shape> made = Shape::create(*s.shape);
    if (!made) return made.error();
    return inside(*made);
  }
  if (s.level_set) return inside_level_set(build, *s.level_set);
  auto surface = load_surface(build, s.input);
  if (!surface) return surface.error();
  if ((*surface)->thin())
    return usage_error(s.input.where, "the mesh of '{}' is open, has no inside and holds no liquid; close its holes",
                       s.input.value);
  return inside(*surface);
}

Result<Volume> load_vectors(Builder& build, const VolumeReference& r) {
  Result<Volume> field = load_volume(build, r);
  if (field && !(*field)->is_vector())
    return usage_error(r.file.where, "volume '{}' of '{}' has no vectors; name one of velocities, e.g. 'vel'",
                       (*field)->name(), r.file.text);
  return field;
}

Result<std::shared_ptr<const PointSet>> load_points(Builder& build, const PointsReference& r) {
  Result<PointSet> points = read_points(r.file.resolved);
  if (!points) return located(points.error(), r.file);
  if (points->size() == 0) return usage_error(r.file.where, "'{}' holds no points", r.file.text);
  const double unit = build.scene().metres_per_unit;
  const bool z_up = build.scene().up == UpAxis::z;
  const auto turned = [&](const auto& p) {
    auto t = p;
    if (z_up) t.y = p.z, t.z = -p.y;
    return t;
  };
  for (Vec3d& p : points->position) p = turned(p) * unit;
  if (PointAttribute* v = points->find("v"); v && v->type == PointAttribute::vec3f)
    for (Vec3f& x : v->as<Vec3f>()) x = turned(x) * static_cast<float>(unit);
  if (PointAttribute* radius = points->find("pscale"); radius && radius->type == PointAttribute::float32)
    for (float& x : radius->as<float>()) x *= static_cast<float>(unit);
  for (const Vec3d& p : points->position)
    if (!std::isfinite(p.x) || !std::isfinite(p.y) || !std::isfinite(p.z))
      return usage_error(r.file.where, "'{}' holds points whose position is no number; repair the file", r.file.text);
  return std::make_shared<const PointSet>(std::move(*points));
}

}  // namespace aegir
