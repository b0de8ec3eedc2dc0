// One experiment with sand by hand:
//
//   sand_experiments column shape=flat a=0.5,1,2,3 cells=16 sweeps=20
//
// A value with commas (outside of brackets) is a list: one run, and one line of figures, for each of its values.
#include <cstdio>
#include <string>

#include "sand/experiments.h"

namespace {

using aegir::test::Options;

/// Runs `make` for all values of lists among the arguments from `next` on.
void run_all(const auto& make, Options options, int next, int count, char** arguments) {
  if (next == count) return aegir::test::print(make(options));
  const std::string argument = arguments[next];
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos) {
    std::fprintf(stderr, "'%s' is not name=value\n", argument.c_str());
    std::exit(2);
  }
  const std::string name = argument.substr(0, equals);
  std::string rest = argument.substr(equals + 1);
  while (true) {
    const bool list = rest.find_first_of("[{") == std::string::npos;
    const std::size_t comma = list ? rest.find(',') : std::string::npos;
    run_all(make, options.with(name, rest.substr(0, comma)), next + 1, count, arguments);
    if (comma == std::string::npos) return;
    rest = rest.substr(comma + 1);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const auto& all = aegir::test::all_experiments();
  const auto found = count > 1 ? all.find(arguments[1]) : all.end();
  if (found == all.end()) {
    std::fprintf(stderr, "usage: sand_experiments NAME name=value…\nnames:");
    for (const auto& [name, make] : all) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\nwhat each takes and prints is in tests/sand/experiments.h\n");
    return 2;
  }
  run_all(found->second, {}, 2, count, arguments);
}
