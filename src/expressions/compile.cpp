#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <chrono>
#include <map>
#include <mutex>

#include "expressions/code.h"
#include "expressions/generator.h"
#include "expressions/jit.h"
#include "expressions/program.h"

namespace aegir::expression {

namespace {

/// Programs of this process by everything that decides what they are.
struct Cache {
  std::mutex mutex;
  std::map<std::string, Compiled> programs;
  static constexpr std::size_t most = 256;

  void drop_unused() {
    std::erase_if(programs, [](const auto& entry) { return entry.second.program.use_count() <= 1; });
  }
};

Cache& cache() {
  static Cache one;
  return one;
}

std::string key_of(const Source& source, const CompileOptions& options) {
  std::string key = fmt::format("{}\x1f{} {} {}", static_cast<int>(source.elements), options.limits.source_bytes,
                                options.limits.nesting, options.limits.tokens);
  const auto add = [&](const std::string& name, ValueType type) {
    key += fmt::format("\x1f{}:{}", name, static_cast<int>(type));
  };
  for (const Named& n : options.channels) add(n.name, n.type);
  key += '\x1e';
  for (const Named& n : options.variables) add(n.name, n.type);
  key += '\x1e';
  for (const SampleSource& s : options.samples) add(s.object + '\x1d' + s.channel, s.type);
  key += '\x1e' + options.identity;
  return key + '\x1e' + source.text;
}

/// A snippet on its way: its syntax, and the code that LLVM has of it where nothing is wrong.
struct Translation {
  std::unique_ptr<Syntax> syntax;
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module = std::make_unique<llvm::Module>("aegir.expression", *context);
  FunctionAddresses addresses;

  void fail(std::string message) { syntax->diagnostics.push_back({true, 0, 0, std::move(message)}); }
};

Translation translate(const Source& source, const CompileOptions& options) {
  prepare_compiler();
  Translation result;
  result.syntax = analyse(source, options);
  if (result.syntax->failed()) return result;
  try {
    if (!generate(*result.syntax, *result.module, result.addresses) && !result.syntax->failed())
      result.fail("the expression cannot be translated");
    if (!result.syntax->failed())
      if (const std::string problem = invalid(*result.module, result.addresses); !problem.empty()) result.fail(problem);
  } catch (const std::exception& problem) {  // what AX's generator throws
    result.fail(problem.what());
  }
  return result;
}

Compiled finish(Translation translation) {
  Compiled result;
  Syntax& syntax = *translation.syntax;
  if (!syntax.failed()) {
    Machine machine =
        make_machine_code(std::move(translation.context), std::move(translation.module), translation.addresses);
    if (machine.kernel) {
      Program::Code code{syntax.elements,  syntax.attributes, syntax.plane_count,
                         syntax.uses,      syntax.samples,    syntax.neighbour_channels,
                         syntax.variables, machine.memory,    machine.kernel};
      result.program = std::make_shared<const Program>(std::move(code));
    } else {
      translation.fail(machine.problem);
    }
  }
  result.diagnostics = std::move(syntax.diagnostics);
  return result;
}

}  // namespace

Compiled compile(const Source& source, const CompileOptions& options) {
  std::lock_guard lock(cache().mutex);
  const std::string key = key_of(source, options);
  if (const auto found = cache().programs.find(key); found != cache().programs.end()) {
    Compiled result = found->second;
    result.cached = true;
    return result;
  }
  const auto start = std::chrono::steady_clock::now();
  Compiled result = finish(translate(source, options));
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (result.program) {
    if (cache().programs.size() >= Cache::most) cache().drop_unused();
    cache().programs[key] = result;
  }
  return result;
}

std::vector<Diagnostic> check(const Source& source, const CompileOptions& options) {
  std::lock_guard lock(cache().mutex);
  return std::move(translate(source, options).syntax->diagnostics);
}

void clear_program_cache() {
  std::lock_guard lock(cache().mutex);
  cache().drop_unused();
}

}  // namespace aegir::expression
