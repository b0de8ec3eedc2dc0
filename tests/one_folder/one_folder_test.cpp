// Adding a Behavior touches one folder: everything here comes from tests/one_folder/speed_limit and one register call.
#include <nlohmann/json.hpp>

#include "domain/for_each_bucket.h"
#include "laws/laboratory.h"
#include "pipeline/model/action.h"
#include "pipeline/model/behavior.h"
#include "speed_limit/speed_limit.h"

namespace aegir::test {
namespace {

const std::string nodes = one_particle({0, 0, 0}, {0, 0, 0}) + "  - gravity: g\n";

TEST(OneFolder, TheBehaviorWorksInASetup) {
  Laboratory lab(timeline(24, 2), nodes + "  - speed_limit: slow\n    limit: 3 m/s\n", "", register_speed_limit);
  ASSERT_TRUE(lab.ok());
  lab.run();
  EXPECT_NEAR(lab.only().v.y, -3, 1e-5);
}

TEST(OneFolder, CatalogSchemaAndManualKnowIt) {
  Laboratory lab(timeline(1, 1), nodes + "  - speed_limit: slow\n", "", register_speed_limit);
  EXPECT_NE(lab.catalog().find("speed_limit"), nullptr);
  EXPECT_TRUE(lab.catalog().problems().empty()) << lab.catalog().problems().front();
  EXPECT_NE(lab.catalog().schema().dump().find("speed_limit"), std::string::npos);
  EXPECT_NE(lab.catalog().reference_page("speed_limit").find("greatest speed"), std::string::npos);
}

TEST(OneFolder, ForcesAndMoveSeparateForItAndGiveTheSameBits) {
  Laboratory fused(timeline(24, 3), nodes),
      split(timeline(24, 3), nodes + "  - speed_limit: never\n    limit: 1e9\n", "", register_speed_limit);
  const auto has = [](Laboratory& lab, const char* task) {
    for (const Task& t : lab.simulation().plan().tasks())
      if (t.name == task) return true;
    return false;
  };
  EXPECT_TRUE(has(fused, "fly"));
  EXPECT_FALSE(has(split, "fly"));
  EXPECT_TRUE(has(split, "forces"));
  fused.run(), split.run();
  EXPECT_EQ(fused.only().x, split.only().x);
  EXPECT_EQ(fused.only().v, split.only().v);
}

TEST(OneFolder, TwoTasksThatConflictAreFoundBeforeTheFirstStep) {
  Catalog catalog;
  register_common(catalog);
  register_speed_limit(catalog);
  Messages messages;
  auto setup =
      parse_setup("aegir: 1\ntimeline: {frames: [1, 2]}\nsetup:\n" + nodes + "  - speed_limit: a\n  - speed_limit: b\n",
                  "x.yaml", {}, catalog, messages);
  ASSERT_TRUE(setup);
  auto comm = make_single_comm();
  Profile profile;
  EXPECT_FALSE(Simulation::create(std::move(*setup), Exec{*comm, profile}, messages));
  ASSERT_EQ(messages.errors.size(), 1u);
  for (const char* word : {"a:limit", "b:limit", "'v'", "after_forces"})
    EXPECT_NE(messages.errors[0].message.find(word), std::string::npos) << word;
}

/// Writes a channel that its task did not declare.
class Liar final : public Operator {
 public:
  Liar(std::string behavior, Object& object) : Operator(std::move(behavior)), object_(object) {}
  void plan(TaskList& tasks) override {
    tasks.add({.name = "lie",
               .stage = Stage::after_move,
               .behavior = behavior(),
               .accesses = {reads(object_.path(), "v")},
               .after = {},
               .acting = {},
               .run = [this](StepContext& c) {
                 for_each_bucket(
                     c.exec, "lie", object_.particles()->topology(), [](const Bucket&, auto&) {},
                     object_.particles()->write(particle::age));
                 return Status();
               }});
  }

 private:
  Object& object_;
};
class LiarBehavior final : public Behavior {
 public:
  struct Settings {
    double unused = 0;
  };
  static TypeInfo info() { return {"liar", Category::operator_, "Liar", "Breaks its word.", "A test."}; }
  static void describe(Schema<Settings>& s) { s.field("unused", &Settings::unused).doc("Nothing."); }
  explicit LiarBehavior(Scoped<Settings>) {}
  Status create_actions(Builder& build) override {
    for (Object* o : build.objects())
      if (o->particles()) build.add(std::make_unique<Liar>(build.path(), *o));
    return {};
  }
};

TEST(Grant, AnUndeclaredAccessStopsNamingTaskAndChannel) {
  Laboratory lab(timeline(1, 1), nodes + "  - liar: bad\n", "", [](Catalog& c) { c.add<LiarBehavior>(); });
  ASSERT_TRUE(lab.ok());
  try {
    lab.step();
    FAIL() << "the access was let through";
  } catch (const BugFound& bug) {
    EXPECT_NE(std::string(bug.what()).find("bad:lie"), std::string::npos) << bug.what();
    EXPECT_NE(std::string(bug.what()).find("'age'"), std::string::npos) << bug.what();
  }
}

}  // namespace
}  // namespace aegir::test
