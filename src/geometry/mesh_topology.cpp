#include "geometry/mesh_topology.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace aegir {
namespace {

struct Edge {
  int low, high, triangle;
  bool forward;  // the triangle runs from low to high
};

struct DisjointSets {
  std::vector<int> parent;
  explicit DisjointSets(std::size_t n) : parent(n) { std::iota(parent.begin(), parent.end(), 0); }
  int find(int i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  }
  void unite(int a, int b) {
    a = find(a), b = find(b);
    if (a != b) parent[std::max(a, b)] = std::min(a, b);
  }
};

std::vector<int> merge_vertices(const std::vector<Vec3d>& positions) {
  std::vector<int> order(positions.size()), merged(positions.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const Vec3d &p = positions[a], &q = positions[b];
    return std::tie(p.x, p.y, p.z, a) < std::tie(q.x, q.y, q.z, b);
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool same = i > 0 && positions[order[i]] == positions[order[i - 1]];
    merged[order[i]] = same ? merged[order[i - 1]] : order[i];
  }
  return merged;
}

void find_degenerate(const TriangleMesh& mesh, MeshTopology& t) {
  t.degenerate.assign(mesh.triangles.size(), 0);
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i) {
    const Vec3i tri = mesh.triangles[i];
    const Vec3d a = mesh.positions[tri.x], e1 = mesh.positions[tri.y] - a, e2 = mesh.positions[tri.z] - a;
    const double longest = std::max({dot(e1, e1), dot(e2, e2), dot(e2 - e1, e2 - e1)});
    // Thinner than rounding: its normal would be noise.
    if (!(length(cross(e1, e2)) > 1e-14 * longest)) t.degenerate[i] = 1, ++t.report.degenerate_triangles;
  }
}

// Edges of all triangles whose corners differ; slivers take part, so that they do not tear the mesh open.
std::vector<Edge> sorted_edges(const TriangleMesh& mesh, const MeshTopology& t) {
  std::vector<Edge> edges;
  edges.reserve(mesh.triangles.size() * 3);
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i) {
    const Vec3i tri = mesh.triangles[i];
    const int v[3] = {t.merged[tri.x], t.merged[tri.y], t.merged[tri.z]};
    if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
    for (int k = 0; k < 3; ++k) {
      const int a = v[k], b = v[(k + 1) % 3];
      edges.push_back({std::min(a, b), std::max(a, b), static_cast<int>(i), a < b});
    }
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.low, a.high, a.triangle, a.forward) < std::tie(b.low, b.high, b.triangle, b.forward);
  });
  return edges;
}

// Calls visit(first, last) for every run of entries on the same edge.
template <class Visit>
void for_each_edge(const std::vector<Edge>& edges, Visit visit) {
  for (std::size_t i = 0, j = 0; i < edges.size(); i = j) {
    while (j < edges.size() && edges[j].low == edges[i].low && edges[j].high == edges[i].high) ++j;
    visit(&edges[i], &edges[i] + (j - i));
  }
}

double triangle_area(const TriangleMesh& mesh, int i) {
  const Vec3i t = mesh.triangles[i];
  const Vec3d a = mesh.positions[t.x];
  return 0.5 * length(cross(mesh.positions[t.y] - a, mesh.positions[t.z] - a));
}

// Walks over edges of exactly two triangles; each part takes the orientation that most of its area has already.
// A part that has only one side (a Moebius strip) stays as it is.
void find_turned(const TriangleMesh& mesh, const std::vector<Edge>& edges, MeshTopology& t) {
  struct Neighbour {
    int triangle, next;
    bool disagrees;
  };
  std::vector<Neighbour> list;
  std::vector<int> head(mesh.triangles.size(), -1);
  for_each_edge(edges, [&](const Edge* first, const Edge* last) {
    if (last - first != 2) return;
    const bool disagrees = first[0].forward == first[1].forward;
    for (int k = 0; k < 2; ++k) {
      list.push_back({first[1 - k].triangle, head[first[k].triangle], disagrees});
      head[first[k].triangle] = static_cast<int>(list.size()) - 1;
    }
  });
  std::vector<std::int8_t> state(mesh.triangles.size(), -1);
  std::vector<int> part;
  for (std::size_t seed = 0; seed < mesh.triangles.size(); ++seed) {
    if (state[seed] >= 0) continue;
    part.assign(1, static_cast<int>(seed));
    state[seed] = 0;
    bool orientable = true;
    double kept = 0, flipped = 0;
    for (std::size_t k = 0; k < part.size(); ++k) {
      const int i = part[k];
      (state[i] ? flipped : kept) += triangle_area(mesh, i);
      for (int n = head[i]; n >= 0; n = list[n].next) {
        const auto wanted = static_cast<std::int8_t>(state[i] ^ static_cast<int>(list[n].disagrees));
        if (state[list[n].triangle] < 0)
          state[list[n].triangle] = wanted, part.push_back(list[n].triangle);
        else if (state[list[n].triangle] != wanted)
          orientable = false;
      }
    }
    const int rest = flipped > kept ? 1 : 0;
    for (const int i : part) t.turned[i] = orientable && state[i] != rest;
  }
}

void find_components(const TriangleMesh& mesh, const std::vector<Edge>& edges, MeshTopology& t) {
  DisjointSets sets(mesh.triangles.size());
  for_each_edge(edges, [&](const Edge* first, const Edge* last) {
    for (const Edge* e = first + 1; e < last; ++e) sets.unite(first->triangle, e->triangle);
  });
  std::vector<int> number(mesh.triangles.size(), -1);
  t.component.assign(mesh.triangles.size(), -1);
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i) {
    if (t.degenerate[i]) continue;
    int& n = number[sets.find(static_cast<int>(i))];
    if (n < 0) n = t.report.components++;
    t.component[i] = n;
  }
}

// The vector area of a loop of open edges is what is missing to close the mesh there (Stokes).
void find_sheets(const TriangleMesh& mesh, const std::vector<Edge>& edges, MeshTopology& t) {
  DisjointSets loops(mesh.positions.size());
  for_each_edge(edges, [&](const Edge* first, const Edge* last) {
    if ((last - first) % 2 == 1) loops.unite(first->low, first->high);
  });
  std::vector<Vec3d> loop_area(mesh.positions.size());
  std::vector<int> loop_component(mesh.positions.size(), -1);
  for_each_edge(edges, [&](const Edge* first, const Edge* last) {
    if ((last - first) % 2 == 0) return;
    const int root = loops.find(first->low);
    const bool forward = first->forward != (t.turned[first->triangle] != 0);
    const Vec3d origin = mesh.positions[root];
    const Vec3d a = cross(mesh.positions[first->low] - origin, mesh.positions[first->high] - origin) * 0.5;
    loop_area[root] += forward ? a : -a;
    loop_component[root] = std::max(loop_component[root], t.component[first->triangle]);
  });
  std::vector<double> area(t.report.components, 0.0), holes(t.report.components, 0.0);
  double total_area = 0, total_holes = 0;
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i)
    if (t.component[i] >= 0) area[t.component[i]] += triangle_area(mesh, static_cast<int>(i));
  for (std::size_t i = 0; i < loop_area.size(); ++i)
    if (loop_component[i] >= 0) holes[loop_component[i]] += length(loop_area[i]);
  t.sheet.assign(t.report.components, 0);
  for (int c = 0; c < t.report.components; ++c) {
    total_area += area[c], total_holes += holes[c];
    if (holes[c] > sheet_hole_fraction * area[c]) t.sheet[c] = 1, ++t.report.sheets;
  }
  t.report.hole_fraction = total_area > 0 ? total_holes / total_area : 0;
}

}  // namespace

MeshTopology analyse(const TriangleMesh& mesh) {
  MeshTopology t;
  MeshReport& r = t.report;
  r.vertices = static_cast<int>(mesh.positions.size());
  r.triangles = static_cast<int>(mesh.triangles.size());
  t.merged = merge_vertices(mesh.positions);
  t.turned.assign(mesh.triangles.size(), 0);
  find_degenerate(mesh, t);
  const std::vector<Edge> edges = sorted_edges(mesh, t);
  r.closed = r.triangles > r.degenerate_triangles;
  for_each_edge(edges, [&](const Edge* first, const Edge* last) {
    const auto uses = last - first;
    if (uses % 2 == 1) r.closed = false;
    if (uses == 1) ++r.open_edges;
    if (uses > 2) ++r.non_manifold_edges;
    if (uses == 2 && first[0].forward == first[1].forward) ++r.inconsistent_edges;
  });
  find_components(mesh, edges, t);
  if (r.inconsistent_edges > 0) find_turned(mesh, edges, t);
  find_sheets(mesh, edges, t);
  if (r.closed) {
    TriangleMesh turned{mesh.positions, mesh.triangles, {}};
    for (std::size_t i = 0; i < turned.triangles.size(); ++i)
      if (t.turned[i]) std::swap(turned.triangles[i].y, turned.triangles[i].z);
    const Vec3d size = mesh.bounds().size();
    r.inside_out = turned.signed_volume() < -1e-12 * dot(size, size) * length(size);
  }
  r.assumption = describe_assumption(r);
  return t;
}

}  // namespace aegir
