// How signals reach a run: SIGINT and SIGTERM stop it after the substep, SIGUSR1 asks for a checkpoint.
//
//   RunControl& control = watch_signals();
#pragma once

#include "engine/run.h"

namespace aegir {

/// Takes over the signals of the process; the control is the same for the whole life of the program.
RunControl& watch_signals();

}  // namespace aegir
