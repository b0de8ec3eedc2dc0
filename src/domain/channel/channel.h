// A Channel is state declared once: name, type, place, unit. Sorting, migration, checkpoints and export follow from it.
//
//   inline constexpr ParticleChannel<Vec3f> velocity{"v", unit::metre_per_second};
//   inline constexpr CellChannel<float> pressure{"pressure", unit::pascal, 0.0f, Keep::between_steps};
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"
#include "base/vec.h"

namespace aegir {

enum class Scalar : std::uint8_t { f32, f64, i32, i64 };

constexpr std::size_t scalar_size(Scalar s) { return s == Scalar::f32 || s == Scalar::i32 ? 4 : 8; }
constexpr std::string_view scalar_name(Scalar s) {
  return s == Scalar::f32 ? "float" : s == Scalar::f64 ? "double" : s == Scalar::i32 ? "int32" : "int64";
}

/// What a type is in memory: components of one scalar, each component a plane of its own.
template <class T>
struct Element;
template <>
struct Element<float> {
  using Component = float;
  static constexpr Scalar scalar = Scalar::f32;
  static constexpr int components = 1;
};
template <>
struct Element<double> {
  using Component = double;
  static constexpr Scalar scalar = Scalar::f64;
  static constexpr int components = 1;
};
template <>
struct Element<std::int32_t> {
  using Component = std::int32_t;
  static constexpr Scalar scalar = Scalar::i32;
  static constexpr int components = 1;
};
template <>
struct Element<std::int64_t> {
  using Component = std::int64_t;
  static constexpr Scalar scalar = Scalar::i64;
  static constexpr int components = 1;
};
template <>
struct Element<Vec3f> {
  using Component = float;
  static constexpr Scalar scalar = Scalar::f32;
  static constexpr int components = 3;
};
template <>
struct Element<Vec3d> {
  using Component = double;
  static constexpr Scalar scalar = Scalar::f64;
  static constexpr int components = 3;
};

/// Where values live. A face channel of float holds one value on the lower face of each cell along every axis.
enum class Site : std::uint8_t { particle, cell, face, node };

/// What becomes of a grid channel when buckets come and go: kept (and in checkpoints), or scratch that every step
/// rewrites.
enum class Keep : std::uint8_t { scratch, between_steps };

template <class T, Site S>
struct ChannelOf {
  const char* name;
  Unit unit{};
  T background{};  ///< of new particles, of cells outside every bucket
  Keep keep = S == Site::particle ? Keep::between_steps : Keep::scratch;
};
template <class T>
using ParticleChannel = ChannelOf<T, Site::particle>;
template <class T>
using CellChannel = ChannelOf<T, Site::cell>;
template <class T>
using FaceChannel = ChannelOf<T, Site::face>;
template <class T>
using NodeChannel = ChannelOf<T, Site::node>;

/// The declaration as run-time data, for everything that walks channels without knowing them.
struct ChannelInfo {
  std::string name;
  Scalar scalar = Scalar::f32;
  int components = 1;  ///< planes
  Site site = Site::particle;
  Unit unit;
  Keep keep = Keep::between_steps;
  double background[3] = {0, 0, 0};

  std::size_t bytes_per_element() const { return scalar_size(scalar) * static_cast<std::size_t>(components); }
};

template <class T, Site S>
ChannelInfo channel_info(const ChannelOf<T, S>& c) {
  static_assert(S != Site::face || Element<T>::components == 1, "a face channel holds one number per face");
  ChannelInfo info{c.name, Element<T>::scalar, S == Site::face ? 3 : Element<T>::components, S, c.unit, c.keep, {}};
  if constexpr (Element<T>::components == 3) {
    for (int a = 0; a < 3; ++a) info.background[a] = static_cast<double>(c.background[a]);
  } else {
    for (double& b : info.background) b = static_cast<double>(c.background);
  }
  return info;
}

}  // namespace aegir
