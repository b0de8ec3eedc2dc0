// Resolutions and substeps at which the laws are tried.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sand/experiments.h"

namespace aegir::test {

struct Setting {
  double finer;    ///< cells, over those of the coarse resolution
  double cfl, dt;  ///< as in Options
};

inline constexpr Setting coarse{1, 1, 0.2}, fine{1.5, 1, 0.2}, short_steps{1, 0.5, 0.1},
    fine_short_steps{1.5, 0.5, 0.1};

/// The options at a setting: `counts` names those that are numbers of cells; `voxel`, where it is among them, is
/// divided.
inline Options at(Options options, const Setting& setting, const std::vector<std::string>& counts) {
  for (const std::string& name : counts)
    if (name == "voxel")
      options = options.with(name, options.number(name, 0.01) / setting.finer);
    else
      options = options.with(name, std::lround(options.number(name, 0) * setting.finer));
  return options.with("cfl", setting.cfl).with("dt", setting.dt).with("out", ".");
}

/// Runs, prints, returns.
inline Figures measured(Figures (*experiment)(const Options&), const Options& options) {
  const Figures figures = experiment(options);
  print(figures);
  return figures;
}

}  // namespace aegir::test
