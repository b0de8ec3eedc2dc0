#include "preview/outline.h"

#include <algorithm>
#include <cmath>

namespace aegir {
namespace {

constexpr float behind = 0.15f;  // of a line that something hides
constexpr int thickness = 2;     // pixels

class Pen {
 public:
  Pen(const View& view, const Visibility& seen)
      : view_(view), seen_(seen), strength_(seen.depth.size(), 0.0f), tolerance_(1e-3f) {}

  void line(const Vec3d& a, const Vec3d& b) {
    const Vec3f from = view_.project(a), to = view_.project(b);
    if (!(from.z > view_.nearest() && to.z > view_.nearest())) return;  // edges that pass the eye are left out
    const float pixels = std::max(std::abs(to.x - from.x), std::abs(to.y - from.y));
    const int steps = std::clamp(static_cast<int>(std::ceil(pixels)), 1, 8 * (view_.width() + view_.height()));
    for (int i = 0; i <= steps; ++i) {
      const float t = static_cast<float>(i) / static_cast<float>(steps);
      // Depth along a straight line in the picture is harmonic.
      const float depth = 1 / ((1 - t) / from.z + t / to.z);
      dot(from.x + t * (to.x - from.x), from.y + t * (to.y - from.y), depth);
    }
  }
  std::vector<float> take() { return std::move(strength_); }

 private:
  void dot(float x, float y, float depth) {
    const int left = static_cast<int>(std::floor(x)), top = static_cast<int>(std::floor(y));
    for (int j = top; j < top + thickness; ++j)
      for (int i = left; i < left + thickness; ++i) {
        if (i < 0 || j < 0 || i >= view_.width() || j >= view_.height()) continue;
        const std::size_t pixel =
            static_cast<std::size_t>(j) * static_cast<std::size_t>(view_.width()) + static_cast<std::size_t>(i);
        const float now = depth <= seen_.depth[pixel] * (1 + tolerance_) ? 1.0f : behind;
        strength_[pixel] = std::max(strength_[pixel], now);
      }
  }

  const View& view_;
  const Visibility& seen_;
  std::vector<float> strength_;
  float tolerance_;
};

}  // namespace

std::vector<float> find_outline(const View& view, const Box& box, const Visibility& seen) {
  Pen pen(view, seen);
  const auto corner = [&](int i) {
    return Vec3d{i & 1 ? box.max.x : box.min.x, i & 2 ? box.max.y : box.min.y, i & 4 ? box.max.z : box.min.z};
  };
  for (int i = 0; i < 8; ++i)
    for (int axis = 1; axis < 8; axis <<= 1)
      if (!(i & axis)) pen.line(corner(i), corner(i | axis));
  return pen.take();
}

}  // namespace aegir
