#include "expressions/program.h"

#include <algorithm>

#include "base/assert.h"
#include "expressions/code.h"

namespace aegir::expression {

Location Source::place(int line, int column) const {
  if (where.file.empty() || where.line <= 0) return where;
  if (line <= 1) return {where.file, where.line, where.column + std::max(0, column - 1)};
  return {where.file, where.line + line - 1, indent + std::max(1, column)};
}

Program::Program(Code code) : code_(std::make_unique<const Code>(std::move(code))) {
  AEGIR_ASSERT(code_->kernel, "a program has machine code");
}
Program::~Program() = default;

Elements Program::elements() const { return code_->elements; }
const std::vector<Attribute>& Program::attributes() const { return code_->attributes; }
int Program::plane_count() const { return code_->plane_count; }
Uses Program::uses() const { return code_->uses; }
const std::vector<SampleSource>& Program::samples() const { return code_->samples; }
const std::vector<Named>& Program::neighbour_channels() const { return code_->neighbour_channels; }
const std::vector<Named>& Program::variables() const { return code_->variables; }

const Attribute* Program::find(std::string_view name) const {
  for (const Attribute& a : code_->attributes)
    if (a.name == name) return &a;
  return nullptr;
}

std::vector<float> Program::values(const std::vector<Value>& values) const {
  std::vector<float> result(code_->variables.size() * floats_per_variable, 0.0f);
  for (std::size_t v = 0; v < code_->variables.size(); ++v)
    for (const Value& value : values)
      if (value.name == code_->variables[v].name)
        std::copy(value.value.begin(), value.value.end(), result.begin() + static_cast<std::ptrdiff_t>(3 * v));
  return result;
}

RunStatus Program::run(const Span& span, std::int64_t begin, std::int64_t end) const {
  if (begin >= end) return RunStatus::finished;
  const Uses& uses = code_->uses;
  AEGIR_ASSERT(span.planes || code_->plane_count == 0, "a span has the planes of Program::attributes()");
  AEGIR_ASSERT(span.variables || code_->variables.empty(), "a span has the values of Program::variables()");
  AEGIR_ASSERT(span.deleted || !uses.deletes, "deletepoint() needs Span::deleted");
  AEGIR_ASSERT((span.services && span.services->sample) || !uses.samples, "sample() needs Services::sample");
  AEGIR_ASSERT(
      (span.services && span.services->neighbour_count && span.services->neighbour_average) || !uses.neighbours,
      "neighbour functions need both of their Services");
  static constexpr std::int32_t never = 0;
  Span complete = span;
  if (!complete.stop) complete.stop = &never;
  return static_cast<RunStatus>(code_->kernel(&complete, begin, end));
}

Error Compiled::error(const Source& source) const {
  const Messages all = messages(source);
  AEGIR_ASSERT(!all.errors.empty(), "a snippet that compiled has no error");
  return all.errors.front();
}

Messages Compiled::messages(const Source& source) const {
  Messages all;
  for (const Diagnostic& d : diagnostics) {
    Error error{Failure::usage, d.message, source.place(d.line, d.column)};
    if (source.where.file.empty() && d.line > 0)
      error.message = fmt::format("expression {}:{}: {}", d.line, d.column, d.message);
    (d.is_error ? all.errors : all.warnings).push_back(std::move(error));
  }
  return all;
}

}  // namespace aegir::expression
