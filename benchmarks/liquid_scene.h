// The dam break as a benchmark runs it.
#pragma once

#include <map>
#include <string>

#include "domain/exec.h"

namespace aegir::bench {

struct LiquidScene {
  int cells = 128;  ///< along two metres
  std::string transfer = "flip";
  std::string box = "{min: [0, 0, 0], max: [2, 1, 1]}";
  std::string fill = "{kind: box, center: [0.4, 0.375, 0.5], size: [0.8, 0.75, 1]}";
  std::string more = {};  ///< further nodes of the setup
  std::string head = {};  ///< further sections before them
  int first_frame = 6, last_frame = 10;
  int max_steps = 1 << 30;
};

/// What a run of some frames cost.
struct LiquidRun {
  std::int64_t particles = 0;
  int steps = 0;
  double seconds = 0, simulated = 0, particle_steps = 0, iterations = 0;
  std::map<std::string, Profile::Entry> tasks, kernels;
  std::size_t memory = 0;
};

/// The setup of a scene.
std::string dam_break_text(const LiquidScene& scene);

/// Runs up to `first_frame` untimed, then times the steps of the frames up to `last_frame`.
LiquidRun run_dam_break(Exec& exec, const LiquidScene& scene);

}  // namespace aegir::bench
