// A search tree over triangles that move straight from one place to another. Used inside this room.
//
//   DeformingTree tree(triangles, solid, rest);
//   tree.update(begin, end);                                   // every substep
//   tree.visit_near(x, bound2, [&](int triangle) { … });       // around a point, at the end
//   tree.visit_path(x0, x1, from, grow, latest, [&](int triangle) { … });
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/vec.h"

namespace aegir {

/// A binary tree by halving along the longest side. Its shape depends on the number of triangles alone; the order of
/// the triangles in it is that of the rest positions, or, where these say too little about the present ones, that of
/// the present ones. What it answers is thus a function of the present positions, not of those before.
///
/// Every node holds boxes at begin and end (a box in between holds its triangles in between, because they move
/// straight). Every node with more than a few triangles holds the moments of the solid ones for winding numbers [Barill
/// et al. 2018, "Fast winding numbers for soups and clouds"]; the smallest such nodes are called twigs.
class DeformingTree {
 public:
  /// `solid` says which triangles count for winding numbers.
  DeformingTree(std::span<const Vec3i> triangles, std::span<const std::uint8_t> solid, std::span<const Vec3d> rest);

  /// Goes to new positions, which must stay where they are until the next update; the boxes hold them.
  ///
  /// Per triangle 2 × 3 corners are gathered (144 bytes) and about 200 flops done, 16 triangles at a time.
  void update(std::span<const Vec3d> begin, std::span<const Vec3d> end, const Box& begin_bounds, const Box& end_bounds);

  /// Calls visit(triangle) for triangles whose boxes at the end are within sqrt(bound2) of x, near ones first; `visit`
  /// may lower bound2.
  template <class Visit>
  void visit_near(const Vec3d& x, double& bound2, Visit&& visit) const;
  /// Calls visit(triangle) for triangles whose moving boxes, larger by `grow`, meet a point that goes from x0 at `from`
  /// to x1 at 1, in order of time as far as boxes tell; `latest` is a time in [0, 1] between these, `visit` may lower
  /// it.
  template <class Visit>
  void visit_path(const Vec3d& x0, const Vec3d& x1, double from, double grow, double& latest, Visit&& visit) const;
  /// Calls visit(triangle) for triangles whose boxes at the end, larger by `grow`, meet a segment; stops when it says
  /// true, and returns that.
  template <class Visit>
  bool visit_segment(const Vec3d& a, const Vec3d& b, double grow, Visit&& visit) const;
  /// Generalised winding number of the solid triangles at the end. A cluster is taken as a whole when its centre is
  /// `far_ratio` of its radii away: 2 makes an error of about 0.01, 1.2 of about 0.1.
  double winding(const Vec3d& x, double far_ratio) const;

  /// Smallest boxes around everything.
  const Box& begin_bounds() const { return bounds_[0]; }
  const Box& end_bounds() const { return bounds_[1]; }
  /// Whether the present positions needed an order of their own.
  bool reordered() const { return order_ == &own_order_; }
  std::size_t memory_bytes() const;

 private:
  static constexpr int leaf_size = 4, twig_size = 16;
  struct Node {
    float low[2][3], high[2][3];  // at begin and end, from center_
    int right = 0;                // the left child follows its parent; 0 marks a leaf
    int first = 0, last = 0;      // places in the order
    int cluster = -1;             // of twigs and nodes above them
    bool small() const { return last - first <= twig_size; }
  };
  struct Twig;
  struct Cluster {  // of the solid triangles below a node
    Vec3d center;   // mean by area, from center_
    double area = 0;
    float radius2 = 0;   // of a ball around it that holds them all
    float vector[3];     // sum of normal times area
    float moment[3][3];  // sum of offset_i (normal times area)_j
    float second[3][6];  // sum of (normal times area)_i offset_j offset_k: xx yy zz xy xz yz
  };

  int shape(int first, int last, bool in_twig);
  void sort(std::span<const Vec3d> positions, std::vector<int>& order) const;
  void take_order(const std::vector<int>& order);
  void refit();
  double refit(int node);
  void join(int node);
  double half_surface(int node) const;
  double refit_twig(int node);
  double fit(int node, const Twig& twig);
  void cluster_twig(int node, const Twig& twig);
  void cluster_join(int node);
  static double far_field(const Cluster& c, const Vec3d& r, double r2);
  double box_distance2(const Node& n, const Vec3d& x) const;
  struct Path {
    Vec3d start, way;  // of the point
    Vec3d low, high;   // of a box around its path, larger by `grow`
    double from, grow;
  };
  static bool meets(const Node& n, const Path& path, double& enter, double latest);

  std::span<const Vec3i> triangles_;
  std::span<const std::uint8_t> solid_;
  std::span<const Vec3d> begin_, end_;
  bool any_solid_ = false;
  std::vector<int> rest_order_, own_order_;
  const std::vector<int>* order_ = nullptr;
  std::vector<Vec3i> ordered_;               // the triangles in that order,
  std::vector<std::uint8_t> ordered_solid_;  // and which of them are solid
  std::vector<Node> nodes_;
  std::vector<Cluster> clusters_;
  std::vector<int> tops_, subtrees_;  // nodes above, and roots of what threads refit
  Vec3d center_;
  Box bounds_[2];
  double rest_cost_ = 0, cost_ = 0;  // surface of all boxes over that of the root
};

inline double DeformingTree::box_distance2(const Node& n, const Vec3d& x) const {
  double sum = 0;
  for (int k = 0; k < 3; ++k) {
    const double d = std::max({n.low[1][k] - x[k], x[k] - n.high[1][k], 0.0});
    sum += d * d;
  }
  return sum;
}

template <class Visit>
void DeformingTree::visit_near(const Vec3d& world, double& bound2, Visit&& visit) const {
  struct Open {
    int node;
    double distance2;
  };
  const Vec3d x = world - center_;
  Open stack[64];  // halving splits: the depth is at most log2 of the triangle count
  int top = 0;
  stack[top++] = {0, box_distance2(nodes_[0], x)};
  while (top > 0) {
    const Open open = stack[--top];
    if (open.distance2 > bound2) continue;
    const Node& n = nodes_[open.node];
    if (n.right == 0) {
      for (int i = n.first; i < n.last; ++i) visit((*order_)[i]);
      continue;
    }
    Open near{open.node + 1, box_distance2(nodes_[open.node + 1], x)}, far{n.right, box_distance2(nodes_[n.right], x)};
    if (far.distance2 < near.distance2) std::swap(near, far);
    if (far.distance2 <= bound2) stack[top++] = far;
    if (near.distance2 <= bound2) stack[top++] = near;
  }
}

// Box and point both move straight, so each side of the box is left or reached at one time.
inline bool DeformingTree::meets(const Node& n, const Path& path, double& enter, double latest) {
  const double from = path.from;
  double low0[3], high0[3];
  for (int k = 0; k < 3; ++k) {
    low0[k] = n.low[0][k] + from * (static_cast<double>(n.low[1][k]) - n.low[0][k]);
    high0[k] = n.high[0][k] + from * (static_cast<double>(n.high[1][k]) - n.high[0][k]);
    // Where all that the box sweeps is beside all that the point does, they do not meet.
    if (std::min(low0[k], static_cast<double>(n.low[1][k])) > path.high[k] ||
        std::max(high0[k], static_cast<double>(n.high[1][k])) < path.low[k])
      return false;
  }
  double t0 = 0, t1 = latest;
  for (int k = 0; k < 3; ++k) {
    // Both must not be negative: above the lower side, below the upper one.
    const double above = path.start[k] - low0[k] + path.grow, above_rate = path.way[k] - (n.low[1][k] - low0[k]);
    const double below = high0[k] + path.grow - path.start[k], below_rate = n.high[1][k] - high0[k] - path.way[k];
    if (above < 0 && above_rate <= 0) return false;
    if (below < 0 && below_rate <= 0) return false;
    if (above_rate > 0) t0 = std::max(t0, -above / above_rate);
    if (above_rate < 0) t1 = std::min(t1, -above / above_rate);
    if (below_rate > 0) t0 = std::max(t0, -below / below_rate);
    if (below_rate < 0) t1 = std::min(t1, -below / below_rate);
  }
  enter = t0;
  return t0 <= t1 + 1e-12;
}

template <class Visit>
void DeformingTree::visit_path(const Vec3d& world0, const Vec3d& world1, double from, double grow, double& latest,
                               Visit&& visit) const {
  struct Open {
    int node;
    double enter;
  };
  const Vec3d x0 = world0 - center_, x1 = world1 - center_;
  // Ends are rounded, so the box is a little larger.
  const Vec3d slack(2 * grow + 1e-12 * (length(x0) + length(x1)));
  const Path path{x0, world1 - world0, min(x0, x1) - slack, max(x0, x1) + slack, from, grow};
  Open stack[64];
  int top = 0;
  Open root{0, 0};
  if (meets(nodes_[0], path, root.enter, latest)) stack[top++] = root;
  while (top > 0) {
    const Open open = stack[--top];
    if (open.enter > latest) continue;
    const Node& n = nodes_[open.node];
    if (n.right == 0) {
      for (int i = n.first; i < n.last; ++i)
        for (int k = 0; k < 3; ++k)
          __builtin_prefetch(&begin_[ordered_[i][k]]), __builtin_prefetch(&end_[ordered_[i][k]]);
      for (int i = n.first; i < n.last; ++i) visit((*order_)[i]);
      continue;
    }
    Open early{open.node + 1, 0}, late{n.right, 0};
    const bool left = meets(nodes_[early.node], path, early.enter, latest);
    const bool right = meets(nodes_[late.node], path, late.enter, latest);
    if (left && right && late.enter < early.enter) std::swap(early, late);
    if (left && right)
      stack[top++] = late, stack[top++] = early;
    else if (left || right)
      stack[top++] = left ? early : late;
  }
}

// A segment misses a box if an axis, or a cross product of its direction with one, lies between them.
template <class Visit>
bool DeformingTree::visit_segment(const Vec3d& world_a, const Vec3d& world_b, double grow, Visit&& visit) const {
  const Vec3d a = world_a - center_, b = world_b - center_, middle = (a + b) * 0.5, half = (b - a) * 0.5;
  const double slack = 2 * grow + 1e-12 * (length(a) + length(b));
  const Vec3d reach(std::abs(half.x), std::abs(half.y), std::abs(half.z));
  const auto meets_box = [&](const Node& n) {
    double d[3], e[3];
    for (int k = 0; k < 3; ++k) {
      const double low = n.low[1][k], high = n.high[1][k];
      d[k] = 0.5 * (low + high) - middle[k], e[k] = 0.5 * (high - low) + slack;
      if (std::abs(d[k]) > e[k] + reach[k]) return false;
    }
    for (int k = 0; k < 3; ++k) {
      const int p = (k + 1) % 3, q = (k + 2) % 3;
      if (std::abs(d[p] * half[q] - d[q] * half[p]) > (e[p] * reach[q] + e[q] * reach[p]) * (1 + 1e-9)) return false;
    }
    return true;
  };
  int stack[64], top = 0;
  stack[top++] = 0;
  while (top > 0) {
    const int at = stack[--top];
    const Node& n = nodes_[at];
    if (!meets_box(n)) continue;
    if (n.right != 0) {
      stack[top++] = n.right, stack[top++] = at + 1;
      continue;
    }
    for (int i = n.first; i < n.last; ++i)
      if (visit((*order_)[i])) return true;
  }
  return false;
}

}  // namespace aegir
