#include "phenomena/sand/friction.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <cstring>

#include "domain/for_each_bucket.h"
#include "numerics/solids/face_frame.h"
#include "phenomena/sand/sand_channels.h"
#include "phenomena/sand/strain.h"

namespace aegir::sand {
namespace {

constexpr std::size_t row_number(int i, int j) { return static_cast<std::size_t>(i * bucket_size + j); }

constexpr float least_cells = 0.25f;  // that a face beside a solid counts for
/// The same beside solids across the grid. There a face counts for its open area, as it does to the pressure: what
/// holds the sand up and what slides must be one mass, or friction is off by their ratio.
constexpr float least_open = 0.1f;

/// Stress on the edges along `axis` of the cells of a row, moved by an offset: mean of the four cells around, 0 where
/// the edge bears none.
template <class Tiles>
[[gnu::always_inline]] inline Line edge_stress(const Tiles& shear, const Tiles& edge, int axis, int i, int j,
                                               const std::array<int, 3>& o) {
  const auto a = static_cast<std::size_t>(axis), p = (a + 1) % 3, q = (a + 2) % 3;
  const auto& [px, py, pz] = unit_step[p];
  const auto& [qx, qy, qz] = unit_step[q];
  const auto& s = shear[a];
  return at(edge[a], i, j, o[0], o[1], o[2]) *
         ((at(s, i, j, o[0], o[1], o[2]) + at(s, i, j, o[0] - px - qx, o[1] - py - qy, o[2] - pz - qz)) +
          (at(s, i, j, o[0] - px, o[1] - py, o[2] - pz) + at(s, i, j, o[0] - qx, o[1] - qy, o[2] - qz)));
}

/// (B s) on the lower faces along `axis` of a row of cells, before the faces' share.
template <class Tiles>
[[gnu::always_inline]] inline Line divergence(const Tiles& stress, const Tiles& shear, const Tiles& edge, int axis,
                                              int i, int j) {
  const auto a = static_cast<std::size_t>(axis);
  const auto& [x, y, z] = unit_step[a];
  Line sum = at(stress[a], i, j, 0, 0, 0) - at(stress[a], i, j, -x, -y, -z);
  for (int other = 0; other < 3; ++other) {
    if (other == axis) continue;
    const int along = 3 - axis - other;  // the edges between faces of this axis that are neighbours along `other`
    sum += edge_stress(shear, edge, along, i, j, unit_step[static_cast<std::size_t>(other)]) -
           edge_stress(shear, edge, along, i, j, {0, 0, 0});
  }
  return sum;
}

/// What stress is multiplied with to lie within the yield surface |s|_F ≤ √2 Y.
Line into_yield(const Line (&normal)[3], const Line (&shear)[3], const Line& yield) {
  Line squares{}, twice{};
  for (std::size_t a = 0; a < 3; ++a) squares += normal[a] * normal[a], twice += shear[a] * shear[a];
  squares += 2 * twice;
  const Line most = 2 * yield * yield;
  alignas(32) float share[bucket_size];
  for (int k = 0; k < bucket_size; ++k) share[k] = std::min(1.0f, std::sqrt(most[k] / std::max(squares[k], 1e-30f)));
  return load_row(share);
}

/// Cells of sand that move with a face `depth` cells below the surface: half a cell down, and up to the surface where
/// nothing above moves by itself. Along the surface's normal (`across` near 1) the next face outwards does.
float cells_of_face(float depth, float across) {
  if (depth >= 1) return 1;
  return std::clamp(0.5f + depth, 0.5f, 1.5f - 0.5f * std::min(across, 1.0f));
}

/// Whether any of eight numbers, none below zero, is above it. Sand fills half the rows of the buckets it is in.
template <class Span>
bool any_in_row(const Span& values, int i, int j) {
  std::uint64_t bits[4];
  std::memcpy(bits, values.values + cell_offset(i, j, 0), sizeof bits);
  return ((bits[0] | bits[1]) | (bits[2] | bits[3])) != 0;
}

/// Which of a bucket's rows have a number above zero.
template <class Span>
std::bitset<bucket_size * bucket_size> rows_above_zero(const Span& values) {
  std::bitset<bucket_size * bucket_size> rows;
  for (int i = 0; i < bucket_size; ++i)
    for (int j = 0; j < bucket_size; ++j) rows[row_number(i, j)] = any_in_row(values, i, j);
  return rows;
}

/// velocity = from + sign (B stress + wall). About 110 bytes and 130 flops per cell.
struct Stresses {
  CellChannel<Vec3f> normal, shear;
  FaceChannel<float> wall;
};
constexpr Stresses kept_stress{stress, shear, wall}, ahead_stress{stress_ahead, shear_ahead, wall_ahead};
void apply(Exec& exec, const char* label, DiscreteVolume& volume, std::span<const int> buckets, const Stresses& by,
           float sign, const FaceChannel<float>& from, const FaceChannel<float>& to) {
  for_buckets(
      exec, label, volume.topology(), buckets,
      [sign](const Bucket&, auto& s, auto& t, auto& e, auto& ease_of, auto& w, auto& gripped, auto& u_from, auto& u) {
        for (std::size_t a = 0; a < 3; ++a)
          for (int i = 0; i < bucket_size; ++i)
            for (int j = 0; j < bucket_size; ++j) {
              Line given = w[a].line(i, j) + gripped[a].line(i, j);
              if (any_in_row(ease_of[a], i, j))
                given = ease_of[a].line(i, j) * divergence(s, t, e, static_cast<int>(a), i, j) + given;
              u[a].set_line(i, j, u_from[a].line(i, j) + sign * given);
            }
      },
      volume.read<Halo<1>>(by.normal), volume.read<Halo<1>>(by.shear), volume.read<Halo<1>>(edge), volume.read(ease),
      volume.read(by.wall), volume.read(grip_face), volume.read(from), volume.write(to));
}

/// The impulse at a face of contact: its own component, and of the others the mean of those faces around that are in
/// contact too.
Vec3f contact_vector(const FaceTiles& t, int axis, int place) {
  const int back = tile_step[static_cast<std::size_t>(axis)];
  Vec3f v;
  for (int other = 0; other < 3; ++other) {
    const float* at = t[static_cast<std::size_t>(other)].values + place;
    const int up = tile_step[static_cast<std::size_t>(other)];
    if (other == axis) {
      v[other] = at[0];
      continue;
    }
    float sum = 0, count = 0;
    for (const int o : {0, up - back, -back, up}) sum += at[o], count += at[o] != 0 ? 1.0f : 0.0f;
    v[other] = count > 0 ? sum / count : 0.0f;
  }
  return v;
}

/// Friction at solids: T ← project(T - τ u_T). Only buckets that solids touch.
void sweep_walls(Exec& exec, DiscreteVolume& volume, const FaceChannel<float>& velocity, Contacts& contacts, float step,
                 float momentum) {
  Stopwatch watch;
  auto velocities = volume.read<Halo<1>>(velocity);
  auto aheads = volume.read<Halo<1>>(wall_ahead);
  auto walls = volume.write(wall);
  auto next = volume.write(wall_ahead);
  velocities.prepare(exec), aheads.prepare(exec);
  std::vector<std::vector<float>> found(contacts.buckets.size());
  parallel_for(0, contacts.buckets.size(), 2, [&](std::size_t begin, std::size_t end) {
    typename decltype(velocities)::View u;
    typename decltype(aheads)::View t;
    for (std::size_t n = begin; n < end; ++n) {
      if (contacts.faces[n].empty()) continue;
      velocities.load(u, contacts.buckets[n]), aheads.load(t, contacts.buckets[n]);
      for (const WallContact& c : contacts.faces[n]) {
        const int place = tile_place(c.cell >> 6, c.cell >> 3 & 7, c.cell & 7);
        const Vec3f v = face_vector(u.plane, c.axis, place) - c.solid;
        Vec3f impulse = contact_vector(t.plane, c.axis, place);
        impulse[c.axis] -= step * (v[c.axis] - c.normal[c.axis] * dot(v, c.normal));
        const Vec3f along = impulse - c.normal * dot(impulse, c.normal);
        const float size = length(along);
        found[n].push_back(size > c.bound ? impulse[c.axis] * (c.bound / size) : impulse[c.axis]);
      }
    }
  });
  walls.prepare(exec), next.prepare(exec);
  parallel_for(0, contacts.buckets.size(), 8, [&](std::size_t begin, std::size_t end) {
    typename decltype(walls)::View t;
    typename decltype(next)::View ahead;
    for (std::size_t n = begin; n < end; ++n) {
      walls.load(t, contacts.buckets[n]), next.load(ahead, contacts.buckets[n]);
      for (std::size_t i = 0; i < contacts.faces[n].size(); ++i) {
        const WallContact& c = contacts.faces[n][i];
        float& kept = t.plane[c.axis][c.cell];
        ahead.plane[c.axis][c.cell] = found[n][i] + momentum * (found[n][i] - kept);
        kept = found[n][i];
      }
    }
  });
  exec.profile.kernel("sand.walls", watch.seconds(), 0);
}

/// Keeps of the walls' friction what is still in contact.
void forget_old_contacts(Exec& exec, DiscreteVolume& volume, const Contacts& contacts) {
  auto walls = volume.write(wall);
  auto ahead = volume.write(wall_ahead);
  walls.prepare(exec), ahead.prepare(exec);
  std::vector<int> list_of(static_cast<std::size_t>(volume.topology().local_count()), -1);
  for (std::size_t n = 0; n < contacts.buckets.size(); ++n)
    list_of[static_cast<std::size_t>(contacts.buckets[n])] = static_cast<int>(n);
  parallel_for(0, list_of.size(), 16, [&](std::size_t begin, std::size_t end) {
    typename decltype(walls)::View t, y;
    for (std::size_t b = begin; b < end; ++b) {
      walls.load(t, static_cast<int>(b)), ahead.load(y, static_cast<int>(b));
      for (std::size_t a = 0; a < 3; ++a) std::fill_n(y.plane[a].values, bucket_cells, 0.0f);
      if (list_of[b] >= 0)
        for (const WallContact& c : contacts.faces[static_cast<std::size_t>(list_of[b])])
          y.plane[c.axis][c.cell] = std::clamp(t.plane[c.axis][c.cell], -c.bound, c.bound);
      for (std::size_t a = 0; a < 3; ++a) std::copy_n(y.plane[a].values, bucket_cells, t.plane[a].values);
    }
  });
}

/// Strain rates of a bucket, and their sums over the firm cells of its eight blocks of 4 × 4 × 4.
struct BucketRates {
  alignas(32) float rate[6][bucket_cells];  // normal, then shear
  alignas(32) float firm[bucket_cells];     // 1 where stress is well within the yield surface, 0 elsewhere
  float block[6][8] = {};                   // means over a whole block
  float all[6] = {};                        // and over the bucket
};

/// What a row of cells shares with its block and its bucket.
Line common_rate(const BucketRates& r, std::size_t component, int i, int j, const SweepSettings& how) {
  const int first = (i / 4 * 2 + j / 4) * 2;
  const float below = how.block_step * r.block[component][first] + how.bucket_step * r.all[component],
              above = how.block_step * r.block[component][first + 1] + how.bucket_step * r.all[component];
  return Line{below, below, below, below, above, above, above, above};
}

/// Adds up the rates of firm cells.
void sum_rates(BucketRates& r, const std::bitset<bucket_size * bucket_size>& rows) {
  for (std::size_t n = 0; n < 6; ++n) {
    for (int i = 0; i < bucket_size; ++i)
      for (int j = 0; j < bucket_size; ++j) {
        if (!rows[row_number(i, j)]) continue;
        const int row = cell_offset(i, j, 0);
        const Line value = load_row(r.rate[n] + row) * load_row(r.firm + row);
        float* block = r.block[n] + (i / 4 * 2 + j / 4) * 2;
        block[0] += (value[0] + value[1]) + (value[2] + value[3]);
        block[1] += (value[4] + value[5]) + (value[6] + value[7]);
      }
    for (float& b : r.block[n]) b *= 1.0f / 64, r.all[n] += b * (1.0f / 8);
  }
}

/// One step of all cells: s ← project(y + M E(u)), y ← s + momentum (s - s_before). M is τ in each cell, and longer
/// steps for the mean of the cells of a block, and of a bucket, that do not yield: |B|² is 4/m for stress that is the
/// same in m cells along each axis, so what concerns them all goes m times as far. Cells that yield have no part in it,
/// and the stress of least energy stays where it is: there nothing firm deforms. About 140 bytes and 260 flops per
/// cell.
void sweep_cells(Exec& exec, DiscreteVolume& volume, std::span<const int> buckets, const FaceChannel<float>& velocity,
                 const SweepSettings& how, float momentum) {
  for_buckets(
      exec, "sand.sweep", volume.topology(), buckets,
      [&how, momentum](const Bucket&, auto& u, auto& e, auto& y, auto& acts, auto& steps, auto& s, auto& t,
                       auto& s_ahead, auto& t_ahead) {
        const auto rows = rows_above_zero(y);
        if (rows.none()) return;  // stress stays zero
        BucketRates rates;
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j) {
            if (!rows[row_number(i, j)]) continue;
            Line normal[3], tangential[3], stressed{};
            strain_rate(u, e, acts, i, j, normal, tangential);
            const int row = cell_offset(i, j, 0);
            for (std::size_t a = 0; a < 3; ++a) {
              store_row(rates.rate[a] + row, normal[a]), store_row(rates.rate[3 + a] + row, tangential[a]);
              stressed += s[a].line(i, j) * s[a].line(i, j) + 2 * t[a].line(i, j) * t[a].line(i, j);
            }
            const Line bound = y.line(i, j), zero{}, one = zero + 1.0f;
            store_row(rates.firm + row, stressed < 1.8f * bound * bound ? one : zero);
          }
        sum_rates(rates, rows);
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j) {
            if (!rows[row_number(i, j)]) continue;
            const int row = cell_offset(i, j, 0);
            const Line pace_here = steps.line(i, j), firm = load_row(rates.firm + row) * pace_here,
                       tau = how.stress_step * pace_here;
            Line normal[3], tangential[3];
            for (std::size_t a = 0; a < 3; ++a) {
              normal[a] = acts[a].line(i, j) * (s_ahead[a].line(i, j) + tau * load_row(rates.rate[a] + row) +
                                                firm * common_rate(rates, a, i, j, how));
              tangential[a] = t_ahead[a].line(i, j) + tau * load_row(rates.rate[3 + a] + row) +
                              firm * common_rate(rates, 3 + a, i, j, how);
            }
            const Line share = into_yield(normal, tangential, y.line(i, j));
            for (std::size_t a = 0; a < 3; ++a) {
              const Line sn = share * normal[a], tn = share * tangential[a];
              s_ahead[a].set_line(i, j, sn + momentum * (sn - s[a].line(i, j)));
              t_ahead[a].set_line(i, j, tn + momentum * (tn - t[a].line(i, j)));
              s[a].set_line(i, j, sn), t[a].set_line(i, j, tn);
            }
          }
      },
      volume.read<Halo<1>>(velocity), volume.read<Halo<1>>(edge), volume.read(yield), volume.read(span),
      volume.read(pace), volume.write(stress), volume.write(shear), volume.write(stress_ahead),
      volume.write(shear_ahead));
}

/// The kept stress, brought within the yield surface of this substep: where the sweeps start.
void start(Exec& exec, DiscreteVolume& volume, std::span<const int> buckets) {
  for_buckets(
      exec, "sand.start", volume.topology(), buckets,
      [](const Bucket&, auto& y, auto& acts, auto& s, auto& t, auto& s_ahead, auto& t_ahead) {
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j) {
            Line normal[3], tangential[3];
            for (std::size_t a = 0; a < 3; ++a)
              normal[a] = acts[a].line(i, j) * s[a].line(i, j), tangential[a] = t[a].line(i, j);
            const Line share = into_yield(normal, tangential, y.line(i, j));
            for (std::size_t a = 0; a < 3; ++a) {
              s[a].set_line(i, j, share * normal[a]), t[a].set_line(i, j, share * tangential[a]);
              s_ahead[a].set_line(i, j, share * normal[a]), t_ahead[a].set_line(i, j, share * tangential[a]);
            }
          }
      },
      volume.read(yield), volume.read(span), volume.write(stress), volume.write(shear), volume.write(stress_ahead),
      volume.write(shear_ahead));
}

}  // namespace

std::vector<int> find_faces(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, FunctionRef<bool(int)> also) {
  std::vector<std::uint8_t> active(static_cast<std::size_t>(volume.topology().local_count()), 0);
  for_each_bucket(
      exec, "sand.faces", volume.topology(),
      [&](const Bucket& bucket, auto& distance, auto& nodes, auto& area, auto& share) {
        bool any = also(bucket.index);
        const bool walls = nodes(0, 0, 0) < 50;
        for (std::size_t a = 0; a < 3; ++a) {
          const auto& [x, y, z] = unit_step[a];
          for (int i = 0; i < bucket_size; ++i)
            for (int j = 0; j < bucket_size; ++j) {
              const Line here = distance.line(i, j), below = at(distance, i, j, -x, -y, -z), open = area[a].line(i, j);
              const Line depth = -0.5f * (here + below), across = here > below ? here - below : below - here;
              alignas(32) float value[bucket_size];
              for (int k = 0; k < bucket_size; ++k) {
                const bool acts = open[k] > 0 && (here[k] < 0 || below[k] < 0);
                float cells = cells_of_face(depth[k], across[k]);
                if (acts && walls) {
                  const FaceDistance f = face_distance(nodes, static_cast<int>(a), tile_place(i, j, k));
                  if (across_grid(f.gradient))
                    cells = std::max(least_open, cells * open[k]);
                  else if (f.distance < 1)
                    cells = std::max(least_cells, cells * static_cast<float>(friction_reach(f.distance)));
                }
                value[k] = acts ? 1 / cells : 0.0f;
                any |= acts;
              }
              share[a].set_line(i, j, load_row(value));
            }
        }
        active[static_cast<std::size_t>(bucket.index)] = any;
      },
      volume.read<Halo<1>>(in.distance), volume.read<Halo<1>>(in.solid_distance), volume.read(in.open_area),
      volume.overwrite(ease));
  for_each_bucket(
      exec, "sand.edges", volume.topology(),
      [](const Bucket&, auto& share, auto& edges, auto& acts, auto& steps) {
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j) {
            Line most = Line{} + 1.0f;
            for (std::size_t a = 0; a < 3; ++a)
              for (const int up : {0, 1}) {
                const auto& [x, y, z] = unit_step[a];
                const Line e = at(share[a], i, j, up * x, up * y, up * z);
                most = e > most ? e : most;
              }
            steps.set_line(i, j, 1 / most);
          }
        for (std::size_t a = 0; a < 3; ++a) {
          const auto& [x, y, z] = unit_step[a];
          const std::size_t p = (a + 1) % 3, q = (a + 2) % 3;
          const auto& [px, py, pz] = unit_step[p];
          const auto& [qx, qy, qz] = unit_step[q];
          for (int i = 0; i < bucket_size; ++i)
            for (int j = 0; j < bucket_size; ++j) {
              const Line product = at(share[p], i, j, 0, 0, 0) * at(share[p], i, j, -qx, -qy, -qz) *
                                   at(share[q], i, j, 0, 0, 0) * at(share[q], i, j, -px, -py, -pz);
              alignas(32) float value[bucket_size];
              for (int k = 0; k < bucket_size; ++k) value[k] = product[k] > 0 ? 0.25f : 0.0f;
              edges[a].set_line(i, j, load_row(value));
              const Line both = at(share[a], i, j, 0, 0, 0) * at(share[a], i, j, x, y, z);
              for (int k = 0; k < bucket_size; ++k) value[k] = both[k] > 0 ? 1.0f : 0.0f;
              acts[a].set_line(i, j, load_row(value));
            }
        }
      },
      volume.read<Halo<1>>(ease), volume.overwrite(edge), volume.overwrite(span), volume.overwrite(pace));
  std::vector<int> buckets;
  for (std::size_t b = 0; b < active.size(); ++b)
    if (active[b]) buckets.push_back(static_cast<int>(b));
  return buckets;
}

void find_yield(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, const Strength& strength) {
  const auto given = [&](const CellChannel<float>* channel) { return channel ? *channel : yield; };
  const bool angles = strength.tan_angles != nullptr, cohesions = strength.cohesions != nullptr;
  const auto tan_angle = static_cast<float>(strength.tan_angle), cohesion = static_cast<float>(strength.cohesion),
             least = static_cast<float>(strength.least), per_pascal = static_cast<float>(strength.per_pascal);
  for_each_bucket(
      exec, "sand.yield", volume.topology(),
      [=](const Bucket&, auto& p, auto& distance, auto& angle, auto& stick, auto& y) {
        for (int c = 0; c < bucket_cells; ++c) {
          const float slope = angles ? angle[c] : tan_angle, held = cohesions ? stick[c] * per_pascal : cohesion;
          y[c] = distance[c] < 0 ? std::max(0.0f, static_cast<float>(p[c])) * slope + held + least : 0.0f;
        }
      },
      volume.read(in.pressure), volume.read(in.distance), volume.read(given(strength.tan_angles)),
      volume.read(given(strength.cohesions)), volume.write(yield));
}

void scale_stress(Exec& exec, DiscreteVolume& volume, std::span<const int> buckets, double factor) {
  const auto f = static_cast<float>(factor);
  std::vector<std::uint8_t> active(static_cast<std::size_t>(volume.topology().local_count()), 0);
  for (const int b : buckets) active[static_cast<std::size_t>(b)] = 1;
  for_each_bucket(
      exec, "sand.scale", volume.topology(),
      [&](const Bucket& bucket, auto& s, auto& t, auto& w, auto& gripped) {
        const float by = active[static_cast<std::size_t>(bucket.index)] ? f : 0.0f;
        if (by == 1) return;
        for (std::size_t a = 0; a < 3; ++a)
          for (int c = 0; c < bucket_cells; ++c) s[a][c] *= by, t[a][c] *= by, w[a][c] *= by, gripped[a][c] *= by;
      },
      volume.write(stress), volume.write(shear), volume.write(wall), volume.write(grip));
}

void apply_kept(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, std::span<const int> buckets) {
  spread_grip(exec, volume, in, buckets);
  apply(exec, "sand.kept", volume, buckets, kept_stress, 1, in.velocity, in.velocity);
}

void take_base(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, std::span<const int> buckets) {
  for_buckets(
      exec, "sand.closed", volume.topology(), buckets,
      [](const Bucket&, auto& area, auto& solid, auto& u) {
        for (std::size_t a = 0; a < 3; ++a)
          for (int c = 0; c < bucket_cells; ++c) u[a][c] = area[a][c] > 0 ? u[a][c] : solid[a][c];
      },
      volume.read(in.open_area), volume.read(in.solid_velocity), volume.write(in.velocity));
  apply(exec, "sand.base", volume, buckets, kept_stress, -1, in.velocity, base);
}

void sweep(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, std::span<const int> buckets,
           Contacts& contacts, const SweepSettings& how) {
  start(exec, volume, buckets);
  forget_old_contacts(exec, volume, contacts);
  start_contacts(exec, volume, contacts.across);
  spread_grip(exec, volume, in, buckets);
  float t = how.first_inertia;
  for (int n = 0; n < how.sweeps; ++n) {
    apply(exec, "sand.apply", volume, buckets, ahead_stress, 1, base, in.velocity);
    const float next = 0.5f * (1 + std::sqrt(1 + 4 * t * t));
    const float momentum = n + 1 < how.sweeps ? (t - 1) / next : 0.0f;
    t = next;
    sweep_cells(exec, volume, buckets, in.velocity, how, momentum);
    sweep_walls(exec, volume, in.velocity, contacts, how.wall_step, momentum);
    sweep_contacts(exec, volume, in, contacts.across, how.wall_step, momentum);
  }
  apply(exec, "sand.apply", volume, buckets, ahead_stress, 1, base, in.velocity);
}

void measure_shear(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, const CellChannel<float>& rate) {
  for_each_bucket(
      exec, "sand.sheared", volume.topology(),
      [](const Bucket&, auto& u, auto& e, auto& acts, auto& y, auto& sheared) {
        std::fill_n(sheared.values, bucket_cells, 0.0f);
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j) {
            if (!any_in_row(y, i, j)) continue;
            Line normal[3], tangential[3], strained{};
            strain_rate(u, e, acts, i, j, normal, tangential);
            for (std::size_t a = 0; a < 3; ++a) strained += normal[a] * normal[a] + 2 * tangential[a] * tangential[a];
            for (int k = 0; k < bucket_size; ++k) sheared(i, j, k) = std::sqrt(2 * strained[k]);
          }
      },
      volume.read<Halo<1>>(in.velocity), volume.read<Halo<1>>(edge), volume.read(span), volume.read(yield),
      volume.overwrite(rate));
}

double never_gain(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, std::span<const int> buckets) {
  const auto after = volume.read(in.velocity);
  const auto before = volume.read(base);
  const auto share = volume.read(ease);
  std::vector<std::uint8_t> active(static_cast<std::size_t>(volume.topology().local_count()), 0);
  for (const int b : buckets) active[static_cast<std::size_t>(b)] = 1;
  const auto sums = exact_sums<2>(exec, volume.topology(), [&](const Bucket& b) {
    std::array<double, 2> sum{};
    if (!active[static_cast<std::size_t>(b.index)]) return sum;
    typename std::remove_cvref_t<decltype(after)>::View u, v, e;
    after.load(u, b.index), before.load(v, b.index), share.load(e, b.index);
    for (std::size_t a = 0; a < 3; ++a)
      for (int c = 0; c < bucket_cells; ++c) {
        const double start = v.plane[a][c], change = u.plane[a][c] - start,
                     cells = e.plane[a][c] > 0 ? 1 / e.plane[a][c] : 0;
        sum[0] += cells * start * change, sum[1] += cells * change * change;
      }
    return sum;
  });
  const auto [along, square] = sums;
  if (along + 0.5 * square <= 0) return along + 0.5 * square;
  // The best multiple of what was found; stress within the yield surface stays within it.
  const double best = square > 0 ? std::clamp(-along / square, 0.0, 1.0) : 0.0;
  const auto f = static_cast<float>(best);
  for_buckets(
      exec, "sand.less", volume.topology(), buckets,
      [f](const Bucket&, auto& from, auto& u, auto& s, auto& t, auto& w, auto& gripped) {
        for (std::size_t a = 0; a < 3; ++a)
          for (int c = 0; c < bucket_cells; ++c) {
            u[a][c] = from[a][c] + f * (u[a][c] - from[a][c]);
            s[a][c] *= f, t[a][c] *= f, w[a][c] *= f, gripped[a][c] *= f;
          }
      },
      volume.read(base), volume.write(in.velocity), volume.write(stress), volume.write(shear), volume.write(wall),
      volume.write(grip));
  return best * along + 0.5 * best * best * square;
}

}  // namespace aegir::sand
