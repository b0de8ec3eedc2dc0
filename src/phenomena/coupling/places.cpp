#include "phenomena/coupling/places.h"

#include <cstring>
#include <numeric>

#include "domain/for_each_bucket.h"

namespace aegir {
namespace {

template <class T>
Bytes packed(std::span<const T> values) {
  Bytes bytes(values.size_bytes());
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <class T>
std::vector<T> unpacked(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace

// Per particle: 12 bytes read, 24 written.
std::vector<Vec3d> places_of(Exec& exec, const ParticleSystem& particles) {
  std::vector<Vec3d> places(particles.size());
  for_each_bucket(
      exec, "places", particles.topology(),
      [&](const Bucket& b, auto& p) {
        for (std::size_t i = 0; i < p.count; ++i)
          places[particles.first(b.index) + i] = b.origin() + Vec3d(p[i]) * b.spacing();
      },
      particles.read(particle::position));
  return places;
}

PlacesByBucket::PlacesByBucket(const Topology& topology, const std::vector<Vec3d>& places)
    : cells_(places.size()), first_(static_cast<std::size_t>(topology.local_count()) + 1, 0) {
  std::vector<std::int32_t> bucket(places.size());
  parallel_for(0, places.size(), 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const BucketPosition at = locate(places[i], topology.spacing());
      const int b = topology.find(at.key);
      bucket[i] = b < topology.local_count() ? b : -1, cells_[i] = at.cell;
    }
  });
  for (const std::int32_t b : bucket)
    if (b >= 0) ++first_[static_cast<std::size_t>(b) + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  order_.resize(first_.back());
  std::vector<std::uint32_t> cursor(first_.begin(), first_.end());
  for (std::size_t i = 0; i < places.size(); ++i)
    if (bucket[i] >= 0) order_[cursor[static_cast<std::size_t>(bucket[i])]++] = static_cast<std::uint32_t>(i);
  for (int b = 0; b < topology.local_count(); ++b)
    if (!in(b).empty()) buckets_.push_back(b);
}

std::vector<float> ask_owners(Exec& exec, const Topology& topology, const std::vector<Vec3d>& places, float nobody,
                              FunctionRef<std::vector<float>(const std::vector<Vec3d>&)> answer) {
  Comm& comm = exec.comm;
  if (comm.size() == 1) return answer(places);
  std::vector<std::vector<Vec3d>> asked(static_cast<std::size_t>(comm.size()));
  std::vector<std::vector<std::uint32_t>> whose(asked.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const BucketKey key = locate(places[i], topology.spacing()).key;
    if (!addressable(key)) continue;
    const auto owner = static_cast<std::size_t>(topology.partition().owner(curve_position(key)));
    asked[owner].push_back(places[i]), whose[owner].push_back(static_cast<std::uint32_t>(i));
  }
  const auto rank = static_cast<std::size_t>(comm.rank());
  std::vector<Message> questions;
  for (std::size_t r = 0; r < asked.size(); ++r)
    if (r != rank && !asked[r].empty())
      questions.push_back({static_cast<int>(r), packed(std::span<const Vec3d>(asked[r]))});
  const std::vector<Message> received = comm.exchange(std::move(questions));
  // All that this rank is asked for at once: its own places, then the others' in order of rank.
  std::vector<Vec3d> all = asked[rank];
  for (const Message& m : received) {
    const auto theirs = unpacked<Vec3d>(m.bytes);
    all.insert(all.end(), theirs.begin(), theirs.end());
  }
  const std::vector<float> here = answer(all);
  std::vector<Message> answers;
  std::size_t next = asked[rank].size();
  for (const Message& m : received) {
    const std::size_t count = m.bytes.size() / sizeof(Vec3d);
    answers.push_back({m.rank, packed(std::span<const float>(here).subspan(next, count))});
    next += count;
  }
  std::vector<float> found(places.size(), nobody);
  for (std::size_t n = 0; n < whose[rank].size(); ++n) found[whose[rank][n]] = here[n];
  for (const Message& m : comm.exchange(std::move(answers))) {
    const auto values = unpacked<float>(m.bytes);
    const auto& slots = whose[static_cast<std::size_t>(m.rank)];
    for (std::size_t n = 0; n < slots.size(); ++n) found[slots[n]] = values[n];
  }
  return found;
}

}  // namespace aegir
