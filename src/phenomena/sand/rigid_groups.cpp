#include "phenomena/sand/rigid_groups.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "domain/for_each_bucket.h"
#include "domain/transport/halo.h"
#include "phenomena/sand/body_friction.h"
#include "phenomena/sand/sand_channels.h"
#include "phenomena/sand/strain.h"
#include "solvers/linear/free_surface.h"

namespace aegir::sand {
namespace {

constexpr double hold = 1e4;  // weight of a contact over a full face: what solids hold hardly gives

/// Of one group: moments of its faces, nine for each axis; equations of what solids ask along their normals; its
/// momentum; its mass as faces of each axis have it.
constexpr std::size_t face_moments = 9, solids = 3 * face_moments, momentum = solids + equation_numbers,
                      masses = momentum + 6, sums_count = masses + 3;
using Sums = std::array<double, sums_count>;

/// Adds a face at `r`: mass and momentum times 1 and the two distances from the axis that a turn moves it by.
void add_face(Sums& s, int axis, const Vec3d& r, double kg, double impulse) {
  double* at = s.data() + face_moments * static_cast<std::size_t>(axis);
  const double arm[3] = {1, r[(axis + 2) % 3], -r[(axis + 1) % 3]};
  for (int i = 0; i < 3; ++i)
    for (int j = i; j < 3; ++j) *at++ += kg * arm[i] * arm[j];
  for (const double one : arm) *at++ += one * impulse;
}

/// The equations of a group. Faces of different axes do not agree on its mass, by up to a per cent; just above the
/// angle of friction what is left of the weight is not much more. A group that rests on a solid therefore has one mass
/// along all axes, the mean: `scale` says what each axis counts.
Equations equations(const Sums& s, const Vec3d& scale) {
  Equations e;
  std::copy_n(s.begin() + solids, equation_numbers, e.begin());
  for (int axis = 0; axis < 3; ++axis) {
    const double* at = s.data() + face_moments * static_cast<std::size_t>(axis);
    const std::size_t of[3] = {static_cast<std::size_t>(axis), static_cast<std::size_t>(3 + (axis + 1) % 3),
                               static_cast<std::size_t>(3 + (axis + 2) % 3)};
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = i; j < 3; ++j) e[upper_place(of[i], of[j])] += scale[axis] * *at++;
    for (const std::size_t i : of) e[matrix_numbers + i] += scale[axis] * *at++;
  }
  return e;
}

/// Centre of a bucket's cell 0, and faces, in cells.
Vec3d place(const Topology& t, int b, int cell, int axis) {
  Vec3d x = Vec3d(t.key(b).coord) * double{bucket_size} + Vec3d(cell >> 6, cell >> 3 & 7, cell & 7) + Vec3d(0.5);
  if (axis >= 0) x[axis] -= 0.5;
  return x;
}

/// Group of the cell one step (1 or -1) from a cell along an axis; `sets` holds those of buckets of other ranks too.
std::int32_t beside(const Topology& t, const std::vector<std::int32_t>& sets, int b, int cell, int axis, int step) {
  constexpr int steps[3] = {64, 8, 1};
  const int s = steps[axis], place = (cell / s) % 8 + step;
  if (place >= 0 && place < 8)
    return sets[static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(cell + step * s)];
  const int other = t.neighbours(
      b)[static_cast<std::size_t>(neighbour_index(step * (axis == 0), step * (axis == 1), step * (axis == 2)))];
  if (other < 0) return -1;
  return sets[static_cast<std::size_t>(other) * bucket_cells + static_cast<std::size_t>(cell - 7 * step * s)];
}

Vec3i cell_at(int c) { return {c >> 6, c >> 3 & 7, c & 7}; }
Vec3i unit(int axis) { return {axis == 0, axis == 1, axis == 2}; }

/// The groups, seen from buckets and their faces.
class Groups {
 public:
  Groups(Exec& exec, const Topology& topology, const ConnectedCells& cells)
      : t_(topology), sets_(static_cast<std::size_t>(topology.total_count()) * bucket_cells, -1) {
    std::copy(cells.set.begin(), cells.set.end(), sets_.begin());
    if (exec.comm.size() > 1)
      exchange_halo(exec.comm, t_, reinterpret_cast<std::byte*>(sets_.data()), bucket_cells * sizeof(std::int32_t));
    // Radii are taken from the mean of the group's cells: whole numbers, so that ranks agree.
    std::vector<std::int64_t> middle(3 * cells.sizes.size(), 0);
    for (int b = 0; b < t_.local_count(); ++b)
      for (int c = 0; c < bucket_cells; ++c)
        if (const std::int32_t g = cells.of(b, c); g >= 0)
          for (int a = 0; a < 3; ++a)
            middle[3 * static_cast<std::size_t>(g) + static_cast<std::size_t>(a)] +=
                std::int64_t{t_.key(b).coord[a]} * bucket_size + (a == 0   ? c >> 6
                                                                  : a == 1 ? c >> 3 & 7
                                                                           : c & 7);
    exec.comm.sum(std::span<std::int64_t>(middle));
    for (std::size_t g = 0; g < cells.sizes.size(); ++g) {
      const auto mean = [&](std::size_t a) {
        return std::floor(static_cast<double>(middle[3 * g + a]) / static_cast<double>(cells.sizes[g])) + 0.5;
      };
      centre_.push_back({mean(0), mean(1), mean(2)});
    }
  }

  const Vec3d& centre(std::size_t group) const { return centre_[group]; }

  /// Group of a cell, or -1.
  std::int32_t of_cell(int b, int c) const {
    return sets_[static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(c)];
  }
  /// Group of one of the two cells beside a lower face, or -1.
  std::int32_t of_face(int b, int c, int axis) const {
    const std::int32_t here = of_cell(b, c);
    return here >= 0 ? here : beside(t_, sets_, b, c, axis, -1);
  }
  /// Group that a cell belongs to, or the first of those that its faces move with.
  std::int32_t of_contact(int b, int c) const {
    std::int32_t g = of_cell(b, c);
    for (int axis = 0; axis < 3; ++axis)
      for (const int step : {-1, 1})
        if (g < 0) g = beside(t_, sets_, b, c, axis, step);
    return g;
  }
  /// From the group's centre to the centre of a face, or of the cell where the axis is -1.
  Vec3d radius(std::int32_t group, int b, int c, int axis) const {
    return place(t_, b, c, axis) - centre_[static_cast<std::size_t>(group)];
  }
  /// Whether the mass of a group's face is all the group's: not where the cell on its other side is sand too, and free.
  template <class Distances>
  bool whole(int b, int c, int axis, const Distances& distance) const {
    const std::int32_t here = of_cell(b, c), back = beside(t_, sets_, b, c, axis, -1);
    if (here >= 0 && back >= 0) return true;
    const Vec3i free = here < 0 ? cell_at(c) : cell_at(c) - unit(axis);
    return distance(free.x, free.y, free.z) >= 0;
  }
  /// Calls visit(axis, cell, group, row, cells of the face) for the faces of groups in a bucket on which stress acts.
  template <class Eases, class Visit>
  void for_faces(int b, const Eases& eases, const Visit& visit) const {
    for (int axis = 0; axis < 3; ++axis)
      for (int c = 0; c < bucket_cells; ++c) {
        const float easy = eases.plane[static_cast<std::size_t>(axis)][c];
        const std::int32_t g = easy > 0 ? of_face(b, c, axis) : -1;
        if (g < 0) continue;
        Vec3d n;
        n[axis] = 1;
        visit(axis, c, g, row_of(n, radius(g, b, c, axis)), 1.0 / easy);
      }
  }

 private:
  const Topology& t_;
  std::vector<std::int32_t> sets_;
  std::vector<Vec3d> centre_;
};

/// What the pressure has done to a face: its change of velocity, and the impulse over the mass of a cell by its own
/// measure.
struct Press {
  double speed = 0, impulse = 0;
};
/// The pressure moves other masses than friction does: faces between sand and air by how far the surface is, all others
/// as if they were whole. By its own measure all its impulses on a group add up to what solids bear, by that of
/// friction they do not, and would push a block that slides along.
template <class Pressures, class Distances>
Press press_on(const Pressures& p, const Distances& phi, double area, int axis, int c) {
  const Vec3i here = cell_at(c), back = here - unit(axis);
  const float depth = phi(here.x, here.y, here.z), depth_back = phi(back.x, back.y, back.z);
  const double above = depth < 0 ? p(here.x, here.y, here.z) : 0.0,
               below = depth_back < 0 ? p(back.x, back.y, back.z) : 0.0;
  const float way = depth < 0 && depth_back < 0 ? 1.0f
                    : depth < 0                 ? depth / (depth - depth_back)
                                                : depth_back / (depth_back - depth);
  return {(below - above) / static_cast<double>(std::max(way, least_theta)), (below - above) * area};
}

/// What solids give to one bucket's groups. Faces first, then cells that solids across the grid cut; `from` counts
/// both. Faces of both axes along a solid cover it, so each stands for half of what it shows.
void touch(std::vector<BodyContact>& list, const Groups& groups, int b, std::span<const WallContact> faces,
           std::span<const CellContact> cells, const auto& eases, const auto& walls, double cell_mass) {
  for (const WallContact& c : faces) {
    const std::int32_t g = groups.of_face(b, c.cell, c.axis);
    const float easy = eases.plane[c.axis][c.cell];
    if (g < 0 || !c.plain || !(easy > 0)) continue;
    const Vec3d normal = normalized(Vec3d(c.normal));
    const double kg = cell_mass / easy, share = 0.5 * (1 - normal[c.axis] * normal[c.axis]);
    Vec3d found;
    found[c.axis] = kg * walls.plane[c.axis][c.cell];
    list.push_back({.body = g,
                    .place = groups.radius(g, b, c.cell, c.axis),
                    .normal = normal,
                    .solid = Vec3d(c.solid),
                    .load = cell_mass * share * c.load,
                    .below = cell_mass * share * c.below,
                    .rough = c.rough,
                    .stiff = hold * cell_mass,
                    .friction = found});
  }
  for (const CellContact& c : cells) {
    if (const std::int32_t g = groups.of_contact(b, c.cell); g >= 0)
      list.push_back({.body = g,
                      .place = groups.radius(g, b, c.cell, -1),
                      .normal = normalized(Vec3d(c.normal)),
                      .solid = Vec3d(c.solid),
                      .load = cell_mass * c.bound / c.rough,
                      .below = cell_mass * c.below,
                      .rough = c.rough,
                      .stiff = hold * cell_mass,
                      .friction = {}});
  }
}

/// The contacts of all groups, by bucket.
std::vector<std::vector<BodyContact>> touch_all(DiscreteVolume& volume, const Groups& groups, const Contacts& contacts,
                                                double cell_mass) {
  std::vector<std::vector<BodyContact>> touched(static_cast<std::size_t>(volume.topology().local_count()));
  const auto eases = volume.read(ease), walls = volume.read(wall);
  parallel_for(0, contacts.buckets.size(), 4, [&](std::size_t begin, std::size_t end) {
    typename std::remove_cvref_t<decltype(eases)>::View e, w;
    for (std::size_t n = begin; n < end; ++n) {
      const int b = contacts.buckets[n];
      eases.load(e, b), walls.load(w, b);
      std::span<const WallContact> faces;
      std::span<const CellContact> cells;
      if (!contacts.faces.empty()) faces = contacts.faces[n];
      if (!contacts.across.cells.empty()) cells = contacts.across.cells[n];
      touch(touched[static_cast<std::size_t>(b)], groups, b, faces, cells, e, w, cell_mass);
    }
  });
  return touched;
}

void add_momentum(Sums& s, const Row6& row, double value) {
  for (std::size_t i = 0; i < 6; ++i) s[momentum + i] += row[i] * value;
}

/// The sums of all groups. `rests`: how many contacts each has.
std::vector<Sums> sum_groups(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, const Groups& groups,
                             std::span<const std::int64_t> rests, std::span<const std::vector<BodyContact>> touched,
                             double cell_mass) {
  const auto velocities = volume.read(in.velocity), eases = volume.read(ease), areas = volume.read(in.open_area),
             gripped = volume.read(grip_face);
  auto pressures = volume.read<Halo<1>>(in.pressure);
  auto distances = volume.read<Halo<1>>(in.distance);
  pressures.prepare(exec), distances.prepare(exec);
  return body_sums<sums_count>(exec, touched.size(), rests.size(), [&](int b, auto& list) {
    typename std::remove_cvref_t<decltype(eases)>::View u, e, area, grips;
    typename decltype(pressures)::View p;
    typename decltype(distances)::View phi;
    bool loaded = false;
    eases.load(e, b);
    groups.for_faces(b, e, [&](int axis, int c, std::int32_t g, const Row6& row, double cells) {
      if (!std::exchange(loaded, true))
        velocities.load(u, b), areas.load(area, b), gripped.load(grips, b), pressures.load(p, b),
            distances.load(phi, b);
      const auto a = static_cast<std::size_t>(axis);
      const double kg = cell_mass * cells, speed = u.plane[a][c];
      const Press press = press_on(p.get(), phi.get(), area.plane[a][c], axis, c);
      double own = speed - press.speed;  // without what pressure and solids give
      Sums& s = list.of(g);
      for (std::size_t i = 0; i < 6; ++i) s[solids + matrix_numbers + i] += row[i] * cell_mass * press.impulse;
      if (rests[static_cast<std::size_t>(g)] > 0) {
        own -= grips.plane[a][c];
        s[masses + a] += groups.whole(b, c, axis, phi.get()) ? kg : 0.5 * kg;
      }
      add_face(s, axis, groups.radius(g, b, c, axis), kg, kg * own);
      add_momentum(s, row, kg * speed);
    });
    for (const BodyContact& c : touched[static_cast<std::size_t>(b)]) {
      Sums& s = list.of(c.body);
      add_row(s.data() + solids, row_of(c.normal, c.place), c.stiff, dot(c.normal, c.solid));
      for (int a = 0; a < 3; ++a) {
        s[masses + static_cast<std::size_t>(a)] += c.below * c.normal[a] * c.normal[a];
        add_face(s, a, c.place, 0, -c.friction[a]);  // is sought anew, for the group as a whole
      }
    }
  });
}

/// What the axes of a group count: to the mean of its masses along them where it rests.
Vec3d scale_of(const Sums& s) {
  const double* mass = s.data() + masses;
  Vec3d scale(1);
  for (int a = 0; a < 3; ++a)
    if (mass[a] > 0) scale[a] = std::clamp((mass[0] + mass[1] + mass[2]) / (3 * mass[a]), 0.8, 1.25);
  return scale;
}

/// Gives the faces of groups their motion; returns the momentum they have then.
std::vector<Sums> move_groups(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, const Groups& groups,
                              std::span<const Row6> motion, double cell_mass) {
  auto velocities = volume.write(in.velocity);
  const auto eases = volume.read(ease);
  velocities.prepare(exec);
  const auto buckets = static_cast<std::size_t>(volume.topology().local_count());
  const std::vector<Sums> after = body_sums<sums_count>(exec, buckets, motion.size(), [&](int b, auto& list) {
    typename decltype(velocities)::View u;
    typename std::remove_cvref_t<decltype(eases)>::View e;
    velocities.load(u, b), eases.load(e, b);
    groups.for_faces(b, e, [&](int axis, int c, std::int32_t g, const Row6& row, double cells) {
      double speed = 0;
      for (std::size_t i = 0; i < 6; ++i) speed += row[i] * motion[static_cast<std::size_t>(g)][i];
      u.plane[static_cast<std::size_t>(axis)][c] = static_cast<float>(speed);
      add_momentum(list.of(g), row, cell_mass * cells * speed);
    });
  });
  velocities.finish(exec);
  return after;
}

}  // namespace

ConnectedCells find_rigid(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, const RigidSettings& settings) {
  const Topology& t = volume.topology();
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(t.local_count()) * bucket_cells, 0);
  const auto most = static_cast<float>((1 - settings.slack) * (1 - settings.slack) * 2);
  const auto slow = static_cast<float>(settings.rate * settings.rate), far = static_cast<float>(settings.far),
             strong = static_cast<float>(settings.idle * settings.idle * 2);
  for_each_bucket(
      exec, "sand.rigid", t,
      [&](const Bucket& bucket, auto& u, auto& e, auto& acts, auto& y, auto& s, auto& sh, auto& area) {
        std::uint8_t* out = flags.data() + static_cast<std::size_t>(bucket.index) * bucket_cells;
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j) {
            Line normal[3], tangential[3], stressed{}, strained{};
            strain_rate(u, e, acts, i, j, normal, tangential);
            for (std::size_t a = 0; a < 3; ++a) {
              stressed += s[a].line(i, j) * s[a].line(i, j) + 2 * sh[a].line(i, j) * sh[a].line(i, j);
              strained += normal[a] * normal[a] + 2 * tangential[a] * tangential[a];
            }
            const Line bound = y.line(i, j);
            for (int k = 0; k < bucket_size; ++k) {
              if (!(bound[k] > 0 && stressed[k] < most * bound[k] * bound[k])) continue;
              const float needed = std::sqrt(stressed[k]) + far * std::sqrt(strained[k]);
              if (!(strained[k] < slow || needed * needed < strong * bound[k] * bound[k])) continue;
              const int c = cell_offset(i, j, k);
              out[c] = cell_member;
              for (std::size_t a = 0; a < 3; ++a)
                if (area[a][c] > 0) out[c] |= static_cast<std::uint8_t>(cell_joined << a);
            }
          }
      },
      volume.read<Halo<1>>(in.velocity), volume.read<Halo<1>>(edge), volume.read(span), volume.read(yield),
      volume.read(stress), volume.read(shear), volume.read(in.open_area));
  return connect_cells(exec, t, flags, settings.least);
}

RigidReport make_rigid(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, double cell_mass,
                       const ConnectedCells& groups, const Contacts& contacts) {
  RigidReport report{.groups = static_cast<std::int64_t>(groups.sizes.size()), .impulse = {}, .angular_impulse = {}};
  if (groups.sizes.empty()) return report;
  const std::size_t count = groups.sizes.size();
  for (const std::int64_t cells : groups.sizes) report.cells += cells;
  const Groups where(exec, volume.topology(), groups);
  std::vector<std::vector<BodyContact>> touched = touch_all(volume, where, contacts, cell_mass);
  std::vector<std::int64_t> rests(count, 0);
  for (const std::vector<BodyContact>& list : touched)
    for (const BodyContact& c : list) ++rests[static_cast<std::size_t>(c.body)];
  exec.comm.sum(std::span<std::int64_t>(rests));
  const std::vector<Sums> before = sum_groups(exec, volume, in, where, rests, touched, cell_mass);
  std::vector<Equations> bodies;
  for (const Sums& s : before) bodies.push_back(equations(s, scale_of(s)));
  const std::vector<Row6> motion = rub_bodies(exec, bodies, touched, contacts.creep, contacts.recede);
  const std::vector<Sums> after = move_groups(exec, volume, in, where, motion, cell_mass);
  const double h = volume.topology().spacing();
  for (std::size_t g = 0; g < count; ++g) {
    const auto gained = [&](std::size_t i) { return after[g][momentum + i] - before[g][momentum + i]; };
    const Vec3d push(gained(0), gained(1), gained(2)), turn(gained(3), gained(4), gained(5));
    report.impulse += push;
    report.angular_impulse += h * (turn + cross(where.centre(g), push));
  }
  return report;
}

}  // namespace aegir::sand
