#include "expressions/program.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <random>
#include <thread>

#include "base/random.h"
#include "expressions/runtime.h"
#include "expressions/test_options.h"

namespace aegir::expression {
namespace {

using testing::options;

/// Planes for one bucket and a span over them.
struct Bench {
  explicit Bench(const Program& program, std::size_t count_ = 100)
      : count(count_), memory(static_cast<std::size_t>(program.plane_count()), std::vector<double>(count_, 0)) {
    for (auto& plane : memory) planes.push_back(plane.data());
    deleted.assign(count, 0);
    span.planes = planes.data();
    span.deleted = deleted.data();
    values = program.values({});
    span.variables = values.data();
  }
  template <class T>
  T* plane(const Program& program, std::string_view attribute, int component = 0) {
    return static_cast<T*>(planes[static_cast<std::size_t>(program.find(attribute)->first_plane + component)]);
  }
  std::size_t count;
  std::vector<std::vector<double>> memory;
  std::vector<void*> planes;
  std::vector<std::uint8_t> deleted;
  std::vector<float> values;
  Span span;
};

std::shared_ptr<const Program> made(const std::string& text, Elements elements = Elements::particles) {
  const Source source{text, elements};
  const Compiled compiled = compile(source, options());
  EXPECT_TRUE(compiled.program) << (compiled.program ? "" : compiled.error(source).text());
  return compiled.program;
}

Diagnostic first_error(const std::string& text, Elements elements = Elements::particles) {
  for (const Diagnostic& d : check({text, elements}, options()))
    if (d.is_error) return d;
  return {false, 0, 0, ""};
}

TEST(Program, ListsWhatItReadsWritesAndCreates) {
  const auto program = made("v@v += {0, -9.81, 0} * $dt; f@heat = @rad; if (@age > 1) vec3i@cell.x = 1;");
  ASSERT_TRUE(program);
  const Attribute* v = program->find("v");
  ASSERT_TRUE(v);
  EXPECT_TRUE(v->read && v->written && !v->created);
  EXPECT_EQ(v->components, 3);
  const Attribute* heat = program->find("heat");
  EXPECT_TRUE(!heat->read && heat->written && heat->created);
  const Attribute* radius = program->find("rad");
  EXPECT_TRUE(radius->read && !radius->written && !radius->created);
  EXPECT_TRUE(program->find("age")->created && program->find("age")->read);
  EXPECT_EQ(program->find("cell")->type, ValueType::vec3i);
  EXPECT_EQ(program->find("cell")->scalar, Scalar::i32);
  EXPECT_EQ(program->plane_count(), 3 + 1 + 1 + 1 + 3);
  EXPECT_EQ(program->variables(), (std::vector<Named>{{"dt", ValueType::float32}}));
  EXPECT_FALSE(program->uses().deletes || program->uses().loops || program->uses().random);
}

TEST(Program, ABareNameHasTheTypeOfItsChannel) {
  const auto program = made("@v.y = 2; @P.x += 1; @new = 1; int@id;");
  ASSERT_TRUE(program);
  EXPECT_EQ(program->find("v")->type, ValueType::vec3f);
  EXPECT_EQ(program->find("P")->type, ValueType::vec3f);
  EXPECT_EQ(program->find("new")->type, ValueType::float32);
  EXPECT_EQ(program->find("id")->type, ValueType::int32);
  EXPECT_EQ(program->find("id")->scalar, Scalar::i64);
}

TEST(Program, VariablesChangeWithoutCompiling) {
  const auto program = made("@rad = $dt; v@v = v$wind * 2;");
  ASSERT_TRUE(program);
  Bench bench(*program, 5);
  for (float dt : {0.5f, 0.25f}) {
    bench.values = program->values({{"dt", {dt}}, {"wind", {dt, 1, 2}}});
    bench.span.variables = bench.values.data();
    EXPECT_EQ(program->run(bench.span, 0, 5), RunStatus::finished);
    EXPECT_EQ(bench.plane<float>(*program, "rad")[4], dt);
    EXPECT_EQ(bench.plane<float>(*program, "v", 0)[3], 2 * dt);
    EXPECT_EQ(bench.plane<float>(*program, "v", 2)[0], 4.0f);
  }
}

TEST(Program, OnlyTheElementsAskedForChange) {
  const auto program = made("@rad = 7;");
  Bench bench(*program, 40);
  EXPECT_EQ(program->run(bench.span, 3, 37), RunStatus::finished);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(bench.plane<float>(*program, "rad")[i], i >= 3 && i < 37 ? 7 : 0) << i;
}

TEST(Program, PositionIsWorldPosition) {
  const auto program = made("v@v = v@P; if (@rad > 0) v@P += {1, 0, 0};");
  ASSERT_TRUE(program);
  Bench bench(*program, 20);
  bench.span.origin[0] = 8, bench.span.origin[1] = -16, bench.span.spacing = 0.5;
  float* p = bench.plane<float>(*program, "P");
  float* y = bench.plane<float>(*program, "P", 1);
  for (int i = 0; i < 20; ++i)
    p[i] = 0.1f * static_cast<float>(i), y[i] = 3, bench.plane<float>(*program, "rad")[i] = i % 2;
  EXPECT_EQ(program->run(bench.span, 0, 20), RunStatus::finished);
  for (int i = 0; i < 20; ++i) {
    const float before = 0.1f * static_cast<float>(i);
    EXPECT_FLOAT_EQ(bench.plane<float>(*program, "v")[i], 8 + 0.5f * before);
    EXPECT_EQ(bench.plane<float>(*program, "v", 1)[i], -14.5f);
    if (i % 2 == 0)
      EXPECT_EQ(p[i], before) << "a position that is not moved keeps its bits";
    else
      EXPECT_NEAR(p[i], before + 2, 1e-5);
    EXPECT_EQ(y[i], 3);
  }
}

TEST(Program, PositionsFarFromTheOriginAreExactInDouble) {
  const auto program = made("vec3d@P += 0.001;");
  ASSERT_TRUE(program);
  Bench bench(*program, 1);
  bench.span.origin[0] = 1e5, bench.span.spacing = 0.01;
  bench.plane<float>(*program, "P")[0] = 1.25f;
  EXPECT_EQ(program->run(bench.span, 0, 1), RunStatus::finished);
  EXPECT_NEAR(bench.plane<float>(*program, "P")[0], 1.35f, 1e-6);
}

TEST(Program, WhatIsOnlyAddedIsNotRoundedToWorldPositions) {
  for (const char* text : {"v@P += 0.001f;", "v@P.x += 0.002f; @P.x -= 0.001f;"}) {
    const auto program = made(text);
    ASSERT_TRUE(program);
    Bench bench(*program, 20);
    bench.span.origin[0] = 1e6, bench.span.spacing = 0.01;
    for (int i = 0; i < 20; ++i) bench.plane<float>(*program, "P")[i] = 1.25f;
    EXPECT_EQ(program->run(bench.span, 0, 20), RunStatus::finished);
    EXPECT_NEAR(bench.plane<float>(*program, "P")[7], 1.35f, 1e-6) << text;
  }
}

TEST(Program, ErrorsHavePlacesInTheSnippetAndInTheFile) {
  const Source source{"float x = 1;\n  @rad = y;\n@rad = foo(1);", Elements::particles, {"a.yaml", 10, 17}, 6};
  const Compiled compiled = compile(source, options());
  ASSERT_FALSE(compiled.program);
  ASSERT_EQ(compiled.diagnostics.size(), 2u);
  EXPECT_EQ(compiled.diagnostics[0].line, 2);
  EXPECT_EQ(compiled.diagnostics[0].column, 10);
  EXPECT_EQ(compiled.error(source).text(), "a.yaml:11:16: variable \"y\" hasn't been declared");
  EXPECT_EQ(compiled.messages(source).errors[1].where, (Location{"a.yaml", 12, 14}));
  EXPECT_EQ(source.place(1, 3), (Location{"a.yaml", 10, 19}));
}

TEST(Program, MistakesAreNamed) {
  EXPECT_NE(first_error("@a = ;").message.find("unexpected"), std::string::npos);
  EXPECT_NE(first_error("int64@id = 3;").message.find("cannot be written"), std::string::npos);
  EXPECT_NE(first_error("@a = $speed;").message.find("there is $dt, $wind"), std::string::npos);
  EXPECT_NE(first_error("float@v = 1;").message.find("is a vec3f"), std::string::npos);
  EXPECT_NE(first_error("f@a = 1; i@a = 2;").message.find("choose one type"), std::string::npos);
  EXPECT_NE(first_error("string@s = \"x\";").message.find("channels hold"), std::string::npos);
  EXPECT_NE(first_error("print(1);").message.find("not available"), std::string::npos);
  EXPECT_NE(first_error("string s = \"g\"; addtogroup(s);").message.find("literal"), std::string::npos);
  EXPECT_NE(first_error("@a = sample(\"air\", \"heat\", @P);").message.find("there is 'density'"), std::string::npos);
  EXPECT_NE(first_error("@a = getcoordx();").message.find("works on voxels"), std::string::npos);
  EXPECT_NE(first_error("deletepoint();", Elements::voxels).message.find("works on particles"), std::string::npos);
  EXPECT_NE(first_error("@P.x = 1;", Elements::voxels).message.find("cannot be written"), std::string::npos);
  EXPECT_NE(first_error("v@v[3] = 1;").message.find("outside"), std::string::npos);
  const Diagnostic place = first_error("f@a = 1;\n  f@b = v@v[7];");
  EXPECT_EQ(place.line, 2);
  EXPECT_GT(place.column, 6);
}

TEST(Program, RandIsAFunctionOfIdStepAndNumberOfTheCall) {
  const auto program = made("double@a = rand(); double@b = rand();");
  ASSERT_TRUE(program);
  EXPECT_TRUE(program->uses().random);
  ASSERT_TRUE(program->find("id"));
  Bench bench(*program, 37);
  bench.span.seed = 5, bench.span.step = 9, bench.span.purpose = 3;
  for (int i = 0; i < 37; ++i) bench.plane<std::int64_t>(*program, "id")[i] = 1000 - 7 * i;
  EXPECT_EQ(program->run(bench.span, 0, 37), RunStatus::finished);
  for (int i = 0; i < 37; ++i) {
    const Random random(5, static_cast<std::uint64_t>(1000 - 7 * i), 9, purpose_of(3));
    EXPECT_EQ(bench.plane<double>(*program, "a")[i], random.uniform(0));
    EXPECT_EQ(bench.plane<double>(*program, "b")[i], random.uniform(1));
  }
}

TEST(Program, RandInALoopDrawsANewNumberEachTurn) {
  const auto program = made("double@a = 0; for (int i = 0; i < 3; ++i) double@a += rand();");
  Bench bench(*program, 2);
  bench.plane<std::int64_t>(*program, "id")[1] = 42;
  EXPECT_EQ(program->run(bench.span, 0, 2), RunStatus::finished);
  const Random random(0, 42, 0, purpose_of(0));
  EXPECT_EQ(bench.plane<double>(*program, "a")[1], random.uniform(0) + random.uniform(1) + random.uniform(2));
}

TEST(Program, SeededRandIsThatOfTheStandardEngine) {
  for (std::int64_t seed : {0ll, 1ll, -1ll, 12345ll, 1ll << 62, -(1ll << 40)}) {
    std::mt19937_64 engine(static_cast<std::uint64_t>(seed));
    EXPECT_EQ(seeded_random(seed), std::uniform_real_distribution<double>(0.0, 1.0)(engine)) << seed;
  }
}

TEST(Program, DeletesAndGroups) {
  const auto program =
      made("if (@rad > 0.5) deletepoint(); if (ingroup(\"a\")) { removefromgroup(\"a\"); addtogroup(\"b\"); }");
  ASSERT_TRUE(program);
  EXPECT_TRUE(program->uses().deletes && program->uses().groups);
  const Attribute* group = program->find("group:a");
  ASSERT_TRUE(group);
  EXPECT_TRUE(group->read && group->written && group->created && group->scalar == Scalar::i32);
  Bench bench(*program, 30);
  for (int i = 0; i < 30; ++i) {
    bench.plane<float>(*program, "rad")[i] = i % 3 == 0;
    bench.plane<std::int32_t>(*program, "group:a")[i] = i % 5 == 0;
  }
  EXPECT_EQ(program->run(bench.span, 0, 30), RunStatus::finished);
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(bench.deleted[i], i % 3 == 0);
    EXPECT_EQ(bench.plane<std::int32_t>(*program, "group:a")[i], 0);
    EXPECT_EQ(bench.plane<std::int32_t>(*program, "group:b")[i], i % 5 == 0);
  }
}

TEST(Program, EndlessLoopsEnd) {
  for (const char* text : {"while (true) {}", "for (;;) { @rad += 1; }", "int i = 0; do { i = 1 - i; } while (i < 2);",
                           "for (int i = 0; i < 2000000000; ++i) { for (int j = 0; j < i; ++j) { @rad += j; } }"}) {
    const auto program = made(text);
    ASSERT_TRUE(program) << text;
    EXPECT_TRUE(program->uses().loops) << text;
    Bench bench(*program, 4);
    bench.span.loop_budget = 1000;
    EXPECT_EQ(program->run(bench.span, 0, 4), RunStatus::loop_limit) << text;
    std::int32_t stop = 1;
    bench.span.stop = &stop, bench.span.loop_budget = std::int64_t{1} << 60;
    EXPECT_EQ(program->run(bench.span, 0, 4), RunStatus::interrupted) << text;
  }
}

TEST(Program, AnotherThreadInterrupts) {
  const auto program = made("while (@rad < 1) { @rad *= 0.5; }");
  ASSERT_TRUE(program);
  Bench bench(*program, 4);
  std::int32_t stop = 0;
  bench.span.stop = &stop, bench.span.loop_budget = std::int64_t{1} << 60;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic_ref(stop).store(1);
  });
  EXPECT_EQ(program->run(bench.span, 0, 4), RunStatus::interrupted);
  other.join();
}

TEST(Program, ShortLoopsAreNotCounted) {
  const auto program = made("float s = 0; for (int i = 0; i < 8; ++i) { s += i; } @rad = s;");
  ASSERT_TRUE(program);
  EXPECT_FALSE(program->uses().loops);
  Bench bench(*program, 4);
  bench.span.loop_budget = 1;
  EXPECT_EQ(program->run(bench.span, 0, 4), RunStatus::finished);
  EXPECT_EQ(bench.plane<float>(*program, "rad")[2], 28);
}

TEST(Program, WhatTrapsInCDoesNot) {
  const auto program = made(
      "int z = int@n; int@a = 5 / z; int@b = 5 % z; int m = -2147483647 - 1; int o = z - 1; int@c = m / o; int@d = m % "
      "o;"
      "v@v = 0; v@v[z + 100] = 3; v@v[z - 100] = 4; int@e = 1 << (z + 200); int@f = int(@rad); if (1 / 0 > 3) @rad = "
      "1;");
  ASSERT_TRUE(program);
  Bench bench(*program, 9);
  for (int i = 0; i < 9; ++i) bench.plane<float>(*program, "rad")[i] = 1e30f;
  EXPECT_EQ(program->run(bench.span, 0, 9), RunStatus::finished);
  EXPECT_EQ(bench.plane<std::int32_t>(*program, "a")[0], 0);
  EXPECT_EQ(bench.plane<std::int32_t>(*program, "b")[0], 0);
  EXPECT_EQ(bench.plane<std::int32_t>(*program, "c")[0], std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(bench.plane<std::int32_t>(*program, "d")[0], 0);
  EXPECT_EQ(bench.plane<float>(*program, "v", 2)[0], 3);
  EXPECT_EQ(bench.plane<float>(*program, "v", 0)[0], 4);
}

TEST(Program, ServicesAreCalledWithTheirContext) {
  const auto program = made(
      "@rad = sample(\"air\", \"density\", @P); v@v = sample(\"air\", \"vel\", {1, 2, 3}); i@n = neighbourcount(0.5);"
      "v@w = neighbouraverage(\"v\", 2);");
  ASSERT_TRUE(program);
  EXPECT_TRUE(program->uses().samples && program->uses().neighbours);
  EXPECT_EQ(program->samples().size(), 2u);
  EXPECT_EQ(program->neighbour_channels(), (std::vector<Named>{{"v", ValueType::vec3f}}));
  float scale = 10;
  Services services;
  services.sample_context = &scale;
  services.sample = [](void* context, int source, const double position[3], float value[3]) {
    for (int a = 0; a < 3; ++a)
      value[a] = *static_cast<float*>(context) * static_cast<float>(position[a]) + static_cast<float>(source);
  };
  services.neighbour_count = [](void*, std::int64_t bucket, std::int64_t element, float radius) {
    return static_cast<int>(100 * bucket + 10 * element) + static_cast<int>(2 * radius);
  };
  services.neighbour_average = [](void*, int source, std::int64_t, std::int64_t element, float radius, float value[3]) {
    value[0] = static_cast<float>(source), value[1] = static_cast<float>(element), value[2] = radius;
  };
  Bench bench(*program, 3);
  bench.span.services = &services, bench.span.bucket = 7, bench.span.origin[0] = 4;
  bench.plane<float>(*program, "P")[2] = 0.5f;
  EXPECT_EQ(program->run(bench.span, 0, 3), RunStatus::finished);
  const int density = program->samples()[0].channel == "density" ? 0 : 1;
  EXPECT_EQ(bench.plane<float>(*program, "rad")[2], 45.0f + static_cast<float>(density));
  EXPECT_EQ(bench.plane<float>(*program, "v", 2)[1], 30.0f + static_cast<float>(1 - density));
  EXPECT_EQ(bench.plane<std::int32_t>(*program, "n")[2], 721);
  EXPECT_EQ(bench.plane<float>(*program, "w", 1)[2], 2);
  EXPECT_EQ(bench.plane<float>(*program, "w", 2)[2], 2);
}

TEST(Program, DistanceSamplesWhereTheElementIs) {
  const auto program = made("v@P += {1, 0, 0}; @rad = distance(\"air\");");
  ASSERT_TRUE(program);
  ASSERT_TRUE(program->find("P") && program->find("P")->read);
  ASSERT_EQ(program->samples().size(), 1u);
  EXPECT_EQ(program->samples()[0].channel, "surface_distance");
  Services services;
  services.sample = [](void*, int, const double position[3], float value[3]) {
    value[0] = static_cast<float>(position[0] + 10 * position[1]);
  };
  Bench bench(*program, 2);
  bench.span.services = &services, bench.span.origin[0] = 4, bench.span.spacing = 0.5;
  bench.plane<float>(*program, "P", 1)[1] = 3;
  EXPECT_EQ(program->run(bench.span, 0, 2), RunStatus::finished);
  EXPECT_EQ(bench.plane<float>(*program, "rad")[0], 5);
  EXPECT_EQ(bench.plane<float>(*program, "rad")[1], 20);

  const auto alone = made("if (distance(\"air\") < 0) deletepoint();");
  ASSERT_TRUE(alone && alone->find("P"));
  EXPECT_FALSE(alone->find("P")->written);
  EXPECT_TRUE(made("f@a = distance(\"air\");", Elements::voxels));
  for (const char* wrong : {"@a = distance(\"sea\");", "@a = distance(@P);", "@a = distance(\"air\", @P);"})
    EXPECT_FALSE(compile({wrong}, options()).program) << wrong;
}

TEST(Program, AVectorBesideANumberIsComparedByItsLength) {
  const auto program = made(
      "vec3f a = {3, 0, 4}; vec3i b = {3, 0, 4}; vec2d c = {3, 4};"
      "i@n = (a < 5.1) + 2 * (a <= 4.9) + 4 * (4.9 < a) + 8 * (5.1 >= b) + 16 * (c > 5) + 32 * (c >= 5);");
  ASSERT_TRUE(program);
  Bench bench(*program, 1);
  EXPECT_EQ(program->run(bench.span, 0, 1), RunStatus::finished);
  EXPECT_EQ(bench.plane<std::int32_t>(*program, "n")[0], 1 + 4 + 8 + 32);
  EXPECT_FALSE(compile({"i@n = v@v < {1, 2, 3};"}, options()).program);
  EXPECT_FALSE(compile({"mat3f m = 1; i@n = m < 1;"}, options()).program);
}

TEST(Program, VoxelsKnowWhereTheyAre) {
  const auto program =
      made("v@v = @P; vec3i@c = getcoord(); vec3d@w = getvoxelpws(); double@r = rand();", Elements::voxels);
  ASSERT_TRUE(program);
  EXPECT_FALSE(program->find("P"));
  EXPECT_FALSE(program->find("id"));
  Bench bench(*program, 512);
  bench.span.origin[2] = -4, bench.span.spacing = 0.5, bench.span.first_cell[2] = -8;
  EXPECT_EQ(program->run(bench.span, 0, 512), RunStatus::finished);
  const int cell = 64 * 1 + 8 * 2 + 3;
  EXPECT_EQ(bench.plane<float>(*program, "v", 0)[cell], 0.75f);
  EXPECT_EQ(bench.plane<float>(*program, "v", 1)[cell], 1.25f);
  EXPECT_EQ(bench.plane<float>(*program, "v", 2)[cell], -2.25f);
  EXPECT_EQ(bench.plane<double>(*program, "w", 2)[cell], -2.25);
  EXPECT_EQ(bench.plane<std::int32_t>(*program, "c", 2)[cell], -5);
  EXPECT_NE(bench.plane<double>(*program, "r")[cell], bench.plane<double>(*program, "r")[cell + 1]);
}

TEST(Program, TheSameSourceIsCompiledOnce) {
  const Source source{"@rad *= 1.0000001f;"};
  const Compiled first = compile(source, options()), second = compile(source, options());
  EXPECT_FALSE(first.cached);
  EXPECT_TRUE(second.cached);
  EXPECT_EQ(first.program, second.program);
  CompileOptions other = options();
  other.channels.clear();
  EXPECT_NE(compile(source, other).program, first.program);
}

}  // namespace
}  // namespace aegir::expression
