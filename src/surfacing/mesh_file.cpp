#include "surfacing/mesh_file.h"

#include <cstring>
#include <iterator>
#include <utility>

#include "io/atomic_file.h"
#include "io/file_sink.h"
#include "surfacing/surface_attributes.h"

namespace aegir {
namespace {

/// One number per vertex under the name that files give it.
struct Column {
  std::string attribute, name;
  int component = 0, components = 1;
  std::vector<float> values;
};

Result<std::vector<Column>> columns_of(const SurfaceMesh& mesh, const PointSet& points,
                                       const std::vector<std::string>& attributes) {
  std::vector<std::string> wanted;
  if (points.find("v")) wanted.push_back("v");
  for (const std::string& a : attributes)
    if (a != "v") wanted.push_back(a);
  std::vector<Column> columns;
  for (const std::string& name : wanted) {
    const PointAttribute* a = points.find(name);
    if (!a) return missing_attribute(points, name);
    if (a->type != PointAttribute::vec3f) {
      columns.push_back({name, name, 0, 1, attribute_at_vertices(mesh, *a, 0)});
      continue;
    }
    constexpr const char *colours[] = {"red", "green", "blue"}, *axes[] = {"x", "y", "z"};
    for (int c = 0; c < 3; ++c)
      columns.push_back({name,
                         name == "Cd"  ? colours[c]
                         : name == "v" ? "v" + std::string(axes[c])
                                       : name + "_" + axes[c],
                         c, 3, attribute_at_vertices(mesh, *a, c)});
  }
  return columns;
}

/// Bytes in pieces of some megabytes, so that the sink is called rarely.
class Output {
 public:
  explicit Output(FileSink& sink) : sink_(sink) { buffer_.reserve(limit + 4096); }
  ~Output() { flush(); }
  template <class T>
  void put(const T& value) {
    const auto* bytes = reinterpret_cast<const char*>(&value);
    buffer_.insert(buffer_.end(), bytes, bytes + sizeof value);
  }
  template <class... Args>
  void print(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), text, std::forward<Args>(args)...);
  }
  void check() {
    if (buffer_.size() > limit) flush();
  }

 private:
  static constexpr std::size_t limit = 1 << 22;
  void flush() {
    sink_.write(buffer_.data(), buffer_.size());
    buffer_.clear();
  }
  FileSink& sink_;
  std::vector<char> buffer_;
};

void write_ply_body(FileSink& sink, const SurfaceMesh& mesh, const std::vector<Column>& columns) {
  Output out(sink);
  out.print("ply\nformat binary_little_endian 1.0\ncomment Aegir\nelement vertex {}\n", mesh.positions.size());
  out.print("property float x\nproperty float y\nproperty float z\n");
  for (const Column& c : columns) out.print("property float {}\n", c.name);
  out.print("element face {}\nproperty list uchar int vertex_indices\nend_header\n", mesh.triangles.size());
  for (std::size_t v = 0; v < mesh.positions.size(); ++v) {
    out.put(Vec3f(mesh.position(v)));
    for (const Column& c : columns) out.put(c.values[v]);
    out.check();
  }
  for (const Vec3i& t : mesh.triangles) out.put(std::uint8_t{3}), out.put(t), out.check();
}

void write_obj_body(FileSink& sink, const SurfaceMesh& mesh, const std::vector<Column>& columns) {
  Output out(sink);
  out.print("# Aegir: {} vertices, {} triangles\no surface\n", mesh.positions.size(), mesh.triangles.size());
  for (std::size_t v = 0; v < mesh.positions.size(); ++v) {
    const Vec3d p = mesh.position(v);
    out.print("v {:.9g} {:.9g} {:.9g}", p.x, p.y, p.z);
    for (const Column& c : columns)
      if (c.attribute == "Cd") out.print(" {:.6g}", c.values[v]);
    out.print("\n");
    for (const Column& c : columns) {
      if (c.attribute == "Cd") continue;
      if (c.component == 0) out.print("#{}", c.attribute);
      out.print(" {:.9g}", c.values[v]);
      if (c.component + 1 == c.components) out.print("\n");
    }
    out.check();
  }
  for (const Vec3i& t : mesh.triangles) out.print("f {} {} {}\n", t.x + 1, t.y + 1, t.z + 1), out.check();
}

}  // namespace

const char* extension_of(MeshFormat format) { return format == MeshFormat::obj ? "obj" : "ply"; }

Status write_surface_mesh(const std::string& path, const SurfaceMesh& mesh, const PointSet& points,
                          const std::vector<std::string>& attributes) {
  const auto columns = columns_of(mesh, points, attributes);
  if (!columns) return columns.error();
  return write_atomically(path, [&](const std::string& temporary) {
    FileSink sink(temporary);
    if (path.ends_with(".obj"))
      write_obj_body(sink, mesh, *columns);
    else
      write_ply_body(sink, mesh, *columns);
    return sink.finish();
  });
}

}  // namespace aegir
