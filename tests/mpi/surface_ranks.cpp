// A surface that ranks make together: the bits of one process for every kind of setting, and no rank holds what is
// another's.
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "base/random.h"
#include "surfacing/gather_surface.h"
#include "surfacing/surface_attributes.h"
#include "surfacing/surface_mesh.h"
#include "surfacing/surface_shares.h"
#include "tests/mpi/ranks.h"

namespace aegir::ranks {
namespace {

constexpr double spacing = 0.05;

class Hash {
 public:
  template <class T>
  void add(std::span<const T> values) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
    for (std::size_t i = 0; i < values.size_bytes(); ++i) value_ = (value_ ^ bytes[i]) * 0x100000001b3ull;
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add(std::span<const T>(values));
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ull;
};

struct Particle {
  Vec3d position;
  float radius;
};

/// A pool of jittered particles, `side` of them long and wide, with waves on it.
std::vector<Particle> pool(int side, float radius) {
  std::vector<Particle> all;
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j)
      for (int k = 0; k < side; ++k) {
        const Random r(3, all.size(), 0, Purpose::test);
        const Vec3d p = (Vec3d(Vec3i{i, j, k}) + Vec3d{r.uniform(0), r.uniform(1), r.uniform(2)}) * spacing;
        if (p.y < side * spacing * (0.6 + 0.2 * std::sin(7 * p.x) * std::cos(5 * p.z))) all.push_back({p, radius});
      }
  return all;
}

/// Drops of many sizes above it; some have no radius or no place.
std::vector<Particle> drops(int count, int side) {
  std::vector<Particle> all;
  for (int n = 0; n < count; ++n) {
    const Random r(5, static_cast<std::uint64_t>(n), 0, Purpose::test);
    Vec3d p = Vec3d{r.uniform(0, -0.2, 1.2), r.uniform(1, 0.3, 1.4), r.uniform(2, -0.2, 1.2)} * (side * spacing);
    auto radius = static_cast<float>(spacing * (n % 40 == 0 ? 3 : r.uniform(3, 0.2, 0.8)));
    if (n % 97 == 5) p.x = std::numeric_limits<double>::quiet_NaN();
    if (n % 89 == 7) radius = 0;
    all.push_back({p, radius});
  }
  return all;
}

struct Input {
  PointSet points;
  std::vector<std::size_t> ends;
};

/// This rank's stretch of each Object's particles.
Input share_of(const Comm& comm, const std::vector<std::vector<Particle>>& objects, bool radii) {
  Input in;
  std::vector<float> radius, age;
  std::vector<Vec3f> velocity;
  for (const auto& object : objects) {
    const auto size = object.size(), ranks = static_cast<std::size_t>(comm.size()),
               rank = static_cast<std::size_t>(comm.rank());
    for (std::size_t i = size * rank / ranks; i < size * (rank + 1) / ranks; ++i) {
      in.points.position.push_back(object[i].position), radius.push_back(object[i].radius);
      age.push_back(static_cast<float>(i)), velocity.push_back(Vec3f(object[i].position) * 2.0f);
    }
    in.ends.push_back(in.points.size());
  }
  const auto fill = [&](const char* name, PointAttribute::Type type, const auto& values) {
    std::copy(values.begin(), values.end(),
              in.points.add(name, type).as<typename std::decay_t<decltype(values)>::value_type>().begin());
  };
  fill("v", PointAttribute::vec3f, velocity), fill("age", PointAttribute::float32, age);
  if (radii) fill("pscale", PointAttribute::float32, radius);
  return in;
}

std::uint64_t hash_of(const ParticleSurface& surface, const PointSet& points) {
  Hash hash;
  const BandGrid& grid = surface.grid;
  hash.add(grid.keys()), hash.add(grid.inside_keys());
  hash.add(std::span<const float>(grid.values(), grid.size() * 512));
  hash.add(attribute_volume(grid, points, "v", "vel")->values);
  hash.add(attribute_volume(grid, points, "age", "age")->values);
  const SurfaceMesh mesh = mesh_surface(grid);
  hash.add(mesh.positions), hash.add(mesh.triangles);
  hash.add(attribute_at_vertices(mesh, *points.find("age"), 0));
  const SurfaceReport& r = surface.report;
  const double told[] = {r.spacing, r.voxel, r.guessed_radius};
  const std::int64_t counts[] = {r.particles, r.not_finite, r.without_radius, r.shaped};
  hash.add(std::span<const double>(told)), hash.add(std::span<const std::int64_t>(counts));
  return hash.value();
}

/// Together; and alone where there is one rank only.
void check(Comm& comm, const char* name, const std::vector<std::vector<Particle>>& objects,
           const SurfaceSettings& settings, bool radii = true) {
  Input in = share_of(comm, objects, radii);
  if (comm.size() == 1) {
    const auto alone = make_surface(in.points, settings);
    require(bool(alone), alone ? "" : alone.error().message.c_str());
    fmt::print("{}: {} buckets, {:016x}\n", name, alone->grid.size(), hash_of(*alone, in.points));
  }
  auto part = make_shared_surface(std::move(in.points), in.ends, settings, nullptr, comm);
  require(bool(part), part ? "" : part.error().message.c_str());
  const WholeSurface whole = gather_surface(std::move(*part));
  if (!comm.root()) return;
  const std::string line =
      fmt::format("{}: {} buckets, {:016x}\n", name, whole.surface.grid.size(), hash_of(whole.surface, whole.points));
  fmt::print("{}", line);
  if (comm.size() > 1) fmt::print("{}", line);
}

SurfaceFilter filter(FilterKind kind, int iterations, int width = 1) {
  SurfaceFilter f;
  f.kind = kind, f.iterations = iterations, f.width = width;
  return f;
}

std::map<std::string, SurfaceSettings> all_settings() {
  std::map<std::string, SurfaceSettings> all;
  all["default"] = {};
  all["spheres"].method = SurfaceMethod::spheres;
  all["zhu_bridson"].method = SurfaceMethod::zhu_bridson;
  all["solenthaler"].method = SurfaceMethod::solenthaler;
  all["normalised together"].normalisation = 0.7;
  all["smooth"].smoothing = 1;
  all["wide search"].search_radius = 12;
  all["wide band"].band = 8;
  all["narrow band"].band = 2;
  all["no filter"].filters.emplace();
  all["mean"].filters = {filter(FilterKind::mean, 2, 2)};
  all["gaussian"].filters = {filter(FilterKind::gaussian, 1, 4)};
  all["median"].filters = {filter(FilterKind::median, 3)};
  all["long curvature"].filters = {filter(FilterKind::mean_curvature, 40)};
  SurfaceFilter grow = filter(FilterKind::dilate, 1), shrink = filter(FilterKind::erode, 1);
  grow.distance = 9.5, shrink.distance = 9.5;
  all["dilate and erode"].filters = {grow, shrink};
  shrink.distance = 60;
  all["eroded to nothing"].filters = {shrink};
  SurfaceFilter masked = filter(FilterKind::mean, 4);
  masked.mask.attribute = "age", masked.mask.full = 3000, masked.never_raise = true;
  SurfaceFilter spared = filter(FilterKind::gaussian, 2, 2);
  spared.spare_droplets = true;
  all["masks"].filters = {masked, spared};
  all["coarse voxels"].voxel_size = 3 * spacing;
  all["odd voxels"].voxel_size = 0.7 * spacing;
  return all;
}

/// The fullest of K ranks holds a Kth, and what lies around it.
void check_held(Comm& comm) {
  constexpr int side = 64;
  Input in = share_of(comm, {pool(side, 0.62f * static_cast<float>(spacing))}, true);
  const auto part = make_shared_surface(std::move(in.points), in.ends, {}, nullptr, comm);
  require(bool(part), "the pool has no surface");
  const double all = static_cast<double>(part->report.particles), ranks = comm.size();
  // Four particles deep around the six faces of a share; the cut is even to a fifth.
  const double edge = std::cbrt(all / ranks), around = ranks > 1 ? 6 * 4 / edge : 0;
  if (comm.root())
    fmt::print(stderr, "{} ranks: the fullest holds {:.2f} of all particles\n", ranks,
               static_cast<double>(part->report.most_held) / all);
  require(static_cast<double>(part->report.most_held) < all / ranks * (1.2 + around), "a rank holds too much");
}

}  // namespace

void check_surface(Comm& comm) {
  const std::vector<std::vector<Particle>> objects = {pool(22, 0.62f * static_cast<float>(spacing)), drops(400, 22)};
  for (const auto& [name, settings] : all_settings()) check(comm, name.c_str(), objects, settings);
  check(comm, "equal radii", {objects[0]}, {});
  check(comm, "no radii", objects, {}, false);
  check(comm, "nothing", {{}, {}}, {});
  check(comm, "nothing to use", {std::vector<Particle>(9, {{}, 0.0f})}, {});
  check(comm, "one drop", {{{{0.1, 0.2, 0.3}, 0.03f}}}, {});
  check_held(comm);
}

}  // namespace aegir::ranks
