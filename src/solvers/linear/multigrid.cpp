#include "solvers/linear/multigrid.h"

#include <algorithm>
#include <cstring>

#include "domain/transport/halo.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

// Bytes per cell of the passes of a cycle, writes twice. Down, finest level: direction 4, residual 16, unknowns 8, and
// half of the buckets again for their residual 6; coarse levels: right-hand side 4, unknowns 8, again 4. Up: half of
// the unknowns corrected 4, all relaxed 8, right-hand side 8 or 4; relaxed once more: unknowns 8, right-hand side 4.
constexpr std::int64_t bytes_down = 34, bytes_up = 20, bytes_up_again = 12, bytes_coarse_down = 16,
                       bytes_coarse_up = 16;

void book(Exec& exec, const char* label, const Stopwatch& watch, std::int64_t bytes) {
  exec.profile.kernel(label, watch.seconds(), bytes);
}

void clear(UnknownTile& tile) { std::memset(tile.values, 0, sizeof tile.values); }

void clear_own(UnknownTile& tile) {
  for (int i = 0; i < bucket_size; ++i)
    for (int j = 0; j < bucket_size; ++j) store_row(tile.row(i, j), Row<float>{});
}

constexpr auto no_bounds = [](int) -> const float* { return nullptr; };
const Multigrid::Bounds unbounded{no_bounds};

void relax_bucket(UnknownTile& tile, const float* rhs, const BucketOperator& a, const float* least, int sweeps,
                  bool reverse) {
  if (least)
    relax_projected(tile, rhs, a, least, sweeps, reverse);
  else
    relax(tile, rhs, a, sweeps, reverse);
}

/// Restricts the residual of one bucket into its 5×5×5 partial sums, but for the cells that are at their bound.
void restrict_residual(Level& level, int b, const UnknownTile& tile, const float* rhs, const float* least) {
  alignas(64) float r[bucket_cells];
  residual(tile, rhs, level.bucket_operator(b), r);
  if (least)
    for (int i = 0; i < bucket_size; ++i)
      for (int j = 0; j < bucket_size; ++j) {
        const int c = cell_offset(i, j, 0);
        const Row<float> kept = load_row(tile.row(i, j)) > load_row(least + c) ? load_row(r + c) : Row<float>{};
        store_row(r + c, kept);
      }
  restrict_bucket(r, level.transfer(b), level.partial.at(b));
}

/// The 5×5×5 coarse values that a fine bucket in this octant of a coarse one is interpolated from.
void coarse_around(const Level& coarse, int bucket, int octant, float* out) {
  const auto& neighbours = coarse.topology().neighbours(bucket);
  const int x = (octant >> 2) * 4, y = ((octant >> 1) & 1) * 4, z = (octant & 1) * 4;
  const auto source = [&](int dx, int dy, int dz) -> const float* {
    const int n = neighbours[static_cast<std::size_t>(neighbour_index(dx, dy, dz))];
    return n < 0 ? nullptr : coarse.unknown.at(n);
  };
  for (int i = 0; i < coarse_side; ++i)
    for (int j = 0; j < coarse_side; ++j) {
      const int ci = x + i, cj = y + j;
      const float* same = source(ci >> 3, cj >> 3, 0);
      float* row = out + (i * coarse_side + j) * coarse_side;
      const int at = cell_offset(ci & 7, cj & 7, z);
      for (int k = 0; k < 4; ++k) row[k] = same ? same[at + k] : 0.0f;
      const float* above = z == 4 ? source(ci >> 3, cj >> 3, 1) : same;
      row[4] = above ? above[cell_offset(ci & 7, cj & 7, (z + 4) & 7)] : 0.0f;
    }
}

/// Where two networks differ in a bucket.
ChangeBox difference(const NetworkFields& a, const NetworkFields& b, int bucket) {
  ChangeBox box;
  for (int axis = 0; axis < 6; ++axis) {
    const float* one = (axis < 3 ? a.link[axis] : a.sink[axis - 3]).at(bucket);
    const float* other = (axis < 3 ? b.link[axis] : b.sink[axis - 3]).at(bucket);
    if (std::memcmp(one, other, bucket_cells * sizeof(float)) == 0) continue;
    for (int c = 0; c < bucket_cells; ++c)
      if (one[c] != other[c]) box.add(c >> 6, (c >> 3) & 7, c & 7);
  }
  return box;
}

/// Adds the interpolated correction to a bucket's values; cells that are no unknowns stay zero, those at their bound
/// stay there.
void correct(Level& level, const Level& coarse, int b, float* values, const Multigrid::Bounds& bounds) {
  alignas(64) float around[coarse_pitch], fine[bucket_cells];
  const int up = level.parents.parent(b);
  const float* from = around;
  if (up >= 0)
    coarse_around(coarse, up, octant_of(level.topology().key(b)), around);
  else
    from = level.partial.at(b);  // fetch_coarse() left them there
  prolong_bucket(from, level.transfer(b), fine);
  const BucketOperator a = level.bucket_operator(b);
  const float weight = bounds.correction;
  if (const float* least = bounds.least(b))
    for (int c = 0; c < bucket_cells; ++c) {
      const float next = values[c] + weight * fine[c];
      fine[c] = values[c] > least[c] ? (next > least[c] ? next : least[c]) - values[c] : 0.0f;
    }
  else if (weight != 1)
    for (float& f : fine) f *= weight;
  if (a.network)
    for (int c = 0; c < bucket_cells; ++c) values[c] = a.network->relax[c] > 0 ? values[c] + fine[c] : 0.0f;
  else
    for (int c = 0; c < bucket_cells; ++c) values[c] += fine[c];
}

}  // namespace

Multigrid::Multigrid(Exec& exec, std::shared_ptr<const Topology> topology, std::vector<BucketShape> shapes,
                     std::int64_t unknowns, TileLoader load, const Settings& settings, const HeldCells* held)
    : settings_(settings) {
  const auto is_last = [&](int l, std::int64_t count) {
    return count <= settings_.direct_unknowns || l + 1 >= settings_.most_levels;
  };
  levels_.push_back(std::make_unique<Level>(exec, std::move(topology), std::move(shapes), 1.0f, is_last(0, unknowns),
                                            load, settings_.memory, held));
  while (levels_.back()->coarse_network) {
    Level& fine = *levels_.back();
    auto network = std::move(fine.coarse_network);
    const float unit = 2 * fine.unit();
    std::int64_t count = 0;
    std::vector<BucketShape> coarse_shapes = classify(*fine.coarse_topology, *network, unit, count);
    count = exec.comm.sum(count);
    const auto load_coarse = [&](int b, NetworkTile& tile) { network->load(*fine.coarse_topology, b, tile); };
    levels_.push_back(std::make_unique<Level>(exec, fine.coarse_topology, std::move(coarse_shapes), unit,
                                              is_last(level_count(), count), load_coarse, settings_.memory));
    levels_.back()->rhs = BucketField(fine.coarse_topology->local_count(), bucket_cells, settings_.memory);
    if (settings_.base_only) levels_.back()->network = std::move(network);
    unknowns = count;
  }
  few_last_ = unknowns <= 50 * settings_.direct_unknowns;
  if (few_last_ && !settings_.base_only) factor_last(exec);
}

Multigrid::Multigrid(Exec& exec, const Multigrid& base, int first, std::vector<BucketShape> shapes,
                     std::span<const ChangeBox> changed, TileLoader load, const Settings& settings)
    : settings_(settings) {
  const NetworkFields* coarse = first + 1 < base.level_count() ? base.level(first + 1).network.get() : nullptr;
  levels_.push_back(
      std::make_unique<Level>(exec, base.level(first), coarse, std::move(shapes), changed, load, settings_.memory));
  derive_below(exec, base, first);
}

Multigrid::Multigrid(Exec& exec, const Multigrid& base, const HeldCells& held, TileLoader load,
                     const Settings& settings)
    : settings_(settings) {
  levels_.push_back(std::make_unique<Level>(exec, base.level(0), *base.level(1).network, held, load, settings_.memory));
  derive_below(exec, base, 0);
}

/// The levels below `first` of a base, from what the level above has made of their networks.
void Multigrid::derive_below(Exec& exec, const Multigrid& base, int first) {
  const auto below = [&](int l) { return l + 1 < base.level_count() ? base.level(l + 1).network.get() : nullptr; };
  for (int l = first + 1; l < base.level_count(); ++l) {
    Level& fine = *levels_.back();
    const auto network = std::move(fine.coarse_network);
    const Topology& t = *fine.coarse_topology;
    std::int64_t count = 0;
    std::vector<BucketShape> coarse_shapes = classify(t, *network, 2 * fine.unit(), count);
    std::vector<ChangeBox> differs(static_cast<std::size_t>(t.total_count()));
    parallel_for(0, differs.size(), 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) differs[i] = difference(*network, *below(l - 1), static_cast<int>(i));
    });
    const auto load_coarse = [&](int b, NetworkTile& tile) { network->load(t, b, tile); };
    levels_.push_back(std::make_unique<Level>(exec, base.level(l), below(l), std::move(coarse_shapes), differs,
                                              load_coarse, settings_.memory));
    levels_.back()->rhs = BucketField(t.local_count(), bucket_cells, settings_.memory);
  }
  few_last_ = base.few_last_;
  if (few_last_ && !relaxes_last(exec)) factor_last(exec);
}

/// One more where a boundary makes relaxation slower, and on coarse levels, where it costs next to nothing.
int Multigrid::sweeps(const Level& level, int b) const {
  return settings_.sweeps + (&level != levels_.front().get() || level.kind(b) == BucketKind::mixed);
}

void Multigrid::begin(Exec& exec, RightHandSide first, RightHandSide again) {
  if (level_count() > 1) {
    Stopwatch watch;
    descend(exec, level(0), first, again, unbounded);
    return book(exec, "multigrid.descend", watch, level(0).pass_bytes(bytes_down));
  }
  for (int colour = 0; colour < 2; ++colour)
    for_buckets(level(0).buckets(colour), [&](int b) {
      alignas(64) float scratch[bucket_cells];
      first(b, scratch);
    });
}

void Multigrid::finish(Exec& exec, RightHandSide again, FunctionRef<void(int, const float*)> finished) {
  correct_below(exec, 0, again, unbounded, finished);
}

void Multigrid::begin_bounded(Exec& exec, RightHandSide first, RightHandSide again, const Bounds& bounds) {
  Stopwatch watch;
  descend(exec, level(0), first, again, bounds);
  book(exec, "multigrid.descend", watch, level(0).pass_bytes(bytes_down));
}

void Multigrid::finish_bounded(Exec& exec, RightHandSide again, const Bounds& bounds,
                               FunctionRef<void(int, const float*)> finished) {
  correct_below(exec, 0, again, bounds, finished);
}

/// The rest of the cycle on level l, whose first relaxations are done.
void Multigrid::correct_below(Exec& exec, int l, RightHandSide again, const Bounds& bounds,
                              FunctionRef<void(int, const float*)> finished) {
  if (l + 1 == level_count()) return solve_last(exec, again, finished);
  Level &fine = level(l), &coarse = level(l + 1);
  Stopwatch gathering;
  gather_coarse(exec, fine, coarse);
  book(exec, "multigrid.transfer", gathering, 0);
  const auto rhs = [&](int b, float*) -> const float* { return coarse.rhs.at(b); };
  Stopwatch descending;
  if (l + 2 < level_count()) descend(exec, coarse, rhs, rhs, unbounded);
  book(exec, "multigrid.coarse", descending, coarse.pass_bytes(bytes_coarse_down));
  correct_below(exec, l + 1, rhs, unbounded, [](int, const float*) {});
  coarse.unknown.exchange_layers(exec, coarse.topology(), 1);
  fetch_coarse(exec, fine, coarse);
  Stopwatch ascending;
  ascend(exec, fine, coarse, again, bounds, finished);
  book(exec, l == 0 ? "multigrid.ascend" : "multigrid.coarse", ascending,
       fine.pass_bytes(l == 0 ? bytes_up + (bounds.rounds - 1) * bytes_up_again : bytes_coarse_up));
}

void Multigrid::descend(Exec& exec, Level& level, RightHandSide first, RightHandSide again, const Bounds& bounds) {
  const Topology& t = level.topology();
  level.for_unknowns(exec, level.unknown, 0, [&](int b) {
    alignas(64) float scratch[bucket_cells];
    UnknownTile tile;
    clear(tile);
    const float* rhs = first(b, scratch);
    relax_bucket(tile, rhs, level.bucket_operator(b), bounds.least(b), sweeps(level, b), false);
    store_own(tile, level.unknown.at(b));
  });
  level.for_unknowns(exec, level.unknown, 1, [&](int b) {
    alignas(64) float scratch[bucket_cells];
    UnknownTile tile;
    clear_own(tile);
    load_faces(tile, t, b, level.unknown.data());
    mirror(tile, level.bucket_operator(b).closed);
    const float* rhs = first(b, scratch);
    const float* least = bounds.least(b);
    relax_bucket(tile, rhs, level.bucket_operator(b), least, sweeps(level, b), false);
    store_own(tile, level.unknown.at(b));
    restrict_residual(level, b, tile, rhs, least);
  });
  const auto restrict_own = [&](int b) {
    alignas(64) float scratch[bucket_cells];
    UnknownTile tile;
    load_bucket(tile, t, b, level.unknown.data(), level.bucket_operator(b));
    restrict_residual(level, b, tile, again(b, scratch), bounds.least(b));
  };
  for_buckets(level.border(0), restrict_own);
  HaloFlight flight(exec.comm);
  level.partial.begin_exchange(t, flight);
  for_buckets(level.inner(0), flight, restrict_own);
  flight.end();
}

void Multigrid::gather_coarse(Exec& exec, Level& fine, Level& coarse) {
  const Topology& t = fine.topology();
  // A coarse cell sums what its own bucket and the seven below along x, y and z restricted to it, in that order.
  const auto block_of = [&](int b, float* block) {
    const auto& neighbours = t.neighbours(b);
    std::memset(block, 0, 64 * sizeof(float));
    for (int d = 0; d < 8; ++d) {
      const int dx = d >> 2, dy = (d >> 1) & 1, dz = d & 1;
      const int other = neighbours[static_cast<std::size_t>(neighbour_index(-dx, -dy, -dz))];
      if (other < 0) continue;
      const float* p = fine.partial.at(other);
      for (int i = 0; i < (dx ? 1 : 4); ++i)
        for (int j = 0; j < (dy ? 1 : 4); ++j)
          for (int k = 0; k < (dz ? 1 : 4); ++k)
            block[(i * 4 + j) * 4 + k] += p[((i + 4 * dx) * coarse_side + j + 4 * dy) * coarse_side + k + 4 * dz];
    }
  };
  fine.to_parents(exec, 64, block_of,
                  [&](int up, int octant, const float* block) { write_octant(coarse.rhs.at(up), octant, block); });
}

void Multigrid::restrict_to(Exec& exec, int l, const float* rhs) {
  Level &fine = level(l), &coarse = level(l + 1);
  for (int colour = 0; colour < 2; ++colour)
    for_buckets(fine.buckets(colour), [&](int b) {
      alignas(64) float known[bucket_cells];
      const float* from = rhs + static_cast<std::size_t>(b) * bucket_cells;
      if (const NetworkBucket* n = fine.bucket_operator(b).network) {
        for (int c = 0; c < bucket_cells; ++c) known[c] = n->relax[c] > 0 ? from[c] : 0.0f;
        from = known;
      }
      restrict_bucket(from, fine.transfer(b), fine.partial.at(b));
    });
  fine.partial.exchange(exec, fine.topology());
  gather_coarse(exec, fine, coarse);
}

void Multigrid::prolong_from(Exec& exec, int l, const double* coarse_values_in, double* fine_values) {
  Level &fine = level(l), &coarse = level(l + 1);
  for (int colour = 0; colour < 2; ++colour)
    for_buckets(coarse.buckets(colour), [&](int b) {
      for (int c = 0; c < bucket_cells; ++c)
        coarse.unknown.at(b)[c] = static_cast<float>(
            coarse_values_in[static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(c)]);
    });
  coarse.unknown.exchange_layers(exec, coarse.topology(), 1);
  fetch_coarse(exec, fine, coarse);
  for (int colour = 0; colour < 2; ++colour)
    for_buckets(fine.buckets(colour), [&](int b) {
      alignas(64) float values[bucket_cells] = {};
      correct(fine, coarse, b, values, unbounded);
      for (int c = 0; c < bucket_cells; ++c)
        fine_values[static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(c)] =
            static_cast<double>(values[c]);
    });
}

void Multigrid::fetch_coarse(Exec& exec, Level& fine, Level& coarse) {
  fine.parents.send_down(
      exec, coarse_values, [&](int up, int octant, float* out) { coarse_around(coarse, up, octant, out); },
      [&](int b, const float* in) {
        if (fine.kind(b) != BucketKind::empty) std::memcpy(fine.partial.at(b), in, coarse_values * sizeof(float));
      });
}

void Multigrid::ascend(Exec& exec, Level& level, Level& coarse, RightHandSide again, const Bounds& bounds,
                       FunctionRef<void(int, const float*)> finished) {
  const Topology& t = level.topology();
  level.for_unknowns(exec, level.unknown, 0, [&](int b) { correct(level, coarse, b, level.unknown.at(b), bounds); });
  const int passes = 2 * bounds.rounds;
  for (int pass = 0; pass < passes; ++pass) {
    const int colour = 1 - pass % 2;
    const auto relax_own = [&](int b) {
      alignas(64) float scratch[bucket_cells];
      float* values = level.unknown.at(b);
      if (pass == 0) correct(level, coarse, b, values, bounds);
      UnknownTile tile;
      load_bucket(tile, t, b, level.unknown.data(), level.bucket_operator(b));
      relax_bucket(tile, again(b, scratch), level.bucket_operator(b), bounds.least(b), sweeps(level, b), true);
      store_own(tile, values);
      if (pass + 2 >= passes) finished(b, values);
    };
    if (pass + 1 < passes)
      level.for_unknowns(exec, level.unknown, colour, relax_own);
    else
      for_buckets(level.buckets(colour), relax_own);
  }
}

}  // namespace aegir
