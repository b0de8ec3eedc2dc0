#include "phenomena/common/snippet.h"

#include <gtest/gtest.h>

namespace aegir {
namespace {

Located<std::string> written(const std::string& text) {
  Located<std::string> code(text);
  code.where = {"gone.yaml", 3, 9};  // a file that cannot be read: every place is that of the value
  return code;
}

TEST(Snippet, AnExpressionBecomesAStatement) {
  const auto snippet = Snippet::expression(written("@age > 1 // old\n && distance('a/b') < 0"), "chosen");
  ASSERT_TRUE(snippet);
  EXPECT_EQ(snippet->text(), "float@chosen = float(@age > 1 // old\n && distance(\"a/b\") < 0\n);");
  EXPECT_TRUE(snippet->is_expression());
}

TEST(Snippet, QuotesInsideTextsStay) {
  const auto snippet = Snippet::expression(written("distance(\"it's\") < 0"), "chosen");
  ASSERT_TRUE(snippet);
  EXPECT_NE(snippet->text().find("\"it's\""), std::string::npos);
}

TEST(Snippet, MoreThanOneExpressionIsRefused) {
  for (const char* text : {"1; 2", "1) + (2", "@a\n;", "/* no end", "distance('a) < 0"})
    EXPECT_FALSE(Snippet::expression(written(text), "chosen")) << text;
  for (const char* text : {"(1) + (2)", "1 /* ; ) */ + 2", "distance(';)') < 0", "1 // ;"})
    EXPECT_TRUE(Snippet::expression(written(text), "chosen")) << text;
}

SampleOffer offer(const std::string& object, const std::string& channel) {
  return {object, channel, expression::ValueType::float32, false, "", {}};
}

TEST(SampleOffers, EndsOfPathsMeanOneObject) {
  const std::vector<SampleOffer> offers{offer("bulk/water", "p"), offer("bulk/oil", "p"), offer("far/oil", "p"),
                                        offer("far/oil", "q"), offer("oil", "p")};
  std::vector<std::string> names;
  for (const auto& s : sources_of(offers)) names.push_back(s.object + "." + s.channel);
  EXPECT_EQ(names,
            (std::vector<std::string>{"bulk/water.p", "water.p", "bulk/oil.p", "far/oil.p", "far/oil.q", "oil.p"}));
  EXPECT_EQ(find_offer(offers, "water", "p"), &offers[0]);
  EXPECT_EQ(find_offer(offers, "oil", "p"), &offers[4]);
  EXPECT_EQ(find_offer(offers, "far/oil", "q"), &offers[3]);
  EXPECT_EQ(find_offer(offers, "air", "p"), nullptr);
}

TEST(SnippetSettings, NamesOfVariables) {
  SnippetSettings s;
  s.variables = {{"size", 1.0}};
  EXPECT_EQ(wrong_names(s), "");
  s.vectors = {{"size", Vec3d{}}};
  EXPECT_NE(wrong_names(s).find("in 'variables' and in 'vectors'"), std::string::npos);
  s.vectors = {{"dt", Vec3d{}}};
  EXPECT_NE(wrong_names(s).find("given by the run"), std::string::npos);
}

}  // namespace
}  // namespace aegir
