#include "geometry/winding_tree.h"

#include <algorithm>
#include <numbers>
#include <utility>

#include "geometry/triangle.h"

namespace aegir {
namespace {
constexpr int leaf_size = 8;
constexpr double far_ratio2 = 2.0 * 2.0;  // a cluster is far when its centre is this many radii away (squared)
}  // namespace

WindingTree::WindingTree(const std::vector<Vec3d>& positions, const std::vector<Vec3i>& triangles,
                         const std::vector<int>& chosen) {
  triangles_.reserve(chosen.size());
  for (const int i : chosen) {
    const Vec3i t = triangles[i];
    triangles_.push_back({positions[t.x], positions[t.y], positions[t.z], i});
  }
  if (triangles_.empty()) return;
  build(0, static_cast<int>(triangles_.size()));
}

int WindingTree::build(int begin, int end) {
  const int index = static_cast<int>(nodes_.size());
  nodes_.emplace_back();
  Node node;
  node.begin = begin, node.end = end;
  summarise(node);
  if (end - begin > leaf_size) {
    const auto middle_of = [](const Corners& t) { return t.a + t.b + t.c; };
    Box box;
    for (int i = begin; i < end; ++i) box.add(middle_of(triangles_[i]));
    const Vec3d size = box.size();
    const int axis = size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
    const int middle = (begin + end) / 2;
    std::nth_element(triangles_.begin() + begin, triangles_.begin() + middle, triangles_.begin() + end,
                     [&](const Corners& s, const Corners& t) {
                       return std::pair(middle_of(s)[axis], s.number) < std::pair(middle_of(t)[axis], t.number);
                     });
    build(begin, middle);
    node.right = build(middle, end);
  }
  nodes_[index] = node;
  return index;
}

void WindingTree::summarise(Node& node) const {
  double area_sum = 0;
  Vec3d weighted;
  for (int i = node.begin; i < node.end; ++i) {
    const Corners& t = triangles_[i];
    const Vec3d vector = cross(t.b - t.a, t.c - t.a) * 0.5;
    const double area = length(vector);
    area_sum += area;
    weighted += (t.a + t.b + t.c) * (area / 3);
    node.area_vector += vector;
  }
  node.center = area_sum > 0 ? weighted / area_sum : triangles_[node.begin].a;
  for (int i = node.begin; i < node.end; ++i) {
    const Corners& t = triangles_[i];
    const Vec3d vector = cross(t.b - t.a, t.c - t.a) * 0.5;
    node.moment += outer((t.a + t.b + t.c) / 3 - node.center, vector);
    add_second_moments(node, t);
    for (const Vec3d& p : {t.a, t.b, t.c}) node.radius2 = std::max(node.radius2, dot(p - node.center, p - node.center));
  }
}

// The mean of offset_j offset_k over a triangle is (sum over corners of v_j v_k + 9 m_j m_k) / 12, m: centroid.
void WindingTree::add_second_moments(Node& node, const Corners& t) {
  const Vec3d n = cross(t.b - t.a, t.c - t.a) * 0.5;
  const Vec3d v[4] = {t.a - node.center, t.b - node.center, t.c - node.center, (t.a + t.b + t.c) - node.center * 3};
  for (const Vec3d& o : v) {
    node.trace += (o * (2 * dot(n, o)) + n * dot(o, o)) / 12;
    // (n . r) (o . r)^2 as a polynomial: xxx yyy zzz, xxy xxz, yyx yyz, zzx zzy, xyz
    const double c[10] = {n.x * o.x * o.x,
                          n.y * o.y * o.y,
                          n.z * o.z * o.z,
                          n.y * o.x * o.x + 2 * n.x * o.x * o.y,
                          n.z * o.x * o.x + 2 * n.x * o.x * o.z,
                          n.x * o.y * o.y + 2 * n.y * o.y * o.x,
                          n.z * o.y * o.y + 2 * n.y * o.y * o.z,
                          n.x * o.z * o.z + 2 * n.z * o.z * o.x,
                          n.y * o.z * o.z + 2 * n.z * o.z * o.y,
                          2 * (n.x * o.y * o.z + n.y * o.z * o.x + n.z * o.x * o.y)};
    for (int i = 0; i < 10; ++i) node.cubic[i] += c[i] / 12;
  }
}

// w = sum over triangles of A n . F(p - x) / (4 pi) with F(r) = r / |r|^3, expanded to second order about the cluster's
// centre: A n . r / |r|^3  +  M : (I / |r|^3 - 3 r r^T / |r|^5)  +  1/2 C : (15 r r r / |r|^7 - 3 sym(I r) / |r|^5) r:
// from x to the centre, M and C: first and second moments                         [Barill et al. 2018, section 4]
double WindingTree::far_field(const Node& node, const Vec3d& r, double r2) const {
  const double inverse2 = 1 / r2, inverse3 = inverse2 * std::sqrt(inverse2);
  const double trace = node.moment(0, 0) + node.moment(1, 1) + node.moment(2, 2);
  const double along = dot(r, node.moment * r);
  const double* c = node.cubic;
  const double cubic = r.x * r.x * (c[0] * r.x + c[3] * r.y + c[4] * r.z) +
                       r.y * r.y * (c[1] * r.y + c[5] * r.x + c[6] * r.z) +
                       r.z * r.z * (c[2] * r.z + c[7] * r.x + c[8] * r.y) + c[9] * r.x * r.y * r.z;
  const double first = dot(node.area_vector, r) + trace - 3 * along * inverse2;
  const double second = 0.5 * inverse2 * (15 * cubic * inverse2 - 3 * dot(node.trace, r));
  return (first + second) * inverse3 / (4 * std::numbers::pi);
}

double WindingTree::winding(const Vec3d& x) const {
  if (nodes_.empty()) return 0;
  double sum = 0;
  int stack[64];  // halving splits: the depth is at most log2 of the triangle count
  int top = 0;
  stack[top++] = 0;
  while (top > 0) {
    const int index = stack[--top];
    const Node& node = nodes_[index];
    const Vec3d r = node.center - x;
    const double r2 = dot(r, r);
    if (r2 > far_ratio2 * node.radius2 && r2 > 0) {
      sum += far_field(node, r, r2);
    } else if (node.right == 0) {
      for (int i = node.begin; i < node.end; ++i)
        sum += solid_angle_fraction(x, triangles_[i].a, triangles_[i].b, triangles_[i].c);
    } else {
      stack[top++] = node.right;
      stack[top++] = index + 1;
    }
  }
  return sum;
}

}  // namespace aegir
