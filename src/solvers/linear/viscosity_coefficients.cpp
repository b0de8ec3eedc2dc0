#include "solvers/linear/viscosity_coefficients.h"

#include <algorithm>
#include <utility>

// Eight values at a time: one vector of AVX2, which every CPU we run on has.
#include <immintrin.h>

namespace aegir {
namespace {

using Scratch = ViscosityScratch;
constexpr int step[3] = {Scratch::stride[0], Scratch::stride[1], Scratch::stride[2]};

/// Distance of cells that do not exist: no mean with cells of liquid comes below it.
constexpr float nowhere = 1e6f, still_nowhere = 1e5f;
/// Solid distances beyond these say no more.
constexpr float deepest_solid = -2, farthest_solid = 4;
/// Walls nearer to a face than this are moved away, so that no coefficient is larger than the rest by more than 1 / it.
constexpr float least_theta = 0.05f;
/// Least mass of a face, as a share of what it is held with. Faces without liquid around follow the liquid; where they
/// can do so in several ways, this keeps them near the velocity they had. More would drag, and make the system stiff.
constexpr float least_mass = 1e-7f;

using Line = Row<float>;
using Mask = Row<std::int32_t>;

/// Calls body(index) for every eighth place from (low, low, low) to (high, high, high) in the order of memory: one long
/// run, over more places than needed and up to seven beyond.
template <class Body>
inline __attribute__((always_inline)) void for_run(int low, int high, const Body& body) {
  const int first = Scratch::at(low, low, low), last = Scratch::at(high, high, high);
  for (int c = first; c <= last; c += 8) body(c);
}

inline Line lesser(const Line& a, const Line& b) { return a < b ? a : b; }
inline Line greater(const Line& a, const Line& b) { return a > b ? a : b; }
inline Line spread(float x) { return Line{} + x; }
inline Line clamp(const Line& x, float low, float high) { return lesser(greater(x, spread(low)), spread(high)); }
inline Line liquid_share(const Line& distance) { return clamp(0.5f - distance, 0.0f, 1.0f); }
inline Mask prescribed(const Line& solid_distance) { return solid_distance <= on_wall; }
inline Mask absent(const Line& solid_distance) { return solid_distance <= slipping; }
inline Line one_where(const Mask& m) { return m ? spread(1) : Line{}; }

/// A halo-2 tile of one channel into a field.
void load_field(const ViscosityInput& input, int bucket, const float* plane, float background, Scratch& s,
                Scratch::Field& field) {
  load_tile<Halo<2>>(s.tile, *input.topology, bucket, plane, background);
  for (int i = -2; i < 10; ++i)
    for (int j = -2; j < 10; ++j)
      std::memcpy(field.values + Scratch::at(i, j, -2), s.tile.row(i, j) - 2, Scratch::side * sizeof(float));
}

/// The least and greatest of a field; NaN in `sum` where there is one.
struct Range {
  float least, greatest, sum;
};
Range range_of(const float* v) {
  Line least = load_row(v), greatest = least, sum{};
  for (int c = 0; c < Scratch::cells; c += 8) {
    const Line x = load_row(v + c);
    least = lesser(x, least), greatest = greater(x, greatest), sum += x * 0.0f;
  }
  Range r{least[0], greatest[0], sum[0]};
  for (int n = 1; n < 8; ++n) r = {std::min(r.least, least[n]), std::max(r.greatest, greatest[n]), r.sum + sum[n]};
  return r;
}

/// Solid distances of cells and faces. 20 flops per cell.
void find_solids(Scratch& s) {
  float* node = s.node.values;
  const auto at = [&](int c) { return load_row(node + c); };
  for (int c = 0; c < Scratch::cells; c += 8) store_row(node + c, clamp(at(c), deepest_solid, farthest_solid));
  for_run(-2, 8, [&](int c) {
    const int d = c + step[0];
    const Line low = (at(c) + at(c + step[2])) + (at(c + step[1]) + at(c + step[1] + step[2]));
    const Line high = (at(d) + at(d + step[2])) + (at(d + step[1]) + at(d + step[1] + step[2]));
    store_row(s.open.values + c, one_where(low + high >= 0.0f));
  });
  for (int a = 0; a < 3; ++a) {
    const int b = step[(a + 1) % 3], d = step[(a + 2) % 3];
    for_run(-2, 8, [&](int c) {
      store_row(s.solid[a].values + c, 0.25f * ((at(c) + at(c + b + d)) + (at(c + b) + at(c + d))));
    });
  }
}

/// Marks faces in solids whose axis is not the one closest to the normal, which is the gradient of the distance. 40
/// flops per face.
void let_slip(Scratch& s) {
  const float* node = s.node.values;
  const auto at = [&](int c) { return load_row(node + c); };
  for (int a = 0; a < 3; ++a) {
    const int b = step[(a + 1) % 3], d = step[(a + 2) % 3];
    const auto four = [&](int c) { return (at(c) + at(c + b + d)) + (at(c + b) + at(c + d)); };
    for_run(-1, 8, [&](int c) {
      const Line along = 0.125f * (four(c + step[a]) - four(c - step[a]));
      const Line one = 0.5f * ((at(c + b) - at(c)) + (at(c + b + d) - at(c + d)));
      const Line other = 0.5f * ((at(c + d) - at(c)) + (at(c + b + d) - at(c + b)));
      const Line solid = load_row(s.solid[a].values + c), most = greater(one * one, other * other);
      store_row(s.solid[a].values + c, prescribed(solid) & (along * along < most) ? spread(slipping) : solid);
    });
  }
}

/// Faces that a sheet closes, which lie on a wall from then on; true where there are any.
bool find_sheets(const ViscosityInput& input, int bucket, Scratch& s) {
  Mask any{};
  for (int a = 0; a < 3 && input.area[0]; ++a) {
    load_field(input, bucket, input.area[a], 1, s, s.sheet[a]);
    for_run(-2, 8, [&](int c) {
      const Line solid = load_row(s.solid[a].values + c);
      const Mask closed = (load_row(s.sheet[a].values + c) <= 0.0f) & ~prescribed(solid);
      store_row(s.sheet[a].values + c, one_where(closed));
      store_row(s.solid[a].values + c, closed ? Line{} : solid);
      any |= closed;
    });
  }
  int found = 0;
  for (int k = 0; k < 8; ++k) found |= any[k];
  return found != 0;
}

/// Share of liquid at the faces. 10 flops per face.
void find_shares(Scratch& s) {
  for (int a = 0; a < 3; ++a)
    for_run(-1, 8, [&](int c) {
      const int m = c - step[a];
      const Line here = load_row(s.liquid.values + c), below = load_row(s.liquid.values + m);
      const Line open = load_row(s.open.values + c), open_below = load_row(s.open.values + m), n = open + open_below;
      const Line mean = n > 0.0f ? (open * here + open_below * below) / n : 0.5f * (here + below);
      store_row(s.share[a].values + c, liquid_share(mean));
    });
}

/// 1 / theta of a difference between two faces by their solid distances; 1 where both are on the same side.
inline Line stretch(const Line& f, const Line& g) {
  const Line in = greater(f, g), out = lesser(f, g), deep = lesser(out, Line{});
  const Line over = lesser((in - deep) / in, spread(1 / least_theta));
  return prescribed(out) & ~prescribed(in) ? over : spread(1);
}

/// Copies the corners 0 … 8 of a field into the layout of the coefficients.
void pack(const float* from, float* to) {
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 9; ++j)
      std::memcpy(to + ViscosityBucket::at(i, j, 0), from + Scratch::at(i, j, 0), 9 * sizeof(float));
  std::fill(to + 729, to + ViscosityBucket::pitch, 0.0f);
}

/// Strains along the axes: 2 k V / theta of the cell below each face. 15 flops per sample.
void fill_normal(const Scratch& s, int a, float k, bool variable, float* out) {
  for_run(0, 8, [&](int c) {
    const int m = c - step[a];
    const Line liquid = load_row(s.liquid.values + m), solid = load_row(s.solid[a].values + c),
               solid_below = load_row(s.solid[a].values + m);
    const Line best = greater(load_row(s.share[a].values + c), load_row(s.share[a].values + m));
    const Line whole = load_row(s.open.values + m) > 0.0f ? liquid_share(liquid) : best;
    const Mask none = (load_row(s.liquid.values + c) > still_nowhere) | (liquid > still_nowhere) |
                      (prescribed(solid) & prescribed(solid_below)) | absent(solid) | absent(solid_below);
    Line value = 2 * k * (none ? Line{} : whole) * stretch(solid, solid_below);
    if (variable) {
      const Line resistance = load_row(s.resistance.values + m);
      value = resistance > 0.0f ? value / resistance : Line{};
    }
    store_row(out + c, value);
  });
}

/// Strains across: sqrt(k V theta) over the theta of each difference. 40 flops per sample.
void fill_edge(const Scratch& s, int a, int b, float k, bool variable, float* first, float* second) {
  for_run(0, 8, [&](int c) {
    const int at[4] = {c, c - step[a], c - step[b], c - step[a] - step[b]};
    Line n{}, wet{}, all{}, resistance{}, count{};
    for (const int m : at) {
      const Line open = load_row(s.open.values + m), liquid = load_row(s.liquid.values + m);
      n += open, wet += open * liquid, all += liquid;
      if (variable) {
        const Line r = load_row(s.resistance.values + m);
        resistance += r, count += one_where(r > 0.0f);
      }
    }
    const Line a0 = load_row(s.solid[a].values + at[0]), a1 = load_row(s.solid[a].values + at[2]);
    const Line b0 = load_row(s.solid[b].values + at[0]), b1 = load_row(s.solid[b].values + at[1]);
    Mask none = (all > still_nowhere) | (prescribed(a0) & prescribed(a1) & prescribed(b0) & prescribed(b1)) |
                absent(lesser(lesser(a0, a1), lesser(b0, b1)));
    if (s.sheets)
      none |= (load_row(s.sheet[a].values + at[0]) * load_row(s.sheet[a].values + at[2]) > 0.0f) |
              (load_row(s.sheet[b].values + at[0]) * load_row(s.sheet[b].values + at[1]) > 0.0f);
    const Line volume = liquid_share(n > 0.0f ? wet / n : 0.25f * all), sa = stretch(a0, a1), sb = stretch(b0, b1);
    Line square = k * (none ? Line{} : volume) / greater(sa, sb);
    // The harmonic mean: what two layers of different viscosity with one stress have.
    if (variable) square = resistance > 0.0f ? square * count / resistance : Line{};
    const Line root = _mm256_sqrt_ps(square);
    store_row(first + c, root * sa);
    store_row(second + c, root * sb);
  });
}

/// The two edges that a face along `a` has below it, as coefficients of its own velocity and of the other one, and how
/// far off in the coefficients the edges above it are.
struct FaceEdges {
  const float *own[2], *other[2];
  int up[2];
  FaceEdges(const ViscosityBucket& b, int a) {
    constexpr int corner[3] = {81, 9, 1};
    for (int n = 0; n < 2; ++n) {
      const int across = n == 0 ? (a == 0 ? 1 : 0) : (a == 2 ? 1 : 2), e = 3 - a - across;
      own[n] = a < across ? b.first[e] : b.second[e];
      other[n] = a < across ? b.second[e] : b.first[e];
      up[n] = corner[across];
    }
  }
};

/// Mass and diagonal of the faces along one axis; returns the number of unknowns. 40 flops per face. The diagonal is
/// made larger where the row's sum of magnitudes is more than viscosity_spectrum times it, which bounds the spectrum.
int fill_faces(const ViscosityBucket& b, int a, const float* solid, const float* share, const float* known, float* mass,
               float* inverse) {
  const FaceEdges edges(b, a);
  const int up = a == 0 ? 81 : a == 1 ? 9 : 1;
  Mask unknowns{};
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const int c = ViscosityBucket::at(i, j, 0), from = Scratch::at(i, j, 0), cell = cell_offset(i, j, 0);
      Line held = load_row(b.normal[a] + c) + load_row(b.normal[a] + c + up), sum = held + held;
      for (int n = 0; n < 2; ++n)
        for (const int e : {c, c + edges.up[n]}) {
          const Line own = load_row(edges.own[n] + e), square = own * own;
          held += square;
          sum += 2 * (square + own * load_row(edges.other[n] + e));
        }
      const Line around = load_row(share + from);
      const Mask meaningful = known ? load_row(known + cell) > 0.0f : ~Mask{};
      const Line own = meaningful ? around : Line{};
      const Line weight = greater(own, least_mass * held);
      const Mask unknown = (held > 1e-20f) & ~prescribed(load_row(solid + from));
      const Line diagonal = greater(weight + held, (weight + sum) * (1 / viscosity_spectrum));
      store_row(mass + cell, unknown ? weight : Line{});
      store_row(inverse + cell, unknown ? 1 / diagonal : Line{});
      unknowns -= unknown;
    }
  int count = 0;
  for (int k = 0; k < 8; ++k) count += unknowns[k];
  return count;
}

bool all_known(const ViscosityInput& input, int bucket) {
  for (const float* known : input.known) {
    if (!known) continue;
    const float* from = known + static_cast<std::size_t>(bucket) * bucket_cells;
    bool good = true;
    for (int c = 0; c < bucket_cells; ++c) good &= from[c] > 0;
    if (!good) return false;
  }
  return true;
}

}  // namespace

ViscosityLook look_at_bucket(const ViscosityInput& input, int bucket, ViscosityScratch& s) {
  ViscosityLook look;
  load_field(input, bucket, input.liquid_distance, nowhere, s, s.liquid);
  const Range liquid = range_of(s.liquid.values);
  load_field(input, bucket, input.solid_distance, input.solid_background, s, s.node);
  const Range solid = range_of(s.node.values);
  if (liquid.sum != 0) look.trouble = ViscosityTrouble::liquid_distance;
  if (solid.sum != 0) look.trouble = ViscosityTrouble::solid_distance;
  if (input.viscosity) {
    load_field(input, bucket, input.viscosity, 0, s, s.resistance);
    const Range viscosity = range_of(s.resistance.values);
    if (viscosity.sum != 0 || viscosity.least < 0) look.trouble = ViscosityTrouble::viscosity;
    for (float& v : s.resistance.values) v = v > 0 ? 1 / v : 0.0f;
  }
  if (look.trouble != ViscosityTrouble::none || liquid.least >= 0.5f) return look;
  find_solids(s);
  if (input.free_slip && solid.least <= on_wall) let_slip(s);
  s.sheets = find_sheets(input, bucket, s);
  look.kind = ViscosityKind::mixed;
  if (!input.viscosity && !s.sheets && liquid.greatest <= -0.5f && solid.least > on_wall && all_known(input, bucket)) {
    look.kind = ViscosityKind::uniform;
    look.unknowns = face_values;
  }
  return look;
}

int fill_bucket(const ViscosityInput& input, int bucket, ViscosityScratch& s, ViscosityBucket& out) {
  find_shares(s);
  const auto k = static_cast<float>(input.stiffness);
  const bool variable = input.viscosity != nullptr;
  Scratch::Field one, other;
  for (int a = 0; a < 3; ++a) {
    fill_normal(s, a, k, variable, one.values);
    pack(one.values, out.normal[a]);
    const int first = a == 0 ? 1 : 0, second = a == 2 ? 1 : 2;
    fill_edge(s, first, second, k, variable, one.values, other.values);
    pack(one.values, out.first[a]), pack(other.values, out.second[a]);
  }
  int unknowns = 0;
  for (int a = 0; a < 3; ++a)
    unknowns += fill_faces(out, a, s.solid[a].values, s.share[a].values,
                           input.known[a] ? input.known[a] + static_cast<std::size_t>(bucket) * bucket_cells : nullptr,
                           out.mass + a * bucket_cells, out.inverse + a * bucket_cells);
  for (int f = 0; f < face_values; f += 64) {
    std::uint64_t bits = 0;
    const int a = f / bucket_cells, i = (f >> 6) & 7;
    for (int c = 0; c < 64; ++c) {
      const float solid = s.solid[a].values[Scratch::at(i, c >> 3, c & 7)];
      bits |= std::uint64_t{prescribed_face(solid) && solid > slipping} << c;
    }
    out.fixed[f / 64] = bits;
  }
  return unknowns;
}

}  // namespace aegir
