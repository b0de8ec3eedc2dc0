#include "io/mesh.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>

#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <assimp/Importer.hpp>

#include "base/assert.h"
#include "io/atomic_file.h"
#include "io/file_kind.h"
#include "io/file_sink.h"
#include "io/obj.h"
#include "io/ply.h"

namespace aegir {

namespace {

/// Scenes that place more vertices than this by instancing are refused.
constexpr std::size_t most_vertices = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t most_nodes = 1 << 24;

/// Appends one mesh of the scene, placed by `transform`.
Status append(const aiMesh& part, const aiMatrix4x4& transform, const std::string& path, TriangleMesh& mesh) {
  const std::size_t first = mesh.positions.size();
  if (first + part.mNumVertices > most_vertices) return io_error("cannot read {}: too many vertices", path);
  for (unsigned v = 0; v < part.mNumVertices; ++v) {
    const aiVector3D p = transform * part.mVertices[v];
    mesh.positions.emplace_back(p.x, p.y, p.z);
    if (!is_finite(mesh.positions.back())) return io_error("cannot read {}: a vertex is not finite", path);
  }
  // A mirroring transform turns triangles inside out.
  const bool mirrored = transform.Determinant() < 0;
  for (unsigned f = 0; f < part.mNumFaces; ++f) {
    const aiFace& face = part.mFaces[f];
    if (face.mNumIndices != 3) continue;
    Vec3i t;
    for (int k = 0; k < 3; ++k) {
      const unsigned index = face.mIndices[mirrored ? 2 - k : k];
      if (index >= part.mNumVertices) return io_error("cannot read {}: a face uses a vertex that does not exist", path);
      t[k] = static_cast<std::int32_t>(first + index);
    }
    mesh.triangles.push_back(t);
  }
  return {};
}

/// Walks the node hierarchy without recursion: its depth is the file's choice.
Status flatten(const aiScene& scene, const std::string& path, TriangleMesh& mesh) {
  std::vector<std::pair<const aiNode*, aiMatrix4x4>> stack{{scene.mRootNode, aiMatrix4x4()}};
  std::size_t nodes = 0;
  while (!stack.empty()) {
    const auto [node, above] = stack.back();
    stack.pop_back();
    if (++nodes > most_nodes) return io_error("cannot read {}: too many nodes", path);
    const aiMatrix4x4 transform = above * node->mTransformation;
    for (unsigned m = 0; m < node->mNumMeshes; ++m) {
      if (node->mMeshes[m] >= scene.mNumMeshes)
        return io_error("cannot read {}: a node uses a mesh that does not exist", path);
      if (Status s = append(*scene.mMeshes[node->mMeshes[m]], transform, path, mesh); !s) return s;
    }
    for (unsigned c = node->mNumChildren; c-- > 0;) stack.emplace_back(node->mChildren[c], transform);
  }
  return {};
}

/// Joins vertices at the same position; those that remain keep their order.
void join_vertices(TriangleMesh& mesh) {
  const auto& p = mesh.positions;
  std::vector<std::int32_t> order(p.size()), target(p.size());
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](std::int32_t v) -> const Vec3d& { return p[static_cast<std::size_t>(v)]; };
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return std::tie(at(a).x, at(a).y, at(a).z, a) < std::tie(at(b).x, at(b).y, at(b).z, b);
  });
  for (std::size_t k = 0; k < order.size(); ++k) {
    const bool same = k > 0 && at(order[k]) == at(order[k - 1]);
    target[static_cast<std::size_t>(order[k])] = same ? target[static_cast<std::size_t>(order[k - 1])] : order[k];
  }
  std::vector<std::int32_t> renumbered(p.size());
  std::vector<Vec3d> kept;
  for (std::size_t v = 0; v < p.size(); ++v) {
    if (target[v] == static_cast<std::int32_t>(v)) {
      renumbered[v] = static_cast<std::int32_t>(kept.size());
      kept.push_back(p[v]);
    }
  }
  for (auto& t : mesh.triangles)
    for (int k = 0; k < 3; ++k) t[k] = renumbered[static_cast<std::size_t>(target[static_cast<std::size_t>(t[k])])];
  mesh.positions = std::move(kept);
}

Result<TriangleMesh> import_with_assimp(const std::string& path, bool join) {
  TriangleMesh mesh;
  try {
    Assimp::Importer importer;
    importer.SetPropertyInteger(AI_CONFIG_PP_RVC_FLAGS,
                                aiComponent_NORMALS | aiComponent_TANGENTS_AND_BITANGENTS | aiComponent_COLORS |
                                    aiComponent_TEXCOORDS | aiComponent_BONEWEIGHTS | aiComponent_TEXTURES |
                                    aiComponent_LIGHTS | aiComponent_CAMERAS | aiComponent_MATERIALS);
    const aiScene* scene = importer.ReadFile(path, aiProcess_RemoveComponent | aiProcess_Triangulate);
    if (!scene || !scene->mRootNode) return io_error("cannot read {}: {}", path, importer.GetErrorString());
    if (Status s = flatten(*scene, path, mesh); !s) return s.error();
  } catch (const std::bad_alloc&) {
    return Error{Failure::memory, fmt::format("cannot read {}: not enough memory", path), {}};
  } catch (const std::exception& e) {
    return io_error("cannot read {}: {}", path, e.what());
  }
  if (join) join_vertices(mesh);
  return mesh;
}

std::string extension_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  std::string extension = dot == std::string::npos || path.find('/', dot) != std::string::npos ? "" : path.substr(dot);
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

Result<TriangleMesh> parsed(const std::string& path,
                            Result<TriangleMesh> (*parse)(std::string_view, const std::string&)) {
  const auto bytes = read_bytes(path);
  if (!bytes) return bytes.error();
  try {
    return parse(*bytes, path);
  } catch (const std::bad_alloc&) {
    return Error{Failure::memory, fmt::format("cannot read {}: not enough memory", path), {}};
  }
}

Result<TriangleMesh> read_any(const std::string& path, const MeshImportOptions& options, bool in_order) {
  const auto kind = kind_of_file(path);
  if (!kind) return kind.error();
  const std::string extension = extension_of(path);
  auto mesh = *kind == FileKind::ply || extension == ".ply" ? parsed(path, parse_ply)
              : in_order && extension == ".obj"             ? parsed(path, parse_obj)
                                                            : import_with_assimp(path, !in_order);
  if (!mesh) return mesh;
  if (mesh->triangles.empty()) return io_error("cannot read {}: there are no triangles in it", path);
  if (!(options.metres_per_unit > 0) || !std::isfinite(options.metres_per_unit))
    return usage_error({}, "metres_per_unit is {}; it must be positive", options.metres_per_unit);
  for (auto& p : mesh->positions) p = imported(p, options);
  return mesh;
}

}  // namespace

Result<TriangleMesh> read_mesh(const std::string& path, const MeshImportOptions& options) {
  return read_any(path, options, false);
}

Result<TriangleMesh> read_mesh_in_order(const std::string& path, const MeshImportOptions& options) {
  return read_any(path, options, true);
}

namespace {

std::string ply_header(const TriangleMesh& mesh, const std::vector<std::string>& scalars, bool velocity) {
  std::string text = "ply\nformat binary_little_endian 1.0\ncomment Aegir\n";
  text +=
      fmt::format("element vertex {}\nproperty float x\nproperty float y\nproperty float z\n", mesh.positions.size());
  if (velocity) text += "property float vx\nproperty float vy\nproperty float vz\n";
  for (const auto& name : scalars) text += fmt::format("property float {}\n", name);
  text += fmt::format("element face {}\nproperty list uchar int vertex_indices\nend_header\n", mesh.triangles.size());
  return text;
}

void put(char*& at, const void* data, std::size_t bytes) {
  std::memcpy(at, data, bytes);
  at += bytes;
}

void put(char*& at, const Vec3f& v) {
  const float xyz[3] = {v.x, v.y, v.z};
  put(at, xyz, sizeof xyz);
}

}  // namespace

Status write_ply(const std::string& path, const TriangleMesh& mesh, std::span<const Vec3f> velocity) {
  const bool moving = !velocity.empty();
  AEGIR_ASSERT(!moving || velocity.size() == mesh.positions.size(), "as many velocities as vertices");
  std::vector<std::string> names;
  std::vector<const float*> columns;
  for (const auto& [name, values] : mesh.scalars) {
    AEGIR_ASSERT(values.size() == mesh.positions.size(), "scalar '" + name + "' has another length than its vertices");
    AEGIR_ASSERT(!name.empty() && name.find_first_of(" \t\r\n") == std::string::npos && name != "x" && name != "y" &&
                     name != "z",
                 "'" + name + "' cannot name a PLY property");
    if (moving && (name == "vx" || name == "vy" || name == "vz")) continue;
    names.push_back(name);
    columns.push_back(values.data());
  }
  return write_atomically(path, [&](const std::string& temporary) {
    FileSink sink(temporary);
    const std::string header = ply_header(mesh, names, moving);
    sink.write(header.data(), header.size());
    std::vector<char> row((moving ? 6 : 3) * sizeof(float) + columns.size() * sizeof(float));
    for (std::size_t v = 0; v < mesh.positions.size() && sink.ok(); ++v) {
      char* at = row.data();
      put(at, Vec3f(mesh.positions[v]));
      if (moving) put(at, velocity[v]);
      for (const float* column : columns) put(at, column + v, sizeof(float));
      sink.write(row.data(), row.size());
    }
    for (std::size_t t = 0; t < mesh.triangles.size() && sink.ok(); ++t) {
      const std::int32_t corners[3] = {mesh.triangles[t].x, mesh.triangles[t].y, mesh.triangles[t].z};
      char face[13] = {3};
      std::memcpy(face + 1, corners, sizeof corners);
      sink.write(face, sizeof face);
    }
    return sink.finish();
  });
}

}  // namespace aegir
