#include "surfacing/marching_table.h"

#include <vector>

#include "base/assert.h"

namespace aegir {
namespace {

using Polygon = std::vector<int>;  // edges of the cube, in order

int bit(int axis) { return 4 >> axis; }

std::array<std::array<std::uint8_t, 2>, 12> edge_corners() {
  std::array<std::array<std::uint8_t, 2>, 12> corners{};
  for (int axis = 0; axis < 3; ++axis) {
    const int first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
    for (int n = 0; n < 4; ++n) {
      const int low = (n >> 1) * bit(first) + (n & 1) * bit(second);
      corners[static_cast<std::size_t>(axis * 4 + n)] = {static_cast<std::uint8_t>(low),
                                                         static_cast<std::uint8_t>(low + bit(axis))};
    }
  }
  return corners;
}

class Tracer {
 public:
  Tracer() : corners_(edge_corners()) {}

  /// Closed polygons around what is inside, counter-clockwise seen from outside.
  std::vector<Polygon> trace(int signs) const {
    int next[12];
    for (int& n : next) n = -1;
    for (int axis = 0; axis < 3; ++axis)
      for (int side = 0; side < 2; ++side) cut_face(signs, axis, side, next);
    std::vector<Polygon> polygons;
    for (int start = 0; start < 12; ++start) {
      if (next[start] < 0) continue;
      Polygon polygon;
      for (int e = start; next[e] >= 0;) {
        polygon.push_back(e);
        const int then = next[e];
        next[e] = -1, e = then;
      }
      polygons.push_back(polygon);
    }
    return polygons;
  }

  /// Triangles of a polygon without diagonals on faces; tries all ways to cut it.
  bool cut(const Polygon& polygon, std::vector<int>& triangles) const {
    const std::size_t n = polygon.size();
    if (n == 3) return triangles.insert(triangles.end(), polygon.begin(), polygon.end()), true;
    // The triangle on the edge from the last to the first corner.
    for (std::size_t k = 1; k + 1 < n; ++k) {
      const bool left = k == 1 || !share_face(polygon[0], polygon[k]);
      const bool right = k + 2 == n || !share_face(polygon[k], polygon[n - 1]);
      if (!left || !right) continue;
      std::vector<int> found{polygon[0], polygon[k], polygon[n - 1]};
      const Polygon before(polygon.begin(), polygon.begin() + static_cast<std::ptrdiff_t>(k) + 1),
          after(polygon.begin() + static_cast<std::ptrdiff_t>(k), polygon.end());
      if (k > 1 && !cut(before, found)) continue;
      if (k + 2 < n && !cut(after, found)) continue;
      triangles.insert(triangles.end(), found.begin(), found.end());
      return true;
    }
    return false;
  }

  const std::array<std::array<std::uint8_t, 2>, 12>& corners() const { return corners_; }

 private:
  int edge_between(int a, int b) const {
    for (int e = 0; e < 12; ++e)
      if ((corners_[e][0] == a && corners_[e][1] == b) || (corners_[e][0] == b && corners_[e][1] == a)) return e;
    return -1;
  }

  /// Goes around a face, counter-clockwise seen from outside of the cube: a segment starts where the way leaves the
  /// inside and ends at the crossing before, where it came in.
  void cut_face(int signs, int axis, int side, int (&next)[12]) const {
    const int u = bit((axis + 1) % 3), v = bit((axis + 2) % 3), base = side * bit(axis);
    int ring[4] = {base, base + u, base + u + v, base + v};
    if (side == 0) std::swap(ring[1], ring[3]);
    for (int k = 0; k < 4; ++k) {
      const int here = ring[k], before = ring[(k + 3) % 4];
      if (!(signs >> here & 1) || (signs >> before & 1)) continue;
      // The way comes in between `before` and `here`; it leaves after the last corner of this run.
      int last = k;
      while (signs >> ring[(last + 1) % 4] & 1) last = (last + 1) % 4;
      const int enters = edge_between(before, here), leaves = edge_between(ring[last], ring[(last + 1) % 4]);
      next[enters] = leaves;
    }
  }

  bool share_face(int e, int f) const {
    for (int axis = 0; axis < 3; ++axis)
      for (int side = 0; side < 2; ++side) {
        bool all = true;
        for (const int c : {corners_[e][0], corners_[e][1], corners_[f][0], corners_[f][1]})
          all &= ((c & bit(axis)) != 0) == (side == 1);
        if (all) return true;
      }
    return false;
  }

  std::array<std::array<std::uint8_t, 2>, 12> corners_;
};

MarchingTable make_table() {
  const Tracer tracer;
  MarchingTable table{};
  table.corner = tracer.corners();
  for (int signs = 1; signs < 255; ++signs) {
    std::vector<int> triangles;
    for (const Polygon& polygon : tracer.trace(signs))
      AEGIR_ASSERT(tracer.cut(polygon, triangles), "a polygon of the cube cannot be cut into triangles");
    auto& edges = table.edge[static_cast<std::size_t>(signs)];
    AEGIR_ASSERT(triangles.size() <= edges.size(), "more triangles than a cube can have");
    for (std::size_t i = 0; i < triangles.size(); ++i) edges[i] = static_cast<std::uint8_t>(triangles[i]);
    table.count[static_cast<std::size_t>(signs)] = static_cast<std::uint8_t>(triangles.size() / 3);
  }
  return table;
}

}  // namespace

const MarchingTable& marching_table() {
  static const MarchingTable table = make_table();
  return table;
}

}  // namespace aegir
