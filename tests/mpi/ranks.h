// Parts of aegir_mpi_test. Rank 0 prints what every run must agree on; anything wrong throws.
#pragma once

#include "domain/exec.h"

namespace aegir::ranks {

/// Exchange, gather, broadcast, agreement and large messages.
void check_comm(Comm& comm);

/// Particles, volumes and sums over ranks; one hash of the whole state per phase.
void check_domain(Exec& exec);

/// The pressure of several scenes under several partitions; one hash of each.
void check_solver(Exec& exec);

/// Ends the test with a reason unless the condition holds.
void require(bool condition, const char* what);

}  // namespace aegir::ranks
