#include "numerics/solids/solid_grid.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/assert.h"
#include "domain/transport/halo.h"
#include "numerics/solids/mesh_band.h"
#include "numerics/solids/solid_bucket.h"

namespace aegir {

/// The outside of a box, as far as its sides are closed.
class SolidGrid::WallSolid : public Solid {
 public:
  explicit WallSolid(const Walls& walls) : walls_(walls) {}
  const Walls& walls() const { return walls_; }

  Box bounds() const override { return {Vec3d(-1e300), Vec3d(1e300)}; }
  double distance(const Vec3d& x, double) const override {
    double d = 1e300;
    for (int a = 0; a < 3; ++a) {
      if (walls_.closed[static_cast<std::size_t>(2 * a)]) d = std::min(d, x[a] - walls_.box.min[a]);
      if (walls_.closed[static_cast<std::size_t>(2 * a + 1)]) d = std::min(d, walls_.box.max[a] - x[a]);
    }
    return d;
  }
  Vec3d velocity(const Vec3d&) const override { return {}; }
  double friction(const Vec3d&) const override { return walls_.friction; }
  bool blocks(const Vec3d& a, const Vec3d& b) const override { return distance(a, 0) < 0 || distance(b, 0) < 0; }
  bool may_be_thin() const override { return false; }
  bool moved() const override { return false; }

 private:
  Walls walls_;
};

SolidGrid::SolidGrid() = default;
SolidGrid::~SolidGrid() = default;

namespace {

bool same(const Walls& a, const Walls& b) {
  return a.box.min == b.box.min && a.box.max == b.box.max && a.closed == b.closed && a.friction == b.friction;
}

}  // namespace

void SolidGrid::list_solids(std::span<const Solid* const> solids, const std::optional<Walls>& walls) {
  AEGIR_ASSERT(solids.size() < std::numeric_limits<std::uint16_t>::max(), "too many solids for one grid");
  const std::size_t count = solids.size() + (walls ? 1 : 0);
  bool known =
      list_.size() == count && (wall_ != nullptr) == walls.has_value() && (!walls || same(wall_->walls(), *walls));
  for (std::size_t s = 0; known && s < solids.size(); ++s) known = list_[s].solid == solids[s];
  if (!known) {
    wall_ = walls ? std::make_unique<WallSolid>(*walls) : nullptr;
    list_.assign(count, {});
    changing_.assign(count, {});
    std::fill(known_.begin(), known_.end(), std::uint8_t{0});
  }
  for (std::size_t s = 0; s < count; ++s) {
    const Solid* solid = s < solids.size() ? solids[s] : wall_.get();
    Changing& change = changing_[s];
    change.before = list_[s].bounds;
    // One that has just stopped has another velocity than before.
    change.now = solid->moved() || change.moved;
    change.moved = solid->moved();
    list_[s] = {solid, solid->bounds(), solid->may_be_thin()};
  }
}

/// Takes along what is known of buckets that stay.
void SolidGrid::follow_topology(std::shared_ptr<const Topology> topology) {
  const auto count = static_cast<std::size_t>(topology->local_count());
  std::vector<std::unique_ptr<SolidBlock>> blocks(count);
  std::vector<std::uint8_t> known(count, 0), stale(count, topology_ ? 0 : 1);
  if (topology_ && topology_->spacing() == topology->spacing())
    parallel_for(0, count, 256, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) {
        const int from = topology_->find(topology->key(static_cast<int>(b)));
        if (from < 0 || from >= topology_->local_count()) continue;
        const auto old = static_cast<std::size_t>(from);
        blocks[b] = std::move(blocks_[old]);
        known[b] = known_[old], stale[b] = blocks[b] != nullptr;
      }
    });
  else
    std::fill(stale.begin(), stale.end(), std::uint8_t{1});
  blocks_ = std::move(blocks), known_ = std::move(known), stale_ = std::move(stale);
  topology_ = std::move(topology);
}

std::vector<int> SolidGrid::outdated() const {
  const double dx = topology_->spacing();
  std::vector<Box> changed;
  for (std::size_t s = 0; s < list_.size(); ++s)
    if (changing_[s].now)
      for (const Box& box : {list_[s].bounds, changing_[s].before})
        if (!box.empty()) changed.push_back(box.grown(solid_band * dx));
  std::vector<int> buckets;
  for (int b = 0; b < topology_->local_count(); ++b) {
    const Box box = topology_->box(b).grown(topology_->bucket_width(b) / bucket_size);
    if (!known_[static_cast<std::size_t>(b)] ||
        std::any_of(changed.begin(), changed.end(), [&](const Box& c) { return c.overlaps(box); }))
      buckets.push_back(b);
  }
  return buckets;
}

/// Meshes that are drawn rather than asked, around the buckets that are about to be worked out.
void SolidGrid::draw_meshes(std::span<const int> work) {
  std::size_t drawn = 0;
  for (ListedSolid& s : list_) {
    const SolidTriangles mesh = s.solid->triangles();
    if (mesh.triangles.empty()) continue;
    const Box reach = s.bounds.grown((solid_band + 2) * topology_->spacing());
    std::vector<BucketKey> keys;
    for (const int b : work)
      if (topology_->box(b).overlaps(reach)) keys.push_back(topology_->key(b));
    if (drawn == bands_.size()) bands_.push_back(std::make_unique<MeshBand>());
    bands_[drawn]->draw(mesh, topology_->spacing(), keys);
    s.band = bands_[drawn++].get();
  }
  bands_.resize(drawn);
}

// 8 KiB read and written per touched bucket (14 with velocities), nothing for others.
void SolidGrid::write(DiscreteVolume& volume, const SolidChannels& channels, std::span<const int> buckets) const {
  auto distance = volume.write(channels.distance);
  auto area = volume.write(channels.area), velocity = volume.write(channels.velocity);
  parallel_for(0, buckets.size(), 8, [&](std::size_t begin, std::size_t end) {
    typename decltype(distance)::View d;
    typename decltype(area)::View a, u;
    for (std::size_t i = begin; i < end; ++i) {
      const int b = buckets[i];
      distance.load(d, b), area.load(a, b), velocity.load(u, b);
      const SolidBlock* block = blocks_[static_cast<std::size_t>(b)].get();
      const auto put = [](float* to, const std::array<float, bucket_cells>* from, float background) {
        if (from)
          std::memcpy(to, from->data(), sizeof *from);
        else
          std::fill(to, to + bucket_cells, background);
      };
      put(d.get().values, block ? &block->distance : nullptr, channels.distance.background);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        put(a.plane[axis].values, block ? &block->area[axis] : nullptr, channels.area.background);
        put(u.plane[axis].values, block && block->velocity ? &(*block->velocity)[axis] : nullptr,
            channels.velocity.background);
      }
    }
  });
}

namespace {

/// Cells of a bucket within two cells below or one above a cell of a mask, over the buckets around: those beside a face
/// below a marked cell, and their neighbours. Rows along z are bits, from -1 to 9.
CellMask beside(const CellMask* const (&masks)[27]) {
  constexpr int side = bucket_size + 3;
  std::uint32_t rows[side][side] = {};
  for (int n = 0; n < 27; ++n) {
    if (!masks[n]) continue;
    const Vec3i o = neighbour_offset(n);
    const auto first = [](int d) { return d < 0 ? bucket_size - 1 : 0; };
    const auto last = [](int d) { return d > 0 ? 2 : bucket_size; };
    for (int i = first(o.x); i < last(o.x); ++i)
      for (int j = first(o.y); j < last(o.y); ++j) {
        const auto row = static_cast<std::uint32_t>((*masks[n])[static_cast<std::size_t>(i)] >> (8 * j) & 0xff);
        rows[i + 1 + bucket_size * o.x][j + 1 + bucket_size * o.y] |= o.z < 0    ? row >> 7
                                                                      : o.z == 0 ? row << 1
                                                                                 : (row & 3) << (bucket_size + 1);
      }
  }
  CellMask out{};
  for (int i = 0; i < bucket_size; ++i)
    for (int j = 0; j < bucket_size; ++j) {
      std::uint32_t sum = 0;
      for (int x = i; x < i + 4; ++x)
        for (int y = j; y < j + 4; ++y) sum |= rows[x][y];
      sum |= sum >> 1 | sum >> 2 | sum >> 3;
      out[static_cast<std::size_t>(i)] |= std::uint64_t{sum & 0xff} << (8 * j);
    }
  return out;
}

}  // namespace

/// Transfers look out for sheets in cells around faces that one closes.
void SolidGrid::find_sheets(Exec& exec) {
  parted_.clear(), sheets_around_.clear(), sheet_cells_.clear(), near_sheets_.clear();
  if (std::none_of(list_.begin(), list_.end(), [](const ListedSolid& s) { return s.thin; })) return;
  const bool here = std::any_of(blocks_.begin(), blocks_.end(), [](const auto& b) { return b && b->any_parted; });
  if (!exec.comm.any(here)) return;
  parted_.assign(static_cast<std::size_t>(topology_->total_count()), {});
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    if (blocks_[b]) parted_[b] = blocks_[b]->parted;
  exchange_halo(exec.comm, *topology_, reinterpret_cast<std::byte*>(parted_.data()), sizeof(std::array<CellMask, 3>));
  std::vector<CellMask> any(parted_.size());
  for (std::size_t b = 0; b < parted_.size(); ++b)
    for (std::size_t w = 0; w < any[b].size(); ++w) any[b][w] = parted_[b][0][w] | parted_[b][1][w] | parted_[b][2][w];
  sheets_around_.assign(blocks_.size(), 0), sheet_cells_.assign(blocks_.size(), -1);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const CellMask* masks[27] = {};
    const auto& neighbours = topology_->neighbours(static_cast<int>(b));
    for (std::size_t n = 0; n < 27; ++n)
      if (neighbours[n] >= 0 && any[static_cast<std::size_t>(neighbours[n])] != CellMask{})
        masks[n] = &any[static_cast<std::size_t>(neighbours[n])], sheets_around_[b] = 1;
    if (!sheets_around_[b] || !blocks_[b] || !blocks_[b]->any_near) continue;
    CellMask cells = beside(masks);
    for (std::size_t w = 0; w < cells.size(); ++w) cells[w] &= blocks_[b]->near_thin[w];
    if (cells == CellMask{}) continue;
    sheet_cells_[b] = static_cast<std::int32_t>(near_sheets_.size());
    near_sheets_.push_back(cells);
  }
}

void SolidGrid::update(Exec& exec, DiscreteVolume& volume, std::span<const Solid* const> solids,
                       const std::optional<Walls>& walls, const SolidChannels& channels) {
  Stopwatch watch;
  list_solids(solids, walls);
  const bool new_topology = volume.shared_topology() != topology_;
  if (new_topology) follow_topology(volume.shared_topology());
  const std::vector<int> work = outdated();
  evaluated_ = static_cast<int>(work.size());
  draw_meshes(work);
  parallel_for(0, work.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto b = static_cast<std::size_t>(work[i]);
      blocks_[b] = evaluate_bucket(list_, topology_->key(work[i]), topology_->spacing());
      known_[b] = 1;
    }
  });
  for (ListedSolid& s : list_) s.band = nullptr;
  const bool any = new_topology || exec.comm.any(!work.empty());  // topologies change on all ranks at once
  if (any) {
    volume.write(channels.distance).prepare(exec);
    volume.write(channels.area).prepare(exec);
    volume.write(channels.velocity).prepare(exec);
    std::vector<std::uint8_t> fresh(blocks_.size(), new_topology);
    for (const int b : work) fresh[static_cast<std::size_t>(b)] = 1;
    std::vector<int> writes;
    touched_.clear();
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (blocks_[b]) touched_.push_back(static_cast<int>(b));
      if (fresh[b] && (blocks_[b] || stale_[b])) writes.push_back(static_cast<int>(b));
      stale_[b] = blocks_[b] != nullptr;
    }
    write(volume, channels, writes);
    find_sheets(exec);
    moving_ =
        exec.comm.any(std::any_of(blocks_.begin(), blocks_.end(), [](const auto& b) { return b && b->velocity; }));
    exec.profile.kernel("solids.update", watch.seconds(),
                        static_cast<std::int64_t>(writes.size() * sizeof(SolidBlock) * 3));
  }
}

bool SolidGrid::around(int bucket) const {
  return !sheets_around_.empty() && sheets_around_[static_cast<std::size_t>(bucket)];
}
bool SolidGrid::near(int bucket) const {
  return !sheet_cells_.empty() && sheet_cells_[static_cast<std::size_t>(bucket)] >= 0;
}
bool SolidGrid::near(int bucket, int cell) const {
  if (!near(bucket)) return false;
  const auto& cells = near_sheets_[static_cast<std::size_t>(sheet_cells_[static_cast<std::size_t>(bucket)])];
  return cells[static_cast<std::size_t>(cell >> 6)] >> (cell & 63) & 1;
}
bool SolidGrid::closes(int bucket, int axis, const Vec3i& cell) const {
  if (parted_.empty()) return false;
  const Vec3i o{cell.x >> 3, cell.y >> 3, cell.z >> 3};
  const int n = topology_->neighbours(bucket)[static_cast<std::size_t>(neighbour_index(o.x, o.y, o.z))];
  if (n < 0) return false;
  const Cells& cells = parted_[static_cast<std::size_t>(n)][static_cast<std::size_t>(axis)];
  const int c = cell_offset(cell.x & 7, cell.y & 7, cell.z & 7);
  return cells[static_cast<std::size_t>(c >> 6)] >> (c & 63) & 1;
}
bool SolidGrid::blocks(const Vec3d& a, const Vec3d& b) const {
  Box way;
  way.add(a), way.add(b);
  return std::any_of(list_.begin(), list_.end(),
                     [&](const ListedSolid& s) { return s.thin && s.bounds.overlaps(way) && s.solid->blocks(a, b); });
}

const SolidBlock* SolidGrid::block(int bucket) const {
  return blocks_.empty() ? nullptr : blocks_[static_cast<std::size_t>(bucket)].get();
}
DrawnAround SolidGrid::drawn_around(int bucket) const {
  DrawnAround around;
  const auto& neighbours = topology_->neighbours(bucket);
  for (std::size_t n = 0; n < 27; ++n) {
    if (neighbours[n] < 0 || neighbours[n] >= topology_->local_count()) continue;
    around.known_[n] = true;
    if (const SolidBlock* solid = block(neighbours[n])) around.patches_[n] = solid->drawn_patches;
  }
  return around;
}
const DrawnWays* SolidGrid::drawn_ways(int bucket) const {
  return block(bucket) ? block(bucket)->drawn_ways.get() : nullptr;
}
bool SolidGrid::cut(int bucket) const { return block(bucket) && block(bucket)->cut; }

int SolidGrid::nearest(int bucket, int cell) const {
  const SolidBlock* solid = block(bucket);
  return solid ? solid->nearest[static_cast<std::size_t>(cell)] : -1;
}

double SolidGrid::friction(int bucket, int cell) const {
  const SolidBlock* solid = block(bucket);
  if (!solid) return 0;
  const Vec3i in{cell >> 6, cell >> 3 & 7, cell & 7};
  const Vec3d x =
      (Vec3d(topology_->key(bucket).coord) * double{bucket_size} + Vec3d(in) + Vec3d(0.5)) * topology_->spacing();
  return list_[solid->nearest[static_cast<std::size_t>(cell)]].solid->friction(x);
}

std::size_t SolidGrid::memory_bytes() const {
  std::size_t bytes = blocks_.capacity() * (sizeof(void*) + 3);
  for (const auto& block : blocks_)
    if (block) {
      bytes += sizeof(SolidBlock) + (block->drawn_ways ? sizeof(DrawnWays) : 0) +
               (block->velocity ? sizeof *block->velocity : 0);
      for (const DrawnPatches& p : block->drawn_patches) bytes += sizeof p + p.list.capacity() * sizeof(DrawnPatch);
    }
  for (const auto& band : bands_) bytes += band->memory_bytes();
  return bytes;
}

}  // namespace aegir
