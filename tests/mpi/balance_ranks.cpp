// Load balance by measured work: particles in one half of space take four times as long, which nobody tells the
// balance.
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "domain/for_each_bucket.h"
#include "domain/particles/load_balance.h"
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

constexpr std::int64_t dear = 4, cheap = 1;

/// Work that depends on where a particle lies; returns how much it was, so that no clock decides.
std::int64_t work(Exec& exec, ParticleSystem& p) {
  std::vector<std::int64_t> done(static_cast<std::size_t>(p.topology().local_count()));
  for_each_bucket(
      exec, "work", p.topology(),
      [&done](const Bucket& b, auto& id, auto& out) {
        const std::int64_t rounds = b.origin().x >= 0 ? dear : cheap;
        for (std::size_t i = 0; i < id.size(); ++i) {
          float x = static_cast<float>(id[i] % 1000) * 1e-3f;
          for (std::int64_t k = 0; k < rounds; ++k) x = 3.7f * x * (1 - x);
          out.set(i, x);
        }
        done[static_cast<std::size_t>(b.index)] = rounds * static_cast<std::int64_t>(id.size());
      },
      p.read(particle::id), p.write(result));
  return std::accumulate(done.begin(), done.end(), std::int64_t{0});
}

}  // namespace

void check_balance(Exec& outer) {
  Comm& comm = outer.comm;
  Exec& exec = outer;
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
    const std::int64_t mine = work(exec, p);
    balance.worked(Work::particles, 1e-6 * static_cast<double>(mine));
    last = static_cast<double>(comm.max(mine)) * comm.size() / static_cast<double>(comm.sum(mine));
  }
  const auto values = p.read(result);
  const double sum = exact_sum(exec, p.topology(), [&](const Bucket& b) {
    double part = 0;
    for (std::size_t i = 0; i < values(b.index).size(); ++i) part += static_cast<double>(values(b.index)[i]);
    return part;
  });
  // Counting particles alone leaves 1.6 on two ranks: four fifths of the work in one half.
  const bool even = last < 1.3;
  require(comm.size() == 1 || cuts > 0, "nothing was ever cut anew");
  print_same(outer, fmt::format("balance sum {:a} of {} particles, {}", sum, p.global_size(comm),
                                even ? "work is spread evenly" : "work is not spread evenly"));
}

}  // namespace aegir::ranks
