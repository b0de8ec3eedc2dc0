// One picture of a dam break with a million particles, as particles and as water.
#include <ctime>

#include <fmt/format.h>

#include "benchmarks/harness.h"
#include "benchmarks/splash.h"
#include "preview/ray_picture.h"
#include "surfacing/make_surface.h"
#include "surfacing/surface_mesh.h"

namespace aegir::bench {
namespace {

/// Seconds of cores that this process has had.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Seconds of one body, and of cores; the median of some turns.
struct Cost {
  double seconds, cores;
};

Cost cost_of(const std::function<void()>& body) {
  std::vector<double> cores;
  const auto t = in_turns(3, {{[&] {
                            const double before = cpu_seconds();
                            body();
                            cores.push_back(cpu_seconds() - before);
                          }}});
  return {t[0], median(cores)};
}

/// From what a reader of caches has in memory to the finished picture: 960×540, below two seconds.
void frame(Bench& bench) {
  constexpr double goal = 2;
  const PointSet& points = splash(bench.exec);
  ViewSettings view;
  view.width = 960, view.height = 540;
  view.bounds = view.outline = {{0, 0, 0}, {2, 1, 1}};
  view.low = 0, view.high = 2;
  std::vector<float> height;
  for (const Vec3d& p : points.position) height.push_back(static_cast<float>(p.x));
  const std::vector<float> radius{points.find("pscale")->as<float>().front()};
  const ShownPoints shown{.positions = points.position, .value = height, .radius = radius};
  const Cost particles = cost_of([&] { render_points(shown, {}, view); });

  const auto surface = make_surface(points, {});
  AEGIR_ASSERT(surface, "the benchmark's surface failed");
  const SurfaceMesh mesh = mesh_surface(surface->grid);
  ShownScene scene;
  scene.surfaces.resize(1);
  for (std::size_t i = 0; i < mesh.positions.size(); ++i) scene.surfaces[0].mesh.positions.push_back(mesh.position(i));
  scene.surfaces[0].mesh.triangles = mesh.triangles;
  const Cost water = cost_of([&] { AEGIR_ASSERT(render_scene(scene, view), "the benchmark's picture failed"); });

  bench.cost("preview.frame", particles.seconds, "s", "goal", goal);
  bench.cost("preview.frame.surface", water.seconds, "s", "goal", goal);
  bench.note(fmt::format(
      "preview.frame: {} particles, {:.2f} s of cores; preview.frame.surface: {} triangles, {:.2f} s of cores; {} "
      "threads",
      points.size(), particles.cores, mesh.triangles.size(), water.cores, bench.threads));
}

}  // namespace

void register_preview(Registry& registry) { registry.add("preview.frame", frame); }

}  // namespace aegir::bench
