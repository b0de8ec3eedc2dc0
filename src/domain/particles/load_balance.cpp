#include "domain/particles/load_balance.h"

#include <algorithm>
#include <numeric>

#include "parallel/monitored_comm.h"

namespace aegir {
namespace {

/// The share of a new measurement in what a rank believes, and how far that may be from the mean.
constexpr double freshness = 0.2, least_cost = 0.6, most_cost = 1.6;

/// What moving to other cuts costs, in substeps: at all, and for a whole share (sending what changes rank, and new pages
/// for it).
constexpr double price = 0.005, price_of_share = 1.5;

}  // namespace

void LoadBalance::begin(const Comm& comm, Work kind) {
  end(comm);
  begun_ = work_seconds(comm), kind_ = kind;
}

void LoadBalance::end(const Comm& comm) {
  if (begun_ >= 0) worked(kind_, work_seconds(comm) - begun_);
  begun_ = -1;
}

/// What a particle and a bucket have cost here since the last time, not too far from the mean of all ranks.
void LoadBalance::learn(Comm& comm) {
  std::array<std::int64_t, 4> sums{};
  for (std::size_t k = 0; k < parts_.size(); ++k)
    sums[2 * k] = parts_[k].weight, sums[2 * k + 1] = static_cast<std::int64_t>(1e9 * parts_[k].worked);
  comm.sum(std::span<std::int64_t>(sums));
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    Part& part = parts_[k];
    if (sums[2 * k] > 0 && sums[2 * k + 1] > 0) {
      const double mean = 1e-9 * static_cast<double>(sums[2 * k + 1]) / static_cast<double>(sums[2 * k]);
      const double here = part.weight > 0 ? part.worked / static_cast<double>(part.weight) : mean;
      part.cost += freshness * (here - part.cost);
      part.cost = std::clamp(part.cost, least_cost * mean, most_cost * mean);
    }
    part.worked = 0;
  }
}

std::optional<Partition> LoadBalance::better(Comm& comm, const ParticleSystem& particles) {
  if (comm.size() == 1) return {};
  learn(comm);
  const Topology& topology = particles.topology();
  parts_[0].weight = static_cast<std::int64_t>(particles.size()), parts_[1].weight = topology.local_count();
  // Whole numbers, which every rank adds up alike.
  weights_.resize(static_cast<std::size_t>(topology.local_count()));
  for (std::size_t b = 0; b < weights_.size(); ++b)
    weights_[b] = static_cast<std::int64_t>(
        1e12 * (parts_[0].cost * static_cast<double>(particles.count(static_cast<int>(b))) + parts_[1].cost));
  const std::int64_t mine = std::accumulate(weights_.begin(), weights_.end(), std::int64_t{0});
  const std::int64_t total = comm.sum(mine), worst = comm.max(mine);
  const double share = static_cast<double>(total) / comm.size();
  if (total == 0) return {};
  imbalance_ = static_cast<double>(worst) / share;
  if (++age_ < rest ? imbalance_ < bad : imbalance_ < tolerated) return {};
  Partition cuts = Partition::by_weight(comm, topology.local_curve(), weights_);
  if (cuts == topology.partition()) return {};
  // Buckets cannot be divided: with few of them the best cuts may be no better.
  std::vector<std::int64_t> loads(static_cast<std::size_t>(comm.size()) + 1);  // of ranks; the last: what moves
  for (std::size_t b = 0; b < weights_.size(); ++b) {
    const int owner = cuts.owner(topology.curve(static_cast<int>(b)));
    loads[static_cast<std::size_t>(owner)] += weights_[b];
    if (owner != comm.rank()) loads.back() += weights_[b];
  }
  comm.sum(std::span<std::int64_t>(loads));
  const double moved = static_cast<double>(loads.back()) / share;
  const auto then = static_cast<double>(*std::max_element(loads.begin(), loads.end() - 1)) / share;
  if ((imbalance_ - then) * horizon < price + price_of_share * moved) return {};
  age_ = 0;
  for (Part& p : parts_) p.weight = 0;
  return cuts;
}

}  // namespace aegir
