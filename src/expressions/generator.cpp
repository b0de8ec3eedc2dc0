#include "expressions/generator.h"

#include <openvdb_ax/codegen/ComputeGenerator.h>
#include <openvdb_ax/codegen/Functions.h>
#include <openvdb_ax/codegen/Utils.h>

#include "base/assert.h"
#include "expressions/code.h"
#include "expressions/ir.h"
#include "expressions/runtime.h"

namespace aegir::expression {

namespace ax = openvdb::ax;

namespace {

/// AX's rand(seed) with our implementation behind it; its overloads in AX's order, which decides who takes an int32.
ax::codegen::FunctionGroup::UniquePtr seeded_random_group() {
  return ax::codegen::FunctionBuilder("rand")
      .addSignature<double(double)>(static_cast<double (*)(double)>(seeded_random), "aegir_rand_double")
      .addFunctionAttribute(llvm::Attribute::ReadNone)
      .addFunctionAttribute(llvm::Attribute::NoUnwind)
      .addFunctionAttribute(llvm::Attribute::WillReturn)
      .addSignature<double(std::int64_t)>(static_cast<double (*)(std::int64_t)>(seeded_random), "aegir_rand_int64")
      .addFunctionAttribute(llvm::Attribute::ReadNone)
      .addFunctionAttribute(llvm::Attribute::NoUnwind)
      .addFunctionAttribute(llvm::Attribute::WillReturn)
      .setPreferredImpl(ax::codegen::FunctionBuilder::C)
      .get();
}

/// AX folds calls with constant arguments before it converts them, which its assertions do not survive; LLVM folds
/// them.
ax::FunctionOptions function_options() {
  ax::FunctionOptions options;
  options.mConstantFoldCBindings = false;
  return options;
}

bool is_number(const llvm::Type* type) { return type->isIntegerTy() || type->isFloatingPointTy(); }

/// AX's generator with our attributes, variables and functions.
class Generator : public ax::codegen::codegen_internal::ComputeGenerator {
 public:
  Generator(Syntax& syntax, llvm::Module& module, ax::codegen::FunctionRegistry& registry)
      : ComputeGenerator(module, function_options(), registry, *static_cast<ax::Logger*>(syntax.logger.get())),
        syntax_(syntax),
        random_(seeded_random_group()) {}

  using ComputeGenerator::traverse;
  using ComputeGenerator::visit;

  llvm::Function* make_body() {
    mFunction = declare_body(syntax_, mModule);
    auto* entry = llvm::BasicBlock::Create(mContext, "entry", mFunction);
    mBuilder.SetInsertPoint(entry);
    draws_ = mBuilder.CreateAlloca(mBuilder.getInt64Ty());
    mBuilder.CreateStore(mBuilder.getInt64(0), draws_);
    const auto& tree = *static_cast<const ax::ast::Tree*>(syntax_.tree.get());
    if (!this->traverse(&tree) || mLog.hasError()) return nullptr;
    this->createFreeSymbolStrings(mBuilder);
    return mFunction;
  }

  bool visit(const ax::ast::Attribute* node) override {
    const int number = syntax_.attribute(node->name());
    if (number >= 0) {
      mValues.push(
          mFunction->getArg(static_cast<unsigned>(BodyArgument::first_attribute) + static_cast<unsigned>(number)));
    } else {
      AEGIR_ASSERT(syntax_.elements == Elements::voxels && node->name() == "P", "an attribute was analysed");
      mValues.push(voxel_position(node->inferred() || node->type() == ax::ast::tokens::VEC3F));
    }
    return true;
  }

  bool visit(const ax::ast::ExternalVariable* node) override {
    mValues.push(variable(node->name()));
    return true;
  }

  /// Literals that name something of ours are not built as strings.
  bool visit(const ax::ast::Value<std::string>* node) override {
    const auto* call = dynamic_cast<const ax::ast::FunctionCall*>(node->parent());
    if (!call || !is_own_function(call->name(), call->children()) || call->name() == "rand")
      return ComputeGenerator::visit(node);
    mValues.push(mBuilder.getInt32(0));
    return true;
  }

  /// In place of AX's, which loses the value of a cast to its own type.
  bool visit(const ax::ast::Cast* node) override {
    llvm::Value* value = loaded(mValues.top());
    mValues.pop();
    if (!is_number(value->getType())) {
      mLog.error("unable to cast non scalar values", node);
      return false;
    }
    mValues.push(convert(mBuilder, value, ax::codegen::llvmTypeFromToken(node->type(), mContext)));
    return true;
  }

  bool visit(const ax::ast::ArrayPack* node) override {
    if (node->children() > 1) {
      std::vector<llvm::Value*> parts(node->children());
      for (std::size_t p = parts.size(); p-- > 0; mValues.pop()) parts[p] = loaded(mValues.top());
      for (llvm::Value* part : parts) {
        if (!is_number(part->getType())) {
          mLog.error("a vector is made of numbers", node);
          return false;
        }
        mValues.push(part);
      }
    }
    return ComputeGenerator::visit(node);
  }

  /// Indices become int32 first, which AX does not do for those of matrices. An index out of range would read or write
  /// beyond the value; it is held to the nearest component.
  bool visit(const ax::ast::ArrayUnpack* node) override {
    const std::size_t errors = mLog.errors();
    llvm::Value* whole = mValues.top();
    mValues.pop();
    std::vector<llvm::Value*> indices(node->isMatrixIndex() ? 2 : 1);
    for (llvm::Value*& index : indices) index = loaded(mValues.top()), mValues.pop();
    for (std::size_t i = indices.size(); i-- > 0;)
      mValues.push(indices[i]->getType()->isIntegerTy() ? convert(mBuilder, indices[i], mBuilder.getInt32Ty())
                                                        : indices[i]);
    mValues.push(whole);
    if (!ComputeGenerator::visit(node) || mLog.errors() != errors) return false;
    auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(mValues.top());
    if (!element || !element->getSourceElementType()->isArrayTy()) return true;
    const std::uint64_t size = element->getSourceElementType()->getArrayNumElements();
    llvm::Value* index = element->getOperand(element->getNumOperands() - 1);
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(index)) {
      if (constant->getValue().isNegative() || constant->getValue().uge(size))
        mLog.error("index " + std::to_string(constant->getSExtValue()) + " is outside a value of " +
                       std::to_string(size) + " components",
                   node);
      return true;
    }
    llvm::IRBuilder<> before(element);
    llvm::Value* last = llvm::ConstantInt::get(index->getType(), size - 1);
    llvm::Value* zero = llvm::ConstantInt::get(index->getType(), 0);
    llvm::Value* held = before.CreateSelect(before.CreateICmpSGT(index, last), last, index);
    held = before.CreateSelect(before.CreateICmpSLT(held, zero), zero, held);
    element->setOperand(element->getNumOperands() - 1, held);
    return true;
  }

  /// AX does not compare vectors but for equality; beside a number a vector stands for its length.
  bool visit(const ax::ast::BinaryOperator* node) override {
    const auto operation = node->operation();
    if (operation == ax::ast::tokens::LESSTHAN || operation == ax::ast::tokens::LESSTHANOREQUAL ||
        operation == ax::ast::tokens::MORETHAN || operation == ax::ast::tokens::MORETHANOREQUAL) {
      llvm::Value *left = operand(node->lhs()), *right = left ? operand(node->rhs()) : nullptr, *result = nullptr;
      if (!right) return false;
      const bool left_is_number = is_number(loaded(left)->getType());
      if (is_number(loaded(right)->getType())) left = length_of_vector(left);
      if (left_is_number) right = length_of_vector(right);
      if (!this->binaryExpression(result, left, right, operation, node)) return false;
      if (result) mValues.push(result);
      return true;
    }
    return ComputeGenerator::visit(node);
  }

  bool visit(const ax::ast::FunctionCall* node) override {
    if (!is_own_function(node->name(), node->children())) {
      if (node->name() == "pow" && node->children() == 2) widen_exponent();
      return ComputeGenerator::visit(node);
    }
    std::vector<llvm::Value*> arguments(node->children());
    AEGIR_ASSERT(mValues.size() >= arguments.size(), "every argument left a value");
    for (std::size_t a = arguments.size(); a-- > 0; mValues.pop()) arguments[a] = mValues.top();
    llvm::Value* result = own_function(*node, arguments);
    if (result) mValues.push(result);
    return result != nullptr;
  }

 private:
  llvm::Value* argument(BodyArgument a) { return body_argument(*mFunction, a); }

  llvm::Value* variable(const std::string& name) {
    const int number = syntax_.variable(name);
    AEGIR_ASSERT(number >= 0, "a variable was analysed");
    const bool vector = syntax_.variables[static_cast<std::size_t>(number)].type == ValueType::vec3f;
    llvm::Value* result = vector ? new_value(ValueType::vec3f) : nullptr;
    for (int c = 0; c < (vector ? 3 : 1); ++c) {
      llvm::Value* at =
          mBuilder.CreateConstInBoundsGEP1_64(mBuilder.getFloatTy(), argument(BodyArgument::variables),
                                              static_cast<std::uint64_t>(floats_per_variable * number + c));
      llvm::Value* value = mBuilder.CreateLoad(mBuilder.getFloatTy(), at);
      if (!vector) return value;
      set_component(result, c, value);
    }
    return result;
  }

  llvm::Value* new_value(ValueType type) {
    return ax::codegen::insertStaticAlloca(mBuilder, value_type(type, mContext));
  }
  llvm::Value* component(llvm::Value* array, int c) {
    return ax::codegen::ir_constgep2_64(mBuilder, array, 0, static_cast<std::uint64_t>(c));
  }
  void set_component(llvm::Value* array, int c, llvm::Value* value) {
    mBuilder.CreateStore(value, component(array, c));
  }

  llvm::Value* voxel_position(bool as_float) {
    llvm::Value* from = argument(BodyArgument::position);
    llvm::Value* to = new_value(as_float ? ValueType::vec3f : ValueType::vec3d);
    llvm::Type* type = as_float ? mBuilder.getFloatTy() : mBuilder.getDoubleTy();
    for (int c = 0; c < 3; ++c)
      set_component(to, c, convert(mBuilder, mBuilder.CreateLoad(mBuilder.getDoubleTy(), component(from, c)), type));
    return to;
  }

  /// AX's pow() with an integer exponent uses an intrinsic that LLVM 14 has in another form, and ends the program.
  void widen_exponent() {
    llvm::Value* exponent = loaded(mValues.top());
    if (!exponent->getType()->isIntegerTy()) return;
    mValues.pop();
    mValues.push(convert(mBuilder, exponent, mBuilder.getDoubleTy()));
  }

  /// The number behind a pointer to a number; anything else as it is.
  llvm::Value* loaded(llvm::Value* value) {
    llvm::Type* type = value->getType();
    return type->isPointerTy() && is_number(type->getPointerElementType()) ? ax::codegen::ir_load(mBuilder, value)
                                                                           : value;
  }

  /// What an operand of an operator leaves; null where it left nothing, which has been told as an error.
  llvm::Value* operand(const ax::ast::Expression* node) {
    const std::size_t before = mValues.size();
    if (!this->traverse(node) || mValues.size() <= before) return nullptr;
    llvm::Value* value = mValues.top();
    mValues.pop();
    return value;
  }

  /// The length of a vector; anything else as it is.
  llvm::Value* length_of_vector(llvm::Value* value) {
    llvm::Type* type = value->getType()->isPointerTy() ? value->getType()->getPointerElementType() : nullptr;
    if (!type || !type->isArrayTy() || type->getArrayNumElements() > 4 || !is_number(type->getArrayElementType()))
      return value;
    llvm::Type* element = type->getArrayElementType();
    llvm::Type* real = element->isFloatingPointTy() ? element : mBuilder.getDoubleTy();
    llvm::Value* sum = llvm::ConstantFP::get(real, 0.0);
    for (int c = 0; c < static_cast<int>(type->getArrayNumElements()); ++c) {
      llvm::Value* x = convert(mBuilder, ax::codegen::ir_load(mBuilder, component(value, c)), real);
      sum = mBuilder.CreateFAdd(sum, mBuilder.CreateFMul(x, x));
    }
    return mBuilder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, sum);
  }

  /// The number in a scalar argument; nothing, and an error, where it is something else.
  llvm::Value* number(const ax::ast::FunctionCall& call, llvm::Value* value, llvm::Type* type) {
    value = loaded(value);
    if (!is_number(value->getType())) {
      mLog.error(call.name() + "() wants a number here", &call);
      return nullptr;
    }
    return convert(mBuilder, value, type);
  }

  llvm::Value* own_function(const ax::ast::FunctionCall& call, const std::vector<llvm::Value*>& arguments) {
    const std::string& name = call.name();
    if (name == "rand" || name == "rand32") return arguments.empty() ? draw() : seeded(call, arguments[0]);
    if (name == "deletepoint") return mBuilder.CreateStore(mBuilder.getInt8(1), argument(BodyArgument::deleted));
    if (name == "ingroup" || name == "addtogroup" || name == "removefromgroup") return group(call);
    if (name == "external" || name == "externalv") return external(call);
    if (name == "getvoxelpws") return voxel_position(false);
    if (name.starts_with("getcoord")) return coordinate(name);
    if (name == "sample") return sample(call, arguments);
    if (name == "distance") return sample_at(position(), literal(call, 0), distance_channel);
    if (name == "neighbourcount") return neighbour_count(call, arguments);
    if (name == "neighbouraverage") return neighbour_average(call, arguments);
    AEGIR_ASSERT(false, "the analysis refuses other functions of ours");
    return nullptr;
  }

  /// rand(): the next number of this element.
  llvm::Value* draw() {
    llvm::Value* number = mBuilder.CreateLoad(mBuilder.getInt64Ty(), draws_);
    mBuilder.CreateStore(mBuilder.CreateAdd(number, mBuilder.getInt64(1)), draws_);
    return mBuilder.CreateCall(random_function(mModule),
                               {argument(BodyArgument::span), argument(BodyArgument::id), number});
  }

  llvm::Value* seeded(const ax::ast::FunctionCall& call, llvm::Value* seed) {
    seed = loaded(seed);
    ax::codegen::Function::SignatureMatch match{};
    const auto* function = random_->match({seed->getType()}, mContext, &match);
    if (!function) {
      mLog.error("rand() wants a number as its seed", &call);
      return nullptr;
    }
    return function->call({seed}, mBuilder, match == ax::codegen::Function::SignatureMatch::Implicit);
  }

  static std::string literal(const ax::ast::FunctionCall& call, std::size_t argument) {
    const auto* text = dynamic_cast<const ax::ast::Value<std::string>*>(call.child(argument));
    AEGIR_ASSERT(text, "the analysis asks for literals");
    return text->value();
  }

  llvm::Value* group(const ax::ast::FunctionCall& call) {
    const int attribute = syntax_.attribute("group:" + literal(call, 0));
    AEGIR_ASSERT(attribute >= 0, "a group was analysed");
    llvm::Value* member =
        mFunction->getArg(static_cast<unsigned>(BodyArgument::first_attribute) + static_cast<unsigned>(attribute));
    if (call.name() == "ingroup")
      return convert(mBuilder, mBuilder.CreateLoad(mBuilder.getInt32Ty(), member), mBuilder.getInt1Ty());
    return mBuilder.CreateStore(mBuilder.getInt32(call.name() == "addtogroup" ? 1 : 0), member);
  }

  llvm::Value* external(const ax::ast::FunctionCall& call) { return variable(literal(call, 0)); }

  llvm::Value* coordinate(const std::string& name) {
    llvm::Value* all[3];
    for (unsigned axis = 0; axis < 3; ++axis) {
      llvm::Value* first = load_field(mBuilder, argument(BodyArgument::span),
                                      offsetof(Span, first_cell) + axis * sizeof(std::int32_t), mBuilder.getInt32Ty());
      llvm::Value* cell = mBuilder.CreateTrunc(argument(BodyArgument::index), mBuilder.getInt32Ty());
      cell = mBuilder.CreateAnd(mBuilder.CreateLShr(cell, 6 - 3 * axis), mBuilder.getInt32(7));
      all[axis] = mBuilder.CreateAdd(first, cell);
    }
    if (name != "getcoord") return all[name.back() - 'x'];
    llvm::Value* result = new_value(ValueType::vec3i);
    for (int axis = 0; axis < 3; ++axis) set_component(result, axis, all[axis]);
    return result;
  }

  /// Calls a function of Services; the first argument is its context. Both are told by where they are.
  llvm::Value* call_service(std::size_t offset, std::size_t context, llvm::Type* result,
                            std::vector<llvm::Value*> arguments) {
    llvm::Type* bytes = mBuilder.getInt8PtrTy();
    llvm::Value* services = load_field(mBuilder, argument(BodyArgument::span), offsetof(Span, services), bytes);
    arguments.insert(arguments.begin(), load_field(mBuilder, services, context, bytes));
    std::vector<llvm::Type*> types;
    for (llvm::Value* a : arguments) types.push_back(a->getType());
    auto* type = llvm::FunctionType::get(result, types, false);
    return mBuilder.CreateCall(type, load_field(mBuilder, services, offset, type->getPointerTo()), arguments);
  }

  /// A service writes three floats; the snippet sees the first or all.
  llvm::Value* result_of(llvm::Value* floats, ValueType type) {
    return type == ValueType::vec3f ? floats : mBuilder.CreateLoad(mBuilder.getFloatTy(), component(floats, 0));
  }

  llvm::Value* sample(const ax::ast::FunctionCall& call, const std::vector<llvm::Value*>& arguments) {
    llvm::Value* from = arguments[2];
    llvm::Type* type = from->getType()->isPointerTy() ? from->getType()->getPointerElementType() : nullptr;
    if (!type || !type->isArrayTy() || type->getArrayNumElements() != 3) {
      mLog.error("sample() wants a position, a vector of three numbers, as its third argument", &call);
      return nullptr;
    }
    return sample_at(from, literal(call, 0), literal(call, 1));
  }

  /// `from`: a vector of three numbers.
  llvm::Value* sample_at(llvm::Value* from, const std::string& object, const std::string& channel) {
    const int source = syntax_.sample(object, channel);
    llvm::Value *at = new_value(ValueType::vec3d), *value = new_value(ValueType::vec3f);
    for (int c = 0; c < 3; ++c)
      set_component(at, c,
                    convert(mBuilder, ax::codegen::ir_load(mBuilder, component(from, c)), mBuilder.getDoubleTy()));
    call_service(offsetof(Services, sample), offsetof(Services, sample_context), mBuilder.getVoidTy(),
                 {mBuilder.getInt32(static_cast<std::uint32_t>(source)), component(at, 0), component(value, 0)});
    return result_of(value, syntax_.samples[static_cast<std::size_t>(source)].type);
  }

  /// Where the element is.
  llvm::Value* position() {
    const int p = syntax_.attribute("P");
    if (p < 0) return voxel_position(false);
    return mFunction->getArg(static_cast<unsigned>(BodyArgument::first_attribute) + static_cast<unsigned>(p));
  }

  llvm::Value* bucket() {
    return load_field(mBuilder, argument(BodyArgument::span), offsetof(Span, bucket), mBuilder.getInt64Ty());
  }
  llvm::Value* neighbour_count(const ax::ast::FunctionCall& call, const std::vector<llvm::Value*>& arguments) {
    llvm::Value* radius = number(call, arguments[0], mBuilder.getFloatTy());
    if (!radius) return nullptr;
    return call_service(offsetof(Services, neighbour_count), offsetof(Services, context), mBuilder.getInt32Ty(),
                        {bucket(), argument(BodyArgument::index), radius});
  }
  llvm::Value* neighbour_average(const ax::ast::FunctionCall& call, const std::vector<llvm::Value*>& arguments) {
    llvm::Value* radius = number(call, arguments[1], mBuilder.getFloatTy());
    if (!radius) return nullptr;
    const int source = syntax_.neighbour_channel(literal(call, 0));
    llvm::Value* value = new_value(ValueType::vec3f);
    call_service(offsetof(Services, neighbour_average), offsetof(Services, context), mBuilder.getVoidTy(),
                 {mBuilder.getInt32(static_cast<std::uint32_t>(source)), bucket(), argument(BodyArgument::index),
                  radius, component(value, 0)});
    return result_of(value, syntax_.neighbour_channels[static_cast<std::size_t>(source)].type);
  }

 public:
  const ax::codegen::FunctionGroup& random_group() const { return *random_; }

 private:
  Syntax& syntax_;
  ax::codegen::FunctionGroup::UniquePtr random_;
  llvm::Value* draws_ = nullptr;
};

void add_addresses(const ax::codegen::FunctionGroup& group, FunctionAddresses& addresses) {
  for (const auto& function : group.list())
    if (const auto* c = dynamic_cast<const ax::codegen::CFunctionBase*>(function.get()))
      addresses[c->symbol()] = c->address();
}

}  // namespace

bool generate(Syntax& syntax, llvm::Module& module, FunctionAddresses& addresses) {
  const ax::FunctionOptions options = function_options();
  const auto registry = ax::codegen::createDefaultRegistry(&options);
  Generator generator(syntax, module, *registry);
  llvm::Function* body = generator.make_body();
  if (!body || syntax.failed()) return false;
  make_defined(module);
  syntax.uses.loops = guard_loops(*body);
  build_kernel(syntax, *body);
  add_addresses(generator.random_group(), addresses);
  for (const auto& [name, function] : registry->map())
    if (function.function()) add_addresses(*function.function(), addresses);
  return true;
}

}  // namespace aegir::expression
