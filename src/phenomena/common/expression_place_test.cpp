#include "phenomena/common/expression_place.h"

#include <gtest/gtest.h>

namespace aegir {
namespace {

std::string text_of(const Location& l) { return fmt::format("{}:{}:{}", l.file, l.line, l.column); }

/// Places of a snippet whose value starts at a line and column of a file.
SnippetPlaces in(std::string_view file, int line, int column, std::string_view snippet) {
  return SnippetPlaces::in_setup(file, {"a.yaml", line, column}, snippet);
}

TEST(SnippetPlaces, OfABlockCountItsIndentation) {
  const SnippetPlaces p =
      in("- expression: a\n  code: |\n    f@x = 1;\n\n      f@y = 2;\n  seed: 3\n", 2, 9, "f@x = 1;\n\n  f@y = 2;\n");
  EXPECT_EQ(text_of(p.at(1, 1)), "a.yaml:3:5");
  EXPECT_EQ(text_of(p.at(1, 7)), "a.yaml:3:11");
  EXPECT_EQ(text_of(p.at(3, 3)), "a.yaml:5:7");
  EXPECT_EQ(text_of(p.at(0, 0)), "a.yaml:2:9");
  EXPECT_EQ(text_of(p.of_word("@y")), "a.yaml:5:8");
  EXPECT_EQ(text_of(p.at(9, 1)), "a.yaml:5:15") << "beyond the end is the end";
}

TEST(SnippetPlaces, OfABlockWithIndicators) {
  const SnippetPlaces p = in("code: |2-\n    f@x;\n  f@y;\n", 1, 7, "  f@x;\nf@y;");
  EXPECT_EQ(text_of(p.at(1, 3)), "a.yaml:2:5");
  EXPECT_EQ(text_of(p.at(2, 1)), "a.yaml:3:3");
}

TEST(SnippetPlaces, OfFoldedLines) {
  EXPECT_EQ(text_of(in("code: >\n   f@x\n   = 1;\n", 1, 7, "f@x = 1;\n").at(1, 7)), "a.yaml:3:6");
  EXPECT_EQ(text_of(in("code: f@x\n   = 1;\n", 1, 7, "f@x = 1;").at(1, 5)), "a.yaml:2:4");
}

TEST(SnippetPlaces, OfOneLine) {
  EXPECT_EQ(text_of(in("{code: f@x = 1;}", 1, 8, "f@x = 1;").at(1, 7)), "a.yaml:1:14");
  EXPECT_EQ(text_of(in("code: 'f@x = 1;'", 1, 7, "f@x = 1;").at(1, 1)), "a.yaml:1:8");
  EXPECT_EQ(text_of(in("code: &c \"f@x\"", 1, 7, "f@x").at(1, 3)), "a.yaml:1:13");
}

TEST(SnippetPlaces, OfEscapes) {
  EXPECT_EQ(text_of(in("code: 'a(''b'') + c'", 1, 7, "a('b') + c").at(1, 10)), "a.yaml:1:19");
  const SnippetPlaces p = in(R"(code: "a(\"b\");\nc")", 1, 7, "a(\"b\");\nc");
  EXPECT_EQ(text_of(p.at(1, 6)), "a.yaml:1:15");
  EXPECT_EQ(text_of(p.at(2, 1)), "a.yaml:1:19");
}

TEST(SnippetPlaces, CountCharactersNotBytes) {
  EXPECT_EQ(text_of(in("name: \u00e4, code: /*\u00e4*/ x", 1, 16, "/*\u00e4*/ x").at(1, 8)), "a.yaml:1:22");
}

TEST(SnippetPlaces, ThatAreNotKnownAreThoseOfTheValue) {
  EXPECT_EQ(text_of(in("code: other", 1, 7, "f@x = 1;").at(1, 3)), "a.yaml:1:7");
  EXPECT_EQ(text_of(in("", 3, 7, "f@x = 1;").at(1, 3)), "a.yaml:3:7");
  EXPECT_EQ(text_of(in("code: |", 1, 7, "f@x = 1;").at(1, 3)), "a.yaml:1:7");
}

TEST(SnippetPlaces, OfAFileAreItsOwn) {
  const SnippetPlaces p = SnippetPlaces::whole_file("a.ax", "f@x = 1;\n  f@y = 2;\n");
  EXPECT_EQ(text_of(p.at(2, 3)), "a.ax:2:3");
  EXPECT_EQ(text_of(p.at(3, 1)), "a.ax:3:1");
}

TEST(FindAxWord, LooksAtCodeOnly) {
  EXPECT_EQ(find_ax_word("// f()\n/* f() */ \"f\" + ff + f()", "f"), 28u);
  EXPECT_EQ(find_ax_word("// f()", "f"), std::string_view::npos);
  EXPECT_EQ(find_ax_word("/* f()", "f"), std::string_view::npos);
  EXPECT_EQ(find_ax_word("f@Px + v@P", "@P"), 8u);
}

}  // namespace
}  // namespace aegir
