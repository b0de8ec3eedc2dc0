#include "surfacing/points_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "io/file_kind.h"
#include "io/frame_path.h"
#include "io/ply.h"
#include "io/vdb.h"

namespace aegir {
namespace {

namespace fs = std::filesystem;

/// Takes three scalars of a mesh as one vector, if all are there.
void take_vector(TriangleMesh& mesh, const std::array<const char*, 3>& names, const char* name, PointSet& points) {
  for (const char* n : names)
    if (!mesh.scalars.contains(n)) return;
  auto values = points.add(name, PointAttribute::vec3f).as<Vec3f>();
  for (int c = 0; c < 3; ++c) {
    const auto& from = mesh.scalars[names[static_cast<std::size_t>(c)]];
    for (std::size_t i = 0; i < values.size(); ++i) values[i][c] = from[i];
  }
  for (const char* n : names) mesh.scalars.erase(n);
}

PointSet points_of(TriangleMesh mesh) {
  PointSet points;
  points.position = std::move(mesh.positions);
  take_vector(mesh, {"vx", "vy", "vz"}, "v", points);
  take_vector(mesh, {"nx", "ny", "nz"}, "N", points);
  take_vector(mesh, {"red", "green", "blue"}, "Cd", points);
  for (const auto& [name, values] : mesh.scalars) {
    const bool radius = name == "radius" && !mesh.scalars.contains("pscale");
    if (name == "id") {
      auto to = points.add("id", PointAttribute::int64).as<std::int64_t>();
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::isfinite(values[i]) ? std::llround(values[i]) : -1;
    } else {
      auto to = points.add(radius ? "pscale" : name, PointAttribute::float32).as<float>();
      std::copy(values.begin(), values.end(), to.begin());
    }
  }
  return points;
}

/// Where the digits of a frame are in a file's name: before the extension, after a dot, an underscore or a letter.
struct Digits {
  std::size_t begin = 0, end = 0;
};

std::optional<Digits> frame_digits(const std::string& file_name) {
  const std::size_t dot = file_name.rfind('.');
  const std::size_t end = dot == std::string::npos ? file_name.size() : dot;
  std::size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(file_name[begin - 1]))) --begin;
  if (begin == end) return {};
  if (begin > 1 && file_name[begin - 1] == '-' && !std::isalnum(static_cast<unsigned char>(file_name[begin - 2])))
    --begin;
  return Digits{begin, end};
}

/// Names without their frame, in order of their first appearance.
class SequenceTable {
 public:
  void add(const std::string& name, std::optional<int> frame, const std::string& path) {
    auto found = std::find_if(all_.begin(), all_.end(), [&](const PointSequence& s) { return s.name == name; });
    if (found == all_.end()) found = all_.insert(all_.end(), {name, {}});
    found->files[frame ? *frame : static_cast<int>(found->files.size())] = path;
  }
  std::vector<PointSequence> take() { return std::move(all_); }

 private:
  std::vector<PointSequence> all_;
};

void add_file(const std::string& path, SequenceTable& table) {
  const std::string name = fs::path(path).filename().string();
  const auto digits = frame_digits(name);
  int frame = 0;
  if (digits) {
    const auto [end, error] = std::from_chars(name.data() + digits->begin, name.data() + digits->end, frame);
    if (error == std::errc()) {
      const std::string around = name.substr(0, digits->begin) + "#" + name.substr(digits->end);
      return table.add((fs::path(path).parent_path() / around).string(), frame, path);
    }
  }
  table.add(path, {}, path);
}

}  // namespace

Result<PointSet> read_point_file(const std::string& path) {
  const Result<FileKind> kind = kind_of_file(path);
  if (!kind) return kind.error();
  if (*kind == FileKind::vdb) return read_points(path);
  if (*kind != FileKind::ply)
    return io_error("cannot read {}: it holds neither OpenVDB points nor a PLY file{}", path,
                    fs::file_size(path) == 0 ? "; it is empty" : "");
  const Result<std::string> bytes = read_bytes(path);
  if (!bytes) return bytes.error();
  Result<TriangleMesh> mesh = parse_ply_points(*bytes, path);
  if (!mesh) {
    const Error& error = mesh.error();
    return Error{error.kind,
                 fmt::format("cannot read {}: {}{}", path, error.message,
                             error.where.line > 0 ? fmt::format(" (line {})", error.where.line) : ""),
                 {}};
  }
  return points_of(std::move(*mesh));
}

void append_points(PointSet& points, const PointSet& more) {
  const std::size_t before = points.size(), after = before + more.size();
  const auto differs = [&](const PointAttribute& a, const PointSet& in) {
    const PointAttribute* other = in.find(a.name);
    return other && other->type != a.type;
  };
  std::vector<const PointAttribute*> fresh;
  for (const PointAttribute& a : more.attributes)
    if (!points.find(a.name)) fresh.push_back(&a);
  std::erase_if(points.attributes, [&](const PointAttribute& a) { return differs(a, more); });
  points.position.insert(points.position.end(), more.position.begin(), more.position.end());
  for (PointAttribute& a : points.attributes) a.data.resize(after * PointAttribute::size_of(a.type));
  for (const PointAttribute* a : fresh) points.add(a->name, a->type);
  for (PointAttribute& a : points.attributes)
    if (const PointAttribute* other = more.find(a.name); other && !other->data.empty())
      std::memcpy(a.data.data() + before * PointAttribute::size_of(a.type), other->data.data(), other->data.size());
}

Result<std::vector<PointSequence>> find_point_files(const std::vector<std::string>& inputs) {
  SequenceTable table;
  for (const std::string& input : inputs) {
    const FramePattern pattern(input);
    std::error_code ignored;
    if (!pattern.animated() || fs::exists(input, ignored)) {
      if (!fs::exists(input, ignored)) return io_error("cannot read {}: it does not exist", input);
      add_file(input, table);
      continue;
    }
    const auto frames = pattern.existing();
    if (!frames) return frames.error();
    if (frames->empty()) return io_error("there is no file for any frame of {}", input);
    for (const int frame : *frames) table.add(input, frame, pattern.path(frame));
  }
  return table.take();
}

}  // namespace aegir
