// For tests only: writes small glTF files, MDD and PC2.
//
//   TestGltf file;
//   const int times = file.numbers({0, 1}, 1), places = file.numbers({0, 0, 0, 1, 0, 0}, 3);
//   file.mesh = true;
//   file.nodes = R"([{"mesh": 0}])";
//   file.animations = file.animation(0, "translation", times, places);
//   file.write(folder / "moving.glb");
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/vec.h"
#include "io/test_support.h"

namespace aegir {

struct TestGltf {
  std::string nodes = "[]", animations, more;  ///< JSON; animations without their brackets
  std::string binary, views, accessors;
  int count = 0;

  /// Adds an accessor over floats.
  int numbers(const std::vector<float>& values, int width) {
    return add(values.data(), values.size() * sizeof(float), values.size() / width, 5126,
               width == 1   ? "SCALAR"
               : width == 3 ? "VEC3"
                            : "VEC4");
  }
  /// Adds the mesh of a unit cube around the origin, or of the given corners and triangles, as mesh 0.
  void add_mesh(std::vector<float> corners = {}, std::vector<std::uint32_t> triangles = {}) {
    if (corners.empty()) {
      for (int i = 0; i < 8; ++i)
        for (int k = 0; k < 3; ++k) corners.push_back(i >> k & 1 ? 0.5f : -0.5f);
      triangles = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                   2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};
    }
    const int position = numbers(corners, 3);
    const int index = add(triangles.data(), triangles.size() * 4, triangles.size(), 5125, "SCALAR");
    more += ",\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":" + std::to_string(position) +
            "},\"indices\":" + std::to_string(index) + "}]}]";
  }
  /// JSON of an animation with one channel.
  static std::string animation(int node, const std::string& path, int times, int values,
                               const std::string& interpolation = "LINEAR", const std::string& name = "a") {
    return "{\"name\":\"" + name + "\",\"samplers\":[{\"input\":" + std::to_string(times) +
           ",\"output\":" + std::to_string(values) + ",\"interpolation\":\"" + interpolation +
           "\"}],\"channels\":[{\"sampler\":0,\"target\":{\"node\":" + std::to_string(node) + ",\"path\":\"" + path +
           "\"}}]}";
  }

  std::string json(const std::string& buffer) const {
    return "{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"nodes\":" + nodes +
           ",\"animations\":[" + animations + "],\"bufferViews\":[" + views + "],\"accessors\":[" + accessors +
           "],\"buffers\":[{" + buffer + "\"byteLength\":" + std::to_string(binary.size()) + "}]" + more + "}";
  }
  /// Binary for .glb; otherwise text with a .bin file beside it.
  void write(const std::string& path) const {
    if (!path.ends_with(".glb")) {
      const std::string bin = path + ".bin";
      write_bytes(bin, binary);
      const std::string uri = bin.substr(bin.rfind('/') + 1);
      write_bytes(path, json("\"uri\":\"" + uri + "\","));
      return;
    }
    std::string text = json(""), data = binary;
    while (text.size() % 4) text += ' ';
    while (data.size() % 4) data += '\0';
    std::string file = "glTF";
    for (const std::uint32_t w : {2u, static_cast<std::uint32_t>(28 + text.size() + data.size()),
                                  static_cast<std::uint32_t>(text.size()), 0x4e4f534au})
      file.append(reinterpret_cast<const char*>(&w), 4);
    file += text;
    for (const std::uint32_t w : {static_cast<std::uint32_t>(data.size()), 0x004e4942u})
      file.append(reinterpret_cast<const char*>(&w), 4);
    write_bytes(path, file + data);
  }

 private:
  int add(const void* data, std::size_t bytes, std::size_t elements, int component, const std::string& type) {
    const std::string comma = count ? "," : "";
    views += comma + "{\"buffer\":0,\"byteOffset\":" + std::to_string(binary.size()) +
             ",\"byteLength\":" + std::to_string(bytes) + "}";
    accessors += comma + "{\"bufferView\":" + std::to_string(count) +
                 ",\"componentType\":" + std::to_string(component) + ",\"count\":" + std::to_string(elements) +
                 ",\"type\":\"" + type + "\"";
    if (component == 5126 && type == "VEC3") accessors += ",\"min\":[-100,-100,-100],\"max\":[100,100,100]";
    accessors += "}";
    binary.append(static_cast<const char*>(data), bytes);
    return count++;
  }
};

inline void append_word(std::string& to, const void* word, bool big) {
  char bytes[4];
  std::memcpy(bytes, word, 4);
  if (big) std::swap(bytes[0], bytes[3]), std::swap(bytes[1], bytes[2]);
  to.append(bytes, 4);
}

inline void append_places(std::string& to, const std::vector<std::vector<Vec3d>>& samples, bool big) {
  for (const auto& sample : samples)
    for (const Vec3d& p : sample)
      for (int k = 0; k < 3; ++k) {
        const float v = static_cast<float>(p[k]);
        append_word(to, &v, big);
      }
}

/// Big-endian MDD.
inline void write_mdd(const std::string& path, const std::vector<float>& seconds,
                      const std::vector<std::vector<Vec3d>>& samples) {
  std::string file;
  for (const std::int32_t n :
       {static_cast<std::int32_t>(samples.size()), static_cast<std::int32_t>(samples.front().size())})
    append_word(file, &n, true);
  for (const float t : seconds) append_word(file, &t, true);
  append_places(file, samples, true);
  write_bytes(path, file);
}

/// Little-endian PC2.
inline void write_pc2(const std::string& path, float start, float apart,
                      const std::vector<std::vector<Vec3d>>& samples) {
  std::string file("POINTCACHE2\0", 12);
  const std::int32_t version = 1, points = static_cast<std::int32_t>(samples.front().size()),
                     number = static_cast<std::int32_t>(samples.size());
  append_word(file, &version, false), append_word(file, &points, false);
  append_word(file, &start, false), append_word(file, &apart, false), append_word(file, &number, false);
  append_places(file, samples, false);
  write_bytes(path, file);
}

}  // namespace aegir
