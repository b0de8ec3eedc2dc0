#include "benchmarks/simulation.h"

#include "phenomena/common/register.h"
#include "phenomena/droplets/register.h"
#include "phenomena/liquid/register.h"
#include "phenomena/sand/register.h"
#include "pipeline/schema/catalog.h"

namespace aegir::bench {

std::unique_ptr<Simulation> start_simulation(Exec& exec, const std::string& text) {
  Catalog catalog;
  register_common(catalog);
  register_liquid(catalog);
  register_sand(catalog);
  aegir::register_droplets(catalog);
  Messages messages;
  auto setup = parse_setup(text, "bench.yaml", {}, catalog, messages);
  AEGIR_ASSERT(setup, messages.errors.empty() ? "the benchmark's setup is wrong" : messages.errors.front().text());
  auto made = Simulation::create(std::move(*setup), exec, messages);
  AEGIR_ASSERT(made, "the benchmark's simulation is wrong");
  AEGIR_ASSERT((*made)->start(), "the benchmark did not start");
  return std::move(*made);
}

}  // namespace aegir::bench
