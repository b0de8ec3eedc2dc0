#include "phenomena/common/inflow.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "numerics/solids/face_area.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

constexpr double least_open = 1e-3;       // faces less open than this are closed
constexpr double most_scale = 1.25;       // regions that the grid does not see well are not made up for beyond it
constexpr double clearance = 1e-3;        // cells that particles are kept off the region
constexpr int corners = bucket_size + 1;  // nodes of a bucket along an axis
using Nodes = std::array<double, static_cast<std::size_t>(corners) * corners * corners>;

double& node(Nodes& nodes, const Vec3i& at) {
  return nodes[static_cast<std::size_t>((at.x * corners + at.y) * corners + at.z)];
}

/// Distance to a box, negative inside; never more than the true one.
double distance_to(const Box& box, const Vec3d& x) {
  double d = -1e300;
  for (int a = 0; a < 3; ++a) d = std::max({d, box.min[a] - x[a], x[a] - box.max[a]});
  return d;
}

/// Distance to the region, inside its bounds or not.
double distance_to(const Inflow& inflow, const Vec3d& place, double reach) {
  const double box = distance_to(inflow.body->bounds, place);
  return box > reach ? box : std::max(box, inflow.body->distance(place, reach));
}

Vec3d gradient(const Inflow& inflow, const Vec3d& place, double dx) {
  Vec3d g;
  for (int a = 0; a < 3; ++a) {
    Vec3d up = place, down = place;
    up[a] += 0.01 * dx, down[a] -= 0.01 * dx;
    g[a] = distance_to(inflow, up, 2 * dx) - distance_to(inflow, down, 2 * dx);
  }
  return length(g) > 0 ? normalized(g) : g;
}

/// Distances at the nodes of a bucket; false where it is all outside.
bool fill_nodes(const Inflow& inflow, const Vec3d& origin, double dx, Nodes& nodes) {
  const double half_diagonal = 0.8661 * bucket_size * dx;
  const Vec3d middle = origin + Vec3d(0.5 * bucket_size * dx);
  if (distance_to(inflow, inflow.end.apply_inverse(middle), half_diagonal + dx) > half_diagonal) return false;
  bool any = false;
  for (int i = 0; i < corners; ++i)
    for (int j = 0; j < corners; ++j)
      for (int k = 0; k < corners; ++k) {
        const double d = distance_to(inflow, inflow.end.apply_inverse(origin + Vec3d(i, j, k) * dx), 2 * dx);
        node(nodes, {i, j, k}) = d, any |= d <= 0;
      }
  return any;
}

/// Share of a face that is inside.
double share_inside(Nodes& nodes, int axis, const Vec3i& face) {
  Vec3i b{}, c{};
  b[(axis + 1) % 3] = 1, c[(axis + 2) % 3] = 1;
  return 1 - open_area(node(nodes, face), node(nodes, face + b), node(nodes, face + c), node(nodes, face + b + c));
}

}  // namespace

bool Inflows::active() const {
  return std::any_of(list_.begin(), list_.end(), [](const Inflow& i) { return i.active; });
}

bool Inflows::fill(const Vec3d& x) const {
  return std::any_of(list_.begin(), list_.end(),
                     [&](const Inflow& i) { return i.fills && i.holds(i.begin.apply_inverse(x), 0); });
}

/// 729 distances and 1536 shares per bucket that the region reaches; nothing for others.
void Inflows::find_faces(Exec& exec, DiscreteVolume& volume, const InflowChannels& channels, const Inflow& inflow,
                         std::vector<Block>& blocks) const {
  const Topology& topology = volume.topology();
  const double dx = topology.spacing();
  const Box reach = moved(inflow.body->bounds, inflow.end).grown(dx);
  for (int b = 0; b < topology.local_count(); ++b)
    if (reach.overlaps(topology.box(b))) blocks.push_back({b, {}, {}});
  auto area = volume.read<Halo<1>>(channels.area);
  auto solid = volume.read(channels.solid_velocity);
  area.prepare(exec), solid.prepare(exec);
  parallel_for(0, blocks.size(), 1, [&](std::size_t begin, std::size_t end) {
    typename decltype(area)::View open;
    typename decltype(solid)::View still;
    Nodes nodes;
    for (std::size_t n = begin; n < end; ++n) {
      Block& block = blocks[n];
      const Vec3d origin = topology.origin(block.bucket);
      if (!fill_nodes(inflow, origin, dx, nodes)) continue;
      area.load(open, block.bucket), solid.load(still, block.bucket);
      for (int cell = 0; cell < bucket_cells; ++cell) {
        const Vec3i at{cell >> 6, cell >> 3 & 7, cell & 7};
        double out = 0;
        for (int a = 0; a < 3; ++a) {
          const auto axis = static_cast<std::size_t>(a);
          Vec3i up = at;
          ++up[a];
          const auto& tile = open.plane[axis];
          const double share = share_inside(nodes, a, at), here = static_cast<double>(tile(at.x, at.y, at.z)),
                       above = static_cast<double>(tile(up.x, up.y, up.z));
          out += inflow.velocity[a] * (share_inside(nodes, a, up) * above - share * here);
          if (!(share * here > 0)) continue;
          Vec3d centre = Vec3d(at) + Vec3d(0.5);
          centre[a] -= 0.5;
          const Vec3d place = inflow.end.apply_inverse(origin + centre * dx);
          const double carried = (inflow.end.apply(place)[a] - inflow.begin.apply(place)[a]) / inflow.dt;
          block.faces.push_back({a, cell, static_cast<float>(share), static_cast<float>(carried),
                                 static_cast<float>(here), still.plane[axis].values[cell], 0});
        }
        block.pushed += std::max(0.0, -out);
        if (out > 0) block.births.push_back({cell, static_cast<float>(out)});
      }
    }
  });
}

void Inflows::close_faces(Exec& exec, DiscreteVolume& volume, const InflowChannels& channels) {
  blocks_.clear();
  const Topology& topology = volume.topology();
  const double dx = topology.spacing();
  for (const Inflow& inflow : list_) {
    if (!inflow.active) continue;
    std::vector<Block> blocks;
    find_faces(exec, volume, channels, inflow, blocks);
    std::vector<double> pushed(static_cast<std::size_t>(topology.local_count()), 0);
    for (const Block& block : blocks) pushed[static_cast<std::size_t>(block.bucket)] = block.pushed;
    const double out =
        dx * dx * exact_sum(exec, topology, [&](const Bucket& b) { return pushed[static_cast<std::size_t>(b.index)]; });
    const double scale = out > 0 ? std::clamp(inflow.flux / out, 1 / most_scale, most_scale) : 1.0;
    auto area = volume.write(channels.area), solid = volume.write(channels.solid_velocity);
    area.prepare(exec), solid.prepare(exec);
    typename decltype(area)::View open;
    typename decltype(solid)::View still;
    for (Block& block : blocks) {
      area.load(open, block.bucket), solid.load(still, block.bucket);
      for (Birth& birth : block.births) birth.divergence *= static_cast<float>(scale);
      for (Face& f : block.faces) {
        const auto a = static_cast<std::size_t>(f.axis);
        f.velocity += static_cast<float>(scale * inflow.velocity[f.axis]);
        float rest = f.area * (1 - f.share);
        if (rest < static_cast<float>(least_open)) rest = 0, f.share = 1;
        const float taken = f.area * f.share, closed = 1 - f.area;
        open.plane[a].values[f.cell] = rest;
        still.plane[a].values[f.cell] = (closed * f.solid + taken * f.velocity) / (closed + taken);
      }
    }
    blocks_.insert(blocks_.end(), std::make_move_iterator(blocks.begin()), std::make_move_iterator(blocks.end()));
  }
}

void Inflows::add_divergence(Exec& exec, DiscreteVolume& volume, const CellChannel<float>& rhs) const {
  auto divergence = volume.write(rhs);
  divergence.prepare(exec);
  typename decltype(divergence)::View view;
  for (const Block& block : blocks_) {
    divergence.load(view, block.bucket);
    for (const Birth& birth : block.births) view.get().values[birth.cell] += birth.divergence;
  }
}

void Inflows::open_faces(Exec& exec, DiscreteVolume& volume, const InflowChannels& channels) {
  auto velocity = volume.write(channels.velocity), area = volume.write(channels.area),
       solid = volume.write(channels.solid_velocity);
  velocity.prepare(exec), area.prepare(exec), solid.prepare(exec);
  typename decltype(velocity)::View u, open, still;
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    velocity.load(u, block->bucket), area.load(open, block->bucket), solid.load(still, block->bucket);
    for (const Face& f : block->faces) {
      const auto a = static_cast<std::size_t>(f.axis);
      float& face = u.plane[a].values[f.cell];
      face += f.share * (f.velocity - face);
      open.plane[a].values[f.cell] = f.area, still.plane[a].values[f.cell] = f.solid;
    }
  }
  blocks_.clear();
}

void Inflows::move(const Bucket& bucket, std::size_t count, const float* const from[3], float* const to[3],
                   float* const velocity[3]) const {
  const double dx = bucket.spacing();
  const Vec3d origin = bucket.origin();
  for (const Inflow& inflow : list_) {
    if (!inflow.active) continue;
    Box reach = moved(inflow.body->bounds, inflow.begin);
    reach.add(moved(inflow.body->bounds, inflow.end));
    for (std::size_t i = 0; i < count; ++i) {
      const Vec3d x = origin + Vec3d(from[0][i], from[1][i], from[2][i]) * dx;
      Vec3d goal = origin + Vec3d(to[0][i], to[1][i], to[2][i]) * dx;
      const bool near = reach.contains(x);
      if (!near && !reach.contains(goal)) continue;
      const Vec3d place = inflow.begin.apply_inverse(x);
      if (near && inflow.holds(place, dx)) {
        goal = inflow.end.apply(place + inflow.step);
        for (int a = 0; a < 3; ++a) velocity[a][i] = static_cast<float>((goal[a] - x[a]) / inflow.dt);
      } else if (const Vec3d entered = inflow.end.apply_inverse(goal); inflow.holds(entered, 4 * dx)) {
        const double depth = distance_to(inflow, entered, 4 * dx) - clearance * dx;
        goal = inflow.end.apply(entered - gradient(inflow, entered, dx) * depth);
      } else {
        continue;
      }
      for (int a = 0; a < 3; ++a) to[a][i] = static_cast<float>((goal[a] - origin[a]) / dx);
    }
  }
}

}  // namespace aegir
