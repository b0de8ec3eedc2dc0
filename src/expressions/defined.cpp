#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "expressions/generator.h"
#include "expressions/ir.h"

namespace aegir::expression {

namespace {

/// n / 0 and n % 0 are 0; the smallest integer / -1 is itself, % -1 is 0.
void define_division(llvm::BinaryOperator& division) {
  llvm::IRBuilder<> builder(&division);
  llvm::Value *n = division.getOperand(0), *d = division.getOperand(1);
  llvm::Type* type = d->getType();
  if (!type->isIntegerTy()) return;
  llvm::Value* by_zero = builder.CreateICmpEQ(d, llvm::ConstantInt::get(type, 0));
  llvm::Value* unsafe = by_zero;
  const auto lowest = llvm::APInt::getSignedMinValue(type->getIntegerBitWidth());
  const bool is_signed =
      division.getOpcode() == llvm::Instruction::SDiv || division.getOpcode() == llvm::Instruction::SRem;
  const bool remainder =
      division.getOpcode() == llvm::Instruction::SRem || division.getOpcode() == llvm::Instruction::URem;
  if (is_signed) {
    llvm::Value* overflow = builder.CreateAnd(builder.CreateICmpEQ(n, llvm::ConstantInt::get(type, lowest)),
                                              builder.CreateICmpEQ(d, llvm::ConstantInt::getAllOnesValue(type)));
    unsafe = builder.CreateOr(by_zero, overflow);
  }
  // By 1 in both cases: the quotient is n, right for the overflow; the remainder is 0, right for both.
  division.setOperand(1, builder.CreateSelect(unsafe, llvm::ConstantInt::get(type, 1), d));
  if (remainder) return;
  builder.SetInsertPoint(division.getNextNode());
  auto* zero = llvm::ConstantInt::get(type, 0);
  auto* result = llvm::cast<llvm::Instruction>(builder.CreateSelect(by_zero, zero, &division));
  division.replaceUsesWithIf(result, [&](llvm::Use& use) { return use.getUser() != result; });
}

/// The shift takes place by the amount modulo the width, as the processor does it.
void define_shift(llvm::BinaryOperator& shift) {
  llvm::Type* type = shift.getType();
  if (!type->isIntegerTy()) return;
  llvm::IRBuilder<> builder(&shift);
  llvm::Value* mask = llvm::ConstantInt::get(type, type->getIntegerBitWidth() - 1);
  shift.setOperand(1, builder.CreateAnd(shift.getOperand(1), mask));
}

void freeze_result(llvm::Instruction& instruction) {
  auto* frozen = new llvm::FreezeInst(&instruction, "", instruction.getNextNode());
  instruction.replaceUsesWithIf(frozen, [&](llvm::Use& use) { return use.getUser() != frozen; });
}

/// Constants that AX's generator has already folded to "anything" become 0.
void define_operands(llvm::Instruction& instruction) {
  for (llvm::Use& use : instruction.operands())
    if (llvm::isa<llvm::UndefValue>(use.get()) && use->getType()->isSingleValueType())
      use.set(llvm::Constant::getNullValue(use->getType()));
}

/// Turns a loop takes at most when that is a small constant, times those of the loops around it; 0 where unknown.
unsigned constant_turns(const llvm::Loop* loop, llvm::ScalarEvolution& evolution) {
  constexpr unsigned most = 4096;
  std::uint64_t turns = 1;
  for (; loop; loop = loop->getParentLoop()) {
    const unsigned own = evolution.getSmallConstantMaxTripCount(loop);
    if (own == 0 || (turns *= own) > most) return 0;
  }
  return static_cast<unsigned>(turns);
}

/// In front of the way back: if the budget is used up or somebody asked to stop, leave the body with a status.
void add_guard(llvm::Function& body, llvm::BasicBlock* latch, llvm::Value* budget) {
  llvm::LLVMContext& context = body.getContext();
  llvm::Value* span = body_argument(body, BodyArgument::span);
  llvm::Value* status = body_argument(body, BodyArgument::status);
  llvm::BasicBlock* rest = llvm::SplitBlock(latch, latch->getTerminator());
  llvm::BasicBlock* stop = llvm::BasicBlock::Create(context, "stop", &body);
  latch->getTerminator()->eraseFromParent();
  llvm::IRBuilder<> builder(latch);
  llvm::Type* i64 = builder.getInt64Ty();
  llvm::Value* left = builder.CreateSub(builder.CreateLoad(i64, budget), builder.getInt64(1));
  builder.CreateStore(left, budget);
  llvm::Value* flag = load_field(builder, span, offsetof(Span, stop), llvm::Type::getInt32PtrTy(context));
  llvm::Value* asked = builder.CreateICmpNE(builder.CreateLoad(builder.getInt32Ty(), flag, true), builder.getInt32(0));
  llvm::Value* used_up = builder.CreateICmpSLE(left, builder.getInt64(0));
  builder.CreateCondBr(builder.CreateOr(asked, used_up), stop, rest);
  builder.SetInsertPoint(stop);
  builder.CreateStore(builder.CreateSelect(asked, builder.getInt32(static_cast<int>(RunStatus::interrupted)),
                                           builder.getInt32(static_cast<int>(RunStatus::loop_limit))),
                      status);
  builder.CreateRetVoid();
}

}  // namespace

void make_defined(llvm::Module& module) {
  for (llvm::Function& function : module) {
    std::vector<llvm::Instruction*> all;
    for (llvm::Instruction& instruction : llvm::instructions(function)) all.push_back(&instruction);
    for (llvm::Instruction* instruction : all) {
      if (!llvm::isa<llvm::PHINode>(instruction)) define_operands(*instruction);
      switch (instruction->getOpcode()) {
        case llvm::Instruction::SDiv:
        case llvm::Instruction::UDiv:
        case llvm::Instruction::SRem:
        case llvm::Instruction::URem:
          define_division(*llvm::cast<llvm::BinaryOperator>(instruction));
          break;
        case llvm::Instruction::Shl:
        case llvm::Instruction::LShr:
        case llvm::Instruction::AShr:
          define_shift(*llvm::cast<llvm::BinaryOperator>(instruction));
          break;
        case llvm::Instruction::FPToSI:
        case llvm::Instruction::FPToUI:
          freeze_result(*instruction);
          break;
        default:
          break;
      }
    }
  }
}

bool guard_loops(llvm::Function& body) {
  llvm::PassBuilder passes;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  passes.registerModuleAnalyses(modules), passes.registerCGSCCAnalyses(graph);
  passes.registerFunctionAnalyses(functions), passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, graph, modules);

  if (functions.getResult<llvm::LoopAnalysis>(body).empty()) return false;
  llvm::FunctionPassManager simplify;  // counters into registers, so that constant lengths show
  simplify.addPass(llvm::SROAPass());
  simplify.addPass(llvm::EarlyCSEPass());
  simplify.addPass(llvm::SimplifyCFGPass());
  simplify.addPass(llvm::InstCombinePass());
  simplify.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopRotatePass()));
  simplify.addPass(llvm::LoopSimplifyPass());
  simplify.run(body, functions);

  auto& found = functions.getResult<llvm::LoopAnalysis>(body);
  auto& evolution = functions.getResult<llvm::ScalarEvolutionAnalysis>(body);
  std::vector<llvm::BasicBlock*> latches;
  for (llvm::Loop* loop : found.getLoopsInPreorder()) {
    if (constant_turns(loop, evolution) > 0) continue;
    llvm::SmallVector<llvm::BasicBlock*, 4> of_loop;
    loop->getLoopLatches(of_loop);
    latches.insert(latches.end(), of_loop.begin(), of_loop.end());
  }
  if (latches.empty()) return false;
  llvm::IRBuilder<> builder(&*body.getEntryBlock().getFirstInsertionPt());
  llvm::Value* budget = builder.CreateAlloca(builder.getInt64Ty());
  builder.CreateStore(
      load_field(builder, body_argument(body, BodyArgument::span), offsetof(Span, loop_budget), builder.getInt64Ty()),
      budget);
  for (llvm::BasicBlock* latch : latches) add_guard(body, latch, budget);
  return true;
}

}  // namespace aegir::expression
