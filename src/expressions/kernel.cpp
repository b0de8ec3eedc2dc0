#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include "domain/grid/bucket_key.h"
#include "expressions/code.h"
#include "expressions/generator.h"
#include "expressions/ir.h"

namespace aegir::expression {

namespace {

/// Writes the loop over elements. Bytes per element: each component read once and, where written, stored once.
class KernelBuilder {
 public:
  KernelBuilder(const Syntax& syntax, llvm::Function& body)
      : syntax_(syntax), body_(body), module_(*body.getParent()), context_(body.getContext()), builder_(context_) {}

  void build() {
    llvm::Type* i64 = builder_.getInt64Ty();
    auto* type = llvm::FunctionType::get(builder_.getInt32Ty(), {builder_.getInt8PtrTy(), i64, i64}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kernel_name, module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    make_scopes();
    auto* entry = llvm::BasicBlock::Create(context_, "entry", function_);
    auto* loop = llvm::BasicBlock::Create(context_, "element", function_);
    auto* store = llvm::BasicBlock::Create(context_, "store", function_);
    auto* done = llvm::BasicBlock::Create(context_, "done", function_);
    builder_.SetInsertPoint(entry);
    prologue();
    builder_.CreateBr(loop);

    builder_.SetInsertPoint(loop);
    llvm::PHINode* index = builder_.CreatePHI(i64, 2);
    index->addIncoming(function_->getArg(1), entry);
    load_element(index);
    call_body(index);
    llvm::Value* status = builder_.getInt32(0);
    if (syntax_.uses.loops) {
      status = builder_.CreateLoad(builder_.getInt32Ty(), status_);
      builder_.CreateCondBr(builder_.CreateICmpEQ(status, builder_.getInt32(0)), store, done);
    } else {
      builder_.CreateBr(store);
    }

    builder_.SetInsertPoint(store);
    store_element(index);
    llvm::Value* next = builder_.CreateAdd(index, builder_.getInt64(1), "", true, true);
    index->addIncoming(next, store);
    builder_.CreateCondBr(builder_.CreateICmpSLT(next, function_->getArg(2)), loop, done);

    builder_.SetInsertPoint(done);
    llvm::PHINode* result = builder_.CreatePHI(builder_.getInt32Ty(), 2);
    result->addIncoming(builder_.getInt32(0), store);
    if (syntax_.uses.loops) result->addIncoming(status, loop);
    builder_.CreateRet(result);
  }

 private:
  /// Planes do not overlap: each has a scope of its own, and the bytes of deleted elements the last.
  void make_scopes() {
    llvm::MDBuilder metadata(context_);
    llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain();
    for (int p = 0; p <= syntax_.plane_count; ++p) scopes_.push_back(metadata.createAnonymousAliasScope(domain));
  }
  template <class Access>
  Access* in_plane(Access* access, int plane) {
    std::vector<llvm::Metadata*> others;
    for (int p = 0; p <= syntax_.plane_count; ++p)
      if (p != plane) others.push_back(scopes_[static_cast<std::size_t>(p)]);
    access->setMetadata(llvm::LLVMContext::MD_alias_scope,
                        llvm::MDNode::get(context_, {scopes_[static_cast<std::size_t>(plane)]}));
    access->setMetadata(llvm::LLVMContext::MD_noalias, llvm::MDNode::get(context_, others));
    return access;
  }

  void prologue() {
    llvm::Value* span = function_->getArg(0);
    llvm::Type* f64 = builder_.getDoubleTy();
    status_ = builder_.CreateAlloca(builder_.getInt32Ty());
    position_ = builder_.CreateAlloca(value_type(ValueType::vec3d, context_));
    delete_ = builder_.CreateAlloca(builder_.getInt8Ty());
    for (const Attribute& a : syntax_.attributes)
      values_.push_back(builder_.CreateAlloca(value_type(a.type, context_)));
    builder_.CreateStore(builder_.getInt32(0), status_);
    llvm::Type* bytes = builder_.getInt8PtrTy();
    deleted_ = load_field(builder_, span, offsetof(Span, deleted), bytes);
    load_variables(load_field(builder_, span, offsetof(Span, variables), builder_.getInt8PtrTy()));
    if (syntax_.plane_count > 0) {
      llvm::Value* planes = load_field(builder_, span, offsetof(Span, planes), bytes->getPointerTo());
      planes = builder_.CreateBitCast(planes, bytes);
      for (const Attribute& a : syntax_.attributes)
        for (int c = 0; c < a.components; ++c)
          planes_.push_back(load_field(builder_, planes, sizeof(void*) * static_cast<std::size_t>(a.first_plane + c),
                                       scalar_type(a.scalar, context_)->getPointerTo()));
    }
    for (std::size_t axis = 0; axis < 3; ++axis)
      origin_[axis] = load_field(builder_, span, offsetof(Span, origin) + axis * sizeof(double), f64);
    spacing_ = load_field(builder_, span, offsetof(Span, spacing), f64);
    per_metre_ = builder_.CreateFDiv(llvm::ConstantFP::get(f64, 1.0), spacing_);
  }

  /// Copied once, so that the loop knows that no store changes them.
  void load_variables(llvm::Value* from) {
    const std::size_t floats = syntax_.variables.size() * floats_per_variable;
    llvm::Type* type = llvm::ArrayType::get(builder_.getFloatTy(), std::max<std::size_t>(floats, 1));
    llvm::Value* all = builder_.CreateAlloca(type);
    for (std::size_t f = 0; f < floats; ++f)
      builder_.CreateStore(load_field(builder_, from, f * sizeof(float), builder_.getFloatTy()),
                           builder_.CreateConstInBoundsGEP2_64(type, all, 0, f));
    variables_ = builder_.CreateConstInBoundsGEP2_64(type, all, 0, 0);
  }

  static bool is_position(const Attribute& a) { return a.name == "P"; }

  llvm::Value* component_of(std::size_t attribute, int component) {
    llvm::Value* value = values_[attribute];
    const Attribute& a = syntax_.attributes[attribute];
    if (a.components == 1) return value;
    return builder_.CreateConstInBoundsGEP2_64(value_type(a.type, context_), value, 0,
                                               static_cast<std::uint64_t>(component));
  }
  llvm::Type* component_type(const Attribute& a) {
    llvm::Type* type = value_type(a.type, context_);
    return type->isArrayTy() ? type->getArrayElementType() : type;
  }
  llvm::Value* address(const Attribute& a, int component, llvm::Value* index) {
    return builder_.CreateInBoundsGEP(scalar_type(a.scalar, context_),
                                      planes_[static_cast<std::size_t>(a.first_plane + component)], index);
  }

  void load_element(llvm::Value* index) {
    builder_.CreateStore(builder_.getInt8(0), delete_);
    id_ = builder_.getInt64(0);
    for (std::size_t n = 0; n < syntax_.attributes.size(); ++n) {
      const Attribute& a = syntax_.attributes[n];
      for (int c = 0; c < a.components; ++c) {
        llvm::Value* stored =
            in_plane(builder_.CreateLoad(scalar_type(a.scalar, context_), address(a, c, index)), a.first_plane + c);
        if (a.name == syntax_.identity && syntax_.elements == Elements::particles) id_ = stored;
        llvm::Value* value = is_position(a) ? world(a, c, stored) : convert(builder_, stored, component_type(a));
        builder_.CreateStore(value, component_of(n, c));
      }
    }
    if (syntax_.elements == Elements::voxels) load_cell(index);
  }

  /// The centre of cell (i, j, k) is origin + spacing ((i, j, k) + 1/2); its number is its id for rand().
  void load_cell(llvm::Value* index) {
    llvm::Value* span = function_->getArg(0);
    llvm::Type *f64 = builder_.getDoubleTy(), *i64 = builder_.getInt64Ty();
    id_ = convert(builder_, load_field(builder_, span, offsetof(Span, level), builder_.getInt32Ty()), i64);
    for (unsigned axis = 0; axis < 3; ++axis) {
      llvm::Value* cell = builder_.CreateAnd(builder_.CreateLShr(index, 6 - 3 * axis), builder_.getInt64(7));
      llvm::Value* centre = builder_.CreateFAdd(builder_.CreateSIToFP(cell, f64), llvm::ConstantFP::get(f64, 0.5));
      centre = builder_.CreateFAdd(origin_[axis], builder_.CreateFMul(spacing_, centre));
      builder_.CreateStore(
          centre, builder_.CreateConstInBoundsGEP2_64(value_type(ValueType::vec3d, context_), position_, 0, axis));
      // 20 bits per axis above the level; cells further apart than a million share numbers.
      llvm::Value* first =
          load_field(builder_, span, offsetof(Span, first_cell) + axis * sizeof(std::int32_t), builder_.getInt32Ty());
      llvm::Value* global = builder_.CreateAdd(convert(builder_, first, i64), cell);
      global = builder_.CreateAnd(global, builder_.getInt64((1 << 20) - 1));
      id_ = builder_.CreateOr(builder_.CreateShl(id_, 20), global);
    }
  }

  /// P = origin + spacing p. In float the origin is a sum of two, high and low, so that rounding it costs nothing. A
  /// snippet that only adds to P starts from 0: what it adds is then not rounded to world positions.
  llvm::Value* world(const Attribute& a, int component, llvm::Value* stored) {
    const auto axis = static_cast<std::size_t>(component);
    llvm::Type* type = component_type(a);
    stored_position_[axis] = stored, old_position_[axis] = llvm::ConstantFP::get(type, 0.0);
    if (syntax_.only_moves) return old_position_[axis];
    llvm::Value* high = builder_.CreateFPCast(origin_[axis], type);
    llvm::Value* low = builder_.CreateFPCast(
        builder_.CreateFSub(origin_[axis], builder_.CreateFPCast(high, builder_.getDoubleTy())), type);
    llvm::Value* inside =
        builder_.CreateFMul(builder_.CreateFPCast(spacing_, type), builder_.CreateFPCast(stored, type));
    if (type->isFloatTy()) inside = builder_.CreateFAdd(low, inside);
    llvm::Value* value = builder_.CreateFAdd(high, inside);
    old_position_[axis] = value;
    return value;
  }

  /// p moves by (P's change) / spacing: where P did not change neither does p, and its rounding does not enter.
  llvm::Value* cells(const Attribute& a, int component, llvm::Value* value) {
    const auto axis = static_cast<std::size_t>(component);
    llvm::Type* type = component_type(a);
    llvm::Value* change = syntax_.only_moves ? value : builder_.CreateFSub(value, old_position_[axis]);
    change = builder_.CreateFMul(change, builder_.CreateFPCast(per_metre_, type));
    llvm::Value* moved = builder_.CreateFAdd(builder_.CreateFPCast(stored_position_[axis], type), change);
    return builder_.CreateFPCast(moved, builder_.getFloatTy());
  }

  void call_body(llvm::Value* index) {
    std::vector<llvm::Value*> arguments = {function_->getArg(0), index, id_, status_, delete_, variables_, position_};
    arguments.insert(arguments.end(), values_.begin(), values_.end());
    builder_.CreateCall(&body_, arguments);
  }

  void store_element(llvm::Value* index) {
    if (syntax_.uses.deletes) {
      llvm::Value* at = builder_.CreateInBoundsGEP(builder_.getInt8Ty(), deleted_, index);
      llvm::Value* before = in_plane(builder_.CreateLoad(builder_.getInt8Ty(), at), syntax_.plane_count);
      llvm::Value* now = builder_.CreateOr(before, builder_.CreateLoad(builder_.getInt8Ty(), delete_));
      in_plane(builder_.CreateStore(now, at), syntax_.plane_count);
    }
    for (std::size_t n = 0; n < syntax_.attributes.size(); ++n) {
      const Attribute& a = syntax_.attributes[n];
      if (!a.written) continue;
      for (int c = 0; c < a.components; ++c) {
        llvm::Value* value = builder_.CreateLoad(component_type(a), component_of(n, c));
        llvm::Value* stored =
            is_position(a) ? cells(a, c, value) : convert(builder_, value, scalar_type(a.scalar, context_));
        in_plane(builder_.CreateStore(stored, address(a, c, index)), a.first_plane + c);
      }
    }
  }

  const Syntax& syntax_;
  llvm::Function& body_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  llvm::Function* function_ = nullptr;
  std::vector<llvm::MDNode*> scopes_;
  std::vector<llvm::Value*> values_, planes_;
  llvm::Value *status_ = nullptr, *position_ = nullptr, *deleted_ = nullptr, *delete_ = nullptr, *variables_ = nullptr,
              *id_ = nullptr;
  llvm::Value *origin_[3] = {}, *spacing_ = nullptr, *per_metre_ = nullptr;
  llvm::Value *stored_position_[3] = {}, *old_position_[3] = {};
};

static_assert(bucket_size == 8 && cell_offset(1, 2, 3) == 64 + 16 + 3, "cells are numbered 64 i + 8 j + k");

}  // namespace

void build_kernel(const Syntax& syntax, llvm::Function& body) { KernelBuilder(syntax, body).build(); }

}  // namespace aegir::expression
