// aegir_bench [GROUP|NAME…] [--json FILE] [--threads N] [--list]
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "benchmarks/harness.h"
#include "parallel/threads.h"

namespace aegir::bench {
namespace {

struct Options {
  std::vector<std::string> wanted;
  std::string json_file;
  int threads = available_threads();
  bool list = false, help = false;
};

constexpr const char* usage =
    "usage: aegir_bench [GROUP|NAME...] [--json FILE] [--threads N] [--list]\n"
    "example: aegir_bench domain particles.step --json bench.json\n";

/// Fills the options; the text of what is wrong, or nothing.
std::string parse(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    const auto value = [&](const char* name) -> const char* {
      const std::string prefix = std::string(name) + "=";
      if (a.rfind(prefix, 0) == 0) return argv[i] + prefix.size();
      return a == name && i + 1 < argc ? argv[++i] : nullptr;
    };
    if (a == "--list") {
      o.list = true;
    } else if (a == "--help" || a == "-h") {
      o.help = true;
    } else if (const char* file = value("--json")) {
      o.json_file = file;
    } else if (const char* count = value("--threads")) {
      o.threads = std::atoi(count);
      if (o.threads < 1) return fmt::format("--threads wants a number above 0, not '{}'", count);
    } else if (a[0] == '-') {
      return fmt::format("'{}' is unknown or lacks its value", a);
    } else {
      o.wanted.push_back(a);
    }
  }
  return {};
}

bool selects(const std::string& wanted, const std::string& name) {
  return name == wanted || name.rfind(wanted + ".", 0) == 0;
}

int run(const Options& o) {
  Registry registry;
  register_domain(registry);
  register_rebucket(registry);
  register_particles(registry);
  register_solver(registry);
  register_transfer(registry);
  register_liquid(registry);
  register_sand(registry);
  register_droplets(registry);
  register_surfacing(registry);
  register_preview(registry);
  register_ax(registry);
  register_ax_tool(registry);
  register_mpi(registry);
  register_determinism(registry);

  std::vector<Registry::Entry> chosen;
  for (const auto& e : registry.entries()) {
    bool take = o.wanted.empty();
    for (const std::string& w : o.wanted) take |= selects(w, e.name);
    if (take) chosen.push_back(e);
  }
  for (const std::string& w : o.wanted) {
    bool known = false;
    for (const auto& e : registry.entries()) known |= selects(w, e.name);
    if (!known) return fmt::print(stderr, "aegir_bench: no benchmark '{}'; --list shows all\n", w), 2;
  }
  if (o.list) {
    for (const auto& e : chosen) fmt::print("{}\n", e.name);
    return 0;
  }
  const auto comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  Bench bench(exec, o.threads);
  ThreadScope scope(o.threads);
  scope.run([&] {
    for (const auto& e : chosen) {
      fmt::print(stderr, "{} ...\n", e.name);
      e.run(bench);
    }
  });
  fmt::print("{}", table(bench));
  fmt::print("  {} threads; ratio: how many times better than the peer\n", o.threads);
  if (!o.json_file.empty()) {
    std::ofstream file(o.json_file);
    file << json(bench);
    if (!file.flush()) return fmt::print(stderr, "aegir_bench: cannot write '{}'\n", o.json_file), 4;
  }
  return 0;
}

}  // namespace
}  // namespace aegir::bench

int main(int argc, char** argv) {
  aegir::bench::Options options;
  if (const std::string wrong = aegir::bench::parse(argc, argv, options); !wrong.empty()) {
    fmt::print(stderr, "aegir_bench: {}\n{}", wrong, aegir::bench::usage);
    return 2;
  }
  if (options.help) return fmt::print("{}", aegir::bench::usage), 0;
  return aegir::bench::run(options);
}
