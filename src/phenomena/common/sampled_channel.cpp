#include "phenomena/common/sampled_channel.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "phenomena/common/collider.h"
#include "phenomena/common/hybrid_object.h"

namespace aegir {
namespace {

constexpr const char *distance_name = "surface_distance", *velocity_name = "vel";

/// The eight cells, faces or nodes around a place: where their values stand in memory, -1 where there is no bucket.
struct Around {
  std::ptrdiff_t offset[8];
  double weight[8];

  /// `half`: values lie half a cell up these axes.
  Around(const Topology& topology, int bucket, const Vec3f& cell, const Vec3d& half) {
    int low[3];
    double up[3];
    for (int a = 0; a < 3; ++a) {
      const double x = static_cast<double>(cell[a]) - half[a];
      low[a] = std::clamp(static_cast<int>(std::floor(x)), -1, bucket_size - 1);
      up[a] = std::clamp(x - low[a], 0.0, 1.0);
    }
    const auto& near = topology.neighbours(bucket);
    for (int corner = 0; corner < 8; ++corner) {
      int at[3], side[3];
      weight[corner] = 1;
      for (int a = 0; a < 3; ++a) {
        const int high = corner >> (2 - a) & 1;
        weight[corner] *= high ? up[a] : 1 - up[a];
        at[a] = low[a] + high;
        side[a] = at[a] < 0 ? -1 : at[a] >= bucket_size ? 1 : 0;
        at[a] -= side[a] * bucket_size;
      }
      const int b = near[static_cast<std::size_t>(neighbour_index(side[0], side[1], side[2]))];
      offset[corner] = b < 0 ? -1 : std::ptrdiff_t{b} * bucket_cells + cell_offset(at[0], at[1], at[2]);
    }
  }
  template <class T>
  double sum(const T* plane, double background) const {
    double total = 0;
    for (int i = 0; i < 8; ++i)
      total += weight[i] * (offset[i] < 0 ? background : static_cast<double>(plane[offset[i]]));
    return total;
  }
  /// Takes the weight of cells that hold no liquid away; all weights are 0 where none does.
  void keep_liquid(const float* distance, const float* room) {
    double total = 0;
    for (int i = 0; i < 8; ++i) {
      const bool liquid = offset[i] >= 0 && distance[offset[i]] < 0 && room[offset[i]] > 0;
      if (!liquid) weight[i] = 0;
      total += weight[i];
    }
    for (double& w : weight) w = total > 0 ? w / total : 0;
  }
};

/// A channel of a liquid's grid in the units of its volumes, linear between where its values lie. What only liquid has,
/// in cells (pressure and the like), is taken from cells with liquid alone: solids and air have none. Eight values of
/// four or eight bytes and about 100 flops for each number.
class GridSample final : public SampledChannel {
 public:
  GridSample(HybridObject& object, std::string volume, std::string channel)
      : object_(object),
        volume_(std::move(volume)),
        channel_(std::move(channel)),
        of_liquid_(object.grid().store(channel_).info.site == Site::cell && channel_ != grid::true_distance.name) {}

  std::vector<ChannelAccess> accesses() const override {
    std::vector<ChannelAccess> all{reads(object_.path(), channel_, 1)};
    if (of_liquid_)
      for (const char* name : {grid::surface_distance.name, cell_room.name})
        all.push_back(reads(object_.path(), name, 1));
    return all;
  }
  std::string first_made_by() const override { return object_.path() + ":first frame"; }

  void prepare(Exec& exec) override {
    for (const VolumeDescription& d : object_.volumes())
      if (d.name == volume_) scale_ = d.scale;
    topology_ = &object_.grid().topology();
    store_ = &up_to_date(exec, channel_);
    if (!of_liquid_) return;
    distance_ = up_to_date(exec, grid::surface_distance.name).plane<float>(0);
    room_ = up_to_date(exec, cell_room.name).plane<float>(0);
  }

  int owner(const Vec3d& world) const override {
    const BucketKey key = locate(world, topology_->spacing()).key;
    return addressable(key) ? topology_->partition().owner(curve_position(key)) : -1;
  }

  void value(const Vec3d& world, float out[3]) const override {
    const BucketPosition at = locate(world, topology_->spacing());
    const int found = addressable(at.key) ? topology_->find(at.key) : -1;
    const ChannelInfo& info = store_->info;
    for (int c = 0; c < info.components; ++c) {
      out[c] = static_cast<float>(info.background[c] * scale_);
      if (found < 0 || found >= topology_->local_count()) continue;
      Vec3d half(info.site == Site::node ? 0.0 : 0.5);
      if (info.site == Site::face) half[c] = 0;
      Around around(*topology_, found, at.cell, half);
      if (of_liquid_) around.keep_liquid(distance_, room_);
      const double sum = info.scalar == Scalar::f64 ? around.sum(store_->plane<double>(c), info.background[c])
                                                    : around.sum(store_->plane<float>(c), info.background[c]);
      out[c] = static_cast<float>(sum * scale_);
    }
  }

 private:
  GridStore& up_to_date(Exec& exec, const std::string& channel) const {
    DiscreteVolume& grid = object_.grid();
    require_access(grid.owner(), channel, AccessMode::read, 1);
    GridStore& store = grid.store(channel);
    if (store.valid_ghosts == whole_buckets || exec.comm.size() == 1) return store;
    for (Buffer& plane : store.planes) exchange_halo(exec.comm, grid.topology(), plane.data(), store.bucket_bytes());
    store.valid_ghosts = whole_buckets;
    return store;
  }

  HybridObject& object_;
  std::string volume_, channel_;
  bool of_liquid_;
  double scale_ = 1;
  const Topology* topology_ = nullptr;
  const GridStore* store_ = nullptr;
  const float *distance_ = nullptr, *room_ = nullptr;
};

/// A collider at the end of the substep; every rank has all of it.
class ColliderSample final : public SampledChannel {
 public:
  ColliderSample(const Collider& collider, bool distance) : collider_(collider), distance_(distance) {}
  std::vector<ChannelAccess> accesses() const override { return {reads(collider_.path(), "surface")}; }
  void value(const Vec3d& world, float out[3]) const override {
    const bool somewhere = std::isfinite(world.x) && std::isfinite(world.y) && std::isfinite(world.z);
    if (distance_) {
      out[0] = somewhere ? static_cast<float>(collider_.sample(world).distance) : 0.0f;
      return;
    }
    const Vec3f v = somewhere ? Vec3f(collider_.velocity(world)) : Vec3f{};
    for (int a = 0; a < 3; ++a) out[a] = v[a];
  }

 private:
  const Collider& collider_;
  bool distance_;
};

/// A file, or the frames of a sequence; every rank reads them.
class VectorSample final : public SampledChannel {
 public:
  explicit VectorSample(std::shared_ptr<const VectorSource> vectors) : vectors_(std::move(vectors)) {}
  void value(const Vec3d& world, float out[3]) const override {
    Vec3f v;
    vectors_->vectors({&world, 1}, {&v, 1});
    for (int a = 0; a < 3; ++a) out[a] = v[a];
  }

 private:
  std::shared_ptr<const VectorSource> vectors_;
};

void offer_grid(HybridObject& object, std::vector<SampleOffer>& offers) {
  for (const VolumeDescription& d : object.volumes()) {
    const bool vector = d.kind == VolumeGrid::vector, distance = d.kind == VolumeGrid::level_set;
    // Level sets of files are called surface, distances of particles surface_distance; here as there, and as far.
    const std::string name = distance ? distance_name : d.name;
    const std::string channel = distance ? grid::true_distance.name : d.channel;
    const auto open = [&object, name, volume = d.name, channel]() -> std::shared_ptr<SampledChannel> {
      if (find_derived(name)) object.derive(name, Asked::every_substep);
      return std::make_shared<GridSample>(object, volume, channel);
    };
    offers.push_back({object.path(), name, vector ? expression::ValueType::vec3f : expression::ValueType::float32, true,
                      channel, open});
  }
}

/// Every end of a path that starts after a slash, and the path itself.
std::vector<std::string> names_of(const std::string& path) {
  std::vector<std::string> names{path};
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
    names.push_back(path.substr(slash + 1));
  return names;
}

}  // namespace

std::vector<SampleOffer> sample_offers(const std::vector<Object*>& objects) {
  std::vector<SampleOffer> offers;
  for (Object* o : objects) {
    if (auto* hybrid = dynamic_cast<HybridObject*>(o)) offer_grid(*hybrid, offers);
    if (const auto* collider = dynamic_cast<const Collider*>(o)) {
      offers.push_back({o->path(), distance_name, expression::ValueType::float32, false, "",
                        [collider] { return std::make_shared<ColliderSample>(*collider, true); }});
      offers.push_back({o->path(), velocity_name, expression::ValueType::vec3f, false, "",
                        [collider] { return std::make_shared<ColliderSample>(*collider, false); }});
    }
  }
  return offers;
}

SampleOffer sample_offer(const std::string& name, std::shared_ptr<const VectorSource> vectors) {
  return {name, velocity_name, expression::ValueType::vec3f, false, "", [vectors = std::move(vectors)] {
            return std::make_shared<VectorSample>(vectors);
          }};
}

std::vector<expression::SampleSource> sources_of(const std::vector<SampleOffer>& offers) {
  std::map<std::string, std::set<std::string>> meant;  // paths by name
  for (const SampleOffer& o : offers)
    for (const std::string& name : names_of(o.object)) meant[name].insert(o.object);
  std::vector<expression::SampleSource> sources;
  for (const SampleOffer& o : offers)
    for (const std::string& name : names_of(o.object))
      if (name == o.object || meant[name].size() == 1) sources.push_back({name, o.channel, o.type});
  return sources;
}

const SampleOffer* find_offer(const std::vector<SampleOffer>& offers, const std::string& object,
                              const std::string& channel) {
  const SampleOffer* by_end = nullptr;
  for (const SampleOffer& o : offers) {
    if (o.channel != channel) continue;
    if (o.object == object) return &o;
    const auto names = names_of(o.object);
    if (std::find(names.begin(), names.end(), object) != names.end()) by_end = &o;
  }
  return by_end;
}

}  // namespace aegir
