#include "preview/visibility.h"

#include <array>

#include "parallel/threads.h"

namespace aegir {
namespace {

constexpr int band_rows = 32;
constexpr float unseen_depth = 3e38f;

// A sphere on the raster; radius 0 means that it is not seen.
struct Disc {
  float x, y, depth, radius, metres;
};

// A triangle on the raster. `weight` is 1/depth in perspective, where depth is not linear on the screen.
struct Face {
  std::array<Vec3f, 3> corner;
  std::array<float, 3> weight;
  std::uint32_t item;
};

struct Rows {
  int first = 0, last = -1;
};

Rows rows_between(float low, float high, int height) {
  if (!(high >= 0) || !(low < static_cast<float>(height))) return {};
  return {static_cast<int>(std::max(low, 0.0f)), static_cast<int>(std::min(high, static_cast<float>(height - 1)))};
}

// Lists, per band, the things whose rows touch it, in their order.
class Bands {
 public:
  template <class RowsOf>
  Bands(std::size_t things, int height, const RowsOf& rows_of) {
    const std::size_t bands = static_cast<std::size_t>((height + band_rows - 1) / band_rows);
    start_.assign(bands + 1, 0);
    for (std::size_t i = 0; i < things; ++i) {
      const Rows rows = rows_of(i);
      if (rows.last < rows.first) continue;
      for (int b = rows.first / band_rows; b <= rows.last / band_rows; ++b) ++start_[static_cast<std::size_t>(b) + 1];
    }
    for (std::size_t b = 0; b < bands; ++b) start_[b + 1] += start_[b];
    list_.resize(start_[bands]);
    std::vector<std::size_t> next(start_.begin(), start_.end() - 1);
    for (std::size_t i = 0; i < things; ++i) {
      const Rows rows = rows_of(i);
      if (rows.last < rows.first) continue;
      for (int b = rows.first / band_rows; b <= rows.last / band_rows; ++b)
        list_[next[static_cast<std::size_t>(b)]++] = static_cast<std::uint32_t>(i);
    }
  }

  std::size_t count() const { return start_.size() - 1; }
  std::span<const std::uint32_t> of(std::size_t band) const {
    return std::span(list_).subspan(start_[band], start_[band + 1] - start_[band]);
  }

 private:
  std::vector<std::size_t> start_;
  std::vector<std::uint32_t> list_;
};

std::vector<Disc> project_spheres(const View& view, const VisibleThings& things, float least_radius) {
  std::vector<Disc> discs(things.positions.size());
  const float width = static_cast<float>(view.width());
  parallel_for(0, discs.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      discs[i].radius = 0;
      const float metres = things.radius_of(i);
      if (!is_finite(things.positions[i]) || !std::isfinite(metres)) continue;
      const Vec3f p = view.project(things.positions[i]);
      if (!(p.z - metres > view.nearest())) continue;
      const float radius = std::max(least_radius, metres * view.pixels_per_metre(p.z));
      if (!(p.x + radius >= 0 && p.x - radius < width)) continue;
      discs[i] = {p.x, p.y, p.z, radius, metres};
    }
  });
  return discs;
}

// Cuts a triangle at the nearest depth, so that nothing behind the eye is projected.
int clip_to_front(const View& view, const std::array<Vec3d, 3>& triangle, std::array<Vec3d, 4>& polygon) {
  const auto front = [&](const Vec3d& p) { return static_cast<double>(view.project(p).z) - 1.01 * view.nearest(); };
  int count = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const Vec3d &a = triangle[i], &b = triangle[(i + 1) % 3];
    const double in_a = front(a), in_b = front(b);
    if (in_a > 0) polygon[static_cast<std::size_t>(count++)] = a;
    if ((in_a > 0) != (in_b > 0)) polygon[static_cast<std::size_t>(count++)] = a + (b - a) * (in_a / (in_a - in_b));
  }
  return count;
}

void add_face(const View& view, const Vec3d& a, const Vec3d& b, const Vec3d& c, std::uint32_t item,
              std::vector<Face>& faces) {
  Face face{{view.project(a), view.project(b), view.project(c)}, {1, 1, 1}, item};
  if (view.is_perspective())
    for (std::size_t i = 0; i < 3; ++i) face.weight[i] = 1 / face.corner[i].z;
  faces.push_back(face);
}

std::vector<Face> project_triangles(const View& view, const VisibleThings& things) {
  std::vector<Face> faces;
  std::uint32_t item = static_cast<std::uint32_t>(things.positions.size());
  for (const TriangleMesh& mesh : things.solids)
    for (const Vec3i& t : mesh.triangles) {
      const auto at = [&](int i) { return mesh.positions[static_cast<std::size_t>(i)]; };
      std::array<Vec3d, 4> polygon;
      const int corners = clip_to_front(view, {at(t.x), at(t.y), at(t.z)}, polygon);
      for (int i = 2; i < corners; ++i)
        add_face(view, polygon[0], polygon[static_cast<std::size_t>(i - 1)], polygon[static_cast<std::size_t>(i)], item,
                 faces);
      ++item;
    }
  return faces;
}

// The part of the raster one band writes.
struct Target {
  Visibility& seen;
  int width, first_row, last_row;

  void draw(int x, int y, float depth, std::uint32_t item) const {
    const std::size_t pixel =
        static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x);
    if (depth < seen.depth[pixel]) seen.depth[pixel] = depth, seen.item[pixel] = item;
  }
};

void draw_disc(const Disc& disc, std::uint32_t item, const Target& target) {
  const float last_x = static_cast<float>(target.width - 1);
  const int x0 = static_cast<int>(std::clamp(std::ceil(disc.x - disc.radius - 0.5f), 0.0f, last_x));
  const int x1 = static_cast<int>(std::clamp(std::floor(disc.x + disc.radius - 0.5f), 0.0f, last_x));
  const float first_y = static_cast<float>(target.first_row), last_y = static_cast<float>(target.last_row);
  const int y0 = static_cast<int>(std::clamp(std::ceil(disc.y - disc.radius - 0.5f), first_y, last_y));
  const int y1 = static_cast<int>(std::clamp(std::floor(disc.y + disc.radius - 0.5f), first_y, last_y));
  const float per_radius = 1 / disc.radius;
  for (int y = y0; y <= y1; ++y) {
    const float v = (static_cast<float>(y) + 0.5f - disc.y) * per_radius;
    for (int x = x0; x <= x1; ++x) {
      const float u = (static_cast<float>(x) + 0.5f - disc.x) * per_radius;
      const float rest = 1 - u * u - v * v;
      if (rest >= 0) target.draw(x, y, disc.depth - disc.metres * std::sqrt(rest), item);
    }
  }
}

void draw_face(const Face& face, const Target& target) {
  const auto& [a, b, c] = face.corner;
  const double area = double(b.x - a.x) * (c.y - a.y) - double(b.y - a.y) * (c.x - a.x);
  if (!(std::abs(area) > 1e-12)) return;
  const auto clamp_to = [](float value, int low, int high) {
    return static_cast<int>(std::clamp(value, static_cast<float>(low), static_cast<float>(high)));
  };
  const int x0 = clamp_to(std::min({a.x, b.x, c.x}), 0, target.width - 1),
            x1 = clamp_to(std::max({a.x, b.x, c.x}), 0, target.width - 1);
  const int y0 = clamp_to(std::min({a.y, b.y, c.y}), target.first_row, target.last_row);
  const int y1 = clamp_to(std::max({a.y, b.y, c.y}), target.first_row, target.last_row);
  for (int y = y0; y <= y1; ++y)
    for (int x = x0; x <= x1; ++x) {
      const double px = x + 0.5, py = y + 0.5;
      const double wb = ((px - a.x) * (c.y - a.y) - (py - a.y) * (c.x - a.x)) / area;
      const double wc = ((b.x - a.x) * (py - a.y) - (b.y - a.y) * (px - a.x)) / area;
      const double wa = 1 - wb - wc;
      if (wa < 0 || wb < 0 || wc < 0) continue;
      const double fa = wa * face.weight[0], fb = wb * face.weight[1], fc = wc * face.weight[2];
      target.draw(x, y, static_cast<float>((fa * a.z + fb * b.z + fc * c.z) / (fa + fb + fc)), face.item);
    }
}

}  // namespace

Visibility find_visible(const View& view, const VisibleThings& things, float least_radius) {
  const std::size_t pixels = static_cast<std::size_t>(view.width()) * static_cast<std::size_t>(view.height());
  Visibility seen{std::vector<std::uint32_t>(pixels, nothing_seen), std::vector<float>(pixels, unseen_depth)};
  const std::vector<Disc> discs = project_spheres(view, things, least_radius);
  const std::vector<Face> faces = project_triangles(view, things);
  const Bands disc_bands(discs.size(), view.height(), [&](std::size_t i) {
    const Disc& disc = discs[i];
    return disc.radius > 0 ? rows_between(disc.y - disc.radius, disc.y + disc.radius, view.height()) : Rows{};
  });
  const Bands face_bands(faces.size(), view.height(), [&](std::size_t i) {
    const auto& [a, b, c] = faces[i].corner;
    return rows_between(std::min({a.y, b.y, c.y}), std::max({a.y, b.y, c.y}), view.height());
  });
  parallel_for(0, disc_bands.count(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t band = begin; band < end; ++band) {
      const int first = static_cast<int>(band) * band_rows;
      const Target target{seen, view.width(), first, std::min(first + band_rows, view.height()) - 1};
      for (const std::uint32_t i : disc_bands.of(band)) draw_disc(discs[i], i, target);
      for (const std::uint32_t i : face_bands.of(band)) draw_face(faces[i], target);
    }
  });
  return seen;
}

}  // namespace aegir
