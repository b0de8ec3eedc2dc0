#include "domain/particles/load_balance.h"

#include <algorithm>
#include <numeric>

#include "parallel/monitored_comm.h"

namespace aegir {
namespace {

/// The share of a new measurement in what a rank believes, and how far that may be from the mean.
constexpr double freshness = 0.2, least_cost = 0.6, most_cost = 1.6;

/// What moving to other cuts costs, in substeps of the mean rank: sending what changes rank, and new pages for it.
constexpr double price = 0.06;

}  // namespace

std::int64_t LoadBalance::weigh(const ParticleSystem& particles) {
  weights_.resize(static_cast<std::size_t>(particles.topology().local_count()));
  for (std::size_t b = 0; b < weights_.size(); ++b)
    weights_[b] = bucket_weight + static_cast<std::int64_t>(particles.count(static_cast<int>(b)));
  return std::accumulate(weights_.begin(), weights_.end(), std::int64_t{0});
}

void LoadBalance::begin(const Comm& comm) { begun_ = work_seconds(comm); }

void LoadBalance::end(const Comm& comm) {
  if (begun_ >= 0) worked(work_seconds(comm) - begun_);
  begun_ = -1;
}

/// What a unit of weight has cost here since the last time, over the mean of all ranks.
void LoadBalance::learn(Comm& comm) {
  std::int64_t sums[2] = {weight_, static_cast<std::int64_t>(1e9 * worked_)};
  comm.sum(std::span<std::int64_t>(sums));
  if (sums[0] > 0 && sums[1] > 0 && weight_ > 0) {
    const double mean = 1e-9 * static_cast<double>(sums[1]) / static_cast<double>(sums[0]);
    const double here = worked_ / static_cast<double>(weight_) / mean;
    cost_ += freshness * (std::clamp(here, least_cost, most_cost) - cost_);
  }
  worked_ = 0;
}

std::optional<Partition> LoadBalance::better(Comm& comm, const ParticleSystem& particles) {
  if (comm.size() == 1) return {};
  learn(comm);
  weight_ = weigh(particles);
  // In thousandths: whole numbers that every rank adds up alike.
  for (std::int64_t& w : weights_) w = static_cast<std::int64_t>(1000 * cost_ * static_cast<double>(w));
  const std::int64_t mine = std::accumulate(weights_.begin(), weights_.end(), std::int64_t{0});
  const std::int64_t total = comm.sum(mine), worst = comm.max(mine);
  const double share = static_cast<double>(total) / comm.size();
  if (total == 0) return {};
  imbalance_ = static_cast<double>(worst) / share;
  if (++age_ < horizon ? imbalance_ < bad : imbalance_ < tolerated) return {};
  Partition cuts = Partition::by_weight(comm, particles.topology().local_curve(), weights_);
  if (cuts == particles.topology().partition()) return {};
  // Buckets cannot be divided: with few of them the best cuts may be no better.
  std::vector<std::int64_t> loads(static_cast<std::size_t>(comm.size()));
  for (std::size_t b = 0; b < weights_.size(); ++b)
    loads[static_cast<std::size_t>(cuts.owner(particles.topology().curve(static_cast<int>(b))))] += weights_[b];
  comm.sum(std::span<std::int64_t>(loads));
  const auto then = static_cast<double>(*std::max_element(loads.begin(), loads.end())) / share;
  if ((imbalance_ - then) * horizon < price) return {};
  age_ = 0;
  weight_ = 0;  // the next measurement is of other buckets than were weighed
  return cuts;
}

}  // namespace aegir
