#include "phenomena/sand/rigid_groups.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "domain/for_each_bucket.h"
#include "domain/transport/halo.h"
#include "phenomena/sand/sand_channels.h"
#include "phenomena/sand/strain.h"

namespace aegir::sand {
namespace {

constexpr double hold = 1e4;  // weight of a contact over a full face: what friction and solids hold hardly gives

/// Normal equations of one group: the upper half of Σ w J Jᵀ, then Σ w J u; the same of what friction holds at solids
/// across the grid; the group's momentum; and the impulse that this friction has left, along each axis.
constexpr std::size_t matrix_sums = 21, held = matrix_sums + 6, momentum = 2 * held, spare = momentum + 6,
                      sums_count = spare + 3;
using Sums = std::array<double, sums_count>;

using Row6 = std::array<double, 6>;

/// v̄ and ω: what a face or contact at `r`, along `n`, sees of them.
Row6 row_of(const Vec3d& n, const Vec3d& r) {
  const Vec3d turn = cross(r, n);
  return {n.x, n.y, n.z, turn.x, turn.y, turn.z};
}

void add(Sums& s, const Row6& row, double weight, double value, std::size_t part = 0) {
  std::size_t at = part;
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = i; j < 6; ++j) s[at++] += weight * row[i] * row[j];
  for (std::size_t i = 0; i < 6; ++i) s[at++] += weight * row[i] * value;
}

/// Solves the six equations by Cholesky; directions that the group's shape leaves open stay zero.
Row6 solve_equations(const Sums& s) {
  double a[6][6];
  Row6 x;
  double trace = 0;
  for (std::size_t i = 0, at = 0; i < 6; ++i)
    for (std::size_t j = i; j < 6; ++j) a[i][j] = a[j][i] = s[at++];
  for (std::size_t i = 0; i < 6; ++i) trace += a[i][i], x[i] = s[matrix_sums + i];
  for (std::size_t i = 0; i < 6; ++i) a[i][i] += 1e-13 * trace;
  for (std::size_t j = 0; j < 6; ++j) {
    for (std::size_t k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
    a[j][j] = std::sqrt(std::max(a[j][j], 1e-14 * trace));
    for (std::size_t i = j + 1; i < 6; ++i) {
      for (std::size_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
    }
  }
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= a[i][k] * x[k];
    x[i] /= a[i][i];
  }
  for (std::size_t i = 6; i-- > 0;) {
    for (std::size_t k = i + 1; k < 6; ++k) x[i] -= a[k][i] * x[k];
    x[i] /= a[i][i];
  }
  return x;
}

/// The motion of a group. At solids across the grid friction holds it as far as it has impulse left: a few contacts
/// that do not slip, of thousands that do, stop nothing.
Row6 solve(const Sums& s) {
  Sums both = s;
  for (std::size_t i = 0; i < held; ++i) both[i] += s[held + i];
  Row6 motion = solve_equations(both);
  double size = 0, most = 0;  // the impulse that holding takes, and how far friction goes along it
  for (std::size_t i = 0; i < 3; ++i) {
    double impulse = s[held + matrix_sums + i];
    for (std::size_t j = 0; j < 6; ++j) {
      const std::size_t low = std::min(i, j), high = std::max(i, j);
      impulse -= s[held + low * (11 - low) / 2 + high] * motion[j];
    }
    size += impulse * impulse, most += s[spare + i] * std::abs(impulse);
  }
  if (most >= size) return motion;
  const Row6 loose = solve_equations(s);
  for (std::size_t i = 0; i < 6; ++i) motion[i] = loose[i] + most / size * (motion[i] - loose[i]);
  return motion;
}

/// Centre of a bucket's cell 0, and faces, in cells.
Vec3d place(const Topology& t, int b, int cell, int axis) {
  Vec3d x = Vec3d(t.key(b).coord) * double{bucket_size} + Vec3d(cell >> 6, cell >> 3 & 7, cell & 7) + Vec3d(0.5);
  if (axis >= 0) x[axis] -= 0.5;
  return x;
}

/// Group of the cell below a cell along an axis; `ghosts` holds those of buckets of other ranks too.
std::int32_t below(const Topology& t, const std::vector<std::int32_t>& sets, int b, int cell, int axis) {
  constexpr int steps[3] = {64, 8, 1};
  const int s = steps[axis];
  if ((cell / s) % 8 > 0) return sets[static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(cell - s)];
  const int other =
      t.neighbours(b)[static_cast<std::size_t>(neighbour_index(-(axis == 0), -(axis == 1), -(axis == 2)))];
  if (other < 0) return -1;
  return sets[static_cast<std::size_t>(other) * bucket_cells + static_cast<std::size_t>(cell + 7 * s)];
}

/// Exact sums of a list of numbers per group, over all buckets and ranks. Buckets give (group, numbers) in order.
template <class Partial>
std::vector<Sums> group_sums(Exec& exec, const Topology& t, std::size_t groups, const Partial& partial) {
  std::vector<ExactSum> sums(groups * sums_count);
  std::mutex mutex;
  parallel_for(0, static_cast<std::size_t>(t.local_count()), 16, [&](std::size_t begin, std::size_t end) {
    std::vector<std::pair<std::int32_t, Sums>> list;
    for (std::size_t b = begin; b < end; ++b) {
      list.clear();
      partial(static_cast<int>(b), list);
      if (list.empty()) continue;
      std::lock_guard lock(mutex);
      for (const auto& [group, values] : list)
        for (std::size_t i = 0; i < sums_count; ++i)
          sums[static_cast<std::size_t>(group) * sums_count + i].add(values[i]);
    }
  });
  constexpr std::size_t stride = ExactSum::limbs + 3;
  std::vector<Sums> result(groups);
  std::vector<std::int64_t> packed(exec.comm.size() > 1 ? sums.size() * stride : 0);
  if (!packed.empty()) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto one = sums[i].packed();
      std::copy(one.begin(), one.end(), packed.begin() + static_cast<std::ptrdiff_t>(i * stride));
    }
    exec.comm.sum(std::span<std::int64_t>(packed));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      std::array<std::int64_t, stride> one;
      std::copy_n(packed.begin() + static_cast<std::ptrdiff_t>(i * stride), stride, one.begin());
      sums[i] = ExactSum::unpacked(one);
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) result[i / sums_count][i % sums_count] = sums[i].value();
  return result;
}

/// The numbers of a group in a bucket's list.
Sums& entry(std::vector<std::pair<std::int32_t, Sums>>& list, std::int32_t group) {
  for (auto& [g, s] : list)
    if (g == group) return s;
  return list.emplace_back(group, Sums{}).second;
}

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
    return here >= 0 ? here : below(t_, sets_, b, c, axis);
  }
  /// From the group's centre to the centre of a face, or of the cell where the axis is -1.
  Vec3d radius(std::int32_t group, int b, int c, int axis) const {
    return place(t_, b, c, axis) - centre_[static_cast<std::size_t>(group)];
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

/// What solids ask of the groups that rest on them: nothing moves into them, nor along them where friction holds.
void add_contacts(std::vector<std::pair<std::int32_t, Sums>>& list, const Groups& groups, int b,
                  std::span<const WallContact> faces, std::span<const std::uint8_t> slip, double weight) {
  for (std::size_t i = 0; i < faces.size(); ++i) {
    const WallContact& c = faces[i];
    const std::int32_t g = groups.of_face(b, c.cell, c.axis);
    if (g < 0 || !c.plain) continue;
    const Vec3d r = groups.radius(g, b, c.cell, c.axis), normal(c.normal);
    Sums& s = entry(list, g);
    add(s, row_of(normal, r), weight, c.into);
    if (slip[i]) continue;
    Vec3d along = normal * -normal[c.axis];
    along[c.axis] += 1;
    add(s, row_of(along, r), weight, c.wall);
  }
}

/// The same of solids across the grid.
void add_contacts(std::vector<std::pair<std::int32_t, Sums>>& list, const Groups& groups, int b,
                  std::span<const CellContact> cells, double cell_mass) {
  for (const CellContact& c : cells) {
    const std::int32_t g = groups.of_cell(b, c.cell);
    if (g < 0) continue;
    const Vec3d r = groups.radius(g, b, c.cell, -1), normal(c.normal), solid(c.solid);
    Sums& s = entry(list, g);
    add(s, row_of(normal, r), hold * cell_mass, dot(normal, solid));
    if (c.slips) continue;
    for (std::size_t a = 0; a < 3; ++a) {
      const int axis = static_cast<int>(a);
      Vec3d along = normal * -normal[axis];
      along[axis] += 1;
      add(s, row_of(along, r), hold * cell_mass, dot(along, solid), held);
      s[spare + a] += cell_mass * length(along) * (c.bound - length(c.impulse));
    }
  }
}

}  // namespace

ConnectedCells find_rigid(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, const RigidSettings& settings) {
  const Topology& t = volume.topology();
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(t.local_count()) * bucket_cells, 0);
  const auto most = static_cast<float>((1 - settings.slack) * (1 - settings.slack) * 2);
  const auto slow = static_cast<float>(settings.rate * settings.rate);
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
              if (!(bound[k] > 0 && stressed[k] < most * bound[k] * bound[k] && strained[k] < slow)) continue;
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
  const Topology& t = volume.topology();
  const std::size_t count = groups.sizes.size();
  for (const std::int64_t cells : groups.sizes) report.cells += cells;
  const Groups where(exec, t, groups);
  std::vector<int> list_of(static_cast<std::size_t>(t.local_count()), -1);
  for (std::size_t n = 0; n < contacts.buckets.size(); ++n)
    list_of[static_cast<std::size_t>(contacts.buckets[n])] = static_cast<int>(n);
  auto velocities = volume.write(in.velocity);
  const auto eases = volume.read(ease);
  using Velocities = typename decltype(velocities)::View;
  using Eases = typename std::remove_cvref_t<decltype(eases)>::View;
  const auto add_momentum = [](Sums& s, const Row6& row, double value) {
    for (std::size_t i = 0; i < 6; ++i) s[momentum + i] += row[i] * value;
  };
  const std::vector<Sums> before = group_sums(exec, t, count, [&](int b, auto& list) {
    Velocities u;
    Eases e;
    velocities.load(u, b), eases.load(e, b);
    where.for_faces(b, e, [&](int axis, int c, std::int32_t g, const Row6& row, double cells) {
      const double kg = cell_mass * cells, speed = u.plane[static_cast<std::size_t>(axis)][c];
      Sums& s = entry(list, g);
      add(s, row, kg, speed), add_momentum(s, row, kg * speed);
    });
    if (const int n = list_of[static_cast<std::size_t>(b)]; n >= 0 && !contacts.faces.empty())
      add_contacts(list, where, b, contacts.faces[static_cast<std::size_t>(n)],
                   contacts.slip[static_cast<std::size_t>(n)], hold * cell_mass);
    if (const int n = list_of[static_cast<std::size_t>(b)]; n >= 0 && contacts.across.any)
      add_contacts(list, where, b, contacts.across.cells[static_cast<std::size_t>(n)], cell_mass);
  });

  std::vector<Row6> motion(count);
  for (std::size_t g = 0; g < count; ++g) motion[g] = solve(before[g]);
  velocities.prepare(exec);
  const std::vector<Sums> after = group_sums(exec, t, count, [&](int b, auto& list) {
    Velocities u;
    Eases e;
    velocities.load(u, b), eases.load(e, b);
    where.for_faces(b, e, [&](int axis, int c, std::int32_t g, const Row6& row, double cells) {
      double speed = 0;
      for (std::size_t i = 0; i < 6; ++i) speed += row[i] * motion[static_cast<std::size_t>(g)][i];
      u.plane[static_cast<std::size_t>(axis)][c] = static_cast<float>(speed);
      add_momentum(entry(list, g), row, cell_mass * cells * speed);
    });
  });
  velocities.finish(exec);
  const double h = t.spacing();
  for (std::size_t g = 0; g < count; ++g) {
    const auto gained = [&](std::size_t i) { return after[g][momentum + i] - before[g][momentum + i]; };
    const Vec3d push(gained(0), gained(1), gained(2)), turn(gained(3), gained(4), gained(5));
    report.impulse += push;
    report.angular_impulse += h * (turn + cross(where.centre(g), push));
  }
  return report;
}

}  // namespace aegir::sand
