#include "io/content_hash.h"

#include "io/file_kind.h"
#include "io/hash128.h"
#include "io/ply.h"
#include "io/vdb_archive.h"

namespace aegir {

namespace {

void add_mesh(Hash128& hash, const TriangleMesh& mesh) {
  hash.add(mesh.positions.size());
  for (const auto& p : mesh.positions) hash.add_bytes(&p, sizeof p);
  hash.add(mesh.triangles.size());
  for (const auto& t : mesh.triangles) hash.add_bytes(&t, sizeof t);
  for (const auto& [name, values] : mesh.scalars) {
    hash.add_text(name);
    hash.add_bytes(values.data(), values.size() * sizeof(float));
  }
}

}  // namespace

Result<std::string> content_hash(const std::string& path) {
  const auto kind = kind_of_file(path);
  if (!kind) return kind.error();
  Hash128 hash;
  if (*kind == FileKind::vdb) {
    const auto vdb = hash_vdb(path);
    if (!vdb) return vdb.error();
    return vdb->hex();
  }
  const auto bytes = read_bytes(path);
  if (!bytes) return bytes.error();
  if (*kind == FileKind::ply) {
    hash.add_text("ply");
    const auto mesh = parse_ply(*bytes, path);
    if (!mesh) return mesh.error();
    add_mesh(hash, *mesh);
  } else {
    hash.add_text(*bytes);
  }
  return hash.hex();
}

}  // namespace aegir
