#include "io/obj.h"

#include <charconv>
#include <limits>

namespace aegir {
namespace {

/// Takes words from one line.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}

  std::string_view word() {
    const std::size_t begin = rest_.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return rest_ = {};
    const std::size_t end = std::min(rest_.find_first_of(" \t\r", begin), rest_.size());
    const std::string_view taken = rest_.substr(begin, end - begin);
    rest_ = rest_.substr(end);
    return taken;
  }
  bool number(double& value) {
    std::string_view text = word();
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return !text.empty() && code == std::errc() && end == text.data() + text.size();
  }

 private:
  std::string_view rest_;
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Result<TriangleMesh> read() {
    for (std::size_t at = 0; at < bytes_.size();) {
      const std::size_t end = std::min(bytes_.find('\n', at), bytes_.size());
      ++line_;
      if (Status s = take(bytes_.substr(at, end - at)); !s) return s.error();
      at = end + 1;
    }
    for (const Vec3i& t : mesh_.triangles)
      for (int k = 0; k < 3; ++k)
        if (t[k] >= static_cast<std::int64_t>(mesh_.positions.size()))
          return io_error("cannot read {}: a face uses vertex {} of {}", name_, t[k] + 1, mesh_.positions.size());
    return std::move(mesh_);
  }

 private:
  Error error(std::string message) const { return {Failure::io, std::move(message), {name_, line_, 1}}; }

  Status take(std::string_view text) {
    Line line(text);
    const std::string_view key = line.word();
    if (key == "v") {
      Vec3d p;
      if (!line.number(p.x) || !line.number(p.y) || !line.number(p.z)) return error("a vertex needs three numbers");
      if (!is_finite(p)) return error("a vertex is not finite");
      if (mesh_.positions.size() == static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        return error("more vertices than an index can address");
      mesh_.positions.push_back(p);
    } else if (key == "f") {
      return face(line);
    }
    return {};
  }

  Status face(Line& line) {
    corners_.clear();
    for (std::string_view word = line.word(); !word.empty(); word = line.word()) {
      const std::string_view first = word.substr(0, word.find('/'));
      std::int64_t index = 0;
      const auto [end, code] = std::from_chars(first.data(), first.data() + first.size(), index);
      if (code != std::errc() || end != first.data() + first.size() || index == 0)
        return error(fmt::format("'{}' is not the index of a vertex", word.substr(0, 40)));
      index = index < 0 ? static_cast<std::int64_t>(mesh_.positions.size()) + index : index - 1;
      if (index < 0 || index >= std::numeric_limits<std::int32_t>::max())
        return error(fmt::format("'{}' is not the index of a vertex", word.substr(0, 40)));
      corners_.push_back(static_cast<std::int32_t>(index));
    }
    for (std::size_t k = 2; k < corners_.size(); ++k)
      mesh_.triangles.emplace_back(corners_[0], corners_[k - 1], corners_[k]);
    return {};
  }

  std::string_view bytes_;
  const std::string& name_;
  TriangleMesh mesh_;
  std::vector<std::int32_t> corners_;
  int line_ = 0;
};

}  // namespace

Result<TriangleMesh> parse_obj(std::string_view bytes, const std::string& name) { return Reader(bytes, name).read(); }

}  // namespace aegir
