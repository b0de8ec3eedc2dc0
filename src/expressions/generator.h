// The middle of the compiler: from a snippet's tree to LLVM code over channel planes. Internal to this room; headers of
// AX and LLVM stay in the .cpp files.
//
// Two functions are made. `body` is the snippet for one element; it is what AX's generator writes, with attributes as
// pointers to the element's values. `kernel` is the loop over elements:
//
//   for i in [begin, end):
//     load each attribute's components from its planes into a value on the stack     (P: origin + spacing * p)
//     body(…)                                                                        inlined
//     store the components of written attributes                                     (P: where it changed)
//
// After inlining the values live in registers, the planes are known not to overlap, and the loop becomes vector code.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "expressions/syntax.h"

namespace llvm {
class Module;
class Function;
}  // namespace llvm

namespace aegir::expression {

inline constexpr const char* kernel_name = "aegir_kernel";

/// Addresses of the C functions that a module calls, by symbol.
using FunctionAddresses = std::map<std::string, std::uint64_t>;

/// Writes `body` and `kernel` into the module; false, and errors in the syntax, where AX refuses the snippet.
bool generate(Syntax& syntax, llvm::Module& module, FunctionAddresses& addresses);

/// Makes what is undefined in LLVM defined: division by zero gives 0, too wide shifts and conversions out of range some
/// number. Without this a snippet could stop the program.
void make_defined(llvm::Module& module);

/// Adds to every loop of `body`, except those of a small constant length, the test that ends it: the budget of the
/// element is used up, or somebody asked to stop. True where a test was added.
bool guard_loops(llvm::Function& body);

}  // namespace aegir::expression
