#include "pipeline/schema/parameter.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace aegir {
namespace {

double mix_linear(double a, double b, double t) { return std::lerp(a, b, t); }
Vec3d mix_linear(const Vec3d& a, const Vec3d& b, double t) {
  return {std::lerp(a.x, b.x, t), std::lerp(a.y, b.y, t), std::lerp(a.z, b.z, t)};
}
int mix_linear(int a, int b, double t) { return static_cast<int>(std::lround(mix_linear(double(a), double(b), t))); }
bool mix_linear(bool a, bool, double) { return a; }

/// Slope at a key between two secants: zero at a turning point, otherwise their weighted harmonic mean, which keeps the
/// curve between its keys monotone [Fritsch and Butland 1984]. h0, h1: lengths of the intervals; d0, d1: their secants.
double limited_slope(double h0, double d0, double h1, double d1) {
  if (d0 * d1 <= 0) return 0;
  const double w0 = 2 * h1 + h0, w1 = h1 + 2 * h0;
  return (w0 + w1) / (w0 / d0 + w1 / d1);
}

/// Cubic with values a, b and slopes sa, sb over an interval of length h.
double hermite(double a, double b, double sa, double sb, double h, double t) {
  const double s = 1 - t;
  return a * s * s * (1 + 2 * t) + b * t * t * (3 - 2 * t) + h * (sa * t * s * s - sb * t * t * s);
}

/// One component of a smooth curve inside the interval from key i to key i + 1; ends are flat.
template <class Get>
double smooth_component(std::size_t i, std::size_t count, double t, const Get& get) {
  const auto slope = [&](std::size_t k) {
    if (k == 0 || k + 1 == count) return 0.0;
    const double h0 = get.frame(k) - get.frame(k - 1), h1 = get.frame(k + 1) - get.frame(k);
    return limited_slope(h0, (get.value(k) - get.value(k - 1)) / h0, h1, (get.value(k + 1) - get.value(k)) / h1);
  };
  return hermite(get.value(i), get.value(i + 1), slope(i), slope(i + 1), get.frame(i + 1) - get.frame(i), t);
}

template <class Key, class Component>
struct KeyReader {
  const std::vector<Key>& keys;
  Component component;
  double frame(std::size_t k) const { return keys[k].frame; }
  double value(std::size_t k) const { return component(keys[k].value); }
};

template <class Key>
auto mix_smooth(const std::vector<Key>& keys, std::size_t i, double t) {
  using T = decltype(Key::value);
  const auto component = [&](auto get) {
    return smooth_component(i, keys.size(), t, KeyReader<Key, decltype(get)>{keys, get});
  };
  if constexpr (std::is_same_v<T, Vec3d>)
    return Vec3d{component([](const Vec3d& v) { return v.x; }), component([](const Vec3d& v) { return v.y; }),
                 component([](const Vec3d& v) { return v.z; })};
  else if constexpr (std::is_same_v<T, int>)
    return static_cast<int>(std::lround(component([](int v) { return double(v); })));
  else if constexpr (std::is_same_v<T, bool>)
    return keys[i].value;
  else
    return component([](double v) { return v; });
}

}  // namespace

double AttributeBinding::map(double raw) const {
  return has_remap ? mix_linear(low, high, std::clamp(raw, 0.0, 1.0)) : raw;
}

template <class T>
Parameter<T> Parameter<T>::animation(std::vector<Key> keys, Interpolation interpolation) {
  AEGIR_ASSERT(!keys.empty(), "an animated parameter has at least one key");
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) { return a.frame < b.frame; });
  Parameter p;
  p.value_ = keys.front().value;
  p.keys_ = std::move(keys);
  p.interpolation_ = interpolation;
  return p;
}

template <class T>
Parameter<T> Parameter<T>::bound(AttributeBinding binding, T otherwise) {
  Parameter p;
  p.value_ = otherwise;
  p.binding_ = std::move(binding);
  return p;
}

template <class T>
T Parameter<T>::at(double frame) const {
  if (keys_.empty() || frame <= keys_.front().frame) return value_;
  if (frame >= keys_.back().frame) return keys_.back().value;
  const auto after =
      std::upper_bound(keys_.begin(), keys_.end(), frame, [](double f, const Key& key) { return f < key.frame; });
  const auto i = static_cast<std::size_t>(after - keys_.begin()) - 1;
  const double t = (frame - keys_[i].frame) / (keys_[i + 1].frame - keys_[i].frame);
  if (interpolation_ == Interpolation::step) return keys_[i].value;
  if (interpolation_ == Interpolation::smooth) return mix_smooth(keys_, i, t);
  return mix_linear(keys_[i].value, keys_[i + 1].value, t);
}

template class Parameter<double>;
template class Parameter<Vec3d>;
template class Parameter<bool>;
template class Parameter<int>;

}  // namespace aegir
