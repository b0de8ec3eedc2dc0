// A Program is a snippet of OpenVDB AX compiled to machine code that works directly on channel planes.
//
//   using namespace aegir::expression;
//   Source source{"v@v += {0, -9.81, 0} * $dt; f@heat = 1;", Elements::particles};
//   CompileOptions options;
//   options.channels = {{"P", ValueType::vec3f}, {"v", ValueType::vec3f}, {"id", ValueType::int64}};
//   options.variables = {{"dt", ValueType::float32}};
//   Compiled compiled = compile(source, options);               // cached by source and options
//   if (!compiled.program) return compiled.error(source);        // file:line:column of the first mistake
//
//   const Program& program = *compiled.program;
//   for (const Attribute& a : program.attributes()) …            // what it reads, writes, creates: for the scheduler
//   std::vector<float> values = program.values({{"dt", {0.01f}}});  // again whenever a variable changes
//
//   Span span;                                                   // one bucket
//   span.planes = planes.data();                                 // program.plane_count() pointers to the bucket's
//   start span.variables = values.data(); RunStatus status = program.run(span, 0, particles.count(bucket));   // thread
//   safe
//
// expressions/apply.h does the last step for whole particle systems and volumes.
//
// What differs from a VDB points grid:
//   - `@P` is the world position, read as origin + spacing * p and written back only where it changed.
//   - A bare `@name` takes the type of the channel, `@P` is vec3f; names that no channel has are float, as in AX.
//   - `rand()` and noise never depend on order: rand() is a function of (seed, id, step, number of the call).
//   - A group is an int32 channel `group:NAME` of 0 and 1; its name is a literal.
//   - deletepoint() sets Span::deleted.
//   - Every loop whose length is not a small constant counts against Span::loop_budget and looks at Span::stop.
// Aegir's additions: sample("object", "channel", position), distance("object"), neighbourcount(radius),
// neighbouraverage("channel", radius), `vector < number` by the vector's length, and for voxels `@P`, the world
// position of the cell's centre.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expressions/value_type.h"

namespace aegir::expression {

/// What a snippet runs over.
enum class Elements : std::uint8_t { particles, voxels };

/// A snippet and where it stands in a user's file.
struct Source {
  std::string text;
  Elements elements = Elements::particles;
  Location where = {};  ///< of the snippet's first character
  int indent = 0;       ///< columns that the file has before each further line of the snippet

  /// The place in the user's file of a line and column of the snippet, both counted from 1.
  Location place(int line, int column) const;
};

/// A name and its type: a channel that exists, or an external variable.
struct Named {
  std::string name;
  ValueType type = ValueType::float32;
  bool operator==(const Named&) const = default;
};

/// A channel of some Object that sample() may read; float32 or vec3f.
struct SampleSource {
  std::string object;
  std::string channel;
  ValueType type = ValueType::float32;
  bool operator==(const SampleSource&) const = default;
};

/// Bounds that keep a wrong or hostile snippet from harming the program that compiles it.
struct Limits {
  std::size_t source_bytes = 64 * 1024;
  int nesting = 64;  ///< brackets, braces, and operators without an end
  std::size_t tokens = 8 * 1024;
  bool operator==(const Limits&) const = default;
};

struct CompileOptions {
  std::vector<Named> channels;        ///< that exist on every Object the snippet runs over
  std::vector<Named> variables;       ///< float32 or vec3f; `$name` and `v$name`
  std::vector<SampleSource> samples;  ///< what sample() may read
  Limits limits;
  std::string identity = "id";  ///< the int64 channel of particles that keys rand(); it cannot be written
  bool operator==(const CompileOptions&) const = default;
};

/// An error or a warning, with its place in the snippet; line and column count from 1, 0 means the snippet as a whole.
struct Diagnostic {
  bool is_error = true;
  int line = 0;
  int column = 0;
  std::string message;
};

/// A channel the program works on.
struct Attribute {
  std::string name;                     ///< `group:NAME` for a group
  ValueType type = ValueType::float32;  ///< what the snippet sees
  Scalar scalar = Scalar::f32;          ///< what the channel stores
  int components = 1;                   ///< planes
  bool read = false;
  bool written = false;
  bool created = false;  ///< CompileOptions::channels does not have it
  int first_plane = 0;   ///< its planes are Span::planes[first_plane …]
};

/// Which special things a program does.
struct Uses {
  bool deletes = false;  ///< deletepoint(): needs Span::deleted
  bool groups = false;
  bool random = false;      ///< rand() without a seed
  bool neighbours = false;  ///< needs Services::neighbour_count or neighbour_average, and halos
  bool samples = false;     ///< needs Services::sample
  bool loops = false;       ///< may end by Span::stop or Span::loop_budget
};

/// What a program calls back; all of it must be thread safe and independent of order.
struct Services {
  void* context = nullptr;         ///< of neighbours
  void* sample_context = nullptr;  ///< of the two below
  /// Value of Program::samples()[source] at a world position; a float writes value[0].
  void (*sample)(void* context, int source, const double position[3], float value[3]) = nullptr;
  /// Where given, called by apply() and rehearse() before every element; false leaves the element out.
  bool (*begin)(void* context, std::int64_t bucket, std::int64_t element) = nullptr;
  /// Particles within `radius` metres of an element of a bucket, itself not counted.
  int (*neighbour_count)(void* context, std::int64_t bucket, std::int64_t element, float radius) = nullptr;
  /// Mean of Program::neighbour_channels()[source] over the particles within `radius` metres, itself included.
  void (*neighbour_average)(void* context, int source, std::int64_t bucket, std::int64_t element, float radius,
                            float value[3]) = nullptr;
};

/// One bucket's worth of work. The generated code reads this struct: its layout is part of the compiler.
struct Span {
  void* const* planes = nullptr;           ///< Program::plane_count() pointers to the bucket's first element
  const float* variables = nullptr;        ///< Program::values()
  double origin[3] = {0, 0, 0};            ///< world position of the bucket's lower corner
  double spacing = 1;                      ///< metres per cell
  std::int32_t first_cell[3] = {0, 0, 0};  ///< cell coordinate of the bucket's lower corner, for voxels
  std::int32_t level = 0;                  ///< of the bucket, for voxels
  std::uint64_t seed = 0;                  ///< of rand(): the setup's
  std::uint64_t step = 0;                  ///< of rand(): a number that is different in every substep
  std::uint64_t purpose = 0;               ///< of rand(): one number per expression in a setup
  std::uint8_t* deleted = nullptr;         ///< one byte per element; deletepoint() sets it to 1
  const std::int32_t* stop = nullptr;      ///< loops end where this is not 0; may be set by another thread
  std::int64_t loop_budget = 1'000'000;    ///< turns of all loops together, per element
  const Services* services = nullptr;
  std::int64_t bucket = 0;  ///< handed to Services
};

/// How a run ended; channels hold whatever was done until then.
enum class RunStatus : std::int32_t { finished = 0, interrupted = 1, loop_limit = 2 };

/// The value of an external variable.
struct Value {
  std::string name;
  std::array<float, 3> value = {0, 0, 0};
};

/// Compiled code and what it needs; immutable, shared by all threads.
class Program {
 public:
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Elements elements() const;
  /// Ordered by name.
  const std::vector<Attribute>& attributes() const;
  const Attribute* find(std::string_view name) const;
  int plane_count() const;
  Uses uses() const;
  /// What sample() reads, by the number that Services::sample gets.
  const std::vector<SampleSource>& samples() const;
  /// What neighbouraverage() reads, by the number that Services::neighbour_average gets.
  const std::vector<Named>& neighbour_channels() const;
  /// External variables the snippet uses.
  const std::vector<Named>& variables() const;
  /// Their values in the order the code reads them; a variable without a value is 0.
  std::vector<float> values(const std::vector<Value>& values) const;
  /// Runs over elements [begin, end) of one bucket. Thread safe for different elements.
  RunStatus run(const Span& span, std::int64_t begin, std::int64_t end) const;

  struct Code;
  explicit Program(Code code);

 private:
  std::unique_ptr<const Code> code_;
};

/// What compiling gave: a program, or none and at least one error.
struct Compiled {
  std::shared_ptr<const Program> program;
  std::vector<Diagnostic> diagnostics;
  double seconds = 0;   ///< that compiling took
  bool cached = false;  ///< it was compiled before

  /// The first error as one Error at its place in the user's file. Only where there is no program.
  Error error(const Source& source) const;
  /// Every error and warning, each at its place in the user's file.
  Messages messages(const Source& source) const;
};

/// Compiles a snippet, or finds it among those that this process compiled before. Thread safe; one at a time.
Compiled compile(const Source& source, const CompileOptions& options = {});

/// What compile() would say, without making machine code: a few milliseconds.
std::vector<Diagnostic> check(const Source& source, const CompileOptions& options = {});

/// The place, in the snippet, of what would overstep a limit; nothing where all is well. compile() asks this first.
std::vector<Diagnostic> check_limits(std::string_view text, const Limits& limits);

/// Forgets every compiled program that nobody holds; for tests and long-lived servers.
void clear_program_cache();

}  // namespace aegir::expression
