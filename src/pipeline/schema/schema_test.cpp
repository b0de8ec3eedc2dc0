#include "pipeline/schema/schema.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pipeline/schema/suggest.h"

namespace aegir {
namespace {

enum class Law { newton, bingham };

struct Inner {
  double a = 1, b = 2;
};
void describe(Schema<Inner>& s) {
  s.field("a", &Inner::a).doc("First.");
  s.field("b", &Inner::b).doc("Second.");
}

struct Base {
  std::string name = "none";
};

struct Outer : Base {
  Parameter<double> mu = 0.001;
  Law law = Law::newton;
  Inner inner{.a = 5, .b = 2};
  std::vector<Inner> list;
  std::optional<Inner> maybe;
  std::map<std::string, Vec3d> places;
  Located<int> count = 3;
  std::vector<Law> laws{Law::bingham};
};
void describe(Schema<Outer>& s) {
  s.field("name", &Outer::name).doc("Inherited.");
  s.field("viscosity", &Outer::mu).unit("Pa s").min(0).soft(0, 10).group("Material").advanced().doc("Shear viscosity.");
  s.field("law", &Outer::law)
      .choices({{"newton", Law::newton, "One constant."}, {"bingham", Law::bingham}})
      .doc("Flow law.");
  s.field("inner", &Outer::inner).doc("Nested.");
  s.field("list", &Outer::list).doc("Nested list.");
  s.field("maybe", &Outer::maybe).doc("Nested or nothing.");
  s.field("places", &Outer::places).unit(unit::metre).doc("Points by name.");
  s.field("count", &Outer::count).label("How many").min(1).doc("Located.");
  s.field("laws", &Outer::laws).choices({{"newton", Law::newton}, {"bingham", Law::bingham}}).doc("Laws.");
}

Value number(const char* text) { return Value::scalar(text); }

TEST(Schema, ReadsOnTopAndWritesOnlyDifferences) {
  const Schema<Outer>& schema = schema_of<Outer>();
  EXPECT_TRUE(schema.write(Outer{}).entries.empty());

  Value inner = Value::map(), element = Value::map(), map = Value::map(), places = Value::map();
  inner.set("b", number("7"));
  element.set("a", number("9"));
  places.set("p", Value::list({number("1 cm"), number("2"), number("0")}));
  map.set("name", Value::quoted_text("x"));
  map.set("viscosity", number("5 mPa s"));
  map.set("law", Value::scalar("bingham"));
  map.set("inner", inner);
  map.set("list", Value::list({element, Value::map()}));
  map.set("maybe", Value::map());
  map.set("places", places);
  map.set("count", Value::scalar("4", {"f", 3, 9}));
  map.set("laws", Value::list(std::vector<Value>{}));

  Outer outer;
  Messages messages;
  ASSERT_TRUE(schema.read(map, outer, messages)) << messages.errors.front().text();
  EXPECT_EQ(outer.name, "x");
  EXPECT_DOUBLE_EQ(outer.mu.at(0), 0.005);
  EXPECT_EQ(outer.law, Law::bingham);
  EXPECT_EQ(outer.inner.a, 5);
  EXPECT_EQ(outer.inner.b, 7);
  ASSERT_EQ(outer.list.size(), 2u);
  EXPECT_EQ(outer.list[0].a, 9);
  EXPECT_EQ(outer.list[1].a, 1);
  ASSERT_TRUE(outer.maybe);
  EXPECT_EQ(outer.places.at("p"), (Vec3d{0.01, 2, 0}));
  EXPECT_EQ(outer.count.where, (Location{"f", 3, 9}));
  EXPECT_TRUE(outer.laws.empty());

  const Value written = schema.write(outer);
  EXPECT_EQ(to_text(written),
            "{name: x, viscosity: 0.005, law: bingham, inner: {b: 7}, list: [{a: 9}, {}], maybe: {}, "
            "places: {p: [0.01, 2, 0]}, count: 4, laws: []}");
  Outer again;
  ASSERT_TRUE(schema.read(written, again, messages));
  EXPECT_TRUE(same_content(schema.write(again), written));
}

TEST(Schema, AFailedFieldKeepsItsValue) {
  Value map = Value::map();
  map.set("viscosity", number("-1"));
  map.set("law", number("jelly"));
  Outer outer;
  Messages messages;
  EXPECT_FALSE(schema_of<Outer>().read(map, outer, messages));
  EXPECT_EQ(messages.errors.size(), 2u);
  EXPECT_EQ(outer.mu, Parameter<double>(0.001));
  EXPECT_EQ(outer.law, Law::newton);
}

TEST(Schema, DescriptionsCarryEverythingWithDefaultsWrittenOnce) {
  const std::vector<FieldDescription> fields = schema_of<Outer>().descriptions();
  const FieldDescription& mu = fields[1];
  EXPECT_EQ(mu.label, "Viscosity");
  EXPECT_EQ(default_text(mu), "0.001 Pa s");
  EXPECT_EQ(range_text(mu), "≥ 0 Pa s");
  EXPECT_EQ(type_text(mu), "number");
  EXPECT_TRUE(mu.keyframable);
  EXPECT_TRUE(mu.advanced);
  EXPECT_EQ(default_text(fields[3].fields[0]), "5") << "a nested default is that of the outer struct";
  EXPECT_TRUE(fields[5].optional);
  EXPECT_EQ(fields[7].label, "How many");
  EXPECT_EQ(type_text(fields[8]), "list of choice");

  const nlohmann::json j = to_json(mu);
  EXPECT_EQ(j["default"], 0.001);
  EXPECT_EQ(j["unit"], "Pa s");
  EXPECT_EQ(j["min"], 0);
  EXPECT_EQ(j["soft_max"], 10);
  EXPECT_EQ(to_json(fields[2])["choices"][0]["name"], "newton");
  EXPECT_EQ(to_json(fields[8])["default"], nlohmann::json({"bingham"}));
}

TEST(Schema, AFieldDescribedTwiceIsABug) {
  Schema<Inner> s;
  s.field("a", &Inner::a);
  EXPECT_THROW(s.field("a", &Inner::b), BugFound);
  EXPECT_THROW(s.field("c", &Inner::b).unit("cm"), BugFound) << "units of parameters have no prefix";
}

TEST(Suggest, FindsTheWordThatWasMeant) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("liqiud", "liquid"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(suggestion("viscosty", {"density", "viscosity"}), "; did you mean 'viscosity'?");
  EXPECT_EQ(suggestion("temperature", {"density", "viscosity"}), "");
  EXPECT_EQ(suggestion("x", {"y"}), "");
}

TEST(Value, TextsThatLookLikeSomethingElseAreQuoted) {
  EXPECT_EQ(scalar_text(Value::quoted_text("bulk/water")), "bulk/water");
  for (const char* text : {"", "yes", "True", "null", "12", "-1", "a: b", "a #b", "[x", "x ", "*a", "${x}"})
    EXPECT_EQ(scalar_text(Value::quoted_text(text)), std::string("\"") + text + "\"");
  EXPECT_EQ(scalar_text(Value::scalar("-1.5e-05")), "-1.5e-05");
  EXPECT_EQ(key_text("1001"), "1001");
  EXPECT_EQ(key_text("- x"), "\"- x\"");
}

TEST(Value, MapsCompareWithoutOrder) {
  Value a = Value::map(), b = Value::map();
  a.set("x", number("1")), a.set("y", number("2"));
  b.set("y", number("2")), b.set("x", number("1"));
  EXPECT_TRUE(same_content(a, b));
  b.set("x", number("3"));
  EXPECT_FALSE(same_content(a, b));
  b.remove("x");
  EXPECT_EQ(b.count(), 2u);
  EXPECT_EQ(b.depth(), 2u);
}

}  // namespace
}  // namespace aegir
