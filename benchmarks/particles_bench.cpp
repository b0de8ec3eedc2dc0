// A step of free particles against the bandwidth of the machine.
#include <fmt/format.h>

#include "benchmarks/bandwidth.h"
#include "benchmarks/simulation.h"
#include "phenomena/common/particle_object.h"

namespace aegir::bench {
namespace {

/// Gravity, drag and move of 8M particles without colliders. Per particle: P, v and age read and written (56 bytes),
/// radius and mass read (8 bytes); about 60 flops for the sphere's drag law, 20 for the linear one.
void step(Bench& bench) {
  constexpr double bytes_per_particle = 64;
  for (const char* law : {"sphere", "stokes"}) {
    const std::string text = fmt::format(
        "aegir: 1\ntimeline: {{frames: [1, 2]}}\nsetup:\n  - particles: dust\n    voxel_size: 1 cm\n  - gravity: g\n  "
        "- air_drag: a\n    law: {}\n"
        "  - emitter: e\n    shape: {{kind: box, size: [1.28, 1.28, 0.64]}}\n    count: 8388608\n    spread: 1\n",
        law);
    const std::unique_ptr<Simulation> simulation = start_simulation(bench.exec, text);
    auto& object = dynamic_cast<ParticleObject&>(*simulation->find("dust"));
    const double n = static_cast<double>(object.particles()->size());
    StepContext context{bench.exec};
    context.dt = 1e-5;
    Bandwidth bandwidth(static_cast<std::size_t>(n * bytes_per_particle));
    std::vector<Turn> turns = bandwidth.turns();
    turns.push_back({[&] { AEGIR_ASSERT(object.fly(context), "a step failed"); }});
    const auto t = in_turns(9, turns);
    const std::string name = std::string("particles.step") + (law[1] == 'p' ? "" : "_stokes");
    bench.rate(name, n / t.back(), "particles/s", "bandwidth bound", bandwidth.best(t.data()) / bytes_per_particle);
  }
}

}  // namespace

void register_particles(Registry& registry) { registry.add("particles.step", step); }

}  // namespace aegir::bench
