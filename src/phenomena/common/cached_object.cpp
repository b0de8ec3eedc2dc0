// Cached Object: the particles of a finished run, read instead of solved.
#include "phenomena/common/cached_object.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "domain/particles/particle_system.h"
#include "io/frame_path.h"
#include "io/vdb.h"
#include "phenomena/common/channels.h"
#include "pipeline/model/behavior.h"
#include "pipeline/model/object.h"
#include "pipeline/schema/catalog.h"
#include "pipeline/schema/sections.h"

namespace aegir {
namespace {

/// One frame of the cache, in order of ids.
struct CachedFrame {
  int frame = 0;
  PointSet points;
  std::vector<std::int64_t> ids;   // of the points, ascending
  std::vector<std::size_t> order;  // point of each id

  static Result<CachedFrame> read(const std::string& path, int frame) {
    Result<PointSet> points = read_points(path);
    if (!points) return points.error();
    CachedFrame f{frame, std::move(*points), {}, {}};
    const PointAttribute* id = f.points.find(particle::id.name);
    for (std::size_t i = 0; i < f.points.size(); ++i) f.order.push_back(i);
    const auto id_of = [&](std::size_t i) {
      if (!id) return static_cast<std::int64_t>(i);
      return id->type == PointAttribute::int64 ? id->as<std::int64_t>()[i]
                                               : static_cast<std::int64_t>(id->as<std::int32_t>()[i]);
    };
    std::sort(f.order.begin(), f.order.end(), [&](std::size_t a, std::size_t b) { return id_of(a) < id_of(b); });
    for (std::size_t i : f.order) f.ids.push_back(id_of(i));
    return f;
  }
  Vec3d velocity(std::size_t point) const {
    const PointAttribute* v = points.find(particle::velocity.name);
    return v && v->type == PointAttribute::vec3f ? Vec3d(v->as<Vec3f>()[point]) : Vec3d{};
  }
  double age(std::size_t point) const {
    const PointAttribute* a = points.find(particle::age.name);
    return a && a->type == PointAttribute::float32 ? static_cast<double>(a->as<float>()[point]) : 0.0;
  }
};

ChannelInfo channel_of(const PointAttribute& a) {
  ChannelInfo c;
  c.name = a.name;
  c.components = a.type == PointAttribute::vec3f ? 3 : 1;
  c.scalar = a.type == PointAttribute::int32     ? Scalar::i32
             : a.type == PointAttribute::int64   ? Scalar::i64
             : a.type == PointAttribute::float64 ? Scalar::f64
                                                 : Scalar::f32;
  return c;
}

class CachedObject final : public Object {
 public:
  CachedObject(std::string path, std::string run, std::string object, std::vector<int> frames, int offset,
               double spacing, const Partition& partition)
      : Object(std::move(path)),
        run_(std::move(run)),
        object_(std::move(object)),
        frames_(std::move(frames)),
        offset_(offset),
        particles_(this->path(), spacing, partition) {
    particles_.declare(particle::velocity);
    particles_.declare(particle::radius);
    particles_.declare(particle::mass);
    particles_.declare(particle::age);
  }

  bool simulated() const override { return false; }
  std::size_t memory_bytes() const override { return particles_.memory_bytes(); }
  ParticleSystem* particles() override { return &particles_; }
  void plan(TaskList& tasks) override {
    tasks.add({.name = "read",
               .stage = Stage::move_inputs,
               .behavior = path(),
               .accesses = {writes(path(), "*")},
               .after = {},
               .acting = {},
               .run = [this](StepContext& c) { return go_to(c, c.frame_time + c.dt * c.fps); }});
  }

 private:
  /// The frame of the cache at or before a frame number, held at both ends.
  Status load(StepContext& c, int wanted, CachedFrame& slot) {
    if (!slot.ids.empty() && slot.frame == wanted) return {};
    Result<CachedFrame> read = CachedFrame::read(cache_path(run_, object_, CacheKind::points, wanted), wanted);
    if (Status ok = c.exec.comm.agree(read ? Status() : Status(read.error())); !ok) return ok;
    slot = std::move(*read);
    return {};
  }

  Status go_to(StepContext& c, double frame) {
    const double at = frame - offset_;
    auto next = std::upper_bound(frames_.begin(), frames_.end(), at + 1e-9);
    const int before = next == frames_.begin() ? frames_.front() : *std::prev(next),
              after = next == frames_.end() ? frames_.back() : *next;
    const double share = after > before ? std::clamp((at - before) / (after - before), 0.0, 1.0) : 0.0;
    if (share < 1e-9 && after_.frame == before) std::swap(before_, after_);
    if (Status ok = load(c, before, before_); !ok) return ok;
    const bool between = share >= 1e-9;
    if (between)
      if (Status ok = load(c, after, after_); !ok) return ok;
    for (const PointAttribute& a : before_.points.attributes)
      if (a.name != particle::id.name && a.name != particle::position.name) particles_.declare(channel_of(a));
    particles_.restore(Topology::empty(particles_.spacing(), particles_.topology().partition()), {});
    particles_.add(batch(c, between ? share : 0.0, (after - before) / c.fps));
    return particles_.rebucket(c.exec);
  }

  /// This rank's share of the particles, between two frames: those in both on the cubic through both positions with
  /// both velocities, those that are gone in the second straight on.
  ParticleBatch batch(const StepContext& c, double s, double seconds) const {
    const std::size_t n = before_.ids.size(), ranks = static_cast<std::size_t>(c.exec.comm.size()),
                      rank = static_cast<std::size_t>(c.exec.comm.rank());
    const std::size_t begin = n * rank / ranks, end = n * (rank + 1) / ranks;
    ParticleBatch b = particles_.batch(end - begin);
    auto match = after_.ids.begin();
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t slot = k - begin, i = before_.order[k];
      copy_attributes(i, slot, b);
      b.id[slot] = before_.ids[k];
      Vec3d x = before_.points.position[i], v = before_.velocity(i);
      if (s > 0) {
        match = std::lower_bound(match, after_.ids.end(), before_.ids[k]);
        if (match != after_.ids.end() && *match == before_.ids[k]) {
          const std::size_t j = after_.order[static_cast<std::size_t>(match - after_.ids.begin())];
          const Vec3d x1 = after_.points.position[j], v1 = after_.velocity(j);
          const double s2 = s * s, s3 = s2 * s;
          x = x * (2 * s3 - 3 * s2 + 1) + v * (seconds * (s3 - 2 * s2 + s)) + x1 * (3 * s2 - 2 * s3) +
              v1 * (seconds * (s3 - s2));
          v = v * (1 - s) + v1 * s;
        } else {
          x += v * (s * seconds);
        }
        b.set(particle::velocity.name, slot, v);
        b.set(particle::age.name, slot, before_.age(i) + s * seconds);
      }
      b.position[slot] = x;
    }
    return b;
  }

  void copy_attributes(std::size_t point, std::size_t slot, ParticleBatch& b) const {
    for (const PointAttribute& a : before_.points.attributes) switch (a.type) {
        case PointAttribute::float32:
          b.set(a.name, slot, static_cast<double>(a.as<float>()[point]));
          break;
        case PointAttribute::vec3f:
          b.set(a.name, slot, Vec3d(a.as<Vec3f>()[point]));
          break;
        case PointAttribute::int32:
          b.set(a.name, slot, static_cast<double>(a.as<std::int32_t>()[point]));
          break;
        case PointAttribute::int64:
          b.set(a.name, slot, static_cast<double>(a.as<std::int64_t>()[point]));
          break;
        case PointAttribute::float64:
          b.set(a.name, slot, a.as<double>()[point]);
          break;
      }
  }

  std::string run_, object_;
  std::vector<int> frames_;
  int offset_;
  ParticleSystem particles_;
  CachedFrame before_, after_;
};

class Cached final : public Behavior {
 public:
  struct Settings {
    FilePath from;
    std::string object;
    int offset = 0;
    double voxel_size = 0.1;
  };
  static TypeInfo info() {
    return {"cached", Category::object, "Cached run",
            "Particles of a finished run as an Object that is read, not solved.",
            "Every Behavior that reads an Object accepts it, so that a second pass can run on a first one. Before the "
            "first and after the last frame the cache holds. Between frames a\n"
            "particle follows the cubic through its positions and velocities in both (matched by `id`); one that is "
            "gone in the later frame flies straight on, one that is new appears with it.\n"
            "Forces and colliders do not act on it, and it has no line in the statistics."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("from", &Settings::from).required().doc("Run directory that holds the cache.");
    s.field("object", &Settings::object)
        .doc("Path of the Object in that run; the same name as this node if not given.");
    s.field("offset", &Settings::offset)
        .doc("Frames by which the cache is shifted: frame f shows the cache's frame f - offset.");
    s.field("voxel_size", &Settings::voxel_size)
        .unit("m")
        .min(1e-6)
        .max(1e6)
        .doc("Cell of the grid that sorts the particles.");
  }
  explicit Cached(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_objects(Builder& build) override {
    const Settings& s = settings_.base;
    const std::string& path = build.path();
    const std::string object = s.object.empty() ? path.substr(path.rfind('/') + 1) : s.object;
    const Result<std::vector<int>> frames = existing_frames(s.from.resolved, object, CacheKind::points);
    if (!frames) return Error{Failure::usage, frames.error().message, s.from.where};
    if (frames->empty())
      return usage_error(s.from.where, "'{}' holds no frames of '{}' (looked for {})", s.from.text, object,
                         cache_path(s.from.text, object, CacheKind::points, build.timeline().first()));
    build.add(std::make_unique<CachedObject>(path, s.from.resolved, object, *frames, s.offset, s.voxel_size,
                                             Partition::even(build.exec().comm.size())));
    return {};
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_cached_object(Catalog& catalog) { catalog.add<Cached>(); }

}  // namespace aegir
