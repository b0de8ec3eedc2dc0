// What a run shows while it goes on: a table for people, marks for render farms, JSON for programs.
//
//   std::unique_ptr<RunDisplay> display = make_display(ProgressStyle::automatic, comm);
#pragma once

#include <memory>
#include <string>

#include "engine/run.h"

namespace aegir {

enum class ProgressStyle { automatic, bar, plain, alf, openjd, json };

/// An observer that also shows how a run failed.
class RunDisplay : public RunObserver {
 public:
  /// Says why a run ended early, unless checked() has already shown it; returns the exit code.
  virtual int failed(const Error& error) = 0;
};

/// `automatic` is a bar on a terminal and plain lines elsewhere; MPI launchers give their ranks a terminal that is
/// none.
std::unique_ptr<RunDisplay> make_display(ProgressStyle style, const Comm& comm);

/// The next checkpoint was asked for from outside and is to be confirmed; callable from a signal handler.
void confirm_next_checkpoint();

}  // namespace aegir
