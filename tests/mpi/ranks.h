// Parts of aegir_mpi_test. Rank 0 prints what every run must agree on; anything wrong throws.
#pragma once

#include <cstdint>
#include <string>

#include "domain/exec.h"
#include "solvers/report.h"

namespace aegir::ranks {

/// Shares of ranks that follow measured work; what was computed, and whether the work is spread.
void check_balance(Exec& exec);

/// Exchange, gather, broadcast, agreement and large messages.
void check_comm(Comm& comm);

/// Sets of connected cells under several partitions; one hash of each.
void check_connected(Exec& exec);

/// Particles, volumes and sums over ranks; one hash of the whole state per phase.
void check_domain(Exec& exec);

/// The pressure of several scenes under several partitions, with and without bounds; one hash of each.
void check_solver(Exec& exec);

/// General sparse systems under several partitions; one hash of each solution.
void check_sparse(Exec& exec);

/// Surfaces with every kind of setting; one hash of each. No rank holds much more than its share.
void check_surface(Comm& comm);

/// Viscosity under several partitions, with its coarse levels and its fail-safe; one hash of each velocity.
void check_viscosity(Exec& exec);

/// Prints a line that all ranks agree on; collective.
void print_same(Exec& exec, const std::string& text);

/// Prints all of a report but its times, which all ranks agree on, and a hash of the solution; collective.
void print_report(Exec& exec, const char* what, std::uint64_t hash, const SolveReport& report);

/// Ends the test with a reason unless the condition holds.
void require(bool condition, const char* what);

}  // namespace aegir::ranks
