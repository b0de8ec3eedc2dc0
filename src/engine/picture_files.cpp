#include "engine/picture_files.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>

#include "engine/run_directory.h"
#include "io/file_kind.h"
#include "io/mesh.h"
#include "io/ply.h"
#include "io/vdb.h"
#include "io/vdb_shapes.h"
#include "io/vdb_volumes.h"
#include "preview/grains.h"

namespace aegir {
namespace {

namespace fs = std::filesystem;

/// The number before the extension of a cache's name, e.g. 1001 of "water.points.1001.vdb"; files without one count up.
int frame_of_file(const std::string& path, int otherwise) {
  const std::string stem = fs::path(path).stem().string();
  const auto dot = stem.rfind('.');
  const std::string_view digits = std::string_view(stem).substr(dot == std::string::npos ? 0 : dot + 1);
  int frame = otherwise;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), frame);
  return error == std::errc() && end == digits.data() + digits.size() ? frame : otherwise;
}

/// What a file is, by its contents.
Result<PictureFile::Kind> kind_of_source(const std::string& path) {
  const Result<FileKind> kind = kind_of_file(path);
  if (!kind) return kind.error();
  if (*kind != FileKind::vdb) return PictureFile::mesh;
  const Result<VdbShapes> shapes = read_vdb_shapes(path, false);
  if (!shapes) return shapes.error();
  return shapes->has_points ? PictureFile::points : PictureFile::volumes;
}

float length_of(float x, float y, float z) { return std::sqrt(x * x + y * y + z * z); }

/// The values of a point attribute as numbers, vectors by their length; false where there is none of that name.
bool numbers_of(const PointSet& points, const std::string& name, std::vector<float>& out) {
  const PointAttribute* a = points.find(name);
  if (!a) return false;
  const auto copy = [&](auto values) {
    for (const auto& v : values) out.push_back(static_cast<float>(v));
  };
  switch (a->type) {
    case PointAttribute::float32:
      copy(a->as<float>());
      break;
    case PointAttribute::float64:
      copy(a->as<double>());
      break;
    case PointAttribute::int32:
      copy(a->as<std::int32_t>());
      break;
    case PointAttribute::int64:
      copy(a->as<std::int64_t>());
      break;
    case PointAttribute::vec3f:
      for (const Vec3f& v : a->as<Vec3f>()) out.push_back(length_of(v.x, v.y, v.z));
      break;
  }
  return true;
}

Vec3f color_of_grain(const Vec3f& rest, const PictureChoice& choice) {
  const std::uint64_t grain = grain_of(rest);
  return choice.layer > 0 ? sand_color(grain, layer_of(static_cast<double>(rest.y), choice.layer)) : sand_color(grain);
}

/// Colours of grains by where they were born, otherwise by their id, or by their place in the file. None where the
/// points are not to be grains.
std::vector<Vec3f> grains_of(const PointSet& points, bool matte, const PictureChoice& choice) {
  const PointAttribute *rest = points.find("rest"), *id = points.find("id");
  const bool born = rest && rest->type == PointAttribute::vec3f, known = id && id->type == PointAttribute::int64;
  if (!choice.color.empty() || !(matte || (born && choice.layer > 0))) return {};
  std::vector<Vec3f> grain(points.size());
  for (std::size_t i = 0; i < grain.size(); ++i)
    grain[i] = born ? color_of_grain(rest->as<Vec3f>()[i], choice)
                    : sand_color(grain_of(known ? id->as<std::int64_t>()[i] : static_cast<std::int64_t>(i)));
  return grain;
}

Status add_points(const PictureFile& file, const PictureChoice& choice, ShownScene& scene) {
  const Result<PointSet> points = read_points(file.path);
  if (!points) return points.error();
  const std::size_t before = scene.positions.size();
  scene.positions.insert(scene.positions.end(), points->position.begin(), points->position.end());
  if (auto grain = grains_of(*points, choice.matte.contains(file.object), choice); !grain.empty()) {
    scene.grain.resize(before, Vec3f(-1.0f));
    if (before == 0)
      scene.grain = std::move(grain);
    else
      scene.grain.insert(scene.grain.end(), grain.begin(), grain.end());
    if (!scene.value.empty()) scene.value.resize(scene.positions.size(), std::numeric_limits<float>::quiet_NaN());
  } else if (choice.look != PictureLook::water || !choice.color.empty()) {
    // On top of water, particles are drops of it, unless a colour is asked for.
    scene.value.resize(before, std::numeric_limits<float>::quiet_NaN());
    if (!numbers_of(*points, choice.color.empty() ? "v" : choice.color, scene.value) && !choice.color.empty())
      return usage_error({}, "{} has no attribute '{}' to colour by", file.path, choice.color);
    scene.value.resize(scene.positions.size(), 0.0f);
  }
  if (!scene.grain.empty()) scene.grain.resize(scene.positions.size(), Vec3f(-1.0f));
  scene.radius.resize(scene.positions.size(), 0.005f);
  if (const PointAttribute* r = points->find("pscale"); r && r->type == PointAttribute::float32)
    std::copy(r->as<float>().begin(), r->as<float>().end(), scene.radius.begin() + static_cast<std::ptrdiff_t>(before));
  return {};
}

/// Values that colour a matte surface: the asked attribute, or speed; none where the mesh does not have them.
Result<std::vector<float>> surface_values(const TriangleMesh& mesh, const std::string& color, const std::string& path) {
  const auto find = [&](const std::string& name) {
    const auto it = mesh.scalars.find(name);
    return it == mesh.scalars.end() ? nullptr : &it->second;
  };
  const auto along = [&](const std::string& stem) {
    std::vector<float> lengths;
    const auto *x = find(stem + "x"), *y = find(stem + "y"), *z = find(stem + "z");
    if (x && y && z)
      for (std::size_t i = 0; i < x->size(); ++i) lengths.push_back(length_of((*x)[i], (*y)[i], (*z)[i]));
    return lengths;
  };
  if (color.empty() || color == "v") return along("v");
  if (const auto* values = find(color)) return *values;
  std::vector<float> values = along(color + "_");
  if (values.empty()) return usage_error({}, "{} has no attribute '{}' to colour by", path, color);
  return values;
}

/// A mesh file; unlike elsewhere one without triangles is fine, because a liquid may have run dry.
Result<TriangleMesh> read_surface_mesh(const std::string& path) {
  const Result<FileKind> kind = kind_of_file(path);
  if (!kind) return kind.error();
  if (*kind != FileKind::ply) return read_mesh(path);
  const Result<std::string> bytes = read_bytes(path);
  if (!bytes) return bytes.error();
  return parse_ply(*bytes, path);
}

/// Gives the vertices of sand their colours; without `rest` it has one colour. None where the surface is not to be
/// sand.
void add_grains(const TriangleMesh& mesh, bool matte, const PictureChoice& choice, ShownSurface& surface) {
  std::vector<Vec3f> rest(mesh.positions.size());
  int axes = 0;
  for (const char axis : {'x', 'y', 'z'}) {
    const auto found = mesh.scalars.find(std::string("rest_") + axis);
    if (found == mesh.scalars.end() || found->second.size() != rest.size()) break;
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i][axis - 'x'] = found->second[i];
    ++axes;
  }
  if (!choice.color.empty() || !(matte || (axes == 3 && choice.layer > 0))) return;
  surface.grain.assign(rest.size(), plain_sand());
  if (axes < 3) return;
  for (std::size_t i = 0; i < rest.size(); ++i)
    surface.grain[i] = choice.layer > 0 ? color_of_grain(rest[i], choice) : sand_surface_color(grain_of(rest[i]));
  surface.rest = std::move(rest);
}

Status add_surface(TriangleMesh mesh, const PictureFile& file, const PictureChoice& choice, ShownScene& scene) {
  const bool sand = choice.matte.contains(file.object);
  ShownSurface surface{{}, choice.look == PictureLook::water && !sand ? SurfaceLook::water : SurfaceLook::matte};
  add_grains(mesh, sand, choice, surface);
  if (!surface.grain.empty()) {
    surface.look = SurfaceLook::matte;
  } else if (surface.look == SurfaceLook::matte) {
    Result<std::vector<float>> values = surface_values(mesh, choice.color, file.path);
    if (!values) return values.error();
    surface.value = std::move(*values);
  }
  surface.mesh = std::move(mesh);
  surface.mesh.scalars.clear();
  scene.surfaces.push_back(std::move(surface));
  return {};
}

bool is_smoke(const std::string& name) { return name == "density" || name == "smoke" || name == "soot"; }

/// The volumes that are drawn as smoke: those named so, or whatever scalar volumes a file given by itself holds.
std::vector<std::string> smoke_of(const VdbShapes& shapes, bool by_itself) {
  std::vector<std::string> names;
  for (const std::string& name : shapes.densities)
    if (is_smoke(name)) names.push_back(name);
  if (names.empty() && by_itself && shapes.surfaces.empty() && !shapes.densities.empty())
    names.push_back(shapes.densities.front());
  return names;
}

Status add_volumes(const PictureFile& file, const PictureChoice& choice, ShownScene& scene) {
  // The level set that a simulation works with is coarse; it is drawn only where nothing better is there.
  Result<VdbShapes> shapes = read_vdb_shapes(file.path, choice.look != PictureLook::particles);
  if (!shapes) return shapes.error();
  if (choice.look != PictureLook::particles)
    for (TriangleMesh& mesh : shapes->surfaces)
      if (Status ok = add_surface(std::move(mesh), file, choice, scene); !ok) return ok;
  // The density of a liquid is no smoke.
  if (choice.covered.contains(file.object) || !shapes->surfaces.empty()) return {};
  for (const std::string& name : smoke_of(*shapes, file.object.empty())) {
    auto field = VolumeField::read(file.path, name);
    if (!field) return field.error();
    scene.fog.push_back(std::move(*field));
  }
  return {};
}

}  // namespace

Result<PictureSequence> find_picture_files(const std::vector<std::string>& sources,
                                           const std::optional<std::pair<int, int>>& frames) {
  PictureSequence sequence;
  const auto add = [&](int frame, PictureFile file) {
    if (!frames || (frame >= frames->first && frame <= frames->second)) sequence[frame].push_back(std::move(file));
  };
  int counter = 1;
  for (const std::string& source : sources) {
    std::error_code ignored;
    if (!fs::exists(source, ignored)) return usage_error({}, "{} does not exist", source);
    if (!fs::is_directory(source, ignored)) {
      const Result<PictureFile::Kind> kind = kind_of_source(source);
      if (!kind) return kind.error();
      add(frame_of_file(source, counter++), {source, *kind, {}});
      continue;
    }
    for (const FrameFile& file : RunDirectory(source).frames())
      add(file.frame, {(fs::path(source) / file.path).string(),
                       file.kind == "points"    ? PictureFile::points
                       : file.kind == "volumes" ? PictureFile::volumes
                                                : PictureFile::mesh,
                       file.object});
  }
  if (sequence.empty())
    return usage_error({}, "there is nothing to draw in {}{}; a setup's outputs write points, surfaces or volumes",
                       sources.empty() ? "''" : sources.front(),
                       frames ? fmt::format(" between frames {} and {}", frames->first, frames->second) : "");
  return sequence;
}

Result<PictureLook> settled_look(const PictureSequence& sequence, const PictureChoice& choice) {
  if (choice.look != PictureLook::automatic) return choice.look;
  for (const auto& [frame, files] : sequence)
    for (const PictureFile& file : files) {
      if (file.kind == PictureFile::points || choice.simulated.contains(file.object)) continue;
      if (file.kind == PictureFile::mesh) return PictureLook::water;
      const Result<VdbShapes> shapes = read_vdb_shapes(file.path, false);
      if (!shapes) return shapes.error();
      if (!shapes->surfaces.empty()) return PictureLook::water;
    }
  return PictureLook::particles;
}

Result<ShownScene> read_picture_frame(const std::vector<PictureFile>& files, const PictureChoice& choice) {
  ShownScene scene;
  const bool surfaces = choice.look != PictureLook::particles;
  // A mesh is the same surface as the level set beside it, and quicker to read.
  std::set<std::string> meshed;
  bool made_for_looking = false, any_surface = false;
  for (const PictureFile& file : files) {
    if (file.kind == PictureFile::mesh && !file.object.empty()) meshed.insert(file.object);
    if (file.kind != PictureFile::points) any_surface = true;
    if (file.kind != PictureFile::points && !choice.simulated.contains(file.object)) made_for_looking = true;
  }
  for (const PictureFile& file : files) {
    Status ok;
    if (file.kind == PictureFile::points) {
      if (!surfaces || !any_surface || !choice.covered.contains(file.object)) ok = add_points(file, choice, scene);
    } else if (file.kind == PictureFile::mesh) {
      if (!surfaces) continue;
      Result<TriangleMesh> mesh = read_surface_mesh(file.path);
      ok = mesh ? add_surface(std::move(*mesh), file, choice, scene) : Status(mesh.error());
    } else if (!meshed.contains(file.object)) {
      PictureChoice here = choice;
      if (made_for_looking && choice.simulated.contains(file.object)) here.look = PictureLook::particles;
      ok = add_volumes(file, here, scene);
    }
    if (!ok) return ok.error();
  }
  return scene;
}

Status check_layers(const PictureSequence& sequence, const PictureChoice& choice) {
  if (!(choice.layer > 0)) return {};
  if (!choice.color.empty()) return usage_error({}, "--layers and --color exclude each other");
  for (const auto& [frame, files] : sequence) {
    const Result<ShownScene> plain = read_picture_frame(files, {choice.look, {}, choice.simulated, {}, {}, 0});
    if (!plain) return plain.error();
    if (plain->positions.empty() && plain->surfaces.empty()) continue;
    const Result<ShownScene> dyed =
        read_picture_frame(files, {choice.look, {}, choice.simulated, {}, {}, choice.layer});
    if (!dyed) return dyed.error();
    const bool any = !dyed->grain.empty() ||
                     std::ranges::any_of(dyed->surfaces, [](const ShownSurface& s) { return !s.grain.empty(); });
    if (any) return {};
    return usage_error({},
                       "nothing in frame {} has the attribute 'rest', which --layers needs; 'rest: true' at the Object "
                       "and 'attributes: [v, pscale, id, rest]' at the output write it",
                       frame);
  }
  return {};
}

}  // namespace aegir
