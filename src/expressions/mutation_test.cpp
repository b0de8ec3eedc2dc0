// Snippets that are nearly right must be answered, never end the program. AEGIR_MUTATIONS=100000 makes more of them.
#include "expressions/mutation_test_support.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "expressions/program.h"
#include "expressions/test_options.h"

namespace aegir::expression {
namespace {

using testing::options;

/// Runs a program over a few elements of zeros.
void run(const Program& program) {
  constexpr std::size_t count = 33;
  std::vector<std::vector<double>> memory(static_cast<std::size_t>(program.plane_count()),
                                          std::vector<double>(count, 0));
  std::vector<void*> planes;
  for (auto& plane : memory) planes.push_back(plane.data());
  std::vector<std::uint8_t> deleted(count, 0);
  const std::vector<float> values = program.values({});
  Services services;
  services.sample = [](void*, int, const double*, float* value) { value[0] = value[1] = value[2] = 1; };
  services.neighbour_count = [](void*, std::int64_t, std::int64_t, float) { return 3; };
  services.neighbour_average = [](void*, int, std::int64_t, std::int64_t, float, float* value) {
    value[0] = value[1] = value[2] = 1;
  };
  Span span;
  span.planes = planes.data(), span.variables = values.data(), span.deleted = deleted.data();
  span.services = &services, span.loop_budget = 1000;
  (void)program.run(span, 0, count);
}

TEST(Mutation, GoodSnippetsAreGood) {
  for (const char* text : testing::good_snippets)
    for (const Diagnostic& d : check({text}, options())) EXPECT_FALSE(d.is_error) << text << "\n" << d.message;
}

TEST(Mutation, NoSnippetEndsTheProgram) {
  const char* wanted = std::getenv("AEGIR_MUTATIONS");
  const std::uint64_t count = wanted ? std::strtoull(wanted, nullptr, 10) : 2000;
  constexpr std::uint64_t run_every = 50;  // machine code takes long; some of them run, too
  std::uint64_t refused = 0, ran = 0;
  for (std::uint64_t n = 0; n < count; ++n) {
    const Source source{testing::mutated(n), n % 5 == 0 ? Elements::voxels : Elements::particles};
    bool wrong = false;
    for (const Diagnostic& d : check(source, options())) {
      wrong |= d.is_error;
      EXPECT_FALSE(d.message.empty()) << source.text;
    }
    refused += wrong;
    if (wrong || n % run_every != 0) continue;
    const Compiled compiled = compile(source, options());
    ASSERT_TRUE(compiled.program) << source.text;
    run(*compiled.program);
    ++ran;
  }
  EXPECT_GT(refused, count / 4);
  EXPECT_LT(refused, count * 9 / 10);  // enough of them reach the generator
  EXPECT_GT(ran, 0u);
  clear_program_cache();
}

std::string repeated(std::string_view part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

TEST(Limits, DeepAndLongSnippetsAreRefusedBeforeTheyAreParsed) {
  const std::vector<std::string> texts = {
      "@a = " + repeated("(", 100000) + "1" + repeated(")", 100000) + ";",
      repeated("{", 5000),
      "@a = " + repeated("-", 5000) + "1;",
      "@a = 1" + repeated("+1", 5000) + ";",
      "@a = " + repeated("1 ? 2 : ", 3000) + "3;",
      repeated("if (@a) ", 3000) + "@a = 1;",
      repeated("if (@a) { @a = 1; } else ", 3000) + "@a = 1;",
      repeated("@a = 1;", 4000),
      "v@v" + repeated("[0]", 5000) + " = 1;",
      "@a = abs" + repeated("(abs", 5000) + ";",
      "@caf\xc3\xa9 = 1;",
  };
  for (const std::string& text : texts) {
    const auto found = check({text});
    ASSERT_FALSE(found.empty()) << text.substr(0, 40);
    EXPECT_TRUE(found.front().is_error) << text.substr(0, 40);
  }
}

TEST(Limits, WhatIsJustAllowedCompiles) {
  const Limits limits;
  const std::vector<std::string> texts = {
      "@a = " + repeated("(", limits.nesting) + "1" + repeated(")", limits.nesting) + ";",
      "@a = 1" + repeated("+1", limits.nesting * 4 - 2) + ";",
      repeated("if (@a > 1) { @a = 1; } else ", limits.nesting * 4) + "@a = 2;",
      repeated("{", limits.nesting) + "@a = 1;" + repeated("}", limits.nesting),
      repeated("@a += 1;", 1000),
  };
  for (const std::string& text : texts)
    for (const Diagnostic& d : check({text})) EXPECT_FALSE(d.is_error) << d.message << " " << text.substr(0, 40);
}

TEST(Limits, NothingAndCommentsAreFine) {
  EXPECT_TRUE(compile({""}).program);
  EXPECT_TRUE(compile({"// (((( caf\xc3\xa9\n"}).program);
}

}  // namespace
}  // namespace aegir::expression
