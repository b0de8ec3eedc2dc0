#include "geometry/deforming_tree.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "geometry/triangle.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

constexpr double most_cost_growth = 2;  // boxes may grow this much before the triangles are sorted anew
constexpr int subtree_count = 64;

// At least one unit in the last place beyond what is nearest: 1.2e-7 is more than the distance of neighbouring floats.
float beyond(float f) { return 1.2e-7f * std::abs(f) + std::numeric_limits<float>::min(); }
float rounded_down(double v) { return static_cast<float>(v) - beyond(static_cast<float>(v)); }
float rounded_up(double v) { return static_cast<float>(v) + beyond(static_cast<float>(v)); }

struct Sortable {
  float middle[3];
  int triangle;
};

}  // namespace

DeformingTree::DeformingTree(std::span<const Vec3i> triangles, std::span<const std::uint8_t> solid,
                             std::span<const Vec3d> rest)
    : triangles_(triangles), solid_(solid) {
  const int count = static_cast<int>(triangles.size());
  any_solid_ = std::find(solid.begin(), solid.end(), 1) != solid.end();
  rest_order_.resize(triangles.size());
  for (int i = 0; i < count; ++i) rest_order_[i] = i;
  sort(rest, rest_order_);
  nodes_.reserve(2 * triangles.size());
  shape(0, count, false);
  nodes_.shrink_to_fit();
  // The roots of about `subtree_count` subtrees of equal size.
  const int largest = std::max(count / subtree_count, twig_size);
  std::vector<int> open{0};
  while (!open.empty()) {
    const int n = open.back();
    open.pop_back();
    if (nodes_[n].right == 0 || nodes_[n].last - nodes_[n].first <= largest) {
      subtrees_.push_back(n);
    } else {
      tops_.push_back(n);
      open.push_back(nodes_[n].right), open.push_back(n + 1);
    }
  }
  take_order(rest_order_);
  Box bounds;
  for (const Vec3d& p : rest) bounds.add(p);
  update(rest, rest, bounds, bounds);
  rest_cost_ = cost_;
}

int DeformingTree::shape(int first, int last, bool in_twig) {
  const int index = static_cast<int>(nodes_.size());
  nodes_.emplace_back();
  nodes_[index].first = first, nodes_[index].last = last;
  if (any_solid_ && !in_twig) nodes_[index].cluster = static_cast<int>(clusters_.size()), clusters_.emplace_back();
  if (last - first > leaf_size) {
    const bool below = nodes_[index].small();
    shape(first, (first + last) / 2, below);
    const int right = shape((first + last) / 2, last, below);
    nodes_[index].right = right;
  }
  return index;
}

void DeformingTree::sort(std::span<const Vec3d> positions, std::vector<int>& order) const {
  Box all;
  for (const Vec3d& p : positions) all.add(p);
  const Vec3d origin = all.center();
  std::vector<Sortable> items(triangles_.size());
  parallel_for(0, items.size(), 8192, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Vec3i t = triangles_[i];
      const Vec3d m = (positions[t.x] + positions[t.y] + positions[t.z]) / 3 - origin;
      items[i] = {{static_cast<float>(m.x), static_cast<float>(m.y), static_cast<float>(m.z)}, static_cast<int>(i)};
    }
  });
  // Level by level, each range on its own.
  std::vector<std::pair<int, int>> ranges{{0, static_cast<int>(items.size())}};
  while (!ranges.empty()) {
    parallel_for(0, ranges.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        const auto [first, last] = ranges[r];
        float low[3], high[3];
        for (int k = 0; k < 3; ++k) low[k] = high[k] = items[first].middle[k];
        for (int i = first; i < last; ++i)
          for (int k = 0; k < 3; ++k)
            low[k] = std::min(low[k], items[i].middle[k]), high[k] = std::max(high[k], items[i].middle[k]);
        const float size[3] = {high[0] - low[0], high[1] - low[1], high[2] - low[2]};
        const int axis = size[0] >= size[1] && size[0] >= size[2] ? 0 : size[1] >= size[2] ? 1 : 2;
        std::nth_element(items.begin() + first, items.begin() + (first + last) / 2, items.begin() + last,
                         [axis](const Sortable& a, const Sortable& b) {
                           return a.middle[axis] != b.middle[axis] ? a.middle[axis] < b.middle[axis]
                                                                   : a.triangle < b.triangle;
                         });
      }
    });
    std::vector<std::pair<int, int>> halves;
    for (const auto& [first, last] : ranges)
      for (const auto& half : {std::pair(first, (first + last) / 2), std::pair((first + last) / 2, last)})
        if (half.second - half.first > leaf_size) halves.push_back(half);
    ranges = std::move(halves);
  }
  order.resize(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) order[i] = items[i].triangle;
}

void DeformingTree::update(std::span<const Vec3d> begin, std::span<const Vec3d> end, const Box& begin_bounds,
                           const Box& end_bounds) {
  begin_ = begin, end_ = end;
  bounds_[0] = begin_bounds, bounds_[1] = end_bounds;
  center_ = bounds_[1].center();
  if (reordered()) take_order(rest_order_);
  refit();
  if (rest_cost_ > 0 && cost_ > most_cost_growth * rest_cost_) {
    sort(end, own_order_);
    take_order(own_order_);
    refit();
  }
}

void DeformingTree::take_order(const std::vector<int>& order) {
  order_ = &order;
  ordered_.resize(order.size()), ordered_solid_.resize(order.size());
  parallel_for(0, order.size(), 8192, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) ordered_[i] = triangles_[order[i]], ordered_solid_[i] = solid_[order[i]];
  });
}

void DeformingTree::refit() {
  std::vector<double> cost(subtrees_.size());
  parallel_for(0, subtrees_.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) cost[i] = refit(subtrees_[i]);
  });
  double sum = 0;
  for (const double c : cost) sum += c;
  for (std::size_t i = tops_.size(); i-- > 0;) {
    join(tops_[i]);
    if (any_solid_) cluster_join(tops_[i]);
    sum += half_surface(tops_[i]);
  }
  const double root = half_surface(0);
  cost_ = root > 0 ? sum / root : 0;
}

void DeformingTree::join(int node) {
  Node& n = nodes_[node];
  const Node &a = nodes_[node + 1], &b = nodes_[n.right];
  for (int t = 0; t < 2; ++t)
    for (int k = 0; k < 3; ++k)
      n.low[t][k] = std::min(a.low[t][k], b.low[t][k]), n.high[t][k] = std::max(a.high[t][k], b.high[t][k]);
}

double DeformingTree::half_surface(int node) const {
  const Node& n = nodes_[node];
  const double x = n.high[1][0] - n.low[1][0], y = n.high[1][1] - n.low[1][1], z = n.high[1][2] - n.low[1][2];
  return x * y + y * z + z * x;
}

double DeformingTree::refit(int node) {
  if (nodes_[node].small()) return refit_twig(node);
  const double below = refit(node + 1) + refit(nodes_[node].right);
  join(node);
  if (any_solid_) cluster_join(node);
  return below + half_surface(node);
}

/// The triangles of a twig, from center_, one beside the other.
struct DeformingTree::Twig {
  int first;
  double corner[2][3][3][twig_size];                   // at begin and end, of each corner, along each axis
  double low[2][3][twig_size], high[2][3][twig_size];  // of each triangle
};

double DeformingTree::refit_twig(int node) {
  const Node& n = nodes_[node];
  Twig twig;
  twig.first = n.first;
  // The next twig's triangles follow; their corners are on their way meanwhile.
  for (int i = n.last; i < std::min<int>(n.last + twig_size, static_cast<int>(ordered_.size())); ++i)
    for (int k = 0; k < 3; ++k) __builtin_prefetch(&begin_[ordered_[i][k]]), __builtin_prefetch(&end_[ordered_[i][k]]);
  for (int i = 0; i < twig_size; ++i) {
    const Vec3i t = ordered_[std::min(n.first + i, n.last - 1)];
    for (int k = 0; k < 3; ++k) {
      const Vec3d a = begin_[t[k]] - center_, b = end_[t[k]] - center_;
      for (int axis = 0; axis < 3; ++axis) twig.corner[0][k][axis][i] = a[axis], twig.corner[1][k][axis][i] = b[axis];
    }
  }
  for (int time = 0; time < 2; ++time)
    for (int axis = 0; axis < 3; ++axis)
      for (int i = 0; i < twig_size; ++i) {
        const double a = twig.corner[time][0][axis][i], b = twig.corner[time][1][axis][i],
                     c = twig.corner[time][2][axis][i];
        twig.low[time][axis][i] = std::min(a, std::min(b, c)), twig.high[time][axis][i] = std::max(a, std::max(b, c));
      }
  const double cost = fit(node, twig);
  if (any_solid_) cluster_twig(node, twig);
  return cost;
}

/// Boxes of a node of a twig and of those below it, and their cost.
double DeformingTree::fit(int node, const Twig& twig) {
  Node& n = nodes_[node];
  double below = 0;
  if (n.right != 0) {
    below = fit(node + 1, twig) + fit(n.right, twig);
    join(node);
  } else {
    for (int time = 0; time < 2; ++time)
      for (int k = 0; k < 3; ++k) {
        const double *low = twig.low[time][k] - twig.first, *high = twig.high[time][k] - twig.first;
        n.low[time][k] = rounded_down(*std::min_element(low + n.first, low + n.last));
        n.high[time][k] = rounded_up(*std::max_element(high + n.first, high + n.last));
      }
  }
  return below + half_surface(node);
}

namespace {

using Lanes [[gnu::vector_size(64)]] = float;  // a triangle of a twig in each

/// In halves, which stay in registers.
inline float sum_of(const Lanes& v) {
  const auto eight = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                     __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto four =
      __builtin_shufflevector(eight, eight, 0, 1, 2, 3) + __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  return (four[0] + four[2]) + (four[1] + four[3]);
}
inline Vec3f sum_of(const Vec3<Lanes>& v) { return {sum_of(v.x), sum_of(v.y), sum_of(v.z)}; }
inline Vec3<Lanes> in_all(const Vec3f& v) { return {Lanes{} + v.x, Lanes{} + v.y, Lanes{} + v.z}; }

}  // namespace

// Single precision suffices: offsets are from the middle of the twig.
void DeformingTree::cluster_twig(int node, const Twig& twig) {
  const Node& n = nodes_[node];
  Cluster& c = clusters_[n.cluster];
  Lanes counts{};
  for (int i = n.first; i < n.last; ++i) counts[i - n.first] = ordered_solid_[i] ? 1 : 0;
  Vec3d middle;
  for (int k = 0; k < 3; ++k) middle[k] = 0.5 * (static_cast<double>(n.low[1][k]) + n.high[1][k]);
  Vec3<Lanes> corner[3];
  for (int k = 0; k < 3; ++k)
    for (int axis = 0; axis < 3; ++axis)
      for (int i = 0; i < twig_size; ++i)
        corner[k][axis][i] = static_cast<float>(twig.corner[1][k][axis][i] - middle[axis]);
  const Vec3<Lanes> vector = cross(corner[1] - corner[0], corner[2] - corner[0]) * (counts * 0.5f);
  Lanes area = dot(vector, vector);
  for (int i = 0; i < twig_size; ++i) area[i] = std::sqrt(area[i]);
  c = {};
  c.area = sum_of(area);
  const Vec3f offset =
      c.area > 0 ? sum_of((corner[0] + corner[1] + corner[2]) * area) / static_cast<float>(3 * c.area) : Vec3f{};
  c.center = middle + Vec3d(offset);
  Lanes radius2{};
  for (Vec3<Lanes>& v : corner) {
    v -= in_all(offset);
    const Lanes length2 = dot(v, v) * counts;
    radius2 = length2 > radius2 ? length2 : radius2;
  }
  float farthest2 = 0;
  for (int i = 0; i < twig_size; ++i) farthest2 = std::max(farthest2, radius2[i]);
  c.radius2 = rounded_up(farthest2);
  // The mean of offset_j offset_k over a triangle is (sum over corners of v_j v_k + 9 m_j m_k) / 12, m: centroid.
  const Vec3<Lanes> sum = corner[0] + corner[1] + corner[2];
  Lanes product[6]{};
  for (const Vec3<Lanes>& o : {corner[0], corner[1], corner[2], sum}) {
    product[0] += o.x * o.x, product[1] += o.y * o.y, product[2] += o.z * o.z;
    product[3] += o.x * o.y, product[4] += o.x * o.z, product[5] += o.y * o.z;
  }
  for (int a = 0; a < 3; ++a) {
    c.vector[a] = sum_of(vector[a]);
    for (int b = 0; b < 3; ++b) c.moment[a][b] = sum_of(sum[a] * vector[b]) / 3;
    for (int k = 0; k < 6; ++k) c.second[a][k] = sum_of(vector[a] * product[k]) / 12;
  }
}

// Moments about another centre, with o' = o + d:  M' = M + d A,  C'_ijk = C_ijk + M_ji d_k + M_ki d_j + A_i d_j d_k
// A: vector, M: moment, C: second
void DeformingTree::cluster_join(int node) {
  constexpr int first[6] = {0, 1, 2, 0, 0, 1}, other[6] = {0, 1, 2, 1, 2, 2};
  const Cluster* child[2] = {&clusters_[nodes_[node + 1].cluster], &clusters_[nodes_[nodes_[node].right].cluster]};
  Cluster c{};
  c.area = child[0]->area + child[1]->area;
  c.center =
      c.area > 0 ? (child[0]->center * child[0]->area + child[1]->center * child[1]->area) / c.area : child[0]->center;
  double radius = 0;
  for (const Cluster* o : child) {
    if (!(o->area > 0)) continue;
    const Vec3d d = o->center - c.center;
    radius = std::max(radius, length(d) + std::sqrt(static_cast<double>(o->radius2)));
    for (int a = 0; a < 3; ++a) {
      c.vector[a] += o->vector[a];
      for (int b = 0; b < 3; ++b) c.moment[a][b] += static_cast<float>(o->moment[a][b] + d[a] * o->vector[b]);
      for (int s = 0; s < 6; ++s) {
        const int j = first[s], k = other[s];
        c.second[a][s] += static_cast<float>(o->second[a][s] + o->moment[j][a] * d[k] + o->moment[k][a] * d[j] +
                                             o->vector[a] * d[j] * d[k]);
      }
    }
  }
  // The box may be tighter than the children's balls.
  double corner2 = 0;
  for (int k = 0; k < 3; ++k) {
    const double reach = std::max(c.center[k] - nodes_[node].low[1][k], nodes_[node].high[1][k] - c.center[k]);
    corner2 += reach * reach;
  }
  c.radius2 = rounded_up(std::min(radius * radius, corner2));
  clusters_[nodes_[node].cluster] = c;
}

// w = sum over triangles of A n . F(p - x) / (4 pi) with F(r) = r / |r|^3, expanded to second order about the centre:
// A n . r / |r|^3 + M : (I / |r|^3 - 3 r r^T / |r|^5) + 1/2 C : (15 r r r / |r|^7 - 3 sym(I r) / |r|^5)
// r: from x to the centre, M and C: first and second moments                      [Barill et al. 2018, section 4]
double DeformingTree::far_field(const Cluster& c, const Vec3d& r, double r2) {
  const double inverse2 = 1 / r2, inverse3 = inverse2 * std::sqrt(inverse2);
  const Vec3d area(c.vector[0], c.vector[1], c.vector[2]);
  double trace = 0, along = 0, cubic = 0, linear = 0;
  for (int a = 0; a < 3; ++a) {
    const float* s = c.second[a];
    trace += c.moment[a][a];
    along += r[a] * (c.moment[a][0] * r.x + c.moment[a][1] * r.y + c.moment[a][2] * r.z);
    cubic += r[a] * (s[0] * r.x * r.x + s[1] * r.y * r.y + s[2] * r.z * r.z +
                     2 * (s[3] * r.x * r.y + s[4] * r.x * r.z + s[5] * r.y * r.z));
    linear += r[a] * (s[0] + s[1] + s[2]);  // C_kii r_k
  }
  // 2 C_iik r_k
  linear += 2 * (r.x * (c.second[0][0] + c.second[1][3] + c.second[2][4]) +
                 r.y * (c.second[0][3] + c.second[1][1] + c.second[2][5]) +
                 r.z * (c.second[0][4] + c.second[1][5] + c.second[2][2]));
  const double first = dot(area, r) + trace - 3 * along * inverse2;
  const double second = 0.5 * inverse2 * (15 * cubic * inverse2 - 3 * linear);
  return (first + second) * inverse3 / (4 * std::numbers::pi);
}

double DeformingTree::winding(const Vec3d& world, double far_ratio) const {
  if (!any_solid_) return 0;
  const Vec3d x = world - center_;
  const double far_ratio2 = far_ratio * far_ratio;
  double sum = 0;
  int stack[64];
  int top = 0;
  stack[top++] = 0;
  while (top > 0) {
    const int index = stack[--top];
    const Node& n = nodes_[index];
    const Cluster& c = clusters_[n.cluster];
    if (!(c.area > 0)) continue;
    const Vec3d r = c.center - x;
    const double r2 = dot(r, r);
    if (r2 > far_ratio2 * c.radius2 && r2 > 0) {
      sum += far_field(c, r, r2);
    } else if (n.small()) {
      for (int i = n.first; i < n.last; ++i) {
        const int triangle = (*order_)[i];
        const Vec3i t = triangles_[triangle];
        if (solid_[triangle]) sum += solid_angle_fraction(world, end_[t.x], end_[t.y], end_[t.z]);
      }
    } else {
      stack[top++] = n.right;
      stack[top++] = index + 1;
    }
  }
  return sum;
}

std::size_t DeformingTree::memory_bytes() const {
  return nodes_.capacity() * sizeof(Node) + clusters_.capacity() * sizeof(Cluster) +
         (rest_order_.capacity() + own_order_.capacity()) * sizeof(int) + ordered_.capacity() * (sizeof(Vec3i) + 1);
}

}  // namespace aegir
