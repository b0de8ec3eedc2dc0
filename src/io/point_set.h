// Neutral exchange of particles and volumes between the simulation and files; knows neither OpenVDB nor channels.
//
//   PointSet points;
//   points.position = {{0, 1, 0}, {0, 2, 0}};
//   points.add("v", PointAttribute::vec3f).as<Vec3f>()[0] = {0, -1, 0};
//   points.add("id", PointAttribute::int64).as<std::int64_t>()[0] = 7;
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/assert.h"
#include "base/vec.h"

namespace aegir {

/// One named value per point, stored as plain bytes.
struct PointAttribute {
  enum Type { float32, vec3f, int32, int64, float64 };

  std::string name;
  Type type = float32;
  std::vector<std::byte> data;

  /// Bytes of one value.
  static constexpr std::size_t size_of(Type type) {
    return type == vec3f ? 12 : type == int64 || type == float64 ? 8 : 4;
  }
  /// "float", "vec3f", "int32", "int64" or "double".
  static constexpr std::string_view name_of(Type type) {
    constexpr std::string_view names[] = {"float", "vec3f", "int32", "int64", "double"};
    return names[type];
  }
  /// The Type of a C++ type.
  template <class T>
  static constexpr Type type_of() {
    if constexpr (std::is_same_v<T, float>) return float32;
    if constexpr (std::is_same_v<T, Vec3f>) return vec3f;
    if constexpr (std::is_same_v<T, std::int32_t>) return int32;
    if constexpr (std::is_same_v<T, std::int64_t>) return int64;
    if constexpr (std::is_same_v<T, double>) return float64;
  }
  /// Number of values held.
  std::size_t count() const { return data.size() / size_of(type); }
  /// The values as T, which must be the attribute's own type.
  template <class T>
  std::span<T> as() {
    AEGIR_ASSERT(type == type_of<T>(), "attribute '" + name + "' is read as another type");
    return {reinterpret_cast<T*>(data.data()), count()};
  }
  /// The values as T, read only.
  template <class T>
  std::span<const T> as() const {
    AEGIR_ASSERT(type == type_of<T>(), "attribute '" + name + "' is read as another type");
    return {reinterpret_cast<const T*>(data.data()), count()};
  }
};

/// Points in world space with any number of attributes, all of the same length.
struct PointSet {
  std::vector<Vec3d> position;
  std::vector<PointAttribute> attributes;

  /// Number of points.
  std::size_t size() const { return position.size(); }
  /// Adds an attribute of size() zeros; the reference holds until the next add.
  PointAttribute& add(std::string name, PointAttribute::Type type) {
    return attributes.emplace_back(
        PointAttribute{std::move(name), type, std::vector<std::byte>(size() * PointAttribute::size_of(type))});
  }
  /// The attribute of that name, or null.
  const PointAttribute* find(std::string_view name) const {
    for (const auto& a : attributes)
      if (a.name == name) return &a;
    return nullptr;
  }
  PointAttribute* find(std::string_view name) {
    return const_cast<PointAttribute*>(static_cast<const PointSet*>(this)->find(name));
  }
};

/// A sparse volume in blocks of 8×8×8 samples.
///
/// Sample (i,j,k) lies at origin + (i,j,k)·voxel_size for node, + half a voxel for cell; component a of a face
/// sample lies at the centre of the lower a-face of cell (i,j,k).
struct VolumeGrid {
  enum Location { cell, face, node };
  enum Kind { scalar, vector, level_set };
  static constexpr std::size_t bucket_values = 512;

  std::string name;
  Location location = cell;
  Kind kind = scalar;
  double voxel_size = 1;
  Vec3d origin;                       ///< lower corner of cell (0,0,0); zero in everything Aegir simulates
  float background = 0;               ///< value outside all buckets; for level sets the half width of the band
  std::vector<Vec3i> buckets;         ///< block coordinate = cell / 8 (rounded down), each at most once
  std::vector<float> values;          ///< per bucket 512, or 3×512 as component planes; offset (x*8+y)*8+z
  std::vector<std::uint64_t> active;  ///< 8 words per bucket, bit = offset; empty means that all are active

  /// 3 for vectors, 1 otherwise.
  int components() const { return kind == vector ? 3 : 1; }
  /// The 512 values of one component of one bucket.
  std::span<float> plane(std::size_t bucket, int component = 0) {
    return {
        values.data() + (bucket * static_cast<std::size_t>(components()) + static_cast<std::size_t>(component)) * 512,
        512};
  }
  std::span<const float> plane(std::size_t bucket, int component = 0) const {
    return const_cast<VolumeGrid*>(this)->plane(bucket, component);
  }
  /// Whether one sample is active.
  bool is_active(std::size_t bucket, std::size_t offset) const {
    return active.empty() || (active[bucket * 8 + offset / 64] >> (offset % 64) & 1);
  }
};

}  // namespace aegir
