#include "phenomena/sand/contacts.h"

#include <algorithm>
#include <cmath>

#include "domain/for_each_bucket.h"
#include "numerics/solids/face_frame.h"
#include "numerics/solids/wall_velocity.h"
#include "phenomena/sand/friction.h"
#include "phenomena/sand/sand_channels.h"
#include "phenomena/sand/strain.h"

namespace aegir::sand {
namespace {

constexpr float far_off = 2;            // nodes at this distance, in cells, belong to no cell at a solid
constexpr float half_diagonal = 0.87f;  // of a cell: centres of cells at a solid are no farther away

/// What a bucket shows of its solids.
struct WallViews {
  const NodeTile& nodes;
  const FaceTiles &area, &solid, &ease, &velocity;
  const double* pressure;
  Vec3f gained;
};

/// Distance of a cell's centre and its gradient there: exact for planes.
FaceDistance centre_distance(const NodeTile& nodes, int place) {
  FaceDistance f{0, {}};
  const float* d = nodes.values + place;
  for (int corner = 0; corner < 8; ++corner) {
    const int up[3] = {corner >> 2, corner >> 1 & 1, corner & 1};
    const float value = d[up[0] * tile_step[0] + up[1] * tile_step[1] + up[2] * tile_step[2]];
    f.distance += 0.125f * value;
    for (int a = 0; a < 3; ++a) f.gradient[a] += (up[a] ? 0.25f : -0.25f) * value;
  }
  return f;
}

/// Whether stress acts on a face of a cell: it is sand, or beside it.
bool beside_sand(const WallViews& w, int place) {
  for (std::size_t a = 0; a < 3; ++a)
    if (w.ease[a].values[place] > 0 || w.ease[a].values[place + tile_step[a]] > 0) return true;
  return false;
}

/// The faces of a cell: who moves with them, how fast, and how fast the solid is.
void add_faces(const WallViews& w, int place, CellContact& contact, Vec3f& velocity) {
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const int low = place, high = place + tile_step[a];
    const auto cells = [&](int at) {
      if (!(w.area[a].values[at] > 0)) return 0.0f;
      return w.ease[a].values[at] > 0 ? 1 / w.ease[a].values[at] : 1.0f;
    };
    const float below = cells(low), above = cells(high);
    contact.cells[axis] = below + above;
    contact.lower[axis] = below + above > 0 ? below / (below + above) : 0.0f;
    contact.solid[axis] = 0.5f * (w.solid[a].values[low] + w.solid[a].values[high]);
    velocity[axis] = below + above > 0 ? contact.lower[axis] * w.velocity[a].values[low] +
                                             (1 - contact.lower[axis]) * w.velocity[a].values[high]
                                       : contact.solid[axis];
  }
}

/// The contact of one cell, if it is one.
void add_cell(const WallViews& w, const SolidGrid& solids, int bucket, int cell, std::vector<CellContact>& list) {
  const int place = tile_place(cell >> 6, cell >> 3 & 7, cell & 7);
  Vec3f area;
  for (int axis = 0; axis < 3; ++axis) {
    const float* open = w.area[static_cast<std::size_t>(axis)].values + place;
    area[axis] = open[tile_step[static_cast<std::size_t>(axis)]] - open[0];
  }
  if (area == Vec3f{}) return;
  const FaceDistance wall = centre_distance(w.nodes, place);
  const float slope = length(wall.gradient);
  if (std::abs(wall.distance) > half_diagonal || !across_grid(wall.gradient)) return;
  CellContact contact{.cell = static_cast<std::uint16_t>(cell), .normal = wall.gradient / slope};
  const double pressure = w.pressure[cell], mu = solids.friction(bucket, cell);
  if (!(mu > 0) || (!(pressure > 0) && beside_sand(w, place))) return;
  Vec3f velocity;
  add_faces(w, place, contact, velocity);
  // Air that goes along with the solid does not come nearer to it but by round-off, which would make a contact that
  // slips.
  const float nearer = -dot(velocity - contact.solid, contact.normal);
  const double approach = nearer > 1e-6f * (length(velocity) + length(contact.solid)) ? nearer : 0.0f;
  const double weight = std::max(0.0f, -dot(w.gained, contact.normal)) * wall.distance;
  const double press = pressure > 0 ? std::clamp(pressure + weight, 0.0, 16 * pressure) : approach;
  contact.bound = static_cast<float>(mu * dot(area, contact.normal) * press);
  contact.rough = static_cast<float>(mu);
  if (pressure > 0) contact.below = wall.distance * dot(area, contact.normal);
  if (contact.bound > 0 && contact.cells != Vec3f{}) list.push_back(contact);
}

Vec3f along(const Vec3f& v, const Vec3f& normal) { return v - normal * dot(v, normal); }

/// An impulse as Coulomb allows it.
Vec3f within(const CellContact& c, const Vec3f& impulse) {
  const Vec3f tangential = along(impulse, c.normal);
  const float size = length(tangential);
  return size > c.bound ? tangential * (c.bound / size) : tangential;
}

/// Adds what a contact gives to the faces of its cell.
template <class Tiles>
void give(const CellContact& c, Tiles& grips) {
  for (int a = 0; a < 3; ++a)
    if (c.cells[a] > 0) grips[static_cast<std::size_t>(a)][c.cell] += c.ahead[a] / c.cells[a];
}

}  // namespace

CellContacts find_contacts(Exec& exec, DiscreteVolume& volume, const SolidGrid& solids, const FrictionInputs& in,
                           const Vec3d& gained) {
  Stopwatch watch;
  CellContacts contacts{solids.touched(), std::vector<std::vector<CellContact>>(solids.touched().size())};
  auto distances = volume.read<Halo<1>>(in.solid_distance);
  auto areas = volume.read<Halo<1>>(in.open_area);
  auto still = volume.read<Halo<1>>(in.solid_velocity);
  auto eases = volume.read<Halo<1>>(ease);
  auto velocities = volume.read<Halo<1>>(in.velocity);
  auto pressures = volume.read(in.pressure);
  distances.prepare(exec), areas.prepare(exec), still.prepare(exec), eases.prepare(exec), velocities.prepare(exec);
  pressures.prepare(exec);
  parallel_for(0, contacts.buckets.size(), 2, [&](std::size_t begin, std::size_t end) {
    typename decltype(distances)::View nodes;
    typename decltype(areas)::View area, solid, share, velocity;
    typename decltype(pressures)::View pressure;
    for (std::size_t n = begin; n < end; ++n) {
      const int b = contacts.buckets[n];
      distances.load(nodes, b), areas.load(area, b), still.load(solid, b), eases.load(share, b);
      velocities.load(velocity, b), pressures.load(pressure, b);
      const WallViews views{nodes.get(),           area.get(),   solid.get(), share.get(), velocity.get(),
                            pressure.get().values, Vec3f(gained)};
      for (int c = 0; c < bucket_cells; ++c)
        if (views.nodes(c >> 6, c >> 3 & 7, c & 7) < far_off) add_cell(views, solids, b, c, contacts.cells[n]);
    }
  });
  contacts.any = exec.comm.any(
      std::any_of(contacts.cells.begin(), contacts.cells.end(), [](const auto& list) { return !list.empty(); }));
  exec.profile.kernel("sand.contacts", watch.seconds(), 0);
  return contacts;
}

void start_contacts(Exec& exec, DiscreteVolume& volume, CellContacts& contacts) {
  auto grips = volume.write(grip);
  grips.prepare(exec);
  std::vector<int> list_of(static_cast<std::size_t>(volume.topology().local_count()), -1);
  for (std::size_t n = 0; n < contacts.buckets.size(); ++n)
    list_of[static_cast<std::size_t>(contacts.buckets[n])] = static_cast<int>(n);
  parallel_for(0, list_of.size(), 16, [&](std::size_t begin, std::size_t end) {
    typename decltype(grips)::View kept;
    for (std::size_t b = begin; b < end; ++b) {
      grips.load(kept, static_cast<int>(b));
      std::vector<CellContact>* list = list_of[b] < 0 ? nullptr : &contacts.cells[static_cast<std::size_t>(list_of[b])];
      if (list)
        for (CellContact& c : *list) {
          Vec3f before;
          for (int a = 0; a < 3; ++a) before[a] = kept.plane[static_cast<std::size_t>(a)][c.cell] * c.cells[a];
          c.impulse = c.ahead = within(c, before);
        }
      for (std::size_t a = 0; a < 3; ++a) std::fill_n(kept.plane[a].values, bucket_cells, 0.0f);
      if (list)
        for (const CellContact& c : *list) give(c, kept.plane);
    }
  });
}

void sweep_contacts(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, CellContacts& contacts, float step,
                    float momentum) {
  if (!contacts.any) return;
  Stopwatch watch;
  auto velocities = volume.read<Halo<1>>(in.velocity);
  auto grips = volume.write(grip);
  velocities.prepare(exec), grips.prepare(exec);
  parallel_for(0, contacts.buckets.size(), 2, [&](std::size_t begin, std::size_t end) {
    typename decltype(velocities)::View u;
    typename decltype(grips)::View given;
    for (std::size_t n = begin; n < end; ++n) {
      if (contacts.cells[n].empty()) continue;
      velocities.load(u, contacts.buckets[n]), grips.load(given, contacts.buckets[n]);
      for (const CellContact& c : contacts.cells[n])
        for (std::size_t a = 0; a < 3; ++a) given.plane[a][c.cell] = 0;
      for (CellContact& c : contacts.cells[n]) {
        const int place = tile_place(c.cell >> 6, c.cell >> 3 & 7, c.cell & 7);
        Vec3f slip;
        float easy = 0;  // no less than what an impulse along the solid changes the mean velocity by
        for (int axis = 0; axis < 3; ++axis) {
          if (!(c.cells[axis] > 0)) continue;
          const auto a = static_cast<std::size_t>(axis);
          const float* v = u.plane[a].values + place;
          slip[axis] = c.lower[axis] * v[0] + (1 - c.lower[axis]) * v[tile_step[a]] - c.solid[axis];
          easy += (1 - c.normal[axis] * c.normal[axis]) / c.cells[axis];
        }
        const Vec3f before = c.impulse;
        const Vec3f wanted = c.ahead - along(slip, c.normal) * (step / std::max(easy, 1e-6f));
        c.impulse = within(c, wanted);
        c.ahead = c.impulse + (c.impulse - before) * momentum;
        give(c, given.plane);
      }
    }
  });
  spread_grip(exec, volume, in, contacts.buckets);
  exec.profile.kernel("sand.across", watch.seconds(), 0);
}

void spread_grip(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, std::span<const int> buckets) {
  for_buckets(
      exec, "sand.grip", volume.topology(), buckets,
      [](const Bucket&, auto& given, auto& area, auto& w) {
        const Line zero{};
        for (std::size_t a = 0; a < 3; ++a) {
          const auto& [x, y, z] = unit_step[a];
          for (int i = 0; i < bucket_size; ++i)
            for (int j = 0; j < bucket_size; ++j)
              w[a].set_line(
                  i, j,
                  area[a].line(i, j) > zero ? at(given[a], i, j, 0, 0, 0) + at(given[a], i, j, -x, -y, -z) : zero);
        }
      },
      volume.read<Halo<1>>(grip), volume.read(in.open_area), volume.write(grip_face));
}

}  // namespace aegir::sand
