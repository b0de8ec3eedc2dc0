// Expression Operator: runs a compiled snippet over one Object at one stage.
#pragma once

#include <string>
#include <vector>

#include "phenomena/common/snippet_run.h"
#include "pipeline/model/action.h"
#include "pipeline/model/object.h"

namespace aegir {

enum class ExpressionOver { particles, voxels };

/// With what a snippet runs, over what and when.
struct ExpressionSettings : SnippetSettings {
  ExpressionOver over = ExpressionOver::particles;
  Stage stage = Stage::after_move;
};

class ExpressionOperator final : public Operator {
 public:
  /// Expressions of a stage act in the order in which they plan.
  ExpressionOperator(std::string behavior, Object& object, CompiledSnippet snippet, const ExpressionSettings& settings);
  void plan(TaskList& tasks) override;

 private:
  Status run(StepContext& c);
  Status drop_deleted(StepContext& c);
  Status sort(StepContext& c);
  /// New particles are seen only once they are sorted in.
  bool sorts_first() const { return s_.stage == Stage::after_emission && s_.over == ExpressionOver::particles; }

  Object& object_;
  ExpressionSettings s_;
  SnippetRun snippet_;
  double removed_ = 0;  // kg
};

}  // namespace aegir
