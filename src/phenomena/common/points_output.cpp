// Points output: particle Objects as OpenVDB points, one file per Object and frame.
#include "phenomena/common/points_output.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "domain/for_each_bucket.h"
#include "io/frame_path.h"
#include "io/vdb.h"
#include "pipeline/model/action.h"
#include "pipeline/model/behavior.h"
#include "pipeline/model/object.h"
#include "pipeline/schema/catalog.h"
#include "pipeline/schema/suggest.h"

namespace aegir {
namespace {

PointAttribute::Type attribute_type(const ChannelInfo& c) {
  if (c.components == 3) return PointAttribute::vec3f;
  switch (c.scalar) {
    case Scalar::f32:
      return PointAttribute::float32;
    case Scalar::f64:
      return PointAttribute::float64;
    case Scalar::i32:
      return PointAttribute::int32;
    case Scalar::i64:
      return PointAttribute::int64;
  }
  return PointAttribute::float32;
}

/// This rank's particles in world space.
PointSet local_points(const ParticleSystem& system, const std::vector<std::string>& attributes) {
  PointSet points;
  points.position.resize(system.size());
  const auto position = system.read(particle::position);
  for (int b = 0; b < system.topology().local_count(); ++b) {
    const auto p = position(b);
    for (std::size_t i = 0; i < p.count; ++i) points.position[system.first(b) + i] = system.world(b, p[i]);
  }
  for (const std::string& name : attributes) {
    const ParticleStore& store = system.store(name);
    PointAttribute& a = points.add(name, attribute_type(store.info));
    const std::size_t width = scalar_size(store.info.scalar), stride = PointAttribute::size_of(a.type);
    for (std::size_t p = 0; p < store.planes.size(); ++p) {
      const std::byte* from = store.planes[p].data();
      std::byte* to = a.data.data() + p * width;
      for (std::size_t i = 0; i < points.size(); ++i) std::memcpy(to + i * stride, from + i * width, width);
    }
  }
  return points;
}

/// All ranks' particles on rank 0, in rank order, which is curve order.
PointSet gather(PointSet mine, Comm& comm) {
  if (comm.size() == 1) return mine;
  const auto append = [&](auto& whole, const Bytes& bytes) {
    const std::size_t before = whole.size();
    whole.resize(before + bytes.size() / sizeof(whole[0]));
    if (!bytes.empty()) std::memcpy(whole.data() + before, bytes.data(), bytes.size());
  };
  PointSet all;
  Bytes packed(mine.position.size() * sizeof(Vec3d));
  if (!packed.empty()) std::memcpy(packed.data(), mine.position.data(), packed.size());
  for (const Bytes& b : comm.gather(std::move(packed))) append(all.position, b);
  for (PointAttribute& a : mine.attributes) {
    PointAttribute whole{a.name, a.type, {}};
    for (const Bytes& b : comm.gather(std::move(a.data))) append(whole.data, b);
    all.attributes.push_back(std::move(whole));
  }
  return all;
}

struct PointsSettings {
  ObjectList objects;
  std::vector<std::string> attributes{"v", "pscale", "id", "age"};
  int every = 1;
  bool half = false;
  VdbOptions::Compression compression = VdbOptions::blosc;
};

class PointsOperator final : public Operator {
 public:
  PointsOperator(std::string behavior, std::vector<Object*> objects, PointsSettings settings)
      : Operator(std::move(behavior)), objects_(std::move(objects)), s_(std::move(settings)) {}

  void plan(TaskList& tasks) override {
    for (Object* o : objects_)
      tasks.add({.name = "write points of " + o->path(),
                 .stage = Stage::output,
                 .behavior = behavior(),
                 .accesses = {reads(o->path(), "*")},
                 .after = {},
                 .acting = {},
                 .run = [this, o](StepContext& c) { return write(c, *o); }});
  }

 private:
  Status write(StepContext& c, Object& object) const {
    if (c.output_directory.empty() || c.frame % s_.every != 0) return {};
    const ParticleSystem& system = *object.particles();
    std::vector<std::string> names;
    for (const std::string& a : s_.attributes)
      if (system.has(a) && a != particle::position.name) names.push_back(a);
    PointSet points = gather(local_points(system, names), c.exec.comm);
    Status status;
    if (c.exec.comm.root()) {
      const std::string path = cache_path(c.output_directory, object.path(), CacheKind::points, c.frame);
      std::error_code failed;
      std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
      status = write_points(
          path, points, system.spacing(),
          {{"frame", std::to_string(c.frame)}, {"time", fmt::format("{:.17g}", c.time)}, {"object", object.path()}},
          {.half = s_.half, .compression = s_.compression});
    }
    return c.exec.comm.agree(status);
  }

  std::vector<Object*> objects_;
  PointsSettings s_;
};

class PointsOutput final : public Behavior {
 public:
  using Settings = PointsSettings;
  static TypeInfo info() {
    return {
        "points", Category::output, "Points",
        "OpenVDB points of particle Objects, one file per Object and frame: `<object>/<object>.points.<frame>.vdb`.",
        "Positions keep the bits of the simulation; `v` is in metres per second, `pscale` is the radius in metres, "
        "`id` never changes. Attributes that an Object\n"
        "does not have are left out."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("objects", &Settings::objects).doc("Objects to write; all with particles if not given.");
    s.field("attributes", &Settings::attributes).doc("Channels to write beside P.");
    s.field("every", &Settings::every).min(1).doc("Only frames whose number this divides.");
    s.field("half", &Settings::half).doc("Floats with 16 bits; positions and ids stay whole.");
    s.field("compression", &Settings::compression)
        .choices({{"blosc", VdbOptions::blosc, "Fast."},
                  {"zip", VdbOptions::zip, "Smaller."},
                  {"none", VdbOptions::none, "As it is."}})
        .doc("How the file is packed.");
  }
  explicit PointsOutput(Scoped<Settings> s) : settings_(std::move(s)) {}

  Status create_actions(Builder& build) override {
    std::vector<Object*> chosen;
    std::vector<std::string> known;
    for (Object* o : build.objects())
      if (o->particles()) known.push_back(o->path());
    const auto& names = settings_.base.objects.names;
    for (const std::string& name : names)
      if (std::none_of(known.begin(), known.end(),
                       [&](const std::string& k) { return k == name || k.ends_with("/" + name); }))
        return usage_error(settings_.base.objects.where, "there is no Object '{}' with particles{}", name,
                           suggestion(name, known));
    for (Object* o : build.objects())
      if (o->particles() && (names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& n) {
                               return o->path() == n || o->path().ends_with("/" + n);
                             })))
        chosen.push_back(o);
    if (chosen.empty()) return build.switch_off("no Object has particles"), Status();
    build.add(std::make_unique<PointsOperator>(build.path(), std::move(chosen), settings_.base));
    return {};
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_points_output(Catalog& catalog) { catalog.add<PointsOutput>(); }

}  // namespace aegir
