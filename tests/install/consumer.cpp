// A program outside the project: opens a setup with the installed library and makes its first frame.
#include <cstdio>

#include "engine/catalog.h"
#include "pipeline/schedule/simulation.h"

int main() {
  using namespace aegir;
  const Catalog catalog = make_catalog();
  Messages messages;
  auto setup = parse_setup(
      "aegir: 1\ntimeline: {frames: [1, 2]}\nsetup:\n  - particles: dust\n  - emitter: e\n    shape: {kind: box}\n    count: 7\n",
      "consumer.yaml", {}, catalog, messages);
  if (!setup) return 1;
  auto comm = make_comm();
  Profile profile;
  auto simulation = Simulation::create(std::move(*setup), Exec{*comm, profile}, messages);
  if (!simulation) return 2;
  const auto first = (*simulation)->start();
  if (!first) return 3;
  std::printf("%lld particles\n", static_cast<long long>(first->objects.front().second.particles));
  return first->objects.front().second.particles == 7 ? 0 : 4;
}
