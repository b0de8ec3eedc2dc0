// Small helpers to write LLVM code, shared by the files of this room that do. Internal to this room; the pointers are
// to LLVM's classes, whose headers the .cpp files include.
#pragma once

#include <cstddef>

#include "expressions/syntax.h"

namespace llvm {
class Function;
class Instruction;
class Module;
class Type;
class Value;
class LLVMContext;
class IRBuilderBase;
}  // namespace llvm

namespace aegir::expression {

/// The arguments of `body`, in order; one pointer per attribute follows.
enum class BodyArgument : unsigned { span, index, id, status, deleted, variables, position, first_attribute };

llvm::Value* body_argument(llvm::Function& body, BodyArgument argument);

/// The type a snippet computes with: a scalar, or an array of them.
llvm::Type* value_type(ValueType type, llvm::LLVMContext& context);
/// The type a channel stores.
llvm::Type* scalar_type(Scalar scalar, llvm::LLVMContext& context);

/// Loads a field of a struct that does not change while the kernel runs.
llvm::Value* load_field(llvm::IRBuilderBase& builder, llvm::Value* struct_bytes, std::size_t offset, llvm::Type* type);

/// Between any two scalars as C++ does it; to bool means "not zero".
llvm::Value* convert(llvm::IRBuilderBase& builder, llvm::Value* value, llvm::Type* to);

/// Declares `body`, empty, with the arguments that this snippet needs.
llvm::Function* declare_body(const Syntax& syntax, llvm::Module& module);

/// Writes the loop over elements around `body`.
void build_kernel(const Syntax& syntax, llvm::Function& body);

/// double random(span, id, number): what Random(seed, id, step, purpose).uniform(number) gives.
llvm::Function* random_function(llvm::Module& module);

}  // namespace aegir::expression
