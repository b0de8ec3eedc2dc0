// aegir_mpi_test balance|comm|connected|domain|solver|sparse|surface|viscosity THREADS
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "parallel/threads.h"
#include "tests/mpi/ranks.h"

namespace aegir::ranks {

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

}  // namespace aegir::ranks

int main(int argc, char** argv) {
  using namespace aegir;
  if (argc != 3)
    return std::fprintf(
               stderr, "usage: aegir_mpi_test balance|comm|connected|domain|solver|sparse|surface|viscosity THREADS\n"),
           2;
  const auto comm = make_comm();
  int code = 0;
  ThreadScope scope(std::atoi(argv[2]));
  scope.run([&] {
    try {
      Profile profile;
      Exec exec{*comm, profile};
      if (std::string(argv[1]) == "balance")
        ranks::check_balance(exec);
      else if (std::string(argv[1]) == "comm")
        ranks::check_comm(*comm);
      else if (std::string(argv[1]) == "connected")
        ranks::check_connected(exec);
      else if (std::string(argv[1]) == "solver")
        ranks::check_solver(exec);
      else if (std::string(argv[1]) == "sparse")
        ranks::check_sparse(exec);
      else if (std::string(argv[1]) == "surface")
        ranks::check_surface(*comm);
      else if (std::string(argv[1]) == "viscosity")
        ranks::check_viscosity(exec);
      else
        ranks::check_domain(exec);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", comm->rank(), error.what());
      code = 1;
    }
  });
  if (code) comm->abort(code);  // the others may be waiting
  return 0;
}
