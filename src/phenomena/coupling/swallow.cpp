#include "phenomena/coupling/swallow.h"

#include <vector>

#include "domain/for_each_bucket.h"
#include "domain/particles/neighbours.h"
#include "phenomena/coupling/break_away.h"
#include "phenomena/coupling/places.h"

namespace aegir {
namespace {

/// How much of the ball of one cell size around each place particles fill. Reads P and pscale with a halo of a bucket.
/// Per place about 27 cells of particles, 16 bytes and 12 flops each.
std::vector<float> filling(Exec& exec, ParticleSystem& particles, const std::vector<Vec3d>& places) {
  std::vector<float> found(places.size(), 0.0f);
  const PlacesByBucket by(particles.topology(), places);
  const auto scale = static_cast<float>(1 / particles.spacing());
  for_buckets(
      exec, "filling", particles.topology(), by.buckets(),
      [&](const Bucket& b, auto& near, auto& radius) {
        NeighbourSearch search(near);
        for (const std::uint32_t n : by.in(b.index)) {
          float sum = 0;
          search.around(by.cell(n), 1.0f, [&](int bucket, std::size_t i, float) {
            const float r = radius.at[static_cast<std::size_t>(bucket)][i] * scale;
            sum += r * r * r;
          });
          found[n] = sum;
        }
      },
      particles.read_neighbours(particle::position), particles.read_neighbours(particle::radius));
  return found;
}

/// A channel of all particles of this rank, in order of memory. 4 bytes read and 4 written.
std::vector<float> values_of(Exec& exec, const ParticleSystem& particles, const ParticleChannel<float>& channel) {
  std::vector<float> values(particles.size());
  for_each_bucket(
      exec, "values", particles.topology(),
      [&](const Bucket& b, auto& from) {
        for (std::size_t i = 0; i < from.count; ++i) values[particles.first(b.index) + i] = from[i];
      },
      particles.read(channel));
  return values;
}

}  // namespace

Swallow::Swallow(std::string behavior, ParticleObject& droplets, Object& liquid, const SwallowSettings& settings)
    : Operator(std::move(behavior)), droplets_(droplets), liquid_(liquid), s_(settings) {
  droplets.state().child(this->behavior()).record("taken", &taken_);
  droplets.book_removed(this->behavior(), taken_);
}

void Swallow::plan(TaskList& tasks) {
  const std::string &from = droplets_.path(), &to = liquid_.path();
  std::vector<ChannelAccess> accesses{reads(from, "P"), reads(from, "mass"), reads(from, "age"), writes(from, "id")};
  if (s_.when.empty())
    accesses.insert(accesses.end(), {reads(to, "P", bucket_size), reads(to, "pscale", bucket_size)});
  else
    accesses.push_back(reads(from, s_.when));
  tasks.add({.name = "leave " + from + " into " + to + " (cached: it is given nothing)",
             .stage = Stage::group_exit,
             .behavior = behavior(),
             .accesses = std::move(accesses),
             .after = turns_so_far(tasks, Stage::group_exit, from, to),
             .acting = {},
             .run = [this](StepContext& c) { return leave(c); }});
}

Status Swallow::leave(StepContext& c) {
  ParticleSystem &droplets = *droplets_.particles(), &liquid = *liquid_.particles();
  if (c.first_frame || droplets.global_size(c.exec.comm) == 0) return {};
  std::vector<float> filled;
  if (s_.when.empty())
    filled = ask_owners(c.exec, liquid.topology(), places_of(c.exec, droplets), 0.0f,
                        [&](const std::vector<Vec3d>& here) { return filling(c.exec, liquid, here); });
  else
    filled = values_of(c.exec, droplets, ParticleChannel<float>{s_.when.c_str()});
  const auto enough = static_cast<float>(s_.when.empty() ? share_of_ball(s_.depth) : 0.5),
             delay = static_cast<float>(s_.delay);
  std::vector<double> masses(static_cast<std::size_t>(droplets.topology().local_count()), 0);
  for_each_bucket(
      c.exec, "swallow", droplets.topology(),
      [&](const Bucket& b, auto& id, auto& age, auto& mass) {
        for (std::size_t i = 0; i < id.count; ++i)
          if (filled[droplets.first(b.index) + i] >= enough && id[i] >= 0 && age[i] > delay)
            id.set(i, ~id[i]), masses[static_cast<std::size_t>(b.index)] += static_cast<double>(mass[i]);
      },
      droplets.write(particle::id), droplets.read(particle::age), droplets.read(particle::mass));
  taken_ += exact_sum(c.exec, droplets.topology(),
                      [&](const Bucket& b) { return masses[static_cast<std::size_t>(b.index)]; });
  return {};
}

}  // namespace aegir
