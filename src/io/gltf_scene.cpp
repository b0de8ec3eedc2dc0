#include "io/gltf_scene.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>

#include "io/file_kind.h"

namespace aegir {
namespace {

using nlohmann::json;

/// What a damaged file throws; caught in read_gltf_scene.
struct Damaged {
  std::string what;
};
template <class... Args>
[[noreturn]] void damaged(fmt::format_string<Args...> text, Args&&... args) {
  throw Damaged{fmt::format(text, std::forward<Args>(args)...)};
}

std::string decoded_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    const int v = c >= 'A' && c <= 'Z'   ? c - 'A'
                  : c >= 'a' && c <= 'z' ? c - 'a' + 26
                  : c >= '0' && c <= '9' ? c - '0' + 52
                  : c == '+'             ? 62
                  : c == '/'             ? 63
                                         : -1;
    if (c == '=') break;
    if (v < 0) damaged("its base64 data holds a '{}'", c);
    bits = bits << 6 | static_cast<std::uint32_t>(v), have += 6;
    if (have >= 8) have -= 8, bytes.push_back(static_cast<char>(bits >> have & 0xff));
  }
  return bytes;
}

std::string decoded_percent(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) {
      const char c = at < text.size() ? text[at] : ' ';
      return c >= '0' && c <= '9'   ? c - '0'
             : c >= 'a' && c <= 'f' ? c - 'a' + 10
             : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                    : -1;
    };
    if (text[i] == '%' && digit(i + 1) >= 0 && digit(i + 2) >= 0)
      out.push_back(static_cast<char>(digit(i + 1) * 16 + digit(i + 2))), i += 2;
    else
      out.push_back(text[i]);
  }
  return out;
}

std::uint32_t word_at(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

const json& item(const json& all, const char* list, std::size_t index) {
  const auto found = all.find(list);
  if (found == all.end() || !found->is_array() || index >= found->size())
    damaged("it uses number {} of '{}', which does not exist", index, list);
  return (*found)[index];
}

class Reader {
 public:
  Reader(std::string path, std::string bytes) : path_(std::move(path)) {
    if (!bytes.starts_with("glTF")) {
      all_ = json::parse(bytes);
      return;
    }
    if (bytes.size() < 20 || word_at(bytes, 4) != 2) damaged("it is not a binary glTF of version 2");
    const std::uint64_t text = word_at(bytes, 12), data = 20 + text;
    if (word_at(bytes, 16) != 0x4e4f534a || data > bytes.size()) damaged("its JSON part is cut short");
    all_ = json::parse(bytes.substr(20, text));
    if (data + 8 > bytes.size()) return;
    const std::uint64_t size = word_at(bytes, data);
    if (data + 8 + size > bytes.size()) damaged("its binary part is cut short");
    binary_ = bytes.substr(data + 8, size);
  }

  GltfScene read() {
    if (!all_.is_object() || !all_.contains("asset")) damaged("it is not a glTF file");
    nodes();
    mark_scene();
    for (const json& animation : all_.value("animations", json::array())) curves(animation);
    return std::move(scene_);
  }

 private:
  void nodes() {
    const json list = all_.value("nodes", json::array());
    for (std::size_t i = 0; i < list.size(); ++i) {
      const json& from = list[i];
      GltfNode node;
      node.name = from.value("name", fmt::format("number {}", i));
      node.has_mesh = from.contains("mesh");
      node.has_skin = from.contains("skin");
      if (from.contains("camera")) {
        const json& camera = item(all_, "cameras", from["camera"].get<std::size_t>());
        if (camera.contains("perspective")) node.camera_field_of_view = camera["perspective"].value("yfov", 0.6);
      }
      if (from.contains("matrix")) {
        const auto m = from["matrix"].get<std::vector<double>>();
        if (m.size() != 16) damaged("the matrix of node '{}' has {} numbers", node.name, m.size());
        node.has_matrix = true;
        for (int column = 0; column < 3; ++column)
          for (int row = 0; row < 3; ++row) node.linear(row, column) = m[4 * column + row];
        node.translation = {m[12], m[13], m[14]};
      } else {
        const auto t = from.value("translation", std::vector<double>{0, 0, 0});
        const auto r = from.value("rotation", std::vector<double>{0, 0, 0, 1});
        const auto s = from.value("scale", std::vector<double>{1, 1, 1});
        if (t.size() != 3 || r.size() != 4 || s.size() != 3)
          damaged("the transform of node '{}' is incomplete", node.name);
        node.translation = {t[0], t[1], t[2]}, node.scale = {s[0], s[1], s[2]};
        std::copy(r.begin(), r.end(), node.rotation);
      }
      scene_.nodes.push_back(std::move(node));
    }
    for (std::size_t i = 0; i < list.size(); ++i)
      for (const std::size_t child : list[i].value("children", std::vector<std::size_t>())) {
        if (child >= list.size()) damaged("node {} has a child that does not exist", i);
        if (scene_.nodes[child].parent >= 0) damaged("node '{}' has two parents", scene_.nodes[child].name);
        scene_.nodes[child].parent = static_cast<int>(i);
      }
    for (std::size_t i = 0; i < list.size(); ++i) {
      int at = static_cast<int>(i);
      for (std::size_t steps = 0; at >= 0; at = scene_.nodes[at].parent)
        if (++steps > list.size()) damaged("node '{}' is its own ancestor", scene_.nodes[i].name);
    }
  }

  void mark_scene() {
    if (!all_.contains("scenes")) {
      for (GltfNode& node : scene_.nodes) node.in_scene = true;
      return;
    }
    std::vector<std::size_t> roots =
        item(all_, "scenes", all_.value("scene", std::size_t{0})).value("nodes", std::vector<std::size_t>());
    for (const std::size_t r : roots) {
      if (r >= scene_.nodes.size()) damaged("its scene shows a node that does not exist");
      scene_.nodes[r].in_scene = true;
    }
    for (GltfNode& node : scene_.nodes)
      for (int at = node.parent; at >= 0 && !node.in_scene; at = scene_.nodes[at].parent)
        node.in_scene = scene_.nodes[at].in_scene;
  }

  void curves(const json& animation) {
    const std::string name = animation.value("name", std::string("without name"));
    const json samplers = animation.value("samplers", json::array());
    for (const json& channel : animation.value("channels", json::array())) {
      const json& target = channel.at("target");
      if (!target.contains("node")) continue;
      GltfCurve curve;
      curve.animation = name;
      const auto node = target.at("node").get<std::size_t>();
      if (node >= scene_.nodes.size()) damaged("animation '{}' moves a node that does not exist", name);
      curve.node = static_cast<int>(node);
      const auto path = target.at("path").get<std::string>();
      if (path == "weights")
        curve.target = GltfCurve::Target::weights;
      else if (path == "rotation")
        curve.target = GltfCurve::Target::rotation;
      else if (path == "scale")
        curve.target = GltfCurve::Target::scale;
      else if (path != "translation")
        continue;
      const auto sampler = channel.at("sampler").get<std::size_t>();
      if (sampler >= samplers.size()) damaged("animation '{}' uses a sampler that does not exist", name);
      if (curve.target != GltfCurve::Target::weights) sample(samplers[sampler], curve);
      scene_.curves.push_back(std::move(curve));
    }
  }

  void sample(const json& sampler, GltfCurve& curve) {
    const auto interpolation = sampler.value("interpolation", std::string("LINEAR"));
    curve.interpolation = interpolation == "STEP"          ? GltfCurve::Interpolation::step
                          : interpolation == "CUBICSPLINE" ? GltfCurve::Interpolation::cubic
                                                           : GltfCurve::Interpolation::linear;
    const std::size_t width = curve.target == GltfCurve::Target::rotation ? 4 : 3;
    curve.times = numbers(sampler.at("input").get<std::size_t>(), 1);
    curve.values = numbers(sampler.at("output").get<std::size_t>(), width);
    const std::size_t per_time = curve.interpolation == GltfCurve::Interpolation::cubic ? 3 * width : width;
    if (curve.times.empty() || curve.values.size() != curve.times.size() * per_time)
      damaged("animation '{}' has {} times and {} numbers for node '{}'", curve.animation, curve.times.size(),
              curve.values.size(), scene_.nodes[curve.node].name);
    for (std::size_t i = 0; i < curve.times.size(); ++i)
      if (!std::isfinite(curve.times[i]) || (i > 0 && !(curve.times[i] > curve.times[i - 1])))
        damaged("the times of animation '{}' do not increase", curve.animation);
    for (const double v : curve.values)
      if (!std::isfinite(v)) damaged("animation '{}' holds a number that is not finite", curve.animation);
  }

  const std::string& buffer(std::size_t index) {
    if (const auto known = buffers_.find(index); known != buffers_.end()) return known->second;
    const json& from = item(all_, "buffers", index);
    if (!from.contains("uri")) return buffers_[index] = binary_;
    const auto uri = from["uri"].get<std::string>();
    if (uri.starts_with("data:")) {
      const std::size_t comma = uri.find(',');
      if (comma == std::string::npos || uri.find(";base64") > comma) damaged("a buffer is not stored as base64");
      return buffers_[index] = decoded_base64(std::string_view(uri).substr(comma + 1));
    }
    const std::size_t slash = path_.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : path_.substr(0, slash + 1);
    auto bytes = read_bytes(folder + decoded_percent(uri));
    if (!bytes) damaged("{}", bytes.error().text());
    return buffers_[index] = std::move(*bytes);
  }

  /// The numbers of an accessor; whole ones are shares of their type's largest.
  std::vector<double> numbers(std::size_t index, std::size_t width) {
    const json& accessor = item(all_, "accessors", index);
    const auto type = accessor.at("type").get<std::string>();
    const std::size_t has = type == "SCALAR" ? 1 : type == "VEC3" ? 3 : type == "VEC4" ? 4 : 0;
    if (has != width) damaged("an animation needs {} numbers per key, but has '{}'", width, type);
    if (accessor.contains("sparse")) damaged("its animations are stored as sparse accessors, which are not read");
    const auto count = accessor.at("count").get<std::uint64_t>();
    const int component = accessor.at("componentType").get<int>();
    const std::size_t size = component == 5126                        ? 4
                             : component == 5122 || component == 5123 ? 2
                             : component == 5120 || component == 5121 ? 1
                                                                      : 0;
    if (size == 0) damaged("an animation stores numbers of type {}, which it may not", component);
    if (count > (std::uint64_t{1} << 28)) damaged("an animation has {} keys", count);
    std::vector<double> values(count * width);
    if (!accessor.contains("bufferView")) return values;
    const json& view = item(all_, "bufferViews", accessor["bufferView"].get<std::size_t>());
    const std::string& bytes = buffer(view.at("buffer").get<std::size_t>());
    const std::uint64_t start =
        view.value("byteOffset", std::uint64_t{0}) + accessor.value("byteOffset", std::uint64_t{0});
    const std::uint64_t stride = view.value("byteStride", std::uint64_t{size * width});
    if (start > bytes.size() || stride > bytes.size() ||
        (count > 0 && start + (count - 1) * stride + size * width > bytes.size()))
      damaged("an animation reaches beyond the end of its buffer");
    for (std::uint64_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < width; ++k)
        values[i * width + k] = number(bytes.data() + start + i * stride + k * size, component);
    return values;
  }

  template <class T>
  static double taken(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return static_cast<double>(value);
  }
  static double number(const char* at, int component) {
    switch (component) {
      case 5120:
        return std::max(taken<std::int8_t>(at) / 127, -1.0);
      case 5121:
        return taken<std::uint8_t>(at) / 255;
      case 5122:
        return std::max(taken<std::int16_t>(at) / 32767, -1.0);
      case 5123:
        return taken<std::uint16_t>(at) / 65535;
      default:
        return taken<float>(at);
    }
  }

  std::string path_;
  json all_;
  std::string binary_;
  std::map<std::size_t, std::string> buffers_;
  GltfScene scene_;
};

}  // namespace

Result<GltfScene> read_gltf_scene(const std::string& path) {
  auto bytes = read_bytes(path);
  if (!bytes) return bytes.error();
  try {
    return Reader(path, std::move(*bytes)).read();
  } catch (const Damaged& d) {
    return io_error("cannot read {}: {}", path, d.what);
  } catch (const json::exception& e) {
    return io_error("cannot read {}: {}", path, e.what());
  } catch (const std::bad_alloc&) {
    return Error{Failure::memory, fmt::format("cannot read {}: not enough memory", path), {}};
  }
}

}  // namespace aegir
