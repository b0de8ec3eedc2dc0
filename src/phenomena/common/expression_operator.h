// Expression Operator: runs a compiled snippet over one Object at one stage.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "expressions/apply.h"
#include "pipeline/model/action.h"
#include "pipeline/model/object.h"
#include "pipeline/schema/parameter.h"

namespace aegir {

enum class ExpressionOver { particles, voxels };

/// With what a snippet runs.
struct ExpressionSettings {
  ExpressionOver over = ExpressionOver::particles;
  Stage stage = Stage::after_move;
  std::map<std::string, Parameter<double>> variables;
  std::map<std::string, Parameter<Vec3d>> vectors;
  std::int64_t seed = 1;
  std::int64_t loop_limit = 1'000'000;
};

class ExpressionOperator final : public Operator {
 public:
  /// Expressions of a stage act in the order in which they plan.
  ExpressionOperator(std::string behavior, Object& object, std::shared_ptr<const expression::Program> program,
                     const ExpressionSettings& settings);
  void plan(TaskList& tasks) override;

 private:
  std::vector<ChannelAccess> accesses() const;
  expression::Application application(const StepContext& c) const;
  Status run(StepContext& c);
  Status run_over_particles(StepContext& c);
  Status drop_deleted(StepContext& c);
  Status sort(StepContext& c);
  /// New particles are seen only once they are sorted in.
  bool sorts_first() const { return s_.stage == Stage::after_emission && s_.over == ExpressionOver::particles; }

  Object& object_;
  std::shared_ptr<const expression::Program> program_;
  ExpressionSettings s_;
  std::string label_;
  std::uint64_t purpose_;
  double removed_ = 0;  // kg
};

}  // namespace aegir
