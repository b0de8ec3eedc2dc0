#include "io/info.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "io/file_kind.h"
#include "io/mesh.h"
#include "io/piece_file.h"
#include "io/ply.h"
#include "io/vdb_archive.h"

namespace aegir {

namespace {

void describe_mesh(const TriangleMesh& mesh, FileInfo& info) {
  GridInfo grid;
  grid.name = "mesh";
  grid.type = "mesh";
  grid.points = mesh.positions.size();
  grid.active_voxels = mesh.triangles.size();
  for (const auto& p : mesh.positions) grid.bounds.add(p);
  for (const auto& [name, values] : mesh.scalars) {
    AttributeInfo attribute{name, "float", 1, {}, {}};
    bool first = true;
    for (const float v : values) {
      if (!std::isfinite(v)) continue;
      attribute.minimum[0] = first ? v : std::min<double>(attribute.minimum[0], v);
      attribute.maximum[0] = first ? v : std::max<double>(attribute.maximum[0], v);
      first = false;
    }
    grid.attributes.push_back(attribute);
  }
  info.kind = FileInfo::mesh;
  info.grids.push_back(std::move(grid));
}

constexpr int deepest_group = 64;

Status describe_group(const PieceReader& reader, const std::string& group, int depth, FileInfo& info) {
  if (depth > deepest_group) return io_error("checkpoint {} is damaged: groups within groups", info.path);
  const auto names = reader.list(group);
  if (!names) return names.error();
  constexpr const char* types[] = {"f32", "f64", "i32", "i64", "u8", "u64"};
  for (const auto& name : *names) {
    const std::string full = group.empty() ? name : group + "/" + name;
    if (name.ends_with('/')) {
      if (Status s = describe_group(reader, full.substr(0, full.size() - 1), depth + 1, info); !s) return s;
      continue;
    }
    const auto shape = reader.info(full);
    if (!shape) return shape.error();
    GridInfo grid;
    grid.name = full;
    grid.type = types[static_cast<int>(shape->type)];
    grid.points = shape->rows;
    grid.active_voxels = shape->columns;
    info.grids.push_back(std::move(grid));
  }
  return {};
}

Status describe_piece(FileInfo& info) {
  info.kind = FileInfo::piece;
  const auto reader = PieceReader::open(info.path);
  if (!reader) return reader.error();
  return describe_group(*reader, "", 0, info);
}

bool is_mesh_name(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* known : {".obj", ".gltf", ".glb", ".stl", ".fbx", ".dae", ".off"})
    if (extension == known) return true;
  return false;
}

}  // namespace

Result<FileInfo> inspect_file(const std::string& path) {
  const auto kind = kind_of_file(path);
  if (!kind) return kind.error();
  FileInfo info;
  info.path = path;
  std::error_code ignored;
  info.bytes = std::filesystem::file_size(path, ignored);
  Status s;
  if (*kind == FileKind::vdb) {
    info.kind = FileInfo::vdb;
    s = inspect_vdb(path, info);
  } else if (*kind == FileKind::hdf5) {
    s = describe_piece(info);
  } else if (*kind == FileKind::ply || is_mesh_name(path)) {
    const auto mesh = read_mesh(path);
    if (!mesh) return mesh.error();
    describe_mesh(*mesh, info);
  }
  if (!s) return s.error();
  return info;
}

}  // namespace aegir
