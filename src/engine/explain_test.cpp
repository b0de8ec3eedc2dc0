#include "engine/explain.h"

#include <gtest/gtest.h>

#include "engine/build.h"
#include "engine/describe.h"
#include "engine/test_support.h"

namespace aegir {
namespace {

TEST(Explain, NamesStagesTasksAndWhatIsOff) {
  test::TestFolder folder;
  const std::string setup = folder.write("rain.yaml", test::rain_setup());
  const auto comm = make_single_comm();
  Profile profile;
  const BuiltRun built = build_run(setup, {"gravity.enabled=false"}, make_catalog(), {*comm, profile});
  const BuiltRun good = build_run(setup, {"earth.enabled=false"}, make_catalog(), {*comm, profile});
  EXPECT_FALSE(built.simulation);
  ASSERT_TRUE(good.simulation) << good.report.messages.errors[0].text();
  const std::string text = explain(*good.simulation);
  for (const char* word :
       {"stage", "every substep", "rebucket", "emit", "move", "drops", "nozzle", "output", "earth", "disabled"})
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
}

TEST(Describe, CatalogIsSoundAndPagesAreComplete) {
  const Catalog catalog = make_catalog();
  EXPECT_TRUE(catalog.problems().empty()) << catalog.problems().front();
  EXPECT_NE(describe_types(catalog).find("gravity"), std::string::npos);
  const auto gravity = describe_type(catalog, "gravity");
  ASSERT_TRUE(gravity);
  EXPECT_NE(gravity->find("acceleration"), std::string::npos);
  const auto wrong = describe_type(catalog, "gravty");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("'gravity'"), std::string::npos) << wrong.error().message;
  EXPECT_FALSE(describe_type(catalog, "report")) << "announced, not there yet";

  test::TestFolder folder;
  EXPECT_FALSE(stale_pages(catalog, folder / "reference").empty());
  ASSERT_TRUE(write_pages(catalog, folder / "reference"));
  EXPECT_TRUE(stale_pages(catalog, folder / "reference").empty());
  folder.write("reference/gravity.md", "something else");
  EXPECT_EQ(stale_pages(catalog, folder / "reference"), (std::vector<std::string>{"gravity.md is out of date"}));
}

}  // namespace
}  // namespace aegir
