#include "phenomena/coupling/break_away.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "domain/for_each_bucket.h"
#include "phenomena/droplets/meetings.h"

namespace aegir {

std::vector<std::string> turns_so_far(const TaskList& tasks, Stage stage, const std::string& one,
                                      const std::string& other) {
  std::vector<std::string> before;
  for (const Task& t : tasks.tasks())
    if (t.stage == stage && std::any_of(t.accesses.begin(), t.accesses.end(),
                                        [&](const ChannelAccess& a) { return a.owner == one || a.owner == other; }))
      before.push_back(t.full_name());
  return before;
}

BreakAway::BreakAway(std::string behavior, Object& liquid, ParticleObject& droplets, const BreakAwaySettings& settings)
    : Operator(std::move(behavior)),
      liquid_(liquid),
      hybrid_(dynamic_cast<HybridObject*>(&liquid)),
      droplets_(droplets),
      s_(settings),
      error_name_(this->behavior() + ":momentum_error") {
  StateTree& state = droplets.state().child(this->behavior() + " " + liquid.path());
  balance_.keep_in(state);
  state.record("gone", &gone_);
  if (hybrid_) {
    ask_for_channels();
    hybrid_->book_removed(this->behavior(), balance_.left);
  }
  droplets.book_added(this->behavior(), balance_.entered);
  droplets.book_figure(error_name_.c_str(), balance_.momentum_error);
}

/// Whom a channel that is cheap keeps from leaving, nobody counts the neighbours of.
void BreakAway::ask_for_channels() {
  BreakingCriteria cheap;
  cheap.surface_distance = s_.criteria.surface_distance, cheap.pressure_gradient = s_.criteria.pressure_gradient;
  for (const std::string_view channel : metric_channels(s_.criteria))
    if (channel != particle::neighbours.name || cheap.none())
      hybrid_->derive(channel, Asked::every_substep);
    else
      hybrid_->count_neighbours([cheap](const ParticleSystem& particles) -> WantedOf {
        return [metric = BreakingMetric(cheap, particles)](int bucket, std::span<std::uint8_t> wanted) {
          std::vector<float> values(wanted.size());
          metric.evaluate(bucket, values);
          for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] |= values[i] > 0 ? 1 : 0;
        };
      });
}

void BreakAway::plan(TaskList& tasks) {
  const std::string &from = liquid_.path(), &to = droplets_.path();
  std::vector<ChannelAccess> accesses{reads(from, "P"), reads(from, "v"), reads(from, "mass"), reads(from, "pscale"),
                                      reads(from, "age")};
  for (const char* channel : metric_channels(s_.criteria)) accesses.push_back(reads(from, channel));
  if (hybrid_)
    accesses.push_back(writes(from, "id"));
  else
    accesses.insert(accesses.end(), {reads(from, "id"), reads(from, "P", bucket_size), writes(from, "neighbours")});
  tasks.add({.name = hybrid_ ? "leave " + from : "look at " + from + " (cached: nothing is taken from it)",
             .stage = Stage::group_exit,
             .behavior = behavior(),
             .accesses = std::move(accesses),
             .after = turns_so_far(tasks, Stage::group_exit, from, to),
             .acting = {},
             .run = [this](StepContext& c) { return leave(c); }});
  std::vector<ChannelAccess> enters{adds(to, "*")};
  if (hybrid_)
    for (const Collider* c : hybrid_->colliders()) enters.push_back(reads(c->path(), "surface"));
  tasks.add({.name = "enter " + to + " from " + from,
             .stage = Stage::group_enter,
             .behavior = behavior(),
             .accesses = std::move(enters),
             .after = turns_so_far(tasks, Stage::group_enter, from, to),
             .acting = {},
             .run = [this](StepContext& c) { return enter(c); }});
}

Status BreakAway::prepare_cached(StepContext& c) {
  ParticleSystem& particles = *liquid_.particles();
  for (const std::string_view channel : metric_channels(s_.criteria)) {
    if (channel == particle::neighbours.name)
      particles.declare(particle::neighbours), derive_neighbours(c.exec, particles);
    else if (!particles.has(channel))
      return usage_error({},
                         "'{}': the cached run '{}' has no '{}'; let the run that it comes from write it (points: "
                         "attributes), or decide without it",
                         behavior(), liquid_.path(), channel);
  }
  return {};
}

// Per particle: what the metric reads, id and age (12 bytes); about 50 flops.
Status BreakAway::leave(StepContext& c) {
  ParticleSystem& particles = *liquid_.particles();
  leaving_.assign(static_cast<std::size_t>(particles.topology().local_count()), {});
  if (c.first_frame) return {};
  s_.criteria.threshold = s_.threshold.at(c.frame_time);
  s_.split.amount = s_.amount.at(c.frame_time), s_.split.spread = s_.spread.at(c.frame_time);
  if (hybrid_ && s_.criteria.pressure_gradient && !hybrid_->has_pressure && !std::exchange(told_, true))
    c.warn(fmt::format("'{}': '{}' has no pressure, so that its gradient is 0 everywhere and decides nothing",
                       behavior(), liquid_.path()));
  if (!hybrid_) {
    if (particles.global_size(c.exec.comm) == 0) return {};  // its channels are not known yet
    if (Status ok = prepare_cached(c); !ok) return ok;
  }
  const BreakingMetric metric(s_.criteria, particles);
  const auto threshold = static_cast<float>(s_.criteria.threshold), delay = static_cast<float>(s_.delay);
  std::vector<std::vector<std::int64_t>> calm(hybrid_ ? 0 : leaving_.size());
  for_each_bucket(
      c.exec, "breaking away", particles.topology(),
      [&](const Bucket& b, auto& id, auto& p, auto& v, auto& mass, auto& radius, auto& age) {
        std::vector<float> values(p.count);
        metric.evaluate(b.index, values);
        auto& leaving = leaving_[static_cast<std::size_t>(b.index)];
        for (std::size_t i = 0; i < p.count; ++i) {
          const bool known = !hybrid_ && std::binary_search(gone_.begin(), gone_.end(), id[i]);
          if (known && values[i] < 0.5f * threshold) calm[static_cast<std::size_t>(b.index)].push_back(id[i]);
          if (!(values[i] >= threshold) || id[i] < 0 || known || !(age[i] > delay)) continue;
          const auto r = static_cast<double>(radius[i]);
          const double m = hybrid_ ? static_cast<double>(mass[i]) : s_.density * 4.1887902047863905 * r * r * r;
          leaving.push_back({{b.origin() + Vec3d(p[i]) * b.spacing(), Vec3d(v[i]), r, m,
                              s_.criteria.excess(static_cast<double>(values[i]))},
                             id[i],
                             i});
        }
      },
      particles.read(particle::id), particles.read(particle::position), particles.read(particle::velocity),
      particles.read(particle::mass), particles.read(particle::radius), particles.read(particle::age));
  if (hybrid_)
    mark(c);
  else
    remember(c, calm);
  return {};
}

void BreakAway::mark(StepContext& c) {
  ParticleSystem& particles = *liquid_.particles();
  std::vector<int> buckets;
  for (std::size_t b = 0; b < leaving_.size(); ++b)
    if (!leaving_[b].empty()) buckets.push_back(static_cast<int>(b));
  for_buckets(
      c.exec, "mark leaving", particles.topology(), buckets,
      [&](const Bucket& b, auto& id) {
        for (const Leaving& l : leaving_[static_cast<std::size_t>(b.index)]) id.set(l.index, ~l.id);
      },
      particles.write(particle::id));
}

void BreakAway::remember(StepContext& c, const std::vector<std::vector<std::int64_t>>& calm) {
  std::vector<std::int64_t> left, back;
  for (const auto& bucket : leaving_)
    for (const Leaving& l : bucket) left.push_back(l.id);
  for (const auto& bucket : calm) back.insert(back.end(), bucket.begin(), bucket.end());
  left = gather_all(c.exec.comm, left), back = gather_all(c.exec.comm, back);
  std::sort(left.begin(), left.end()), std::sort(back.begin(), back.end());
  std::vector<std::int64_t> kept, all;
  std::set_difference(gone_.begin(), gone_.end(), back.begin(), back.end(), std::back_inserter(kept));
  std::set_union(kept.begin(), kept.end(), left.begin(), left.end(), std::back_inserter(all));
  gone_ = std::move(all);
}

/// Droplets that would start behind a wall are drawn towards the middle of the particle, which is free.
void BreakAway::keep_clear(const Whole& whole, std::span<Splinter> droplets) const {
  if (!hybrid_) return;
  const Vec3d& x = whole.position;
  const auto blocked = [&](const Vec3d& y) {
    return hybrid_->obstructed(y) ||
           std::any_of(hybrid_->colliders().begin(), hybrid_->colliders().end(), [&](const Collider* c) {
             return c->swept_bounds().grown(whole.radius).contains(x) && c->blocks(x, y);
           });
  };
  for (const double share : {1.0, 0.5, 0.25, 0.0}) {
    const auto place = [&](const Splinter& d) { return x + (d.position - x) * share; };
    if (share > 0 &&
        std::any_of(droplets.begin(), droplets.end(), [&](const Splinter& d) { return blocked(place(d)); }))
      continue;
    for (Splinter& d : droplets) d.position = place(d);
    return;
  }
}

Status BreakAway::enter(StepContext& c) {
  std::vector<std::vector<Splinter>> made(leaving_.size());
  parallel_for(0, leaving_.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      for (const Leaving& l : leaving_[b]) {
        const std::size_t first = made[b].size();
        split(
            l.whole, s_.split,
            Random(static_cast<std::uint64_t>(s_.seed), static_cast<std::uint64_t>(l.id), c.step, Purpose::transition),
            made[b]);
        keep_clear(l.whole, std::span(made[b]).subspan(first));
      }
  });
  Handover handover;
  for (const auto& bucket : leaving_)
    for (const Leaving& l : bucket) handover.leaves(l.whole.mass, l.whole.velocity);
  for (const auto& bucket : made)
    for (const Splinter& d : bucket) handover.enters(static_cast<double>(d.mass), Vec3d(d.velocity));
  leaving_.clear();

  // Ranks own consecutive stretches of the curve, so this numbers along it.
  std::size_t mine = 0;
  for (const auto& bucket : made) mine += bucket.size();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(c.exec.comm.size()), 0);
  const auto rank = static_cast<std::size_t>(c.exec.comm.rank());
  counts[rank] = static_cast<std::int64_t>(mine);
  c.exec.comm.sum(std::span<std::int64_t>(counts));
  const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (all == 0) return {};
  std::int64_t id = droplets_.take_ids(all);
  for (std::size_t r = 0; r < rank; ++r) id += counts[r];
  balance_.book(c.exec, handover);

  ParticleBatch batch = droplets_.particles()->batch(mine);
  std::size_t n = 0;
  for (const auto& bucket : made)
    for (const Splinter& d : bucket) {
      batch.position[n] = d.position, batch.id[n] = id++;
      batch.set(particle::velocity.name, n, Vec3d(d.velocity));
      batch.set(particle::radius.name, n, static_cast<double>(d.radius));
      batch.set(particle::mass.name, n, static_cast<double>(d.mass));
      batch.set(particle::age.name, n, 0.0);
      batch.set(particle::collide_after.name, n, c.time + s_.delay);  // first they part: they start in one ball
      ++n;
    }
  droplets_.particles()->add(batch);
  return {};
}

}  // namespace aegir
