#include "sand/sandbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include "domain/particles/particle_system.h"
#include "engine/catalog.h"
#include "phenomena/common/channels.h"
#include "pipeline/setup/setup.h"

namespace aegir::test {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

[[noreturn]] void stop(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(2);
}

/// `name: value` for those options of the sand that are given.
std::string sand_node(const Options& o) {
  if (o.text("kind", "sand") == "water") return "";
  std::string node = fmt::format("  - sand: dry\n    friction_angle: {} deg\n", o.number("phi", 30));
  for (const char* name : {"model", "tension", "sweeps", "cohesion"})
    if (o.has(name)) node += fmt::format("    {}: {}\n", name, o.text(name));
  return node + o.lines("sand");
}

std::string setup_text(const Options& o, const Scene& scene) {
  const double longest = o.number("dt", 0.2) * std::sqrt(scene.voxel / g);
  const int frames = static_cast<int>(std::ceil(scene.seconds / longest));
  std::string text = fmt::format(
      "aegir: 1\ntimeline: {{fps: {}, frames: [0, {}], substeps: {{cfl: {}, max: 200}}}}\nsetup:\n{}  - hybrid: "
      "grains\n    voxel_size: {}\n    density: {}\n",
      1 / longest, frames, o.number("cfl", 1), scene.nodes, scene.voxel, scene.density);
  if (!scene.fill.empty()) text += fmt::format("    fill: {}\n", scene.fill);
  const std::string more = scene.hybrid + o.lines("hybrid");
  text += more;
  if (o.text("kind", "sand") == "water" && more.find("transfer:") == std::string::npos) text += "    transfer: apic\n";
  return text + "  - pressure: incompressible\n" + o.lines("pressure") + sand_node(o);
}

}  // namespace

Sandbox::Sandbox(const Options& options, const Scene& scene)
    : catalog_(make_catalog()), comm_(make_single_comm()), begin_(now()), trace_(options.number("trace", 0)) {
  const std::string text = setup_text(options, scene);
  if (options.has("show")) std::fprintf(stderr, "%s", text.c_str());
  auto setup = parse_setup(text, "sand.yaml", {}, catalog_, messages_);
  if (setup) {
    auto made = Simulation::create(std::move(*setup), Exec{*comm_, profile_}, messages_);
    if (made) simulation_ = std::move(*made);
  }
  for (const Error& e : messages_.errors) std::fprintf(stderr, "%s\n", e.text().c_str());
  if (!simulation_) stop("the setup was\n" + text);
  take(simulation_->start());
}

void Sandbox::take(Result<StepReport> report) {
  if (!report) stop(report.error().text());
  last_ = *report;
  if (trace_ <= 0 || time() < next_trace_) return;
  next_trace_ += trace_;
  std::fprintf(stderr, "  t %.4f  dt %.5f  kinetic %.4g J  fastest %.4g m/s  %lld particles  %.1f s\n", time(),
               last_.dt, audit().kinetic_energy, audit().max_speed, static_cast<long long>(audit().particles),
               seconds());
}

void Sandbox::step() { take(simulation_->advance()); }

double Sandbox::seconds() const { return now() - begin_; }

double Sandbox::audited(const char* name, double otherwise) const {
  for (const auto& [key, value] : audit().more)
    if (std::string_view(key) == name) return value;
  return otherwise;
}

Grains Sandbox::grains() {
  ParticleSystem& s = *simulation_->find("grains")->particles();
  const auto p = s.read(particle::position);
  const auto v = s.read(particle::velocity);
  const auto id = s.read(particle::id);
  const auto mass = s.read(particle::mass);
  struct Grain {
    std::int64_t id;
    Vec3d x, v;
    double mass;
  };
  std::vector<Grain> all;
  for (int b = 0; b < s.topology().local_count(); ++b)
    for (std::size_t i = 0; i < s.count(b); ++i)
      all.push_back({id(b)[i], s.world(b, p(b)[i]), Vec3d(v(b)[i]), mass(b)[i]});
  std::sort(all.begin(), all.end(), [](const Grain& a, const Grain& b) { return a.id < b.id; });
  Grains grains;
  for (const Grain& one : all) {
    grains.id.push_back(one.id), grains.x.push_back(one.x);
    grains.v.push_back(one.v), grains.mass.push_back(one.mass);
  }
  return grains;
}

double Sandbox::greatest_gradient() {
  ParticleSystem& s = *simulation_->find("grains")->particles();
  double greatest = 0;
  for (const char* row : {"affine_x", "affine_y", "affine_z"}) {
    const auto c = s.read(ParticleChannel<Vec3f>{row, unit::per_second});
    for (int b = 0; b < s.topology().local_count(); ++b)
      for (std::size_t i = 0; i < s.count(b); ++i) greatest = std::max(greatest, length(Vec3d(c(b)[i])));
  }
  return greatest * s.spacing();
}

std::string tilted_gravity(double theta) {
  return fmt::format("  - gravity: earth\n    acceleration: [{}, {}, 0]\n", g * std::sin(theta), -g * std::cos(theta));
}

std::string smooth_box(const Options& options, const Vec3d& min, const Vec3d& max) {
  std::string node = fmt::format(
      "  - domain: box\n    box: {{min: [{}, {}, {}], max: [{}, {}, {}]}}\n    limits: {{sides: wall, bottom: open, "
      "top: open}}\n",
      min.x, min.y, min.z, max.x, max.y, max.z);
  if (options.text("kind", "sand") != "water" && !options.has("domain.friction")) node += "    friction: 0\n";
  return node + options.lines("domain");
}

std::string rough_floor(double mu) {
  return fmt::format(
      "  - collider: floor\n    shape: {{kind: plane, center: [0, 0, 0], axis: [0, 1, 0]}}\n    friction: {}\n", mu);
}

namespace {

std::string box(const Vec3d& min, const Vec3d& max) {
  const Vec3d centre = (min + max) * 0.5, size = max - min;
  return fmt::format("{{kind: box, center: [{}, {}, {}], size: [{}, {}, {}]}}", centre.x, centre.y, centre.z, size.x,
                     size.y, size.z);
}

}  // namespace

std::string box_fill(const Vec3d& min, const Vec3d& max) { return "{shape: " + box(min, max) + "}"; }

std::string box_collider(const std::string& name, const Vec3d& min, const Vec3d& max, double mu) {
  return fmt::format("  - collider: {}\n    shape: {}\n    friction: {}\n", name, box(min, max), mu);
}

std::vector<double> heights(const Grains& grains, double voxel, double width, double density) {
  std::vector<double> height;
  for (std::size_t i = 0; i < grains.size(); ++i) {
    const Vec3d& x = grains.x[i];
    const auto k = static_cast<std::size_t>((width > 0 ? x.x : std::hypot(x.x, x.z)) / voxel);
    if (k >= height.size()) height.resize(k + 1, 0);
    const double area = width > 0 ? voxel * width : 45 * degree * voxel * voxel * (2.0 * static_cast<double>(k) + 1);
    height[k] += grains.mass[i] / (density * area);
  }
  for (int pass = 0; pass < 2; ++pass) {
    const std::vector<double> rough = height;
    for (std::size_t k = 0; k < rough.size(); ++k)
      height[k] = 0.25 * (rough[k ? k - 1 : 0] + 2 * rough[k] + (k + 1 < rough.size() ? rough[k + 1] : 0));
  }
  return height;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

Curve::Curve(const Options& options, const std::string& name, const std::string& head) {
  if (options.has("out")) path_ = options.text("out") + "/" + name + ".csv", text_ = head + "\n";
}

void Curve::row(const std::vector<double>& values) {
  if (path_.empty()) return;
  for (std::size_t i = 0; i < values.size(); ++i) text_ += fmt::format("{}{:.6g}", i ? "," : "", values[i]);
  text_ += "\n";
}

Curve::~Curve() {
  if (!path_.empty()) std::ofstream(path_) << text_;
}

}  // namespace aegir::test
