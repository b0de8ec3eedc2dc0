#include "numerics/surface/liquid_distance.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "domain/for_each_bucket.h"
#include "domain/transport/overlap.h"
#include "numerics/surface/cells_around.h"
#include "numerics/surface/mean_offset.h"
#include "numerics/surface/near_solids.h"
#include "numerics/surface/offset_table.h"
#include "numerics/surface/one_side.h"

namespace aegir {
namespace {

using Line = Row<float>;

constexpr float deep = -OffsetTable::reach;
constexpr float free_distance = 1.42f;  // of a solid that cuts less than half a percent of the weights
constexpr float uncut_distance = 2.2f;  // of one that cuts nothing

/// Means of eight nodes: the distances of the centres of the cells (i, j, first) … (i, j, first + 7) to the nearest
/// solid.
template <class Tile>
Line centre_distances(const Tile& nodes, int i, int j, int first = 0) {
  const auto edge = [&](int x, int y) { return Line(nodes.line(x, y, first) + nodes.line(x, y, first + 1)); };
  return ((edge(i, j) + edge(i, j + 1)) + (edge(i + 1, j) + edge(i + 1, j + 1))) * 0.125f;
}

void fill(float* values, float value) { std::fill_n(values, bucket_cells, value); }

/// What is known around the cells of a bucket near solids; only cells of one side are looked at where sides are given.
struct Surroundings {
  const PaddedTile<float, 2>& nodes;
  const PaddedTile<float, 1>& raw;
  const Sides* sides;
  int side;
};

class LiquidDistance {
 public:
  LiquidDistance(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume, const SurfaceCensus& census,
                 const LiquidDistanceChannels& channels, BufferPool* pool)
      : exec_(exec),
        particles_(particles),
        volume_(volume),
        topology_(volume.topology()),
        channels_(channels),
        outside_(channels.distance.background),
        per_cell_(static_cast<float>(channels.particles_per_cell)),
        census_(census),
        counts_(census.counts()),
        any_solid_(census.any_solid()),
        buckets_(static_cast<std::size_t>(topology_.total_count())) {
    surface_.assign(buckets_, 0);
    std::fill(surface_.begin() + topology_.local_count(), surface_.end(), std::uint8_t{1});  // nothing is known of them
    raw_ = PooledBuffer(buckets_ * bucket_bytes, pool);
    if (any_solid_) free_ = PooledBuffer(buckets_ * bucket_bytes, pool);
    if (any_solid_) filling_ = PooledBuffer(buckets_ * bucket_bytes, pool);
    if (channels.crowding) crowding_ = PooledBuffer(buckets_ * bucket_bytes, pool);
  }

  void run() {
    Stopwatch watch;
    const BorderSplit split(topology_);
    HaloFlight flight(exec_.comm);
    evaluate(split, flight);
    const auto bytes = 2 * std::int64_t{topology_.local_count()} * static_cast<std::int64_t>(bucket_bytes);
    exec_.profile.kernel("distance from particles", watch.seconds(), bytes);
    finish(split, flight);
  }

 private:
  static constexpr std::size_t bucket_bytes = bucket_cells * sizeof(float);

  float* raw(int b) { return reinterpret_cast<float*>(raw_.data()) + static_cast<std::size_t>(b) * bucket_cells; }
  float* free_cells(int b) {
    return reinterpret_cast<float*>(free_.data()) + static_cast<std::size_t>(b) * bucket_cells;
  }
  float* filling(int b) {
    return reinterpret_cast<float*>(filling_.data()) + static_cast<std::size_t>(b) * bucket_cells;
  }
  float* crowding(int b) {
    return reinterpret_cast<float*>(crowding_.data()) + static_cast<std::size_t>(b) * bucket_cells;
  }
  /// Whether sheets may be in the bucket or beside it; anywhere, if nobody tells where.
  bool sheets_around(int b) const { return channels_.open_area && (!channels_.sheets || channels_.sheets->around(b)); }
  bool solid_near(int b) const { return census_.solid_near(b); }

  void evaluate(const BorderSplit& split, HaloFlight& flight);
  bool particles_near(int b) const;
  void classify(int b, const PaddedTile<float, 1>& count, const PaddedTile<float, 2>* nodes, Around& around);
  struct Reading {
    float distance, quartic;  // Σ n_i^4 of the offset's direction
  };
  Reading distance_of(const MeanOffset::Sums& sums) const;
  void offsets(int b, MeanOffset& mean, const PaddedTile<float, 2>* nodes);
  void look_past_sheets(int b, const PaddedTile<float, 2>& nodes);
  void finish(const BorderSplit& split, HaloFlight& flight);
  bool uniform(int b, const float* plane) const;
  void limit(int b, float* out);
  bool surface_near(int b) const;
  void near_solids(int b, SurfaceFit& fit, MeanOffset& mean, float* out);
  void continue_surface(int b, const SurfaceFit& fit, const Surroundings& near, MeanOffset& mean, float* out);
  float distance_at(int b, const Vec3i& cell, const SurfacePlane& plane, const Surroundings& near, MeanOffset& mean);
  float settle(float value, float filled, float distance, bool in_solid) const;

  Exec& exec_;
  ParticleSystem& particles_;
  DiscreteVolume& volume_;
  const Topology& topology_;
  const LiquidDistanceChannels& channels_;
  const float outside_, per_cell_;
  const SurfaceCensus& census_;
  const CellCounts& counts_;
  const bool any_solid_;
  const std::size_t buckets_;
  std::vector<std::uint8_t> surface_;  // per bucket: some cells are free and near the surface
  // Distances as the particles tell them; the same where free and near the surface, not_free elsewhere; and how much of
  // the open space around is filled, in buckets near solids, with a minus where the cell itself is empty.
  PooledBuffer raw_, free_, filling_;
  PooledBuffer crowding_;  // as the channel, if there is one
};

/// To be evaluated; stands in the raw distances between classify() and offsets().
constexpr float wanted = 100.0f;

bool LiquidDistance::particles_near(int b) const {
  for (const int n : topology_.neighbours(b))
    if (n >= 0 && particles_.occupied(n)) return true;
  return false;
}

/// Which cells are deep inside, which far outside, and which need their particles' mean: judged by the counts of the 27
/// cells around. Their mean is nearer than 0.2 cells only if the surface is about a cell away.
void LiquidDistance::classify(int b, const PaddedTile<float, 1>& count, const PaddedTile<float, 2>* nodes,
                              Around& around) {
  float* out = raw(b);
  around.gather(count);
  const float enough = 0.6f * 27 * counts_.typical();
  // Near solids the slope cannot be limited by cells that are not free, so depths must be known farther down.
  // (Beside sheets particles of the other side, or their absence, would be taken for the surface.)
  const float nearest = nodes && !sheets_around(b) ? 0.01f : 0.04f;
  for (int c = 0; c < bucket_cells; ++c) {
    const float s = around.sum[c],
                moment2 = around.x[c] * around.x[c] + around.y[c] * around.y[c] + around.z[c] * around.z[c];
    const bool inside = s >= enough && moment2 <= nearest * s * s;
    out[c] = s == 0 ? outside_ : inside ? deep : wanted;
  }
  if (!nodes) return;
  // Near solids: the share of the open space around that is filled tells what is inside.
  PaddedTile<float, 1> open;
  float distance[bucket_cells];
  const Line none{}, all = none + 1.0f;
  for (int i = -1; i < 9; ++i)
    for (int j = -1; j < 9; ++j) {
      for (const int first : {-1, 1})
        store_row(open.row(i, j) + first, least(greatest(centre_distances(*nodes, i, j, first) + 0.5f, none), all));
      if (i >= 0 && i < 8 && j >= 0 && j < 8)
        store_row(distance + cell_offset(i, j, 0), centre_distances(*nodes, i, j));
    }
  float particles[bucket_cells];
  std::memcpy(particles, around.sum, sizeof particles);
  around.gather(open);
  float* filled = filling(b);
  for (int c = 0; c < bucket_cells; ++c) {
    const int i = c >> 6, j = (c >> 3) & 7, k = c & 7;
    const float share = particles[c] / (std::max(around.sum[c], 0.5f) * counts_.typical());
    const bool inside = share >= 0.5f && around.sum[c] > 2;  // too little open space tells nothing
    if (distance[c] < free_distance && particles[c] > 0) out[c] = inside ? deep : wanted;
    // An open cell that is itself empty may be above the surface under an overhang.
    const bool empty = open(i, j, k) > 0.3f && count(i, j, k) < 0.3f * open(i, j, k) * counts_.typical();
    filled[c] = empty ? -share : share;
    free_cells(b)[c] = distance[c] < free_distance ? not_free : 0;
  }
}

/// What the mean of particles tells of a cell's centre.
LiquidDistance::Reading LiquidDistance::distance_of(const MeanOffset::Sums& s) const {
  if (s.weight < 1e-9f) return {outside_, 1};
  const Vec3f d = s.moment * (1 / s.weight), d2 = multiply(d, d);
  const float a2 = (d2.x + d2.y) + d2.z, quartic = dot(d2, d2) / std::max(a2 * a2, 1e-20f);
  return {OffsetTable::get().distance(a2, quartic), quartic};
}

void LiquidDistance::offsets(int b, MeanOffset& mean, const PaddedTile<float, 2>* nodes) {
  float* out = raw(b);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      float* row = out + cell_offset(i, j, 0);
      int low = 0, high = 7;
      while (low < 8 && row[low] != wanted) ++low;
      if (low == 8) continue;
      while (row[high] != wanted) --high;
      mean.row(b, i, j, low, high);
      const Line solid = nodes ? centre_distances(*nodes, i, j) : Line{} + uncut_distance;
      for (int k = low; k <= high; ++k) {
        if (row[k] != wanted) continue;
        const MeanOffset::Sums s = mean.around(k);
        const Reading reading = distance_of(s);
        row[k] = reading.distance;
        // Half a percent of the weights is two thousandths of a cell, which would make water at rest flow.
        if (solid[k] >= free_distance && solid[k] < uncut_distance && row[k] > -1.0f && row[k] < 1.45f)
          row[k] = without_cut(*nodes, {i, j, k}, -normalized(s.moment), row[k]);
        if (channels_.crowding && row[k] < 0)
          crowding(b)[cell_offset(i, j, k)] =
              s.weight / (per_cell_ * OffsetTable::get().weight(row[k], reading.quartic));
      }
    }
}

/// Cells near a sheet hold particles of its other side too, and so do their neighbours: what their centre does not see
/// is left out.
void LiquidDistance::look_past_sheets(int b, const PaddedTile<float, 2>& nodes) {
  for (int c = 0; c < bucket_cells; ++c) {
    const Vec3i cell{c >> 6, c >> 3 & 7, c & 7};
    if (!channels_.sheets->near(b, c)) continue;
    if (channels_.crowding) crowding(b)[c] = 0;  // of both sides
    if (centre_distances(nodes, cell.x, cell.y)[cell.z] < 0) continue;
    const OneSide here(*channels_.sheets, topology_, b, cell);
    const OneSide::Seen seen = here.around(particles_, counts_);
    const float cells = here.open_space(nodes);
    const float share = static_cast<float>(seen.particles) / (std::max(cells, 0.5f) * counts_.typical());
    filling(b)[c] = static_cast<float>(seen.in_cell) < 0.3f * counts_.typical() ? -share : share;
    raw(b)[c] = share >= 0.5f && cells > 1 && seen.sums.weight >= 1e-9f ? deep : distance_of(seen.sums).distance;
  }
}

/// What the particles of each bucket and those around tell; on its way to other ranks at the end.
void LiquidDistance::evaluate(const BorderSplit& split, HaloFlight& flight) {
  std::optional<GridReadHalo<float, 1, Halo<2>>> nodes;
  if (any_solid_ && channels_.open_area) volume_.read<Halo<4>>(*channels_.open_area).prepare(exec_);
  if (any_solid_) nodes.emplace(volume_.read<Halo<2>>(*channels_.solid_distance));
  const auto evaluate_some = [&](std::span<const int> buckets) {
    MeanOffset mean(particles_, counts_);
    const auto around = std::make_unique<Around>();
    PaddedTile<float, 1> count;
    GridReadHalo<float, 1, Halo<2>>::View node_tile;
    for (const int b : buckets) {
      if (channels_.crowding) fill(crowding(b), 0);
      if (!particles_near(b)) {
        fill(raw(b), outside_);
        if (any_solid_) fill(free_cells(b), not_free), fill(filling(b), 0);
        continue;
      }
      load_tile<Halo<1>>(count, topology_, b, counts_.plane(), 0.0f);
      if (solid_near(b))
        nodes->load(node_tile, b);
      else if (any_solid_)
        fill(free_cells(b), 0), fill(filling(b), 1);
      classify(b, count, solid_near(b) ? &node_tile.plane[0] : nullptr, *around);
      offsets(b, mean, solid_near(b) ? &node_tile.plane[0] : nullptr);
      if (!any_solid_) continue;
      if (channels_.sheets && channels_.sheets->near(b) && solid_near(b)) look_past_sheets(b, node_tile.plane[0]);
      float *values = raw(b), *free = free_cells(b);
      bool any = false;
      for (int c = 0; c < bucket_cells; ++c) {
        const bool tells = free[c] == 0 && values[c] > -1.0f && values[c] < 1.45f;
        free[c] = tells ? values[c] : not_free, any |= tells;
      }
      surface_[static_cast<std::size_t>(b)] = any;
    }
  };
  border_first(split, flight, evaluate_some, [&] {
    flight.add(topology_, raw_.data(), bucket_bytes);
    if (any_solid_) flight.add(topology_, free_.data(), bucket_bytes);
  });
}

/// Whether the bucket and the six beside it hold one and the same value.
bool LiquidDistance::uniform(int b, const float* plane) const {
  const float value = plane[static_cast<std::size_t>(b) * bucket_cells];
  if (value != deep && value != outside_) return false;
  for (const int n : {4, 10, 12, 13, 14, 16, 22}) {
    const int other = topology_.neighbours(b)[static_cast<std::size_t>(n)];
    if (other < 0) {
      if (value != outside_) return false;
      continue;
    }
    const float* values = plane + static_cast<std::size_t>(other) * bucket_cells;
    for (int c = 0; c < bucket_cells; ++c)
      if (values[c] != value) return false;
  }
  return true;
}

/// Slopes of at most one and no single cells of air.
void LiquidDistance::limit(int b, float* out) {
  const auto* plane = reinterpret_cast<const float*>(raw_.data());
  if (uniform(b, plane)) return std::copy_n(raw(b), bucket_cells, out), void();
  PaddedTile<float, 1> all, free;
  load_tile<Star<1>>(all, topology_, b, plane, outside_);
  if (any_solid_) load_tile<Star<1>>(free, topology_, b, reinterpret_cast<const float*>(free_.data()), not_free);
  const auto outermost = [](const PaddedTile<float, 1>& t, int i, int j) {
    return greatest(
        greatest(greatest(t.line(i - 1, j), t.line(i + 1, j)), greatest(t.line(i, j - 1), t.line(i, j + 1))),
        greatest(t.line(i, j, -1), t.line(i, j, 1)));
  };
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const Line beside = outermost(all, i, j), outer = any_solid_ ? outermost(free, i, j) : beside;
      const Line own = least(all.line(i, j), beside);
      store_row(out + cell_offset(i, j, 0), greatest(own, least(outer - 1, Line{} - 0.1f)));
    }
}

/// What a cell near a solid becomes: the fitted plane, unless it makes liquid of nothing or air of a film.
float LiquidDistance::settle(float value, float filled, float distance, bool in_solid) const {
  if (distance > OffsetTable::reach) return in_solid ? outside_ : value;
  const float plane = std::max(distance, deep);
  if (plane < 0) {
    const float evidence = std::clamp((std::abs(filled) - 0.03f) * 10, 0.0f, 1.0f);
    return plane + (1 - evidence) * std::max(value - plane, 0.0f);
  }
  if (in_solid || (value == deep && filled < 0)) return plane;
  const float doubt = std::clamp((plane - 0.4f) * 2.5f, 0.0f, 1.0f) * std::clamp(1 - 4 * value, 0.0f, 1.0f);
  return plane + doubt * std::min(value - plane, 0.0f);
}

/// Whether there are free cells near the surface around the bucket.
bool LiquidDistance::surface_near(int b) const {
  bool any = false;
  for (const int n : topology_.neighbours(b)) any |= n >= 0 && surface_[static_cast<std::size_t>(n)];
  return any;
}

/// Cells that are not free: the plane that continues the surface nearby; else, in solids, what lies beside them, so
/// that cells that are partly open follow the liquid around.
void LiquidDistance::near_solids(int b, SurfaceFit& fit, MeanOffset& mean, float* out) {
  auto nodes = volume_.read<Halo<2>>(*channels_.solid_distance);
  GridReadHalo<float, 1, Halo<2>>::View view;
  nodes.load(view, b);
  PaddedTile<float, 1> all;
  load_tile<Halo<1>>(all, topology_, b, reinterpret_cast<const float*>(raw_.data()), outside_);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const Line solid = centre_distances(view.plane[0], i, j);
      const Line own = all.line(i, j), lowest = Extremes(all, i, j).low;
      const Line filled = load_row(filling(b) + cell_offset(i, j, 0));
      const Line follows = (filled >= 0.5f) | (own == outside_) ? lowest : own;
      const Line beside = solid < 0.0f ? follows : own;
      float* row = out + cell_offset(i, j, 0);
      store_row(row, Line(solid < free_distance ? beside : load_row(row)));
    }
  if (!surface_near(b)) return;
  PaddedTile<float, 4> free;
  load_tile<Halo<4>>(free, topology_, b, reinterpret_cast<const float*>(free_.data()), not_free);
  std::optional<Sides> sides;
  if (sheets_around(b)) {
    GridReadHalo<float, 3, Halo<4>>::View area;
    volume_.read<Halo<4>>(*channels_.open_area).load(area, b);
    sides.emplace(area.plane);
  }
  if (!sides || sides->count() < 2) {
    fit.collect(free);
    return continue_surface(b, fit, {view.plane[0], all, nullptr, 0}, mean, out);
  }
  for (int side = 0; side <= sides->count(); ++side) {  // cells of no side see all
    fit.collect(free, side ? &*sides : nullptr, side);
    continue_surface(b, fit, {view.plane[0], all, &*sides, side}, mean, out);
  }
}

/// What a plane and the particles below it say.
float LiquidDistance::distance_at(int b, const Vec3i& cell, const SurfacePlane& plane, const Surroundings& near,
                                  MeanOffset& mean) {
  MeanOffset::Sums seen;
  PaddedTile<float, 2> one_side;
  const bool sheet = channels_.sheets && channels_.sheets->near(b, cell_offset(cell.x, cell.y, cell.z));
  if (sheet) {
    const OneSide here(*channels_.sheets, topology_, b, cell);
    here.hide(near.nodes, one_side);
    seen = here.around(particles_, counts_).sums;
  } else {
    mean.row(b, cell.x, cell.y, cell.z, cell.z);
    seen = mean.around(cell.z);
  }
  seen.weight *= 8 / per_cell_, seen.moment *= 8 / per_cell_;
  const BesideSolid here = beside_solid(sheet ? one_side : near.nodes, cell, plane, seen);
  if (channels_.crowding)
    crowding(b)[cell_offset(cell.x, cell.y, cell.z)] = here.expected > 0 ? seen.weight / here.expected : 0.0f;
  return here.distance;
}

void LiquidDistance::continue_surface(int b, const SurfaceFit& fit, const Surroundings& near, MeanOffset& mean,
                                      float* out) {
  if (fit.empty()) return;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const Line solid = centre_distances(near.nodes, i, j), own = near.raw.line(i, j);
      const Extremes around(near.raw, i, j);
      for (int k = 0; k < 8; ++k) {
        if (solid[k] >= free_distance || solid[k] < -1.2f || around.low[k] == outside_) continue;
        if (around.high[k] == deep && near.sides) continue;  // beside sheets the surface may be the other side's
        SurfacePlane plane;
        if (near.sides && near.sides->at(i, j, k) != near.side) continue;
        if (!fit.evaluate({i, j, k}, plane)) continue;
        const float distance = distance_at(b, {i, j, k}, plane, near, mean);
        float& result = out[cell_offset(i, j, k)];
        if (around.high[k] < -0.75f)  // full all around, and yet the surface may be near: under an overhang
          result = std::clamp(distance, deep, -0.5f);
        else if (own[k] != outside_)
          result = settle(own[k], filling(b)[cell_offset(i, j, k)], distance, solid[k] < 0);
        else if (solid[k] < 0 && around.low[k] < 0)  // no particles around: judged by the cells beside it
          result = settle(own[k], 1, distance, true);
        else
          result = distance >= 0 ? std::min(own[k], distance) : own[k];
      }
    }
}

void LiquidDistance::finish(const BorderSplit& split, HaloFlight& flight) {
  Stopwatch watch;
  auto access = volume_.overwrite(channels_.distance);
  access.prepare(exec_);
  using Access = decltype(access);
  inner_first(split, flight, [&](std::span<const int> buckets) {
    SurfaceFit fit;
    MeanOffset mean(particles_, counts_);
    typename Access::View view;
    for (const int b : buckets) {
      access.load(view, b);
      limit(b, view.plane[0].values);
      if (solid_near(b) && particles_near(b)) near_solids(b, fit, mean, view.plane[0].values);
      access.store(view, b);
    }
    access.end_range();
  });
  access.finish(exec_);
  if (channels_.crowding)
    for_each_bucket(
        exec_, "crowding at the surface", topology_,
        [this](const Bucket& bucket, auto& out) { std::copy_n(crowding(bucket.index), bucket_cells, out.values); },
        volume_.overwrite(*channels_.crowding));
  exec_.profile.kernel("distance near solids", watch.seconds(), access.bytes() * 2);
}

}  // namespace

void liquid_distance(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume, const SurfaceCensus& census,
                     const LiquidDistanceChannels& channels, BufferPool* pool) {
  AEGIR_ASSERT(&particles.topology() == &volume.topology(), "the liquid's particles and grid share their topology");
  AEGIR_ASSERT(channels.distance.background > OffsetTable::reach, "outside all buckets there is no liquid");
  HaloFlight flight(exec.comm);  // nothing flies unless positions were written since the census
  particles.update_ghosts(exec, flight, particles.store(particle::position.name), CellCounts::reach);
  flight.end();
  LiquidDistance(exec, particles, volume, census, channels, pool).run();
}

}  // namespace aegir
