// The Behavior that adds a Particle Object to a setup.
#include "phenomena/common/particle_object.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/catalog.h"

namespace aegir {
namespace {

class ParticlesBehavior final : public Behavior {
 public:
  struct Settings {
    double voxel_size = 0.1;
  };
  static TypeInfo info() {
    return {"particles", Category::object, "Particles",
            "Points that fly under forces and bounce off colliders; dust, sparks, rain, debris.",
            "A substep is drift–kick–drift: accelerations at x + v·dt/2, then `x' = x + dt (v + v') / 2`. Exact for "
            "constant acceleration, symplectic in a potential, second\n"
            "order otherwise. Damping λ that a force reports is integrated implicitly, `v' = v + dt a (1 + z/2) / (1 + "
            "z + z²/2)` with `z = λ dt`: second order for linear\n"
            "drag, first order for quadratic drag, stable for any step. Particles do not see each other."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("voxel_size", &Settings::voxel_size)
        .unit("m")
        .min(1e-6)
        .max(1e6)
        .soft(0.005, 1)
        .doc(
            "Cell of the grid that sorts the particles: 8 cells make a bucket, the unit of work and of distribution; "
            "substeps count speed in cells.");
  }
  explicit ParticlesBehavior(Scoped<Settings> settings) : settings_(std::move(settings)) {}

  Status create_objects(Builder& build) override {
    build.add(std::make_unique<ParticleObject>(build.path(), settings_.of(build.path()).voxel_size,
                                               Partition::even(build.exec().comm.size())));
    return {};
  }
  Status create_actions(Builder& build) override {
    for (Object* o : build.objects()) {
      auto* particles = dynamic_cast<ParticleObject*>(o);
      if (!particles || particles->path() != build.path()) continue;
      for (Object* other : build.objects_acting_on(*particles))
        if (const auto* c = dynamic_cast<const Collider*>(other)) particles->add_collider(*c);
    }
    return {};
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_particles(Catalog& catalog) { catalog.add<ParticlesBehavior>(); }

}  // namespace aegir
