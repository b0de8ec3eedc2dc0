// A setting that may be constant, change over frames, or come from an attribute of what it acts on.
//
//   Parameter<double> ratio = 0.97;                     // flip_ratio: {keys: {1001: 0.99, 1080: 0.9}}
//   double now = ratio.at(frame);
//   if (ratio.attribute()) bind(ratio.attribute()->name);
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/vec.h"

namespace aegir {

/// How values between two keys are found; `smooth` is a cubic that is flat at both ends and at turning points and never
/// overshoots.
enum class Interpolation { linear, smooth, step };

/// A parameter that is read from an attribute of particles, voxels or vertices.
struct AttributeBinding {
  std::string name;
  double low = 0, high = 1;  ///< what the attribute values 0 and 1 mean, in SI
  bool has_remap = false;

  /// The parameter's value for an attribute's value: without a remap the same, with one linear from low to high,
  /// clamped to 0…1.
  double map(double raw) const;
  bool operator==(const AttributeBinding&) const = default;
};

/// A constant, a curve over frames, or an attribute with a default. T is double, Vec3d, bool or int.
template <class T>
class Parameter {
 public:
  struct Key {
    double frame = 0;
    T value{};
    bool operator==(const Key&) const = default;
  };

  Parameter() = default;
  Parameter(T value) : value_(value) {}
  /// From anything that becomes a T without loss of meaning, so that `Parameter<double> p = 1` reads well.
  template <class U>
  requires(std::convertible_to<U, T> && !std::same_as<std::remove_cvref_t<U>, T> &&
           !std::same_as<std::remove_cvref_t<U>, Parameter>) Parameter(U&& value)
      : value_(static_cast<T>(std::forward<U>(value))) {}

  /// A curve; keys are sorted by frame, and there is at least one.
  static Parameter animation(std::vector<Key> keys, Interpolation interpolation);
  /// An attribute, and what holds where it is absent.
  static Parameter bound(AttributeBinding binding, T otherwise);

  /// The value at a frame (fractions allowed); before the first and after the last key it holds. Bound to an attribute:
  /// its default.
  T at(double frame) const;
  bool animated() const { return keys_.size() > 1; }
  const std::optional<AttributeBinding>& attribute() const { return binding_; }
  const std::vector<Key>& keys() const { return keys_; }
  Interpolation interpolation() const { return interpolation_; }
  /// The value without time: of a constant itself, of a curve the first key, of an attribute the default.
  const T& constant() const { return value_; }
  bool operator==(const Parameter&) const = default;

 private:
  T value_{};
  std::vector<Key> keys_;
  Interpolation interpolation_ = Interpolation::linear;
  std::optional<AttributeBinding> binding_;
};

extern template class Parameter<double>;
extern template class Parameter<Vec3d>;
extern template class Parameter<bool>;
extern template class Parameter<int>;

}  // namespace aegir
