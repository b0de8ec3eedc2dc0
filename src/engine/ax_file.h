// One VDB file run through a snippet: which grids, which attributes, which executable.
//
//   AxWork work{.source = {"v@v *= 0.9f;", …}, .variables = {{"dt", {1 / 24.0f}}}};
//   Result<VdbEdit> file = VdbEdit::open("splash.0012.vdb");
//   Result<AxOutcome> done = apply_ax(*file, work);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "expressions/program.h"
#include "io/vdb_edit.h"

namespace aegir {

/// What a snippet of `aegir ax` runs over.
enum class AxOver { deduced, points, voxels };

/// Which executable runs it: Aegir's where it can, or always OpenVDB's.
enum class AxEngine { aegir, openvdb };

/// A name and one or three numbers: `$name` or `v$name`.
struct AxVariable {
  std::string name;
  std::vector<double> values;
};

/// A snippet and with what it runs.
struct AxWork {
  expression::Source source;  ///< its elements are chosen by `over`
  AxOver over = AxOver::deduced;
  AxEngine engine = AxEngine::aegir;
  std::vector<std::string> grids;  ///< names; all if there are none
  std::vector<AxVariable> variables;
  std::uint64_t seed = 0, step = 0;  ///< of rand()
  std::int64_t loop_budget = 1'000'000;
  const std::int32_t* stop = nullptr;
};

/// What was done to a file.
struct AxOutcome {
  std::int64_t points = 0, voxels = 0, deleted = 0;
  bool openvdb = false;  ///< OpenVDB's executable ran at least once
  std::vector<std::string> remarks;
};

/// Runs the snippet over every grid that it applies to. After a failure the file must not be saved.
Result<AxOutcome> apply_ax(VdbEdit& file, const AxWork& work);

}  // namespace aegir
