#include "solvers/linear/viscosity_multigrid.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "solvers/linear/viscosity_transfer.h"

namespace aegir {
namespace {

/// Distances where no bucket is: far from liquid and solids.
constexpr float far_away = 4;
/// Below this stiffness mass rules, and relaxation alone solves a level.
constexpr double soft = 0.7;
/// Below this stiffness of the finest level the diagonal does as well as a cycle.
constexpr double worth_a_cycle = 2.5;
constexpr std::int64_t few_unknowns = 1000;
constexpr std::size_t most_levels = 10;
constexpr int sweeps = 3, last_sweeps = 6;

/// Factors of `count` relaxations whose product is least where D⁻¹A has eigenvalues from low to high (Chebyshev).
std::vector<float> relaxation_factors(int count, double low, double high) {
  std::vector<float> factors;
  for (int i = 0; i < count; ++i)
    factors.push_back(
        static_cast<float>(2 / ((high + low) + (high - low) * std::cos(std::numbers::pi * (2 * i + 1) / (2 * count)))));
  return factors;
}

double stiffest(Exec& exec, const ViscosityInput& input) {
  if (!input.viscosity) return input.stiffness;
  return input.stiffness * maximum(exec, *input.topology, 0.0, [&](const Bucket& b) {
           const float* from = input.viscosity + static_cast<std::size_t>(b.index) * bucket_cells;
           return static_cast<double>(*std::max_element(from, from + bucket_cells));
         });
}

void fill(BucketField& field, int buckets, float value) {
  for (int b = 0; b < buckets; ++b) std::fill_n(field.at(b), bucket_cells, value);
}

/// Distances and viscosity of the 4×4×4 coarse cells and nodes that a bucket becomes: 3 × 64 values. The distance to
/// the liquid's surface is one that gives a coarse cell the share of its eight cells, and so conserves mass.
void coarse_block(const ViscosityInput& input, int b, float* out) {
  PaddedTile<float, 1> node;
  load_tile<Halo<1>>(node, *input.topology, b, input.solid_distance, input.solid_background);
  const float* liquid = input.liquid_distance + static_cast<std::size_t>(b) * bucket_cells;
  const float* viscosity = input.viscosity ? input.viscosity + static_cast<std::size_t>(b) * bucket_cells : nullptr;
  const auto open = [&](int i, int j, int k) {
    float sum = 0;
    for (int n = 0; n < 8; ++n) sum += std::clamp(node(i + (n >> 2), j + ((n >> 1) & 1), k + (n & 1)), -2.0f, far_away);
    return sum >= 0;
  };
  for (int n = 0; n < 64; ++n) {
    const int i = (n >> 4) * 2, j = ((n >> 2) & 3) * 2, k = (n & 3) * 2;
    float all = 0, wet = 0, viscous = 0;
    int count = 0, viscous_count = 0;
    for (int m = 0; m < 8; ++m) {
      const int ci = i + (m >> 2), cj = j + ((m >> 1) & 1), ck = k + (m & 1), c = cell_offset(ci, cj, ck);
      const float d = std::clamp(0.5f - liquid[c], 0.0f, 1.0f);
      all += d;
      if (open(ci, cj, ck)) wet += d, ++count;
      if (viscosity && viscosity[c] > 0) viscous += viscosity[c], ++viscous_count;
    }
    out[n] = 0.5f - (count ? wet / static_cast<float>(count) : all / 8);
    out[64 + n] = 0.5f * std::clamp(node(i, j, k), -far_away, far_away);
    out[128 + n] = viscous_count ? viscous / static_cast<float>(viscous_count) : 0.0f;
  }
}

}  // namespace

ViscosityMultigrid::ViscosityMultigrid(Exec& exec, const ViscosityLevel& fine, const ViscosityInput& input,
                                       BufferPool* pool)
    : pool_(pool) {
  Stopwatch watch;
  floors_.push_back(std::make_unique<Floor>());
  floors_.front()->level = &fine;
  ViscosityInput now = input;
  double k = stiffest(exec, input);
  const bool plain = k < worth_a_cycle;
  for (;;) {
    Floor& floor = *floors_.back();
    const Topology& t = floor.level->topology();
    floor.rhs = FaceField<float>(t, pool), floor.z = FaceField<float>(t, pool), floor.other = FaceField<float>(t, pool);
    constexpr double high = viscosity_spectrum;
    const bool last = plain || k < soft || floor.level->unknowns() < few_unknowns || floors_.size() >= most_levels;
    floor.omega = plain  ? std::vector<float>{1.0f}
                  : last ? relaxation_factors(last_sweeps, std::max(0.05, 1 / (1 + 8 * k)), high)
                         : relaxation_factors(sweeps, high / 20, high);
    if (last) break;
    ViscosityInput next;
    if (!coarsen(exec, now, next)) break;
    now = next, k /= 4;
  }
  for (auto& floor : floors_)
    floor->liquid = BucketField(), floor->node = BucketField(), floor->viscosity = BucketField();
  exec.profile.kernel("viscosity.levels", watch.seconds(), 0);
}

/// Adds a level; false where it would hold no unknowns.
bool ViscosityMultigrid::coarsen(Exec& exec, const ViscosityInput& fine_input, ViscosityInput& coarse_input) {
  Floor& fine = *floors_.back();
  const Topology& t = fine.level->topology();
  std::vector<BucketShape> shapes(static_cast<std::size_t>(t.local_count()));
  std::vector<BucketKey> keys;
  for (int b = 0; b < t.local_count(); ++b) {
    if (fine.level->kind(b) == ViscosityKind::far) continue;
    shapes[static_cast<std::size_t>(b)].kind = BucketKind::mixed;
    const BucketKey& k = t.key(b);
    keys.push_back({{k.coord.x >> 1, k.coord.y >> 1, k.coord.z >> 1}, k.level + 1});
  }
  auto coarse = std::make_unique<Floor>();
  coarse->topology = Topology::build(t.spacing(), keys, t.partition(), exec.comm);
  fine.parents = ParentPlan(exec, t, *coarse->topology, shapes);
  fill_coarse(exec, fine_input, fine, *coarse);
  coarse_input.topology = coarse->topology.get();
  coarse_input.liquid_distance = coarse->liquid.data(), coarse_input.solid_distance = coarse->node.data();
  coarse_input.solid_background = far_away, coarse_input.free_slip = fine_input.free_slip;
  coarse_input.viscosity = fine_input.viscosity ? coarse->viscosity.data() : nullptr;
  coarse_input.stiffness = fine_input.stiffness / 4;
  coarse->own = std::make_unique<ViscosityLevel>(exec, coarse_input, pool_);
  coarse->level = coarse->own.get();
  if (coarse->level->unknowns() == 0) return false;
  if (exec.comm.size() > 1) fine.around = BucketField(t.local_count(), coarse_faces, pool_);
  fill_weights(exec, fine, *coarse);
  floors_.push_back(std::move(coarse));
  return true;
}

/// Distances and viscosity of the coarse level.
void ViscosityMultigrid::fill_coarse(Exec& exec, const ViscosityInput& input, Floor& fine, Floor& coarse) {
  const int count = coarse.topology->total_count();
  for (BucketField* field : {&coarse.liquid, &coarse.node, &coarse.viscosity})
    *field = BucketField(count, bucket_cells, pool_);
  fill(coarse.liquid, count, far_away), fill(coarse.node, count, far_away);
  const auto out = [&](int b, float* values) { coarse_block(input, b, values); };
  const auto in = [&](int up, int octant, const float* values) {
    write_octant(coarse.liquid.at(up), octant, values);
    write_octant(coarse.node.at(up), octant, values + 64);
    write_octant(coarse.viscosity.at(up), octant, values + 128);
  };
  const Topology& t = fine.level->topology();
  parallel_for(0, static_cast<std::size_t>(t.local_count()), 8, [&](std::size_t begin, std::size_t end) {
    float values[192];
    for (std::size_t i = begin; i < end; ++i)
      if (const int b = static_cast<int>(i), up = fine.parents.parent(b); up >= 0)
        out(b, values), in(up, octant_of(t.key(b)), values);
  });
  fine.parents.send_up(exec, 192, out, in);
  for (BucketField* field : {&coarse.liquid, &coarse.node, &coarse.viscosity}) field->exchange(exec, *coarse.topology);
}

/// Weights of interpolation: 1 over the share of the coarse faces around that are there, 0 where there is no unknown.
void ViscosityMultigrid::fill_weights(Exec& exec, Floor& fine, Floor& coarse) {
  FaceField<float> there(*coarse.topology, pool_);
  for (int b = 0; b < coarse.topology->local_count(); ++b) {
    if (coarse.level->kind(b) == ViscosityKind::far) continue;
    const ViscosityBucket* own = coarse.level->bucket(b);
    for (int f = 0; f < face_values; ++f)
      there.at(b)[f] = !own || own->inverse[f] > 0 || own->is_fixed(f) ? 1.0f : 0.0f;
  }
  fetch(exec, fine, coarse, there);
  const Topology& t = fine.level->topology();
  std::vector<std::int32_t> slot(static_cast<std::size_t>(t.local_count()), -1);
  std::int32_t count = 0;
  for (const int b : fine.level->buckets())
    if (fine.level->bucket(b)) slot[static_cast<std::size_t>(b)] = count++;
  fine.weights = PooledBuffer(static_cast<std::size_t>(count) * face_values * sizeof(float), pool_);
  fine.weight_of.assign(slot.size(), nullptr);
  fine.level->for_unknowns([&](int b) {
    if (slot[static_cast<std::size_t>(b)] < 0) return;
    float* weight = reinterpret_cast<float*>(fine.weights.data()) +
                    static_cast<std::size_t>(slot[static_cast<std::size_t>(b)]) * face_values;
    alignas(64) float share[face_values];
    float scratch[coarse_faces];
    prolong_faces(faces_around(fine, coarse, there, b, scratch), share);
    for (int f = 0; f < face_values; ++f)
      weight[f] = fine.level->bucket(b)->inverse[f] > 0 && share[f] > 0.05f ? 1 / share[f] : 0.0f;
    fine.weight_of[static_cast<std::size_t>(b)] = weight;
  });
}

/// Brings coarse faces to the buckets whose parent lives elsewhere; values' ghosts first.
void ViscosityMultigrid::fetch(Exec& exec, Floor& fine, Floor& coarse, FaceField<float>& values) {
  if (exec.comm.size() == 1) return;
  const Topology& t = coarse.level->topology();
  values.exchange(exec, t);
  fine.parents.send_down(
      exec, coarse_faces,
      [&](int up, int octant, float* out) { coarse_faces_around(t, up, octant, values.data(), out); },
      [&](int b, const float* in) { std::memcpy(fine.around.at(b), in, coarse_faces * sizeof(float)); });
}

/// The coarse faces around a bucket, in `scratch` or elsewhere.
const float* ViscosityMultigrid::faces_around(const Floor& fine, const Floor& coarse, const FaceField<float>& values,
                                              int b, float* scratch) {
  const int up = fine.parents.parent(b);
  if (up < 0) return fine.around.at(b);
  coarse_faces_around(coarse.level->topology(), up, octant_of(fine.level->topology().key(b)), values.data(), scratch);
  return scratch;
}

/// The coarse right-hand side from the weighted residual in fine.other, and the first relaxation.
void ViscosityMultigrid::restrict_to(Exec& exec, Floor& fine, Floor& coarse) {
  const Topology& t = fine.level->topology();
  fine.other.exchange(exec, t);
  const auto out = [&](int b, float* values) {
    VelocityTile<float> tile;
    load_all_faces(tile, t, b, fine.other.data());
    restrict_faces(tile, values);
  };
  const auto in = [&](int up, int octant, const float* values) {
    for (int a = 0; a < 3; ++a) write_octant(coarse.rhs.at(up) + a * bucket_cells, octant, values + 64 * a);
  };
  parallel_for(0, static_cast<std::size_t>(t.local_count()), 8, [&](std::size_t begin, std::size_t end) {
    float values[192];
    for (std::size_t i = begin; i < end; ++i)
      if (const int b = static_cast<int>(i), up = fine.parents.parent(b); up >= 0)
        out(b, values), in(up, octant_of(t.key(b)), values);
  });
  fine.parents.send_up(exec, 192, out, in);
  coarse.level->for_unknowns([&](int b) {
    viscosity_scale(coarse.z.at(b), coarse.rhs.at(b), coarse.omega[0], coarse.level->bucket_operator(b));
  });
}

/// z += what the coarse level found.
void ViscosityMultigrid::prolong_from(Exec& exec, Floor& fine, Floor& coarse) {
  fetch(exec, fine, coarse, coarse.z);
  fine.level->for_unknowns([&](int b) {
    alignas(64) float correction[face_values];
    float scratch[coarse_faces];
    prolong_faces(faces_around(fine, coarse, coarse.z, b, scratch), correction);
    float* z = fine.z.at(b);
    if (const float* weight = fine.weight_of[static_cast<std::size_t>(b)])
      for (int f = 0; f < face_values; ++f) z[f] += weight[f] * correction[f];
    else
      for (int f = 0; f < face_values; ++f) z[f] += correction[f];
  });
}

/// One relaxation of a level; returns rhs · z where that is asked for.
double ViscosityMultigrid::relax(Exec& exec, Floor& floor, float omega, bool product) {
  const Topology& t = floor.level->topology();
  floor.z.exchange(exec, t);
  std::vector<double> parts(product ? static_cast<std::size_t>(t.local_count()) : 0, 0.0);
  floor.level->for_unknowns([&](int b) {
    VelocityTile<float> tile;
    load_velocity(tile, t, b, floor.z.data());
    const double part =
        viscosity_relax(tile, floor.level->bucket_operator(b), floor.rhs.at(b), omega, floor.other.at(b));
    if (product) parts[static_cast<std::size_t>(b)] = part;
  });
  std::swap(floor.z, floor.other);
  if (!product) return 0;
  return exact_sum(exec, t, [&](const Bucket& b) { return parts[static_cast<std::size_t>(b.index)]; });
}

double ViscosityMultigrid::run(Exec& exec) { return cycle(exec, 0); }

/// The cycle from level l down, whose first relaxation is done; returns rhs · z on the finest level.
double ViscosityMultigrid::cycle(Exec& exec, std::size_t l) {
  Floor& fine = *floors_[l];
  Stopwatch down;
  for (std::size_t i = 1; i < fine.omega.size(); ++i) relax(exec, fine, fine.omega[i], false);
  if (l + 1 == floors_.size()) return 0;
  Floor& coarse = *floors_[l + 1];
  const Topology& t = fine.level->topology();
  fine.z.exchange(exec, t);
  fine.level->for_unknowns([&](int b) {
    VelocityTile<float> tile;
    load_velocity(tile, t, b, fine.z.data());
    viscosity_defect(tile, fine.level->bucket_operator(b), fine.rhs.at(b), fine.weight_of[static_cast<std::size_t>(b)],
                     fine.other.at(b));
  });
  if (l == 0) exec.profile.kernel("viscosity.descend", down.seconds(), fine.level->pass_bytes(36));
  Stopwatch between;
  restrict_to(exec, fine, coarse);
  cycle(exec, l + 1);
  prolong_from(exec, fine, coarse);
  if (l == 0) exec.profile.kernel("viscosity.coarse", between.seconds(), 0);
  Stopwatch up;
  double product = 0;
  for (std::size_t i = fine.omega.size(); i-- > 0;) product = relax(exec, fine, fine.omega[i], l == 0 && i == 0);
  if (l == 0) exec.profile.kernel("viscosity.ascend", up.seconds(), fine.level->pass_bytes(36));
  return product;
}

}  // namespace aegir
