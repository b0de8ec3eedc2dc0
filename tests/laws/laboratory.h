// A simulation from a few lines of YAML, stepped and looked into by tests.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "domain/particles/particle_system.h"
#include "parallel/threads.h"
#include "phenomena/common/channels.h"
#include "phenomena/common/register.h"
#include "pipeline/schedule/simulation.h"
#include "pipeline/schema/catalog.h"

namespace aegir::test {

struct Particle {
  Vec3d x, v;
  double age = 0, radius = 0, mass = 0;
};

class Laboratory {
 public:
  /// `timeline` and `nodes` are YAML: the timeline's mapping and the list under `setup:`.
  Laboratory(const std::string& timeline, const std::string& nodes, const std::string& head = "",
             void (*more)(Catalog&) = nullptr) {
    register_common(catalog_);
    if (more) more(catalog_);
    const std::string text = "aegir: 1\ntimeline: " + timeline + "\n" + head + "setup:\n" + nodes;
    auto setup = parse_setup(text, "law.yaml", {}, catalog_, messages_);
    if (setup) {
      auto made = Simulation::create(std::move(*setup), Exec{*comm_, profile_}, messages_);
      if (made) simulation_ = std::move(*made);
    }
    for (const Error& e : messages_.errors) ADD_FAILURE() << e.text();
    if (simulation_) last_ = take(simulation_->start());
  }

  bool ok() const { return simulation_ && !failed_; }
  void step() { last_ = take(simulation_->advance()); }
  void run() {
    while (ok() && !simulation_->finished()) step();
  }
  Simulation& simulation() { return *simulation_; }
  const Catalog& catalog() const { return catalog_; }
  const Messages& messages() const { return messages_; }
  const StepReport& report() const { return last_; }
  const ObjectAudit& audit() const { return last_.objects.front().second; }
  double time() const { return simulation_->time(); }

  /// All particles of an Object by id.
  std::map<std::int64_t, Particle> particles(const std::string& object = "dust") {
    std::map<std::int64_t, Particle> all;
    ParticleSystem& s = *simulation_->find(object)->particles();
    const auto p = s.read(particle::position);
    const auto v = s.read(particle::velocity);
    const auto id = s.read(particle::id);
    const auto age = s.read(particle::age), radius = s.read(particle::radius), mass = s.read(particle::mass);
    for (int b = 0; b < s.topology().local_count(); ++b)
      for (std::size_t i = 0; i < s.count(b); ++i)
        all[id(b)[i]] = {s.world(b, p(b)[i]), Vec3d(v(b)[i]), age(b)[i], radius(b)[i], mass(b)[i]};
    return all;
  }
  Particle only() { return particles().begin()->second; }

 private:
  StepReport take(Result<StepReport> r) {
    if (r) return *r;
    ADD_FAILURE() << r.error().text();
    failed_ = true;
    return {};
  }

  Catalog catalog_;
  Messages messages_;
  std::unique_ptr<Comm> comm_ = make_single_comm();
  Profile profile_;
  std::unique_ptr<Simulation> simulation_;
  StepReport last_;
  bool failed_ = false;
};

/// `{fps: 24, frames: [1, 1 + frames], substeps: n}`
inline std::string timeline(int frames, int substeps) {
  return "{fps: 24, frames: [1, " + std::to_string(1 + frames) + "], substeps: " + std::to_string(substeps) + "}";
}

/// One particle at a place with a velocity, as an emitter node.
inline std::string one_particle(const Vec3d& x, const Vec3d& v, const std::string& more = "") {
  return fmt::format(
      "  - particles: dust\n    voxel_size: 0.1 m\n  - emitter: once\n    shape: {{kind: sphere, center: [{}, {}, {}], "
      "radius: 1e-9}}\n    count: 1\n    velocity: [{}, {}, {}]\n{}",
      x.x, x.y, x.z, v.x, v.y, v.z, more);
}

}  // namespace aegir::test
