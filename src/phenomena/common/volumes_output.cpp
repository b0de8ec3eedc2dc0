// Volumes output: grids of Objects as OpenVDB volumes, one file per Object and frame.
#include "phenomena/common/volumes_output.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "io/frame_path.h"
#include "io/vdb.h"
#include "parallel/threads.h"
#include "phenomena/common/cache_pieces.h"
#include "phenomena/common/hybrid_object.h"
#include "pipeline/model/action.h"
#include "pipeline/model/behavior.h"
#include "pipeline/model/in_order.h"
#include "pipeline/model/object.h"
#include "pipeline/schema/catalog.h"
#include "pipeline/schema/suggest.h"

namespace aegir {

namespace {

/// One bucket of one plane in file units.
template <class T>
void convert(const T* from, double scale, float* to) {
  for (int i = 0; i < bucket_cells; ++i) to[i] = static_cast<float>(static_cast<double>(from[i]) * scale);
}

/// Reads one bucket of all planes into `values` (512 per component) and marks what is active; false when all of it is
/// background. Per cell and component: reads 4 or 8 bytes, writes 4.
bool convert_bucket(const GridStore& store, int bucket, const VolumeDescription& d, float* values,
                    std::uint64_t* active) {
  const int components = d.kind == VolumeGrid::vector ? 3 : 1;
  const auto background = static_cast<float>(d.background);
  const std::size_t first = static_cast<std::size_t>(bucket) * bucket_cells;
  bool any = false;
  std::fill_n(active, 8, 0);
  for (int c = 0; c < components; ++c) {
    float* plane = values + c * bucket_cells;
    if (store.info.scalar == Scalar::f32)
      convert(store.plane<float>(c) + first, d.scale, plane);
    else
      convert(store.plane<double>(c) + first, d.scale, plane);
    for (int i = 0; i < bucket_cells; ++i) {
      const bool differs = d.kind == VolumeGrid::level_set ? !(plane[i] >= background)
                                                           : plane[i] != background;  // also what is no number
      const bool on = d.kind == VolumeGrid::level_set ? std::abs(plane[i]) < background : differs;
      any |= differs;
      active[i / 64] |= std::uint64_t{on} << (i % 64);
      if (d.kind == VolumeGrid::level_set) plane[i] = std::clamp(plane[i], -background, background);
    }
  }
  return any;
}

}  // namespace

VolumeGrid extract_volume(const VolumeDescription& d) {
  const GridStore& store = d.volume->store(d.channel);
  const Topology& topology = d.volume->topology();
  const ChannelInfo& info = store.info;
  AEGIR_ASSERT(info.components == (d.kind == VolumeGrid::vector ? 3 : 1) &&
                   (info.scalar == Scalar::f32 || info.scalar == Scalar::f64),
               "volume '" + d.name + "' is no " + (d.kind == VolumeGrid::vector ? "vector" : "number"));
  VolumeGrid grid;
  grid.name = d.name, grid.kind = d.kind;
  grid.location = info.site == Site::face   ? VolumeGrid::face
                  : info.site == Site::node ? VolumeGrid::node
                                            : VolumeGrid::cell;
  grid.voxel_size = topology.spacing();
  grid.background = static_cast<float>(d.background);
  const auto buckets = static_cast<std::size_t>(topology.local_count());
  const std::size_t width = bucket_cells * static_cast<std::size_t>(grid.components());
  std::vector<char> kept(buckets);
  // The result is needed twice, once to count and once to keep; the work is little and memory is not.
  parallel_for(0, buckets, 16, [&](std::size_t begin, std::size_t end) {
    std::vector<float> values(width);
    std::uint64_t active[8];
    for (std::size_t b = begin; b < end; ++b)
      kept[b] = convert_bucket(store, static_cast<int>(b), d, values.data(), active);
  });
  std::vector<int> from;
  for (std::size_t b = 0; b < buckets; ++b)
    if (kept[b]) from.push_back(static_cast<int>(b));
  grid.buckets.resize(from.size()), grid.values.resize(from.size() * width), grid.active.resize(from.size() * 8);
  parallel_for(0, from.size(), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      AEGIR_ASSERT(topology.key(from[i]).level == 0, "volumes of several levels are not written yet");
      grid.buckets[i] = topology.key(from[i]).coord;
      convert_bucket(store, from[i], d, grid.values.data() + i * width, grid.active.data() + i * 8);
    }
  });
  return grid;
}

VolumeGrid gather_volume(VolumeGrid mine, Comm& comm) {
  if (comm.size() == 1) return mine;
  const auto gather = [&](auto& list) {
    Bytes packed(list.size() * sizeof(list[0]));
    if (!packed.empty()) std::memcpy(packed.data(), list.data(), packed.size());
    list = {};
    for (const Bytes& part : comm.gather(std::move(packed))) {
      const std::size_t before = list.size();
      list.resize(before + part.size() / sizeof(list[0]));
      if (!part.empty()) std::memcpy(list.data() + before, part.data(), part.size());
    }
  };
  gather(mine.buckets), gather(mine.values), gather(mine.active);
  return mine;
}

namespace {

struct VolumesSettings {
  ObjectList objects;
  std::vector<std::string> fields{"surface", "vel"};
  int every = 1;
  bool half = false;
  VdbOptions::Compression compression = VdbOptions::blosc;
  VdbOptions::Naming naming = VdbOptions::houdini;
  bool split = false;
};

/// What an Object offers, and whatever else its grid keeps in cells from substep to substep: what expressions make.
std::vector<VolumeDescription> volumes_of(Object& object) {
  std::vector<VolumeDescription> all = dynamic_cast<VolumeSource&>(object).volumes();
  auto* hybrid = dynamic_cast<HybridObject*>(&object);
  if (!hybrid) return all;
  for (const GridStore& c : hybrid->grid().channels()) {
    const bool named = std::any_of(all.begin(), all.end(), [&](const VolumeDescription& d) {
      return d.name == c.info.name || d.channel == c.info.name;
    });
    const bool numbers = c.info.scalar == Scalar::f32 && (c.info.components == 1 || c.info.components == 3);
    if (named || !numbers || c.info.site != Site::cell || c.info.keep != Keep::between_steps) continue;
    all.push_back({.name = c.info.name,
                   .volume = &hybrid->grid(),
                   .channel = c.info.name,
                   .kind = c.info.components == 3 ? VolumeGrid::vector : VolumeGrid::scalar});
  }
  return all;
}

bool wanted(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

class VolumesOperator final : public Operator {
 public:
  VolumesOperator(std::string behavior, std::vector<Object*> objects, VolumesSettings settings)
      : Operator(std::move(behavior)), objects_(std::move(objects)), s_(std::move(settings)) {}

  void plan(TaskList& tasks) override {
    for (Object* o : objects_) {
      std::vector<ChannelAccess> accesses;
      for (const VolumeDescription& d : volumes_of(*o))
        if (wanted(s_.fields, d.name)) accesses.push_back(reads(d.volume->owner(), d.channel));
      tasks.add({.name = "write volumes of " + o->path(),
                 .stage = Stage::output,
                 .behavior = behavior(),
                 .accesses = std::move(accesses),
                 .after = {},
                 .acting = {},
                 .run = [this, o](StepContext& c) { return write(c, *o); }});
    }
  }

 private:
  Status write(StepContext& c, Object& object) const {
    if (c.output_directory.empty() || c.frame % s_.every != 0) return {};
    const CachePiece piece(c.output_directory, object.path(), CacheKind::volumes, c.frame, c.exec.comm, s_.split);
    const auto alone = make_single_comm();
    std::vector<VolumeGrid> grids;
    for (const VolumeDescription& d : volumes_of(object))
      if (wanted(s_.fields, d.name))
        grids.push_back(gather_volume(extract_volume(d), piece.split() ? *alone : c.exec.comm));
    Status status;
    if (piece.writes())
      status = write_volumes(
          piece.path(), grids,
          {{"frame", std::to_string(c.frame)}, {"time", fmt::format("{:.17g}", c.time)}, {"object", object.path()}},
          {.half = s_.half, .compression = s_.compression, .naming = s_.naming, .fill_inside = false});
    return piece.finish(c.exec.comm, status);
  }

  std::vector<Object*> objects_;
  VolumesSettings s_;
};

/// Built in order, and so after the expressions, whose channels it may write.
class VolumesOutput final : public Behavior, public InOrder {
 public:
  using Settings = VolumesSettings;
  static TypeInfo info() {
    return {
        "volumes", Category::output, "Volumes",
        "OpenVDB volumes of Objects that have a grid, one file per Object and frame: "
        "`<object>/<object>.volumes.<frame>.vdb`.",
        "`surface` is a level set in metres, negative inside; `vel` is staggered, in metres per second. Scale, "
        "place and class of every grid are those\nthat Houdini and Blender expect. Buckets that hold nothing but "
        "the background are left out, and fields that an Object does not have.\n\nBeside "
        "`surface`, `vel`, `pressure` and `solid` a `hybrid` works out on its cells, when asked: `vorticity` (1/s), "
        "`pressure_gradient` (Pa/m) and `density` (kg/m³); see `points`. Channels that an `expression` makes on voxels "
        "are written by their names, if they are float or vec3f."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("objects", &Settings::objects).doc("Objects to write; all that offer volumes if not given.");
    s.field("fields", &Settings::fields).doc("Volumes to write, by name.");
    s.field("every", &Settings::every).min(1).doc("Only frames whose number this divides.");
    s.field("half", &Settings::half).doc("Numbers with 16 bits.");
    s.field("compression", &Settings::compression)
        .choices({{"blosc", VdbOptions::blosc, "Fast."},
                  {"zip", VdbOptions::zip, "Smaller."},
                  {"none", VdbOptions::none, "As it is."}})
        .doc("How the file is packed.");
    s.field("naming", &Settings::naming)
        .choices({{"houdini", VdbOptions::houdini, "`surface`, `vel`."},
                  {"blender", VdbOptions::blender, "`phi`, `velocity`."}})
        .doc("Names of the volumes in the file.");
    s.field("split", &Settings::split)
        .doc("On several ranks each writes its buckets into a file of its own: `<object>/piece_<rank>of<ranks>/…`.");
  }
  explicit VolumesOutput(Scoped<Settings> s) : settings_(std::move(s)) {}

  Status create_actions(Builder& build) override {
    const Settings& s = settings_.base;
    std::vector<Object*> known, chosen;
    std::vector<std::string> words;  // that name them

    for (Object* o : build.objects())
      if (dynamic_cast<VolumeSource*>(o)) {
        known.push_back(o);
        words.push_back(o->path().substr(o->path().rfind('/') + 1));
        words.push_back(o->path());
      }
    for (const std::string& name : s.objects.names)
      if (std::none_of(known.begin(), known.end(), [&](const Object* o) { return o->named(name); }))
        return usage_error(s.objects.where, "there is no Object '{}' with volumes{}", name, suggestion(name, words));
    std::set<std::string> offered;
    for (Object* o : known)
      if (s.objects.empty() || std::any_of(s.objects.names.begin(), s.objects.names.end(),
                                           [&](const std::string& name) { return o->named(name); })) {
        chosen.push_back(o);
        for (const VolumeDescription& d : volumes_of(*o)) offered.insert(d.name);
      }
    if (chosen.empty()) return build.switch_off("no Object has volumes"), Status();
    const std::vector<std::string> names(offered.begin(), offered.end());
    for (const std::string& field : s.fields)
      if (!offered.count(field))
        return usage_error(build.where(), "no Object offers a volume '{}'; there are {}{}", field,
                           fmt::join(names, ", "), suggestion(field, names));
    for (Object* o : chosen)
      for (const std::string& field : s.fields) dynamic_cast<VolumeSource&>(*o).want_volume(field);
    build.add(std::make_unique<VolumesOperator>(build.path(), std::move(chosen), s));
    return {};
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_volumes_output(Catalog& catalog) { catalog.add<VolumesOutput>(); }

}  // namespace aegir
