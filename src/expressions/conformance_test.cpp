// The conformance table: docs/expressions_conformance.md. AEGIR_WRITE_CONFORMANCE=1 writes it, else it is compared.
#include <gtest/gtest.h>
#include <openvdb/openvdb.h>
#include <openvdb/points/PointConversion.h>
#include <openvdb/points/PointDataGrid.h>
#include <openvdb_ax/ax.h>
#include <openvdb_ax/codegen/Functions.h>
#include <openvdb_ax/compiler/Compiler.h>
#include <openvdb_ax/compiler/PointExecutable.h>
#include <openvdb_ax/compiler/VolumeExecutable.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "expressions/conformance_test_support.h"
#include "expressions/program.h"

namespace aegir::expression {
namespace {

namespace ax = openvdb::ax;
namespace points = openvdb::points;

constexpr int count = 64;  // particles; voxels are a whole bucket

/// Calls f(value of the C++ type) for a type of the language.
template <class F>
void with_type(ValueType type, F&& f) {
  namespace math = openvdb::math;
  switch (type) {
    case ValueType::boolean:
      return f(bool{});
    case ValueType::int16:
      return f(std::int16_t{});
    case ValueType::int32:
      return f(std::int32_t{});
    case ValueType::int64:
      return f(std::int64_t{});
    case ValueType::float32:
      return f(float{});
    case ValueType::float64:
      return f(double{});
    case ValueType::vec2i:
      return f(math::Vec2<std::int32_t>{});
    case ValueType::vec2f:
      return f(math::Vec2<float>{});
    case ValueType::vec2d:
      return f(math::Vec2<double>{});
    case ValueType::vec3i:
      return f(math::Vec3<std::int32_t>{});
    case ValueType::vec3f:
      return f(math::Vec3<float>{});
    case ValueType::vec3d:
      return f(math::Vec3<double>{});
    case ValueType::vec4i:
      return f(math::Vec4<std::int32_t>{});
    case ValueType::vec4f:
      return f(math::Vec4<float>{});
    case ValueType::vec4d:
      return f(math::Vec4<double>{});
    case ValueType::mat3f:
      return f(math::Mat3<float>{});
    case ValueType::mat3d:
      return f(math::Mat3<double>{});
    case ValueType::mat4f:
      return f(math::Mat4<float>{});
    case ValueType::mat4d:
      return f(math::Mat4<double>{});
    case ValueType::string:
      break;
  }
  FAIL() << "strings are no attributes";
}

template <class T>
double component(const T& value, int c) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(value.asPointer()[c]);
}
template <class T>
void set_component(T& value, int c, double x) {
  if constexpr (std::is_arithmetic_v<T>)
    value = static_cast<T>(x);
  else
    value.asPointer()[c] = static_cast<std::remove_cvref_t<decltype(value.asPointer()[c])>>(x);
}

/// What an attribute holds before the snippet runs. Results (those that no table of inputs names) start at 0.
double initial(const std::string& name, int element, int c) {
  const double wave = std::sin(1.7 * element + 0.9 * c + 13.0 * name.front());
  if (name == "P") return 0.5 + ((element >> (2 * c)) & 3) * 1.5;
  if (name == "id") return element;
  if (name == "m") return element % 3;
  if (name == "n") return element % 11 - 5;
  if (name == "u01") return 0.5 + 0.5 * wave;
  if (name == "a" || name == "b") return static_cast<float>(2 * wave);
  if (name == "v" || name == "w") return static_cast<float>(3 * wave);
  return 0;
}

/// Attributes after a run, by name: component after component for each element; `alive` by element.
struct Outcome {
  std::map<std::string, std::vector<double>> values;
  std::vector<bool> alive;
};

CompileOptions options() {
  CompileOptions o;
  o.variables = {{"dt", ValueType::float32}, {"wind", ValueType::vec3f}};
  return o;
}

template <class T>
void put(std::vector<std::byte>& plane, std::size_t i, double value) {
  const T t = static_cast<T>(value);
  std::memcpy(plane.data() + i * sizeof(T), &t, sizeof(T));
}
template <class T>
double get(const std::vector<std::byte>& plane, std::size_t i) {
  T t;
  std::memcpy(&t, plane.data() + i * sizeof(T), sizeof(T));
  return static_cast<double>(t);
}
double get(const std::vector<std::byte>& plane, Scalar scalar, std::size_t i) {
  switch (scalar) {
    case Scalar::f32:
      return get<float>(plane, i);
    case Scalar::f64:
      return get<double>(plane, i);
    case Scalar::i32:
      return get<std::int32_t>(plane, i);
    case Scalar::i64:
      return get<std::int64_t>(plane, i);
  }
  return 0;
}
void put(std::vector<std::byte>& plane, Scalar scalar, std::size_t i, double value) {
  switch (scalar) {
    case Scalar::f32:
      return put<float>(plane, i, value);
    case Scalar::f64:
      return put<double>(plane, i, value);
    case Scalar::i32:
      return put<std::int32_t>(plane, i, value);
    case Scalar::i64:
      return put<std::int64_t>(plane, i, value);
  }
}

Outcome run_ours(const Program& program, int elements) {
  std::vector<std::vector<std::byte>> memory;
  std::vector<void*> planes;
  for (const Attribute& a : program.attributes())
    for (int c = 0; c < a.components; ++c) {
      auto& plane = memory.emplace_back(static_cast<std::size_t>(elements) * 8);
      for (int i = 0; i < elements; ++i) put(plane, a.scalar, static_cast<std::size_t>(i), initial(a.name, i, c));
    }
  for (auto& plane : memory) planes.push_back(plane.data());
  std::vector<std::uint8_t> deleted(static_cast<std::size_t>(elements), 0);
  const std::vector<float> values = program.values({{"dt", {0.125f}}, {"wind", {1, 2, 3}}});
  Span span;
  span.planes = planes.data(), span.variables = values.data(), span.deleted = deleted.data();
  EXPECT_EQ(program.run(span, 0, elements), RunStatus::finished);
  Outcome outcome;
  for (const Attribute& a : program.attributes())
    for (int i = 0; i < elements; ++i)
      for (int c = 0; c < a.components; ++c)
        outcome.values[a.name].push_back(
            get(memory[static_cast<std::size_t>(a.first_plane + c)], a.scalar, static_cast<std::size_t>(i)));
  for (std::uint8_t d : deleted) outcome.alive.push_back(d == 0);
  return outcome;
}

ax::CustomData::Ptr custom_data() {
  auto data = ax::CustomData::create();
  data->getOrInsertData<openvdb::TypedMetadata<float>>("dt")->setValue(0.125f);
  data->getOrInsertData<openvdb::TypedMetadata<openvdb::Vec3f>>("wind")->setValue({1, 2, 3});
  return data;
}

/// The same attributes on a points grid, by AX's executable.
Outcome run_points(const std::string& text, const Program& program) {
  const auto transform = openvdb::math::Transform::createLinearTransform(1.0);
  std::vector<openvdb::Vec3f> positions;
  for (int i = 0; i < count; ++i) positions.emplace_back(initial("P", i, 0), initial("P", i, 1), initial("P", i, 2));
  auto grid = points::createPointDataGrid<points::NullCodec, points::PointDataGrid>(positions, *transform);
  points::appendAttribute<std::int64_t>(grid->tree(), "key");
  std::map<std::array<float, 3>, int> number;
  for (int i = 0; i < count; ++i) number[{positions[i][0], positions[i][1], positions[i][2]}] = i;
  EXPECT_EQ(number.size(), static_cast<std::size_t>(count));
  for (const Attribute& a : program.attributes()) {
    if (a.name == "P") continue;
    if (a.name.starts_with("group:")) {
      points::appendGroup(grid->tree(), a.name.substr(6));
      continue;
    }
    with_type(a.type, [&](auto zero) { points::appendAttribute<decltype(zero)>(grid->tree(), a.name); });
  }
  for (auto leaf = grid->tree().beginLeaf(); leaf; ++leaf) {
    points::AttributeHandle<openvdb::Vec3f> position(leaf->constAttributeArray("P"));
    points::AttributeWriteHandle<std::int64_t> key(leaf->attributeArray("key"));
    for (auto index = leaf->beginIndexOn(); index; ++index) {
      const openvdb::Vec3d world = position.get(*index) + index.getCoord().asVec3d();
      key.set(*index, number.at({float(world[0]), float(world[1]), float(world[2])}));
    }
    for (const Attribute& a : program.attributes()) {
      if (a.name == "P" || a.name.starts_with("group:")) continue;
      with_type(a.type, [&](auto zero) {
        points::AttributeWriteHandle<decltype(zero)> handle(leaf->attributeArray(a.name));
        for (auto index = leaf->beginIndexOn(); index; ++index) {
          auto value = zero;
          for (int c = 0; c < a.components; ++c)
            set_component(value, c, initial(a.name, static_cast<int>(key.get(*index)), c));
          handle.set(*index, value);
        }
      });
    }
  }
  auto compiler = ax::Compiler::create();
  compiler->compile<ax::PointExecutable>(text, custom_data())->execute(*grid);

  Outcome outcome;
  outcome.alive.assign(count, false);
  for (const Attribute& a : program.attributes())
    outcome.values[a.name].assign(static_cast<std::size_t>(count * a.components), 0);
  for (auto leaf = grid->tree().cbeginLeaf(); leaf; ++leaf) {
    points::AttributeHandle<std::int64_t> key(leaf->constAttributeArray("key"));
    for (auto index = leaf->beginIndexOn(); index; ++index)
      outcome.alive[static_cast<std::size_t>(key.get(*index))] = true;
    for (const Attribute& a : program.attributes()) {
      std::vector<double>& values = outcome.values[a.name];
      if (a.name.starts_with("group:")) {
        const points::GroupHandle handle = leaf->groupHandle(a.name.substr(6));
        for (auto index = leaf->beginIndexOn(); index; ++index)
          values[static_cast<std::size_t>(key.get(*index))] = handle.get(*index);
        continue;
      }
      with_type(a.type, [&](auto zero) {
        points::AttributeHandle<decltype(zero)> handle(leaf->constAttributeArray(a.name));
        for (auto index = leaf->beginIndexOn(); index; ++index)
          for (int c = 0; c < a.components; ++c) {
            double x = component(handle.get(*index), c);
            if (a.name == "P") x += index.getCoord()[c];
            values[static_cast<std::size_t>(key.get(*index) * a.components + c)] = x;
          }
      });
    }
  }
  return outcome;
}

template <class T>
constexpr bool has_grid =
    std::is_same_v<T, bool> || std::is_same_v<T, float> || std::is_same_v<T, double> ||
    std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, openvdb::Vec3i> ||
    std::is_same_v<T, openvdb::Vec3s> || std::is_same_v<T, openvdb::Vec3d>;

/// The same attributes on volumes of one leaf.
Outcome run_volumes(const std::string& text, const Program& program) {
  openvdb::GridPtrVec grids;
  const auto transform = openvdb::math::Transform::createLinearTransform(1.0);
  transform->postTranslate(openvdb::Vec3d(0.5));  // Aegir's cell (0, 0, 0) has its centre at 1/2
  for (const Attribute& a : program.attributes())
    with_type(a.type, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (has_grid<T>) {
        auto grid = openvdb::BoolGrid::ValueConverter<T>::Type::create(openvdb::zeroVal<T>());
        grid->setName(a.name), grid->setTransform(transform);
        auto accessor = grid->getAccessor();
        for (int i = 0; i < 512; ++i) {
          T value = openvdb::zeroVal<T>();
          for (int c = 0; c < a.components; ++c) set_component(value, c, initial(a.name, i, c));
          accessor.setValueOn({i >> 6, (i >> 3) & 7, i & 7}, value);
        }
        grids.push_back(grid);
      }
    });
  auto compiler = ax::Compiler::create();
  compiler->compile<ax::VolumeExecutable>(text, custom_data())->execute(grids);
  Outcome outcome;
  outcome.alive.assign(512, true);
  for (std::size_t g = 0; g < grids.size(); ++g) {
    const Attribute& a = program.attributes()[g];
    with_type(a.type, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (has_grid<T>) {
        const auto grid = openvdb::gridPtrCast<typename openvdb::BoolGrid::ValueConverter<T>::Type>(grids[g]);
        ASSERT_TRUE(grid);
        const auto accessor = grid->getConstAccessor();
        for (int i = 0; i < 512; ++i)
          for (int c = 0; c < a.components; ++c)
            outcome.values[a.name].push_back(component(accessor.getValue({i >> 6, (i >> 3) & 7, i & 7}), c));
      }
    });
  }
  return outcome;
}

/// How many numbers differ in their bits (all NaN are one), and the first of them.
std::string difference(const Outcome& ours, const Outcome& theirs, const Program& program) {
  int different = 0, compared = 0, changed = 0;
  std::string first;
  if (ours.alive != theirs.alive) return "other particles deleted";
  for (const Attribute& a : program.attributes()) {
    const auto& x = ours.values.at(a.name);
    const auto& y = theirs.values.at(a.name);
    if (x.size() != y.size()) return fmt::format("{}: {} and {} values", a.name, x.size(), y.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!ours.alive[i / static_cast<std::size_t>(a.components)]) continue;
      ++compared;
      const auto c = static_cast<std::size_t>(a.components);
      changed += a.written && x[i] != initial(a.name, static_cast<int>(i / c), static_cast<int>(i % c));
      if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
      if (different++ == 0) first = fmt::format("{}[{}] {} and {} in AX", a.name, i, x[i], y[i]);
    }
  }
  if (compared == 0) return "nothing to compare";
  if (changed == 0) return "the snippet did nothing";
  return different == 0 ? "" : fmt::format("{} of {} differ: {}", different, compared, first);
}

std::string result_of(const testing::Case& one) {
  Source source{std::string(one.text), one.elements};
  const Compiled compiled = compile(source, options());
  if (!compiled.program) return "does not compile: " + compiled.error(source).text();
  const bool particles = one.elements == Elements::particles;
  try {
    return difference(
        run_ours(*compiled.program, particles ? count : 512),
        particles ? run_points(source.text, *compiled.program) : run_volumes(source.text, *compiled.program),
        *compiled.program);
  } catch (const std::exception& e) {
    return std::string("AX: ") + e.what();
  }
}

std::string page(const std::vector<std::string>& results) {
  std::ostringstream out;
  out << "# Expressions: conformance with OpenVDB AX " << openvdb::getLibraryVersionString() << "\n\n"
      << "Written by `aegir_expressions_test` with `AEGIR_WRITE_CONFORMANCE=1`, and compared by the same test "
         "otherwise. Each snippet\n"
         "runs on channels and, with AX's own executable, on a VDB points grid or volumes; `same` means that every "
         "attribute of every\n"
         "element has the same bits. The list of functions is that of the installed library.\n\n"
      << "| kind | name | snippet | result |\n|---|---|---|---|\n";
  const auto& cases = testing::conformance_cases();
  const auto cell = [](std::string_view text) {
    std::string escaped;
    for (char c : text) escaped += c == '|' ? std::string("\\|") : c == '\n' ? std::string(" ⏎ ") : std::string(1, c);
    return escaped;
  };
  for (std::size_t i = 0; i < cases.size(); ++i)
    out << "| " << cases[i].kind << " | " << cell(cases[i].name) << " | `" << cell(cases[i].text) << "` | "
        << (results[i].empty() ? "same" : cell(results[i])) << " |\n";
  out << "\n## What is different, and why\n\n| what | in Aegir |\n|---|---|\n";
  for (const auto& e : testing::conformance_exceptions())
    out << "| " << cell(e.name) << " | " << cell(e.reason) << " |\n";
  return out.str();
}

TEST(Conformance, EveryFunctionOfTheInstalledVersionIsInTheTable) {
  ax::FunctionOptions eager;
  eager.mLazyFunctions = false;
  const auto registry = ax::codegen::createDefaultRegistry(&eager);
  std::set<std::string> known = {"print"};  // an exception
  for (const auto& c : testing::conformance_cases())
    if (c.kind == "function") known.insert(std::string(c.name));
  int functions = 0;
  for (const auto& [name, function] : registry->map()) {
    if (function.isInternal()) continue;
    ++functions;
    EXPECT_TRUE(known.contains(name)) << name;
  }
  EXPECT_GT(functions, 60);
}

TEST(Conformance, SameBitsAsOpenVdbAx) {
  openvdb::initialize();
  ax::initialize();
  with_type(ValueType::vec2i, [](auto v) { points::TypedAttributeArray<decltype(v)>::registerType(); });
  with_type(ValueType::vec2f, [](auto v) { points::TypedAttributeArray<decltype(v)>::registerType(); });
  with_type(ValueType::vec2d, [](auto v) { points::TypedAttributeArray<decltype(v)>::registerType(); });
  with_type(ValueType::vec4i, [](auto v) { points::TypedAttributeArray<decltype(v)>::registerType(); });
  with_type(ValueType::vec4f, [](auto v) { points::TypedAttributeArray<decltype(v)>::registerType(); });
  with_type(ValueType::vec4d, [](auto v) { points::TypedAttributeArray<decltype(v)>::registerType(); });
  std::vector<std::string> results;
  for (const testing::Case& one : testing::conformance_cases()) {
    results.push_back(result_of(one));
    EXPECT_EQ(results.back(), "") << one.name << ": " << one.text;
  }
  const std::string path = AEGIR_DOCS "/expressions_conformance.md";
  const std::string now = page(results);
  if (std::getenv("AEGIR_WRITE_CONFORMANCE")) {
    std::ofstream(path) << now;
    return;
  }
  std::ifstream file(path);
  std::ostringstream before;
  before << file.rdbuf();
  EXPECT_EQ(before.str(), now) << "docs/expressions_conformance.md is old; run with AEGIR_WRITE_CONFORMANCE=1";
}

}  // namespace
}  // namespace aegir::expression
