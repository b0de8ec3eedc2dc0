#include "phenomena/common/limits.h"

#include <algorithm>

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
      {"open", Limit::open, "What crosses it is removed and counted."}};
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
            "a domain space is unbounded, and the grid follows the liquid."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("box", &Settings::box).required().doc("Corners of the box.");
    s.field("limits", &Settings::limits).doc("What the sides do.");
    s.field("friction", &Settings::friction)
        .min(0)
        .soft(0, 1)
        .doc("Coulomb friction coefficient of the walls, for sand and for liquids with `solids: friction`.");
  }
  explicit Domain(Scoped<Settings> s) : settings_(std::move(s)) {}

  Status create_objects(Builder& build) override {
    const Settings& s = settings_.of(build.path());
    const LimitSettings& l = s.limits;
    build.add(std::make_unique<Limits>(build.path(), Box{s.box.min, s.box.max},
                                       std::array{l.sides, l.sides, l.bottom, l.top, l.sides, l.sides}, s.friction));
    return {};
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_limits(Catalog& catalog) { catalog.add<Domain>(); }

}  // namespace aegir
