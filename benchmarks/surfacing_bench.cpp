// Surfaces of a dam break against OpenVDB's own sphere rasteriser, and meshes of ten million particles against the
// published speed of splashsurf.
#include <ctime>
#include <memory>

#include <fmt/format.h>

#include <openvdb/openvdb.h>
#include <openvdb/tools/ParticlesToLevelSet.h>

#include "benchmarks/harness.h"
#include "benchmarks/simulation.h"
#include "benchmarks/splash.h"
#include "surfacing/make_surface.h"
#include "surfacing/surface_mesh.h"

namespace aegir::bench {
namespace {

/// A dam break of a million particles when it has hit the far wall.
PointSet simulate_splash(Exec& exec) {
  const std::string text =
      "aegir: 1\ntimeline: {fps: 24, frames: [0, 16], substeps: {cfl: 3, max: 1000}}\nsetup:\n  - gravity: earth\n"
      "  - domain: box\n    box: {min: [0, 0, 0], max: [2, 1, 1]}\n    limits: {sides: wall, bottom: wall, top: wall}\n"
      "  - hybrid: water\n    voxel_size: 0.0168\n    transfer: flip\n"
      "    fill: {shape: {kind: box, center: [0.4, 0.375, 0.5], size: [0.8, 0.75, 1]}}\n  - pressure: p\n";
  const std::unique_ptr<Simulation> simulation = start_simulation(exec, text);
  while (!simulation->finished()) AEGIR_ASSERT(simulation->advance(), "a step of the benchmark failed");
  const ParticleSystem& system = *simulation->find("water")->particles();
  PointSet points;
  points.position.resize(system.size());
  const auto position = system.read(particle::position);
  for (int b = 0; b < system.topology().local_count(); ++b) {
    const auto p = position(b);
    for (std::size_t i = 0; i < p.count; ++i) points.position[system.first(b) + i] = system.world(b, p[i]);
  }
  auto radius = points.add("pscale", PointAttribute::float32).as<float>();
  std::fill(radius.begin(), radius.end(), static_cast<float>(radius_per_spacing * 0.0168 / 2));
  return points;
}

}  // namespace

const PointSet& splash(Exec& exec) {
  static const PointSet points = simulate_splash(exec);
  return points;
}

namespace {

/// What OpenVDB's rasteriser wants to know.
struct PeerParticles {
  using PosType = openvdb::Vec3R;
  const std::vector<Vec3d>& positions;
  double radius;
  std::size_t size() const { return positions.size(); }
  void getPos(std::size_t n, openvdb::Vec3R& p) const { p = {positions[n].x, positions[n].y, positions[n].z}; }
  void getPosRad(std::size_t n, openvdb::Vec3R& p, openvdb::Real& r) const { getPos(n, p), r = radius; }
};

openvdb::FloatGrid::Ptr peer_surface(const PointSet& points, double voxel, double radius) {
  auto grid = openvdb::createLevelSet<openvdb::FloatGrid>(voxel, 3);
  openvdb::tools::ParticlesToLevelSet<openvdb::FloatGrid> raster(*grid);
  raster.rasterizeSpheres(PeerParticles{points.position, radius});
  raster.finalize(true);
  return grid;
}

/// The same particles, voxels of half a spacing; ours gives a redistanced band and, for ellipsoids, filters it.
void compare(Bench& bench, const std::string& name, const SurfaceSettings& settings) {
  openvdb::initialize();
  const PointSet& points = splash(bench.exec);
  const double voxel = 0.0168 / 4, radius = radius_per_spacing * 0.0168 / 2 * method_scale(SurfaceMethod::spheres);
  std::int64_t shaped = 0;
  const auto pool = std::make_shared<BufferPool>();
  const auto ours = [&] {
    const auto surface = make_surface(points, settings, pool);
    AEGIR_ASSERT(surface, "the benchmark's surface failed");
    shaped = surface->report.shaped;
  };
  const auto t = in_turns(5, {{ours}, {[&] { peer_surface(points, voxel, radius); }}});
  const auto n = static_cast<double>(points.size());
  bench.rate(name, n / t[0], "particles/s", "ParticlesToLevelSet", n / t[1]);
  bench.note(fmt::format("{}: {} particles, {} near the surface, {:.3f} s; peer {:.3f} s", name, points.size(), shaped,
                         t[0], t[1]));
}

void spheres_1m(Bench& bench) {
  SurfaceSettings settings;
  settings.method = SurfaceMethod::spheres;
  settings.filters.emplace();
  compare(bench, "surfacing.spheres_1m", settings);
}

void ellipsoids_1m(Bench& bench) { compare(bench, "surfacing.ellipsoids_1m", {}); }

/// Seconds of cores that this process has had.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// The splash ten times, mirrored from one to the next: level set and mesh.
void mesh_10m(Bench& bench) {
  const PointSet& one = splash(bench.exec);
  PointSet points;
  for (int copy = 0; copy < 10; ++copy)
    for (const Vec3d& p : one.position) points.position.emplace_back(p.x, p.y, copy + (copy % 2 ? 1 - p.z : p.z));
  auto radius = points.add("pscale", PointAttribute::float32).as<float>();
  std::fill(radius.begin(), radius.end(), static_cast<float>(radius_per_spacing * 0.0168 / 2));
  std::size_t triangles = 0;
  const auto pool = std::make_shared<BufferPool>();
  std::vector<double> meshing, cpu;
  const auto t = in_turns(3, {{[&] {
                            const double before = cpu_seconds();
                            const auto surface = make_surface(points, {}, pool);
                            AEGIR_ASSERT(surface, "the benchmark's surface failed");
                            Stopwatch watch;
                            triangles = mesh_surface(surface->grid).triangles.size();
                            meshing.push_back(watch.seconds());
                            cpu.push_back(cpu_seconds() - before);
                          }}});
  // Löschner et al. report 13.35 million particles to 6.0 million triangles in 2.94 s on 16 cores. Seconds of a core
  // are those that the process got, so that others on the machine do not count.
  const double n = static_cast<double>(points.size()), seconds = median(cpu), published = 2.94 * 16;
  bench.rate("surfacing.mesh_10m", n / seconds, "particles/core s", "splashsurf as published", 13.35e6 / published);
  bench.rate("surfacing.mesh_10m.triangles", static_cast<double>(triangles) / seconds, "triangles/core s",
             "splashsurf as published", 6.0e6 / published);
  bench.note(
      fmt::format("surfacing.mesh_10m: {} particles, {} triangles, {:.2f} s on {} threads ({:.2f} s of cores), {:.2f} "
                  "s for the mesh",
                  points.size(), triangles, t[0], bench.threads, seconds, median(meshing)));
}

}  // namespace

void register_surfacing(Registry& registry) {
  registry.add("surfacing.spheres_1m", spheres_1m);
  registry.add("surfacing.ellipsoids_1m", ellipsoids_1m);
  registry.add("surfacing.mesh_10m", mesh_10m);
}

}  // namespace aegir::bench
