#include "phenomena/common/drag.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/simd.h"
#include "phenomena/common/derived_channels.h"
#include "phenomena/common/face_attributes.h"
#include "phenomena/common/give_force.h"
#include "phenomena/common/mask.h"
#include "phenomena/common/turbulence.h"
#include "phenomena/common/vector_source.h"

namespace aegir {
namespace {

enum class DragLaw { sphere, stokes, newton, scaled_newton, scaled_stokes };

struct AirSettings : MaskSettings {
  DragLaw law = DragLaw::sphere;
  double air_density = 1.204;       // kg/m³, dry air at 20 °C
  double air_viscosity = 1.813e-5;  // Pa s
  double drag_coefficient = 0.44;
  double alpha_newton = 2e-4;    // 3 ρ C / 8 ρ_drop of water in air
  double alpha_stokes = 8.2e-8;  // 9 μ / 2 ρ_drop, m²/s
  Parameter<double> scale = 1.0;
  double thickness = 2;  // cells
};

struct WindSettings : AirSettings {
  Parameter<Vec3d> velocity = Vec3d{};
  FilePath velocity_file;
  std::string velocity_volume;
  std::optional<TurbulenceSettings> turbulence;
};

template <class S>
void describe_air(Schema<S>& s) {
  s.field("law", &S::law)
      .choices({{"sphere", DragLaw::sphere, "Measured drag of a sphere at any Reynolds number (Abraham 1970)."},
                {"stokes", DragLaw::stokes, "Linear: 6 π μ r u, right below a Reynolds number of about 1."},
                {"newton", DragLaw::newton, "Quadratic with `drag_coefficient`."},
                {"scaled_newton", DragLaw::scaled_newton, "Quadratic with `alpha_newton`, whatever the mass."},
                {"scaled_stokes", DragLaw::scaled_stokes, "Linear with `alpha_stokes`, whatever the mass."}})
      .doc("How drag depends on speed and size.");
  s.field("air_density", &S::air_density).unit("kg/m^3").min(0).doc("Density of the air.");
  s.field("air_viscosity", &S::air_viscosity).unit("Pa s").min(0).doc("Shear viscosity of the air.");
  s.field("drag_coefficient", &S::drag_coefficient)
      .min(0)
      .soft(0.1, 2)
      .doc("Of a body at high Reynolds number; a sphere has 0.44.");
  s.field("alpha_newton", &S::alpha_newton)
      .min(0)
      .soft(0, 0.01)
      .advanced()
      .doc("Of `scaled_newton`: `a = -alpha |u| u / r`. Drops of water in air have 2e-4.");
  s.field("alpha_stokes", &S::alpha_stokes)
      .unit("m^2/s")
      .min(0)
      .soft(0, 1e-5)
      .advanced()
      .doc("Of `scaled_stokes`: `a = -alpha u / r²`. Drops of water in air have 8.2e-8 m²/s.");
  s.field("scale", &S::scale)
      .from_attribute()
      .min(0)
      .soft(0, 10)
      .advanced()
      .doc("Multiplies the drag; not physical unless 1. May come from an attribute.");
  s.field("thickness", &S::thickness)
      .min(0)
      .max(3)
      .advanced()
      .doc(
          "Of liquids, in cells: what is thicker feels no air, what is half as thick or less feels it as drops do. 0: "
          "every particle of the bulk too, which is not physical.");
  describe_mask(s);
}

/// The same air everywhere, or one vector per element.
struct UniformAir {
  Vec3f velocity;
  Vec3f operator()(std::size_t) const { return velocity; }
};
struct MovingAir {
  const float* __restrict x, * __restrict y, * __restrict z;
  Vec3f operator()(std::size_t i) const { return {x[i], y[i], z[i]}; }
};

/// What moves the air: all of it adds up.
struct Wind {
  Parameter<Vec3d> velocity = Vec3d{};
  std::shared_ptr<const VectorSource> field;  // null: none
  std::optional<Turbulence> turbulence;
};

/// a -= λ (v - w), damping += λ with λ = factor · law(radius, speed) / mass. Arguments are restrict so that it
/// vectorises. 56 bytes in the first cache and about 20 flops per element.
template <class Air, class Law>  // Law(radius, speed) -> m λ
AEGIR_HOT void drag_kernel(std::size_t n, Air w, const float* __restrict factor, const float* __restrict vx,
                           const float* __restrict vy, const float* __restrict vz, const float* __restrict radius,
                           const float* __restrict mass, float* __restrict ax, float* __restrict ay,
                           float* __restrict az, float* __restrict damping, Law law) {
  for (std::size_t i = 0; i < n; ++i) {
    const Vec3f air = w(i);
    const float ux = vx[i] - air.x, uy = vy[i] - air.y, uz = vz[i] - air.z;
    const float lambda = factor[i] * law(radius[i], std::sqrt(ux * ux + uy * uy + uz * uz)) / mass[i];
    ax[i] -= lambda * ux, ay[i] -= lambda * uy, az[i] -= lambda * uz, damping[i] += lambda;
  }
}

/// Share of the drag that liquid of some thickness feels: all up to half of `most`, none from there on, smooth between.
float exposure(float thickness, float most) {
  const float t = std::clamp(2 * thickness / most - 1, 0.0f, 1.0f);
  return 1 - t * t * (3 - 2 * t);
}

/// Drag of a sphere of radius r and mass m at velocity u relative to the air; the acceleration is -λ u.
///   stokes  λ = 6 π μ r / m
///   newton  λ = ρ C π r² |u| / (2 m)
///   sphere  C = max(C_newton, 0.2924 (1 + 9.06 / √Re)²), Re = 2 r |u| / ν; with |u| pulled in no division by |u| is
///   left:
///           λ = ρ π r² / (2 m) · 0.2924 (√|u| + 9.06 √(ν / 2r))²      [Abraham 1970, Phys. Fluids 13, 2194]
///   scaled  λ = α |u|^(2-σ) / r^σ, σ = 1 for newton and 2 for stokes   [Jones 2018, (4.38), exponent corrected]
class DragForce final : public Force {
 public:
  DragForce(std::string behavior, AirSettings settings, Wind wind = {})
      : Force(std::move(behavior)), s_(std::move(settings)), wind_(std::move(wind)) {}

  bool implicit() const override { return true; }
  bool uses_position() const override { return wind_.field || wind_.turbulence; }
  std::vector<std::string> reads() const override {
    std::vector<std::string> names;
    if (s_.scale.attribute()) names.push_back(s_.scale.attribute()->name);
    if (s_.thickness > 0) names.push_back(thickness_attribute);
    return names;
  }
  void begin_substep(const StepContext& c) override {
    w_ = Vec3f(wind_.velocity.at(c.frame_time)), scale_ = static_cast<float>(s_.scale.at(c.frame_time));
    gusts_ = wind_.turbulence ? wind_.turbulence->speed(c.frame_time) : 0;
  }

  void accumulate(const ForceBlock& b) const override {
    alignas(64) float factor[ForceBlock::capacity];
    const float* painted = s_.scale.attribute() ? b.attribute(s_.scale.attribute()->name) : nullptr;
    if (painted)
      for (std::size_t i = 0; i < b.count; ++i) factor[i] = static_cast<float>(s_.scale.attribute()->map(painted[i]));
    else
      std::fill_n(factor, b.count, scale_);
    if (const float* thickness = s_.thickness > 0 ? b.attribute(thickness_attribute) : nullptr) {
      const auto most = static_cast<float>(s_.thickness);
      for (std::size_t i = 0; i < b.count; ++i) factor[i] *= exposure(thickness[i], most);
      if (std::all_of(factor, factor + b.count, [](float f) { return f == 0; })) return;
    }
    if (!wind_.field && gusts_ == 0) return apply(b, factor, UniformAir{w_});
    alignas(64) float wind[3][ForceBlock::capacity];
    for (int a = 0; a < 3; ++a) std::fill_n(wind[a], b.count, w_[a]);
    if (wind_.field) add_field(b, wind);
    if (gusts_ != 0) wind_.turbulence->add(b, gusts_, {wind[0], wind[1], wind[2]});
    apply(b, factor, MovingAir{wind[0], wind[1], wind[2]});
  }

 private:
  static constexpr double pi = 3.14159265358979323846;

  void add_field(const ForceBlock& b, float (*wind)[ForceBlock::capacity]) const {
    std::array<Vec3d, ForceBlock::capacity> where;
    std::array<Vec3f, ForceBlock::capacity> there;
    for (std::size_t i = 0; i < b.count; ++i) where[i] = b.world(i);
    wind_.field->vectors({where.data(), b.count}, {there.data(), b.count});
    for (std::size_t i = 0; i < b.count; ++i)
      wind[0][i] += there[i].x, wind[1][i] += there[i].y, wind[2][i] += there[i].z;
  }

  template <class Air>
  void apply(const ForceBlock& b, const float* factor, Air air) const {
    const auto run = [&](const float* mass, auto law) {
      drag_kernel(b.count, air, factor, b.vx, b.vy, b.vz, b.radius, mass, b.ax, b.ay, b.az, b.damping, law);
    };
    const auto with = [&](auto law) { run(b.mass, law); };
    if (s_.law == DragLaw::scaled_newton || s_.law == DragLaw::scaled_stokes) {
      alignas(64) float one[ForceBlock::capacity];  // λ itself is given, not m λ
      std::fill_n(one, b.count, 1.0f);
      if (s_.law == DragLaw::scaled_newton)
        run(one, [alpha = static_cast<float>(s_.alpha_newton)](float r, float speed) { return alpha * speed / r; });
      else
        run(one, [alpha = static_cast<float>(s_.alpha_stokes)](float r, float) { return alpha / (r * r); });
      return;
    }
    const float k = static_cast<float>(0.5 * pi * s_.air_density), newton = static_cast<float>(s_.drag_coefficient);
    switch (s_.law) {
      case DragLaw::stokes:
        return with([six = static_cast<float>(6 * pi * s_.air_viscosity)](float r, float) { return six * r; });
      case DragLaw::newton:
        return with([kc = static_cast<float>(0.5 * pi * s_.air_density * s_.drag_coefficient)](float r, float speed) {
          return kc * r * r * speed;
        });
      default:
        break;
    }
    const float half_nu = static_cast<float>(0.5 * s_.air_viscosity / std::max(1e-30, s_.air_density));
    with([=](float r, float speed) {
      const float root = std::sqrt(speed) + 9.06f * std::sqrt(half_nu / r);
      return k * r * r * std::max(newton * speed, 0.2924f * root * root);
    });
  }

  AirSettings s_;
  Wind wind_;
  Vec3f w_;
  float scale_ = 1;
  double gusts_ = 0;  // m/s
};

/// An attribute that an Object does not have is probably misspelt. Only liquids know how thick they are.
AirSettings checked(Builder& build, Object& object, AirSettings s) {
  if (s.scale.attribute() && !has_attribute(object, s.scale.attribute()->name))
    build.warn(fmt::format("'{}' has no attribute '{}'; the default {} of 'scale' is used", object.path(),
                           s.scale.attribute()->name, s.scale.constant()));
  if (!dynamic_cast<DerivedSource*>(&object)) s.thickness = 0;
  return s;
}

constexpr const char* drag_page =
    "A sphere of radius r (`pscale`) and mass m moving at u relative to the air is slowed by `a = -λ u`:\n\n"
    "- `stokes`: λ = 6 π μ r / m\n- `newton`: λ = ρ C π r² |u| / 2m\n- `sphere`: λ = ρ C π r² |u| / 2m with C = "
    "max(0.44, 0.2924 (1 + 9.06/√Re)²), Re = 2 r |u| ρ/μ (Abraham 1970),\n"
    "  within about 10 % of measurements up to Re = 10⁵.\n"
    "- `scaled_newton`: λ = α |u| / r, and `scaled_stokes`: λ = α / r² (Jones 2018, 4.38): the strength is given, "
    "whatever density and mass are. A drop of density ρ_d\n  has α = 3 ρ C / 8 ρ_d under Newton's law, 2e-4 for water "
    "in air, and α = 9 μ / 2 ρ_d under Stokes', 8.2e-8 m²/s.\n\n"
    "λ is handed to the integrator, so that any step size is stable and terminal velocity is exact. Buoyancy in the "
    "air "
    "is left out. Drops are round: real ones above 2.5 mm across are flat and fall slower (see docs/droplets.md).\n\n"
    "The air moves with the sum of what is given; `air_drag` is for air at rest. A velocity file with a frame pattern "
    "is "
    "a sequence, linear in time between frames and held before the first and after the last; two frames are in memory. "
    "`turbulence` is curl noise: without divergence, a function of seed, place and time alone. It has no walls, and "
    "nothing acts back on the air.\n\n"
    "On a liquid it acts where that is thin: drops, threads and sheets feel it as drops of their particles' size do, "
    "the bulk and its surface feel none. With h the thickness in cells, up to 3 (three times the greatest share of "
    "liquid in the 27 cells around any cell within two cells), and H = `thickness`, λ is multiplied with `1 - "
    "smoothstep(H/2, H, h)`. Limits: particles of a sheet do not shelter each other; a film on a solid counts as half "
    "as thick again; waves are not raised by wind.";

class AirDrag final : public Behavior {
 public:
  struct Settings : AirSettings {};
  static TypeInfo info() {
    return {"air_drag", Category::force, "Air drag", "Drag of still air on particles by their size and mass.",
            drag_page};
  }
  static void describe(Schema<Settings>& s) { describe_air(s); }
  explicit AirDrag(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    return give_force(build, settings_, [&](Object& o, const Settings& s) -> MadeForce {
      return make_force<DragForce>(build.path(), checked(build, o, s));
    });
  }

 private:
  Scoped<Settings> settings_;
};

class WindDrag final : public Behavior {
 public:
  using Settings = WindSettings;
  static TypeInfo info() {
    return {"wind_drag", Category::force, "Wind drag", "Drag of air that moves with a given velocity.", drag_page};
  }
  static void describe(Schema<Settings>& s) {
    s.field("velocity", &Settings::velocity).unit("m/s").doc("Velocity of the air.");
    s.field("velocity_file", &Settings::velocity_file)
        .doc(
            "OpenVDB file of a vector volume, in m/s, that is added to `velocity`; one file for the run, or one per "
            "frame: "
            "`gas.$F4.vdb`, `%04d`, `####`.");
    s.field("velocity_volume", &Settings::velocity_volume)
        .doc("Name of the volume; the only one of the file if not given.");
    s.field("turbulence", &Settings::turbulence)
        .doc("Random eddies that are added to the velocity of the air; `turbulence: 2 m/s` is short for its speed.");
    describe_air(s);
    s.check([](const Settings& v) -> std::string {
      return !v.velocity_volume.empty() && v.velocity_file.empty() ? "'velocity_volume' needs a 'velocity_file'" : "";
    });
  }
  explicit WindDrag(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    VectorSources sources(build, "wind");
    const auto make = [&](Object& o, const Settings& s) -> MadeForce {
      Wind wind{s.velocity, nullptr, {}};
      if (s.turbulence) wind.turbulence.emplace(*s.turbulence);
      if (!s.velocity_file.empty()) {
        auto field = sources.open(s.velocity_file, s.velocity_volume);
        if (!field) return field.error();
        wind.field = std::move(*field);
      }
      return make_force<DragForce>(build.path(), checked(build, o, s), std::move(wind));
    };
    return give_force(build, settings_, make, [](const Settings& s) { return s.velocity_file; });
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_drag(Catalog& catalog) {
  catalog.add<AirDrag>();
  catalog.add<WindDrag>();
}

}  // namespace aegir
