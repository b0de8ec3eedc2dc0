#include "expressions/ir.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "base/assert.h"
#include "expressions/runtime.h"

namespace aegir::expression {

llvm::Value* body_argument(llvm::Function& body, BodyArgument argument) {
  return body.getArg(static_cast<unsigned>(argument));
}

llvm::Type* scalar_type(Scalar scalar, llvm::LLVMContext& context) {
  switch (scalar) {
    case Scalar::f32:
      return llvm::Type::getFloatTy(context);
    case Scalar::f64:
      return llvm::Type::getDoubleTy(context);
    case Scalar::i32:
      return llvm::Type::getInt32Ty(context);
    case Scalar::i64:
      return llvm::Type::getInt64Ty(context);
  }
  return nullptr;
}

llvm::Type* value_type(ValueType type, llvm::LLVMContext& context) {
  AEGIR_ASSERT(type != ValueType::string, "channels hold no strings");
  if (type == ValueType::boolean) return llvm::Type::getInt1Ty(context);
  if (type == ValueType::int16) return llvm::Type::getInt16Ty(context);
  llvm::Type* scalar = scalar_type(stored_scalar(type), context);
  const int count = component_count(type);
  return count == 1 ? scalar : llvm::ArrayType::get(scalar, static_cast<std::uint64_t>(count));
}

llvm::Value* load_field(llvm::IRBuilderBase& builder, llvm::Value* struct_bytes, std::size_t offset, llvm::Type* type) {
  llvm::Value* address = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), struct_bytes, offset);
  llvm::LoadInst* load = builder.CreateLoad(type, builder.CreateBitCast(address, type->getPointerTo()));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder.getContext(), {}));
  return load;
}

llvm::Value* convert(llvm::IRBuilderBase& builder, llvm::Value* value, llvm::Type* to) {
  llvm::Type* from = value->getType();
  if (from == to) return value;
  if (to->isIntegerTy(1))
    return from->isIntegerTy() ? builder.CreateICmpNE(value, llvm::ConstantInt::get(from, 0))
                               : builder.CreateFCmpUNE(value, llvm::ConstantFP::get(from, 0.0));
  if (from->isIntegerTy() && to->isIntegerTy())
    return from->isIntegerTy(1) ? builder.CreateZExt(value, to) : builder.CreateSExtOrTrunc(value, to);
  if (from->isIntegerTy())
    return from->isIntegerTy(1) ? builder.CreateUIToFP(value, to) : builder.CreateSIToFP(value, to);
  if (to->isIntegerTy()) return builder.CreateFPToSI(value, to);
  return builder.CreateFPCast(value, to);
}

llvm::Function* declare_body(const Syntax& syntax, llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* bytes = llvm::Type::getInt8PtrTy(context);
  std::vector<llvm::Type*> types = {bytes,
                                    llvm::Type::getInt64Ty(context),
                                    llvm::Type::getInt64Ty(context),
                                    llvm::Type::getInt32PtrTy(context),
                                    bytes,
                                    llvm::Type::getFloatPtrTy(context),
                                    value_type(ValueType::vec3d, context)->getPointerTo()};
  for (const Attribute& a : syntax.attributes) types.push_back(value_type(a.type, context)->getPointerTo());
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
  auto* body = llvm::Function::Create(type, llvm::Function::InternalLinkage, "body", module);
  body->addFnAttr(llvm::Attribute::AlwaysInline);
  body->addFnAttr(llvm::Attribute::NoUnwind);
  return body;
}

namespace {

llvm::Value* shift_xor(llvm::IRBuilder<>& builder, llvm::Value* x, unsigned bits) {
  return builder.CreateXor(x, builder.CreateLShr(x, bits));
}

/// base/random.h: mix().
llvm::Value* mixed(llvm::IRBuilder<>& builder, llvm::Value* x) {
  x = builder.CreateMul(shift_xor(builder, x, 30), builder.getInt64(0xbf58476d1ce4e5b9ull));
  x = builder.CreateMul(shift_xor(builder, x, 27), builder.getInt64(0x94d049bb133111ebull));
  return shift_xor(builder, x, 31);
}

}  // namespace

llvm::Function* random_function(llvm::Module& module) {
  constexpr const char* name = "aegir_random";
  if (llvm::Function* before = module.getFunction(name)) return before;
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> builder(context);
  llvm::Type* i64 = builder.getInt64Ty();
  auto* type = llvm::FunctionType::get(builder.getDoubleTy(), {builder.getInt8PtrTy(), i64, i64}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::AlwaysInline);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  llvm::Value *span = function->getArg(0), *id = function->getArg(1), *number = function->getArg(2);
  llvm::Value* seed = load_field(builder, span, offsetof(Span, seed), i64);
  llvm::Value* step = load_field(builder, span, offsetof(Span, step), i64);
  llvm::Value* purpose = load_field(builder, span, offsetof(Span, purpose), i64);
  // The stream of base/random.h: Random(seed, id, step, purpose_of(purpose)).uniform(number).
  llvm::Value* golden = builder.getInt64(0x9e3779b97f4a7c15ull);
  purpose = builder.CreateAdd(purpose, builder.getInt64(static_cast<std::uint64_t>(purpose_of(0))));
  purpose = builder.CreateZExt(builder.CreateTrunc(purpose, builder.getInt32Ty()), i64);
  llvm::Value* key = builder.CreateXor(mixed(builder, builder.CreateAdd(seed, golden)), builder.CreateMul(id, golden));
  key = builder.CreateAdd(mixed(builder, key), builder.CreateMul(step, builder.getInt64(0xd1342543de82ef95ull)));
  key = builder.CreateAdd(key, builder.CreateMul(purpose, builder.getInt64(0xaef17502108ef2d9ull)));
  key = mixed(builder, key);
  llvm::Value* turn = builder.CreateMul(golden, builder.CreateAdd(number, builder.getInt64(1)));
  llvm::Value* bits = builder.CreateLShr(mixed(builder, builder.CreateAdd(key, turn)), 11);
  builder.CreateRet(builder.CreateFMul(builder.CreateUIToFP(bits, builder.getDoubleTy()),
                                       llvm::ConstantFP::get(builder.getDoubleTy(), 0x1p-53)));
  return function;
}

}  // namespace aegir::expression
