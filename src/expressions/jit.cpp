#include "expressions/jit.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/ExecutionEngine/ExecutionEngine.h>
#include <llvm/ExecutionEngine/MCJIT.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/Host.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>

#include <mutex>

namespace aegir::expression {

namespace {

/// The processor this runs on, as LLVM names it and its features.
struct Processor {
  std::string name;
  std::vector<std::string> features;
  std::string joined;

  Processor() : name(llvm::sys::getHostCPUName().str()) {
    llvm::StringMap<bool> found;
    if (!llvm::sys::getHostCPUFeatures(found)) return;
    for (const auto& feature : found) features.push_back((feature.getValue() ? "+" : "-") + feature.getKey().str());
    for (const std::string& f : features) joined += (joined.empty() ? "" : ",") + f;
  }
};

const Processor& processor() {
  static const Processor one;
  return one;
}

/// Context, then engine: the engine goes first.
struct Memory {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::ExecutionEngine> engine;
};

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopInterleaving = true;
  llvm::PassBuilder passes(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  functions.registerPass([&] { return machine.getTargetIRAnalysis(); });
  passes.registerModuleAnalyses(modules), passes.registerCGSCCAnalyses(graph);
  passes.registerFunctionAnalyses(functions), passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, graph, modules);
  llvm::ModulePassManager pipeline;
  pipeline.addPass(llvm::AlwaysInlinerPass(false));  // before others see the body as a function of its own
  pipeline.addPass(passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3));
  pipeline.run(module, modules);
}

/// Whether something is called that exists for single numbers only, so that wide vectors would be taken apart.
bool calls_scalar_functions(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() || function.use_empty()) continue;
    switch (function.getIntrinsicID()) {
      case llvm::Intrinsic::not_intrinsic:
      case llvm::Intrinsic::pow:
      case llvm::Intrinsic::exp:
      case llvm::Intrinsic::exp2:
      case llvm::Intrinsic::log:
      case llvm::Intrinsic::log2:
      case llvm::Intrinsic::log10:
      case llvm::Intrinsic::sin:
      case llvm::Intrinsic::cos:
        return true;
      default:
        break;
    }
  }
  return false;
}

/// Functions that are called and not defined, neither by us nor by LLVM.
std::string unknown_function(const llvm::Module& module, const FunctionAddresses& addresses) {
  for (const llvm::Function& function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty() &&
        !addresses.contains(function.getName().str()) && function.getName() != "malloc" &&
        function.getName() != "free" && function.getName() != "realloc" && function.getName() != "memcpy")
      return function.getName().str();
  return {};
}

}  // namespace

void prepare_compiler() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    LLVMLinkInMCJIT();
  });
}

std::string invalid(const llvm::Module& module, const FunctionAddresses& addresses) {
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream)) return stream.str();
  const std::string unknown = unknown_function(module, addresses);
  return unknown.empty() ? "" : "function " + unknown + " has no implementation";
}

Machine make_machine_code(std::unique_ptr<llvm::LLVMContext> context, std::unique_ptr<llvm::Module> module,
                          const FunctionAddresses& addresses) {
  Machine result;
  llvm::Module& code = *module;
  std::string why;
  llvm::EngineBuilder builder(std::move(module));
  builder.setErrorStr(&why).setEngineKind(llvm::EngineKind::JIT).setOptLevel(llvm::CodeGenOpt::Aggressive);
  llvm::TargetMachine* machine = builder.selectTarget(
      llvm::Triple(llvm::sys::getProcessTriple()), "", processor().name,
      [] { return llvm::SmallVector<std::string, 16>(processor().features.begin(), processor().features.end()); }());
  if (!machine) {
    result.problem = "no code generator for this processor: " + why;
    return result;
  }
  code.setTargetTriple(machine->getTargetTriple().str());
  code.setDataLayout(machine->createDataLayout());
  const bool wide = !calls_scalar_functions(code);
  for (llvm::Function& function : code) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", processor().name);
    function.addFnAttr("target-features", processor().joined);
    if (wide) function.addFnAttr("prefer-vector-width", "512");  // where the processor has them
  }
  optimise(code, *machine);
  auto memory = std::make_shared<Memory>();
  memory->context = std::move(context);
  memory->engine.reset(builder.create(machine));
  if (!memory->engine) {
    result.problem = "no machine code: " + why;
    return result;
  }
  for (const llvm::Function& function : code)
    if (const auto found = addresses.find(function.getName().str()); found != addresses.end())
      memory->engine->addGlobalMapping(&function, reinterpret_cast<void*>(found->second));
  memory->engine->finalizeObject();
  result.kernel = reinterpret_cast<Kernel>(memory->engine->getFunctionAddress(kernel_name));
  if (!result.kernel) result.problem = "no machine code was made";
  result.memory = std::move(memory);
  return result;
}

}  // namespace aegir::expression
