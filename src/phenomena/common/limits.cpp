#include "phenomena/common/limits.h"

#include <algorithm>

#include "phenomena/common/particle_object.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/catalog.h"

namespace aegir {
namespace {

struct BoxSettings {
  Vec3d min{-1, -1, -1}, max{1, 1, 1};
};
void describe(Schema<BoxSettings>& s) {
  s.field("min", &BoxSettings::min).unit("m").required().doc("Lower corner.");
  s.field("max", &BoxSettings::max).unit("m").required().doc("Upper corner.");
  s.check([](const BoxSettings& b) -> std::string {
    for (int a = 0; a < 3; ++a)
      if (!(b.min[a] < b.max[a])) return "'max' must lie above 'min' along every axis";
    return "";
  });
}

struct LimitSettings {
  Limit sides = Limit::wall, bottom = Limit::wall, top = Limit::open;
};
void describe(Schema<LimitSettings>& s) {
  const std::initializer_list<NamedChoice<Limit>> words{
      {"wall", Limit::wall, "Nothing passes; liquid slides along it as `pressure.solids` says."},
      {"open", Limit::open, "Liquid that crosses it is removed and counted; particles fly on."}};
  s.field("sides", &LimitSettings::sides).choices(words).doc("The four upright sides.");
  s.field("bottom", &LimitSettings::bottom).choices(words).doc("The lower side.");
  s.field("top", &LimitSettings::top).choices(words).doc("The upper side.");
}

class Domain final : public Behavior {
 public:
  struct Settings {
    BoxSettings box;
    LimitSettings limits;
    double friction = 0.3;
  };
  static TypeInfo info() {
    return {"domain", Category::object, "Domain", "A box that liquids stay in, or leave for good.",
            "Walls lie where they are given, also between grid faces: faces that a wall cuts are open in part. Without "
            "a domain space is unbounded, and the grid follows the liquid.\n\n"
            "For `particles` in its group each wall is an endless plane that they do not bounce off but slide along: "
            "also above an open top they stay between the walls, and those that start behind a wall are put to its "
            "near side. Where that is not wanted, let domain and liquid have a group of their own."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("box", &Settings::box).required().doc("Corners of the box.");
    s.field("limits", &Settings::limits).doc("What the sides do.");
    s.field("friction", &Settings::friction)
        .min(0)
        .soft(0, 1)
        .doc("Coulomb friction coefficient of the walls, for sand, particles and liquids with `solids: friction`.");
  }
  explicit Domain(Scoped<Settings> s) : settings_(std::move(s)) {}

  Status create_objects(Builder& build) override {
    const Settings& s = settings_.of(build.path());
    const LimitSettings& l = s.limits;
    build.add(std::make_unique<Limits>(build.path(), Box{s.box.min, s.box.max},
                                       std::array{l.sides, l.sides, l.bottom, l.top, l.sides, l.sides}, s.friction));
    return {};
  }

  Status create_actions(Builder& build) override {
    const std::vector<Object*> objects = build.objects();
    const auto mine =
        std::find_if(objects.begin(), objects.end(), [&](const Object* o) { return o->path() == build.path(); });
    for (Object* o : objects)
      if (auto* particles = dynamic_cast<ParticleObject*>(o))
        for (const auto& wall : dynamic_cast<Limits&>(**mine).walls()) particles->add_collider(*wall);
    return {};
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

const std::vector<std::unique_ptr<Collider>>& Limits::walls() {
  if (!walls_.empty()) return walls_;
  static constexpr std::array<const char*, 6> names{"-x", "+x", "-y", "+y", "-z", "+z"};
  for (std::size_t side = 0; side < 6; ++side) {
    if (sides_[side] != Limit::wall) continue;
    const bool lower = side % 2 == 0;
    ShapeSettings half_space;
    half_space.kind = ShapeKind::plane, half_space.center = lower ? box_.min : box_.max;
    half_space.axis = Vec3d{};
    half_space.axis[static_cast<int>(side / 2)] = lower ? 1 : -1;
    const Result<Shape> shape = Shape::create(half_space);
    AEGIR_ASSERT(shape, "an upright plane is a shape");
    walls_.push_back(std::make_unique<Collider>(path() + " wall " + names[side], *shape, Motion(), friction_, 0.0));
  }
  return walls_;
}

void Limits::plan(TaskList& tasks) {
  for (const auto& wall : walls_) wall->plan(tasks);
}

void register_limits(Catalog& catalog) { catalog.add<Domain>(); }

}  // namespace aegir
