// The back of the compiler: optimises a module for this machine's processor and makes it callable. Internal to this
// room.
#pragma once

#include <memory>
#include <string>

#include "expressions/code.h"
#include "expressions/generator.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace aegir::expression {

/// Machine code, and what keeps it alive.
struct Machine {
  std::shared_ptr<const void> memory;
  Kernel kernel = nullptr;
  std::string problem;  ///< why there is none
};

/// Call once before anything of LLVM; repeated calls do nothing.
void prepare_compiler();

/// Why a module cannot become machine code; nothing where it can.
std::string invalid(const llvm::Module& module, const FunctionAddresses& addresses);

/// Consumes context and module, which is valid.
Machine make_machine_code(std::unique_ptr<llvm::LLVMContext> context, std::unique_ptr<llvm::Module> module,
                          const FunctionAddresses& addresses);

}  // namespace aegir::expression
