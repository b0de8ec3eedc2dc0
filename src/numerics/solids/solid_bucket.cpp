#include "numerics/solids/solid_bucket.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "numerics/solids/face_area.h"
#include "numerics/solids/mesh_band.h"

namespace aegir {
namespace {

// Nodes -1 … 8 and cells -1 … 7 along each axis: with thin solids the lower neighbours of the first cells count too.
constexpr std::array<int, 3> node_step{node_side * node_side, node_side, 1};
constexpr std::array<int, 3> cell_step{cell_side * cell_side, cell_side, 1};
constexpr int corner_step(int corner) {
  return (corner >> 2) * node_step[0] + (corner >> 1 & 1) * node_step[1] + (corner & 1) * node_step[2];
}

constexpr double half_diagonal = 0.8660254037844387;  // of a cell
/// A place to stand is at least this far outside, in cells: certain for every solid.
constexpr double footing = 1e-3;
constexpr std::int8_t at_centre = 8, nowhere = -1;

/// One bucket at work. Lengths are in cells; solids are asked in metres.
class Evaluation {
 public:
  Evaluation(std::span<const ListedSolid> solids, const BucketKey& key, double spacing)
      : solids_(solids),
        key_(key),
        spacing_(spacing * (1 << key.level)),
        first_(Vec3d(key.coord) * double{bucket_size}) {}

  /// Node distances; false where all solids are farther away than the band.
  bool distances() {
    const Box box{place({-1, -1, -1}), place(Vec3d(bucket_size))};
    std::vector<std::uint16_t> reached;
    for (std::size_t s = 0; s < solids_.size(); ++s)
      if (solids_[s].bounds.grown(solid_band * spacing_).overlaps(box)) {
        reached.push_back(static_cast<std::uint16_t>(s));
        any_thin_ |= solids_[s].thin;
      }
    if (reached.empty()) return false;
    distance_.fill(solid_band), nearest_.fill(reached.front());
    if (any_thin_) thin_.fill(solid_band);
    const int low = any_thin_ ? -1 : 0;
    for (const std::uint16_t s : reached) {
      if (solids_[s].band)
        add_band(s);
      else
        add(s, {low, low, low}, Vec3i(bucket_size), 0);
    }
    return *std::min_element(distance_.begin(), distance_.end()) < solid_band;
  }

  void fill(SolidBlock& block) {
    for_cells([&](int c, int node) {
      block.distance[static_cast<std::size_t>(c)] = static_cast<float>(distance(node));
      int nearest = node;
      for (int corner = 1; corner < 8; ++corner)
        if (distance(node + corner_step(corner)) < distance(nearest)) nearest = node + corner_step(corner);
      block.nearest[static_cast<std::size_t>(c)] = nearest_[static_cast<std::size_t>(nearest)];
    });
    for (const auto& drawn : drawn_) {
      const DrawnWays ways = solids_[drawn->solid].band->ways(key_);
      if (!block.drawn_ways && !ways.empty()) block.drawn_ways = std::make_unique<DrawnWays>();
      if (block.drawn_ways) block.drawn_ways->add(ways);
      if (const DrawnPatches* patches = solids_[drawn->solid].band->patches(key_))
        block.drawn_patches.push_back(*patches);
    }
    for (int axis = 0; axis < 3; ++axis) areas(block, axis);
    if (any_thin_) sheets(block);
    for (const auto& plane : block.area)
      block.cut |= std::any_of(plane.begin(), plane.end(), [](float a) { return a < 1; });
    velocities(block);
  }

 private:
  template <class Visit>
  static void for_cells(Visit visit) {
    for (int i = 0; i < bucket_size; ++i)
      for (int j = 0; j < bucket_size; ++j)
        for (int k = 0; k < bucket_size; ++k) visit(cell_offset(i, j, k), node_at(i, j, k));
  }
  double distance(int node) const { return distance_[static_cast<std::size_t>(node)]; }
  double thin(int node) const { return thin_[static_cast<std::size_t>(node)]; }
  /// World position of a place in the bucket. Every bucket that shares the place gets the same bits.
  Vec3d place(const Vec3d& cells) const { return (first_ + cells) * spacing_; }

  /// Takes a solid into the nodes lo … hi. Far nodes are settled by one question for all: a distance changes by no more
  /// than the way gone.
  void add(std::uint16_t s, const Vec3i& lo, const Vec3i& hi, int depth) {
    const Solid& solid = *solids_[s].solid;
    const double far = (0.5 * length(Vec3d(hi - lo)) + solid_band) * spacing_;
    const double middle = solid.distance(place((Vec3d(lo) + Vec3d(hi)) * 0.5), far);
    if (middle >= far) return;
    const bool inside = middle <= -far;
    if (!inside && depth == 0) {
      const Vec3i split{(lo.x + hi.x) >> 1, (lo.y + hi.y) >> 1, (lo.z + hi.z) >> 1};
      for (int part = 0; part < 8; ++part) {
        Vec3i from = lo, to = split;
        for (int a = 0; a < 3; ++a)
          if (part >> a & 1) from[a] = split[a] + 1, to[a] = hi[a];
        add(s, from, to, 1);
      }
      return;
    }
    for (int i = lo.x; i <= hi.x; ++i)
      for (int j = lo.y; j <= hi.y; ++j)
        for (int k = lo.z; k <= hi.z; ++k) {
          const double d =
              inside ? -solid_band : solid.distance(place(Vec3d(Vec3i(i, j, k))), solid_band * spacing_) / spacing_;
          take(s, static_cast<std::size_t>(node_at(i, j, k)), d);
        }
  }
  void take(std::uint16_t s, std::size_t node, double d, std::int32_t triangle = -1) {
    d = std::abs(d) < on_surface ? 0 : std::clamp(d, -solid_band, solid_band);
    if (d < distance_[node]) distance_[node] = d, nearest_[node] = s, triangle_[node] = triangle;
    if (solids_[s].thin && d < thin_[node]) thin_[node] = d;
  }

  /// Takes in a solid whose unsigned distances are known; only their sides are asked, once for all that hang together.
  void add_band(std::uint16_t s) {
    auto drawn = std::make_unique<DrawnNodes>();
    drawn->solid = s;
    if (!solids_[s].band->load(key_, drawn->nodes)) {
      drawn->nodes.distance.fill(solid_band), drawn->nodes.triangle.fill(-1), drawn->nodes.centre.fill(centre_band);
    }
    const Nodes<double>& distance = drawn->nodes.distance;
    // Where no surface is within half a cell of any node, all hang together.
    const auto ask = [&](std::size_t n) -> std::int8_t {
      return solids_[s].solid->distance(node_place(n), footing * spacing_) < 0 ? -1 : 1;
    };
    const bool together = *std::min_element(distance.begin(), distance.end()) > 0.501;
    drawn->side.fill(
        together ? ask(static_cast<std::size_t>(std::max_element(distance.begin(), distance.end()) - distance.begin()))
                 : 0);
    for (const double deep : {2.5, 1.5, 1.0})  // start where the side is certain, and costs least to tell
      for (std::size_t n = 0; n < distance.size(); ++n)
        if (!drawn->side[n] && distance[n] >= deep) flood(*drawn, n, ask(n));
    for (std::size_t n = 0; n < distance.size(); ++n)
      if (!drawn->side[n]) {
        const std::int8_t seen = side_seen(*drawn, n);
        flood(*drawn, n, seen ? seen : ask(n));
      }
    for (std::size_t n = 0; n < distance.size(); ++n)
      take(s, n, drawn->side[n] * distance[n], drawn->nodes.triangle[n]);
    drawn_.push_back(std::move(drawn));
  }
  Vec3d node_place(std::size_t n) const {
    const int at = static_cast<int>(n);
    return place(Vec3d(Vec3i(at / node_step[0] - 1, at / node_step[1] % node_side - 1, at % node_side - 1)));
  }
  struct DrawnNodes {
    std::uint16_t solid;
    BandNodes nodes;
    Nodes<std::int8_t> side;
  };
  /// The side of a node that sees one whose side is known, across a cell; 0 where it sees none.
  std::int8_t side_seen(const DrawnNodes& drawn, std::size_t n) const {
    const int at = static_cast<int>(n);
    const Vec3i node{at / node_step[0] - 1, at / node_step[1] % node_side - 1, at % node_side - 1};
    for (int around = 0; around < 8; ++around) {
      const Vec3i cell = node - Vec3i(around >> 2, around >> 1 & 1, around & 1);
      if (std::min({cell.x, cell.y, cell.z}) < -1 || std::max({cell.x, cell.y, cell.z}) >= bucket_size) continue;
      for (int corner = 0; corner < 8; ++corner) {
        const std::int8_t side =
            drawn.side[static_cast<std::size_t>(node_at(cell.x, cell.y, cell.z) + corner_step(corner))];
        const Vec3i other = cell + Vec3i(corner >> 2, corner >> 1 & 1, corner & 1);
        if (side && solids_[drawn.solid].band->leaves_free(key_, cell, Vec3f(other), Vec3f(node))) return side;
      }
    }
    return 0;
  }
  /// Gives a side to a node and all that hang together with it: no surface lies between two nodes whose distances from
  /// it add up to more than their distance from each other.
  static void flood(DrawnNodes& drawn, std::size_t start, std::int8_t side) {
    static constexpr auto steps = node_steps();
    const Nodes<double>& distance = drawn.nodes.distance;
    std::array<std::uint16_t, std::tuple_size_v<Nodes<double>>> todo;
    std::size_t waiting = 0;
    drawn.side[start] = side, todo[waiting++] = static_cast<std::uint16_t>(start);
    while (waiting) {
      const int at = todo[--waiting];
      const double own = distance[static_cast<std::size_t>(at)];
      const int i = at / node_step[0], j = at / node_step[1] % node_side, k = at % node_side;
      const std::size_t count = own < 1.75 ? 26 : 6;  // farther out all neighbours hang together anyway
      for (std::size_t n = 0; n < count; ++n) {
        const NodeStep& step = steps[n];
        if (step.x + i < 0 || step.x + i >= node_side || step.y + j < 0 || step.y + j >= node_side || step.z + k < 0 ||
            step.z + k >= node_side)
          continue;
        const auto other = static_cast<std::size_t>(at + step.index);
        if (drawn.side[other] || own + distance[other] <= step.way + 1e-6) continue;
        drawn.side[other] = side, todo[waiting++] = static_cast<std::uint16_t>(other);
      }
    }
  }

  void areas(SolidBlock& block, int axis) const {
    const int p = node_step[static_cast<std::size_t>((axis + 1) % 3)];
    const int q = node_step[static_cast<std::size_t>((axis + 2) % 3)];
    auto& area = block.area[static_cast<std::size_t>(axis)];
    for_cells([&](int c, int node) {
      const double open = open_area(distance(node), distance(node + p), distance(node + q), distance(node + p + q));
      area[static_cast<std::size_t>(c)] = open < least_open_area ? 0.0f : static_cast<float>(open);
    });
  }

  // Sheets (solid_grid.h has the idea).
  struct Standing {
    std::int8_t where;
    double distance;  // of the centre, or something smaller
  };

  void sheets(SolidBlock& block) {
    for_cells([&](int c, int node) {
      double closest = solid_band;
      for (int corner = 0; corner < 8; ++corner)
        closest = std::min(closest, std::abs(thin(node + corner_step(corner))));
      if (closest > 1) return;
      block.near_thin[static_cast<std::size_t>(c >> 6)] |= std::uint64_t{1} << (c & 63);
      block.any_near = true;
    });
    std::array<Standing, cell_side * cell_side * cell_side> standing;
    for (int i = -1; i < bucket_size; ++i)
      for (int j = -1; j < bucket_size; ++j)
        for (int k = -1; k < bucket_size; ++k) standing[static_cast<std::size_t>(cell_at(i, j, k))] = stand({i, j, k});
    for (int axis = 0; axis < 3; ++axis)
      for (int i = 0; i < bucket_size; ++i)
        for (int j = 0; j < bucket_size; ++j)
          for (int k = 0; k < bucket_size; ++k) {
            const int at = cell_at(i, j, k);
            const Standing& here = standing[static_cast<std::size_t>(at)];
            const Standing& there = standing[static_cast<std::size_t>(at - cell_step[static_cast<std::size_t>(axis)])];
            if (joined({i, j, k}, axis, here, there)) continue;
            const int c = cell_offset(i, j, k);
            block.area[static_cast<std::size_t>(axis)][static_cast<std::size_t>(c)] = 0;
            // Where both centres are inside, the solid is thicker than what transfers reach across.
            if (here.where < 0 || there.where < 0 || (here.where != at_centre && there.where != at_centre)) continue;
            block.parted[static_cast<std::size_t>(axis)][static_cast<std::size_t>(c >> 6)] |= std::uint64_t{1}
                                                                                              << (c & 63);
            block.any_parted = true;
          }
  }

  /// The centre where it is outside all thin solids, else the corner farthest outside; among corners that are about as
  /// far the first, so that rounding does not choose.
  Standing stand(const Vec3i& cell) const {
    const int node = node_at(cell.x, cell.y, cell.z);
    double farthest = 0, most = -solid_band;
    for (int corner = 0; corner < 8; ++corner) {
      const double d = thin(node + corner_step(corner));
      if (std::abs(d) > std::abs(farthest)) farthest = d;
      most = std::max(most, d);
    }
    double centre = std::copysign(std::abs(farthest) - half_diagonal, farthest);
    if (std::abs(farthest) < half_diagonal + 0.5 + footing) centre = ask_thin(cell);
    if (centre > footing) return {at_centre, centre};
    if (most <= footing) return {nowhere, centre};
    for (int corner = 0; corner < 8; ++corner)
      if (const double d = thin(node + corner_step(corner)); d > footing && d > most - footing)
        return {static_cast<std::int8_t>(corner), centre};
    return {nowhere, centre};
  }
  static Vec3d foothold(const Vec3i& cell, const Standing& s) {  // in cells
    if (s.where == at_centre) return Vec3d(cell) + Vec3d(0.5);
    return Vec3d(cell + Vec3i(s.where >> 2, s.where >> 1 & 1, s.where & 1));
  }

  bool joined(const Vec3i& cell, int axis, const Standing& here, const Standing& there) const {
    if (here.where == nowhere || there.where == nowhere) return false;
    const bool centres = here.where == at_centre && there.where == at_centre;
    // A surface between the centres is no farther from both together than they are from each other.
    if (centres && here.distance + there.distance > 1 + footing) return true;
    Vec3i lower = cell;
    lower[axis] -= 1;
    const Vec3d from = foothold(lower, there), to = foothold(cell, here);
    const std::array<Vec3i, 2> through{lower, cell};
    if (!blocks_in(through, from, to)) return true;
    const Vec3d a = place(from), b = place(to);
    if (goes_around(a, b)) return true;
    // Bulges of solids that the nodes do see can be gone around through the face's own open corner.
    double most = -solid_band, least = solid_band;
    Vec3i best = cell;
    for (int corner = 0; corner < 4; ++corner) {
      Vec3i at = cell;
      at[(axis + 1) % 3] += corner & 1, at[(axis + 2) % 3] += corner >> 1;
      const double d = thin(node_at(at.x, at.y, at.z));
      least = std::min(least, d);
      if (d > most) most = d, best = at;
    }
    if ((centres && least >= 0) || most <= footing) return false;
    const Vec3d around = place(Vec3d(best));
    return !ask_blocks(a, around) && !ask_blocks(around, b);
  }

  /// Whether three free segments lead around a bulge between two places: away from it, along it, and back. Two planes
  /// whose normals enclose an angle t, through places a distance L apart, meet no farther off than L/2 tan(t/2).
  bool goes_around(const Vec3d& a, const Vec3d& b) const {
    const Vec3d mean = ask_way_around(a, b);
    const double cosine = length(mean);  // of t/2
    if (cosine < 0.5) return false;
    const double tangent = std::sqrt(std::max(0.0, 1 - cosine * cosine)) / cosine;
    const Vec3d out = mean * ((0.5 * length(b - a) * tangent + 0.05 * spacing_) / cosine);
    for (const Vec3d& off : {out, -out})  // a mesh may be inside out
      if (!ask_blocks(a, a + off) && !ask_blocks(a + off, b + off) && !ask_blocks(b + off, b)) return true;
    return false;
  }
  /// Of the only solid that blocks the way; zero where several do.
  Vec3d ask_way_around(const Vec3d& a, const Vec3d& b) const {
    Vec3d way;
    int blocking = 0;
    for (const ListedSolid& s : solids_)
      if (s.thin && s.bounds.overlaps(way_box(a, b)) && s.solid->blocks(a, b) && ++blocking == 1)
        way = s.solid->way_around(a, b);
    return blocking == 1 ? way : Vec3d{};
  }

  double ask_thin(const Vec3i& cell) const {
    const Vec3d x = place(Vec3d(cell) + Vec3d(0.5));
    double d = solid_band;
    for (const auto& drawn : drawn_)
      if (solids_[drawn->solid].thin) d = std::min(d, drawn_distance(*drawn, cell));
    for (const ListedSolid& s : solids_)
      if (s.thin && !s.band && s.bounds.grown(solid_band * spacing_).contains(x))
        d = std::min(d, s.solid->distance(x, solid_band * spacing_) / spacing_);
    return d;
  }
  /// Distance of a cell's centre, or something smaller; on the side of the clearest corner, if no surface can part the
  /// two.
  double drawn_distance(const DrawnNodes& drawn, const Vec3i& cell) const {
    const int node = node_at(cell.x, cell.y, cell.z);
    double clear = 0;
    int side = 0, clearest = 0;
    for (int corner = 0; corner < 8; ++corner)
      if (const auto n = static_cast<std::size_t>(node + corner_step(corner)); drawn.nodes.distance[n] > clear)
        clear = drawn.nodes.distance[n], side = drawn.side[n], clearest = corner;
    const auto known = double{drawn.nodes.centre[static_cast<std::size_t>(cell_at(cell.x, cell.y, cell.z))]};
    const double closest = std::max(known, clear - half_diagonal - drawn_slack);
    if (closest + clear <= half_diagonal + 1e-6) {
      const ListedSolid& solid = solids_[drawn.solid];
      const Vec3d centre = Vec3d(cell) + Vec3d(0.5);
      const auto place_of = [&](int corner) { return Vec3d(cell + Vec3i(corner >> 2, corner >> 1 & 1, corner & 1)); };
      const auto sees = [&](int corner) {
        return drawn.side[static_cast<std::size_t>(node + corner_step(corner))] != 0 &&
               solid.band->leaves_free(key_, cell, Vec3f(place_of(corner)), Vec3f(centre));
      };
      int seen = clearest;
      if (clear > 0 && !sees(seen))
        for (seen = 0; seen < 8 && !sees(seen);) ++seen;
      // Looking along a line costs a fraction of what asking for a side does.
      if (clear > 0 && seen < 8)
        side = drawn.side[static_cast<std::size_t>(node + corner_step(seen))];
      else if (clear == 0 || solid.solid->blocks(place(place_of(clearest)), place(centre)))
        side = solid.solid->distance(place(centre), footing * spacing_) < 0 ? -1 : 1;
    }
    return side * closest;
  }
  Box way_box(const Vec3d& a, const Vec3d& b) const {
    Box way;
    way.add(a), way.add(b);
    return way.grown(footing * spacing_);
  }
  /// Whether a solid is between two places, in cells, of which all between lies in some cells. Most drawn meshes are so
  /// flat there that their patches tell.
  bool blocks_in(const ListedSolid& s, std::span<const Vec3i> cells, const Vec3d& a, const Vec3d& b) const {
    const auto free = [&](const Vec3i& cell) { return s.band->leaves_free(key_, cell, Vec3f(a), Vec3f(b)); };
    if (s.band && std::all_of(cells.begin(), cells.end(), free)) return false;
    return s.solid->blocks(place(a), place(b));
  }
  bool blocks_in(std::span<const Vec3i> cells, const Vec3d& a, const Vec3d& b) const {
    if (a == b) return false;
    const Box way = way_box(place(a), place(b));
    return std::any_of(solids_.begin(), solids_.end(), [&](const ListedSolid& s) {
      return s.thin && s.bounds.overlaps(way) && blocks_in(s, cells, a, b);
    });
  }
  bool ask_blocks(const Vec3d& a, const Vec3d& b) const {
    if (a == b) return false;
    const Box way = way_box(a, b);
    return std::any_of(solids_.begin(), solids_.end(),
                       [&](const ListedSolid& s) { return s.thin && s.bounds.overlaps(way) && s.solid->blocks(a, b); });
  }

  /// Solids are asked at nodes; a face takes the mean of those of its four corners that belong to the solid nearest to
  /// it, which is exact for rigid motion.
  void velocities(SolidBlock& block) const {
    std::array<Nodes<float>, 3> u;
    Nodes<std::uint8_t> asked{};
    bool any = false;
    const auto expect = [&](std::size_t n) {
      if (distance_[n] > -2.5 && distance_[n] < 1.5 && solids_[nearest_[n]].band && triangle_[n] >= 0)
        solids_[nearest_[n]].band->expect(triangle_[n]);
    };
    for (int i = 0; i <= bucket_size; ++i)
      for (int j = 0; j <= bucket_size; ++j)
        for (int k = 0; k <= bucket_size; ++k) {
          const auto n = static_cast<std::size_t>(node_at(i, j, k));
          expect(std::min(n + 4, distance_.size() - 1));
          if (distance_[n] <= -2.5 || distance_[n] >= 1.5) continue;
          const ListedSolid& solid = solids_[nearest_[n]];
          const Vec3d at(Vec3i(i, j, k));
          const bool drawn = solid.band && triangle_[n] >= 0 && solid.band->has_velocity();
          const Vec3d v = drawn ? solid.band->velocity(triangle_[n], first_ + at) : solid.solid->velocity(place(at));
          for (int a = 0; a < 3; ++a) u[static_cast<std::size_t>(a)][n] = static_cast<float>(v[a]);
          asked[n] = 1;
          any |= v != Vec3d{};
        }
    if (!any) return;
    block.velocity = std::make_unique<std::array<std::array<float, bucket_cells>, 3>>();
    for (int axis = 0; axis < 3; ++axis) {
      const auto& plane = u[static_cast<std::size_t>(axis)];
      auto& out = (*block.velocity)[static_cast<std::size_t>(axis)];
      const int p = node_step[static_cast<std::size_t>((axis + 1) % 3)];
      const int q = node_step[static_cast<std::size_t>((axis + 2) % 3)];
      for_cells([&](int c, int node) {
        const std::array<int, 4> corners{node, node + p, node + q, node + p + q};
        const int closest =
            *std::min_element(corners.begin(), corners.end(), [&](int a, int b) { return distance(a) < distance(b); });
        const std::uint16_t solid = nearest_[static_cast<std::size_t>(closest)];
        float sum = 0, count = 0;
        for (const int at : corners)
          if (const auto n = static_cast<std::size_t>(at); asked[n] && nearest_[n] == solid) sum += plane[n], ++count;
        out[static_cast<std::size_t>(c)] = count > 0 ? sum / count : 0.0f;
      });
    }
  }

  std::span<const ListedSolid> solids_;
  BucketKey key_;
  double spacing_;
  Vec3d first_;             // the bucket's first node, in cells
  bool any_thin_ = false;   // a solid within reach may be thin
  Nodes<double> distance_;  // of all solids together
  Nodes<double> thin_;      // of those that may be thin
  Nodes<std::uint16_t> nearest_;
  Nodes<std::int32_t> triangle_;  // of solids with a band
  std::vector<std::unique_ptr<DrawnNodes>> drawn_;
};

}  // namespace

std::unique_ptr<SolidBlock> evaluate_bucket(std::span<const ListedSolid> solids, const BucketKey& key, double spacing) {
  Evaluation evaluation(solids, key, spacing);
  if (!evaluation.distances()) return nullptr;
  auto block = std::make_unique<SolidBlock>();
  evaluation.fill(*block);
  return block;
}

}  // namespace aegir
