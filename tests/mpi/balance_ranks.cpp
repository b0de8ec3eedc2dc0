// Load balance by measured work: particles in one half of space take four times as long, which nobody tells the
// balance.
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "domain/for_each_bucket.h"
#include "domain/particles/load_balance.h"
#include "parallel/monitored_comm.h"
#include "tests/mpi/ranks.h"

namespace aegir::ranks {
namespace {

constexpr ParticleChannel<float> result{"result"};

void emit(Comm& comm, ParticleSystem& p, std::int64_t count) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = comm.rank(); i < count; i += comm.size()) ids.push_back(i);
  ParticleBatch batch = p.batch(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Random r(21, static_cast<std::uint64_t>(ids[i]), 0, Purpose::test);
    batch.id[i] = ids[i];
    batch.position[i] = {r.uniform(0, -4, 4), r.uniform(1, -2, 2), r.uniform(2, -2, 2)};
  }
  p.add(batch);
}

/// Work that depends on where a particle lies.
void work(Exec& exec, ParticleSystem& p) {
  for_each_bucket(
      exec, "work", p.topology(),
      [](const Bucket& b, auto& id, auto& out) {
        const int rounds = b.origin().x >= 0 ? 800 : 200;
        for (std::size_t i = 0; i < id.size(); ++i) {
          float x = static_cast<float>(id[i] % 1000) * 1e-3f;
          for (int k = 0; k < rounds; ++k) x = 3.7f * x * (1 - x);
          out.set(i, x);
        }
      },
      p.read(particle::id), p.write(result));
}

/// Seconds of work on the busiest rank over the mean.
double measured_imbalance(Comm& comm, double seconds) {
  const auto mine = static_cast<std::int64_t>(1e9 * seconds);
  return static_cast<double>(comm.max(mine)) * comm.size() / static_cast<double>(comm.sum(mine));
}

}  // namespace

void check_balance(Exec& outer) {
  MonitoredComm comm(outer.comm);
  Exec exec{comm, outer.profile};
  ParticleSystem p("cloud", 0.125, Partition::even(comm.size()));
  p.declare(result);
  emit(comm, p, 30000);
  LoadBalance balance;
  int cuts = 0;
  double last = 1;
  for (int step = 0; step < 40; ++step) {
    require(static_cast<bool>(p.rebucket(exec)), "particles are where they may be");
    if (const auto better = balance.better(comm, p)) {
      require(static_cast<bool>(p.rebucket(exec, *better, 0)), "particles can move to other ranks");
      ++cuts;
    }
    const double before = work_seconds(comm);
    balance.begin(comm);
    work(exec, p);
    balance.end(comm);
    last = measured_imbalance(comm, work_seconds(comm) - before);
  }
  const auto values = p.read(result);
  const double sum = exact_sum(exec, p.topology(), [&](const Bucket& b) {
    double part = 0;
    for (std::size_t i = 0; i < values(b.index).size(); ++i) part += static_cast<double>(values(b.index)[i]);
    return part;
  });
  // Counting particles alone leaves 1.6 on two ranks: four fifths of the work in one half.
  const bool even = comm.any(last < 1.3);
  require(comm.size() == 1 || cuts > 0, "nothing was ever cut anew");
  print_same(outer, fmt::format("balance sum {:a} of {} particles, {}", sum, p.global_size(comm),
                                even ? "work is spread evenly" : "work is not spread evenly"));
}

}  // namespace aegir::ranks
