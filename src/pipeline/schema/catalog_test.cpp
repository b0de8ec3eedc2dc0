#include "pipeline/schema/catalog.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pipeline/setup/fake_catalog.h"

namespace aegir {
namespace {

/// Everything that a description can get wrong.
class Careless : public Behavior {
 public:
  struct Settings {
    double gravity = 1;
    double enabled = 1;
    double low = -1;
    fake::Transfer choice = fake::Transfer::apic;
    double soft = 1;
  };
  static TypeInfo info() { return {"careless", Category::force, "Careless", "", ""}; }
  static void describe(Schema<Settings>& s) {
    s.field("gravity", &Settings::gravity).doc("x");
    s.field("enabled", &Settings::enabled).doc("x");
    s.field("low", &Settings::low).min(0);
    s.field("choice", &Settings::choice).choices({{"pic", fake::Transfer::pic}}).doc("x");
    s.field("soft", &Settings::soft).min(0).soft(-1, 1).doc("x");
  }
  explicit Careless(Scoped<Settings>) {}
};

TEST(Catalog, FindsTypesBySection) {
  const Catalog catalog = fake::fake_catalog();
  ASSERT_TRUE(catalog.find("gravity"));
  EXPECT_FALSE(catalog.find("gravity", true));
  EXPECT_TRUE(catalog.find("points", true));
  EXPECT_FALSE(catalog.find("points"));
  EXPECT_TRUE(catalog.find("group"));
  EXPECT_EQ(catalog.find_announced("hybrid")->what, "liquids");
  EXPECT_EQ(catalog.names(true), std::vector<std::string>{"points"});
}

TEST(Catalog, AnnouncedTypesGiveWayToRealOnes) {
  Catalog catalog;
  catalog.announce("gravity", "forces");
  EXPECT_TRUE(catalog.find_announced("gravity"));
  catalog.add<fake::Gravity>();
  EXPECT_FALSE(catalog.find_announced("gravity"));
  catalog.announce("gravity", "forces");
  EXPECT_FALSE(catalog.find_announced("gravity"));
  EXPECT_THROW(catalog.add<fake::Gravity>(), BugFound);
}

TEST(Catalog, FindsProblemsOfDescriptions) {
  Catalog catalog = fake::fake_catalog();
  EXPECT_EQ(catalog.problems(), std::vector<std::string>{});
  catalog.add<Careless>();
  EXPECT_EQ(
      catalog.problems(),
      (std::vector<std::string>{"careless has no doc", "careless has no page", "careless.gravity is called like a type",
                                "careless.enabled is called like a reserved key", "careless.low has no doc",
                                "careless.low has the default -1, which is outside its range",
                                "careless.choice has a default that is not one of its choices",
                                "careless.soft has a soft range that is empty or outside its range"}));
}

TEST(Catalog, JsonHoldsEveryTypeAndParameter) {
  const nlohmann::json all = fake::fake_catalog().json();
  EXPECT_EQ(all["types"].size(), 6u);
  bool found = false;
  for (const nlohmann::json& type : all["types"])
    if (type["name"] == "liquid") {
      found = true;
      EXPECT_EQ(type["fields"].size(), 17u);
      EXPECT_EQ(type["section"], "setup");
      EXPECT_EQ(type["category"], "object");
    }
  EXPECT_TRUE(found);
  EXPECT_EQ(all["timeline"][0]["name"], "fps");
  EXPECT_EQ(all["announced"][0]["name"], "hybrid");
}

TEST(Catalog, SchemaDescribesAWholeFile) {
  const nlohmann::json schema = fake::fake_catalog().schema();
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  for (const char* part : {"aegir", "timeline", "scene", "expose", "inputs", "setup", "outputs"})
    EXPECT_TRUE(schema["properties"].contains(part)) << part;
  const nlohmann::json& emitter = schema["$defs"]["node_emitter"];
  EXPECT_EQ(emitter["required"], (nlohmann::json{"rate", "emitter"}));
  EXPECT_EQ(emitter["additionalProperties"], false);
  EXPECT_TRUE(emitter["properties"].contains("overrides"));
  EXPECT_TRUE(schema["$defs"]["node_group"]["properties"].contains("behaviors"));
  EXPECT_TRUE(schema["$defs"].contains("output_points"));
  EXPECT_NO_THROW(schema.dump());
}

TEST(Catalog, PagesNameEveryParameter) {
  const Catalog catalog = fake::fake_catalog();
  const std::string page = catalog.reference_page("liquid");
  EXPECT_NE(page.find("# Liquid: `liquid`"), std::string::npos);
  EXPECT_NE(page.find("div u = 0"), std::string::npos);
  EXPECT_NE(page.find("| `voxel_size` | number | m | `0.05 m` | > 0 m |  | Edge of a cell. |"), std::string::npos)
      << page;
  EXPECT_NE(page.find("| `bounds.min` |"), std::string::npos);
  EXPECT_NE(page.find("| `viscosity` | number | Pa s | `0.001 Pa s` | ≥ 0 Pa s | keys, attribute |"),
            std::string::npos);
  for (const std::string& name : catalog.reference_pages()) EXPECT_FALSE(catalog.reference_page(name).empty()) << name;
  EXPECT_EQ(catalog.reference_page("nothing"), "");
}

TEST(Scoped, NarrowestScopeWins) {
  Scoped<int> scoped{1, {{"statue", 2}, {"bulk/statue", 3}}};
  EXPECT_EQ(scoped.of("water"), 1);
  EXPECT_EQ(scoped.of("statue"), 2);
  EXPECT_EQ(scoped.of("spray/statue"), 2);
  EXPECT_EQ(scoped.of("bulk/statue"), 3);
}

}  // namespace
}  // namespace aegir
