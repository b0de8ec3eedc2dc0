// Rebucketing. Per particle it reads position and id (20 bytes) and writes a 2-byte code, reads code and id and writes
// a 4-byte order, and moves every plane once (order, read, write-allocate, write): about 40 + 4·(bytes of its
// channels).
//
//   classify   where each particle lies now: a cell of its bucket, elsewhere, or removed
//   depart     those that left, listed by the neighbouring bucket they go to; the few that go farther are strangers
//   route      strangers and newcomers: to the rank that owns their place
//   retopology buckets that hold particles, padding, neighbours; nothing to do while the same buckets are occupied
//   sort       inside each new bucket by cell, then id: canonical, whatever thread or rank brought a particle there
//   gather     plane by plane into the new order
#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>

#include "domain/particles/particle_system.h"
#include "domain/particles/sort_cells.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

/// A particle that goes farther than to a neighbouring bucket of this rank.
struct Stranger {
  std::uint32_t index;
  BucketKey key;
};

std::uint32_t cell_code(float x, float y, float z) {
  return static_cast<std::uint32_t>(cell_offset(static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)));
}

}  // namespace

class Rebucketer {
 public:
  Rebucketer(ParticleSystem& system, Exec& exec, const Partition& partition, int padding)
      : s_(system),
        exec_(exec),
        partition_(partition),
        padding_(padding),
        moved_partition_(!(partition == system.topology_->partition())),
        position_(system.store(particle::position.name)),
        ids_(system.store(particle::id.name)) {}

  Status run() {
    Stopwatch watch;
    if (!too_many(s_.size() + s_.arrivals_.size())) {
      classify();
      depart();
      newcomers();
    }
    if (const Status ok = exec_.comm.agree(failure_); !ok) return ok;
    if (exec_.comm.size() > 1) route();
    if (retopology()) {
      sort();
      gather();
    }
    std::int64_t bytes = 0;
    for (const ParticleStore& c : s_.channels_)
      bytes += static_cast<std::int64_t>(4 * c.info.bytes_per_element() * s_.size());
    exec_.profile.kernel("rebucket", watch.seconds(), bytes + static_cast<std::int64_t>(40 * s_.size()));
    return {};
  }

 private:
  std::uint16_t* codes() { return reinterpret_cast<std::uint16_t*>(s_.codes_.data()); }
  std::uint32_t* order() { return reinterpret_cast<std::uint32_t*>(s_.order_.data()); }
  Arrival* movers() { return reinterpret_cast<Arrival*>(s_.movers_.data()); }
  float* p(int axis) { return position_.plane<float>(axis); }
  std::size_t old_count() const { return static_cast<std::size_t>(s_.topology_->local_count()); }

  /// Orders are 32 bits wide; one rank holds fewer particles than that.
  bool too_many(std::size_t count) {
    if (count < (std::size_t{1} << 32) - 1) return false;
    failure_ =
        Error{Failure::memory,
              fmt::format("object '{}': {} particles on one rank; 2^32 is the most, use more ranks", s_.owner_, count),
              {}};
    return true;
  }

  void classify() {
    s_.codes_.reserve(s_.size() * sizeof(std::uint16_t) * 9 / 8, 0);
    stay_.assign(old_count(), 0);
    leaving_.assign(old_count(), 0);
    settled_.assign(old_count(), 0);
    if (moved_partition_) {
      given_away_.resize(old_count());
      for (std::size_t b = 0; b < old_count(); ++b)
        given_away_[b] = partition_.owner(s_.topology_->curve(static_cast<int>(b))) != exec_.comm.rank();
    }
    parallel_for(0, stay_.size(), 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) classify_bucket(b);
    });
  }

  void classify_bucket(std::size_t b) {
    const std::size_t first = s_.first(static_cast<int>(b)), count = s_.count(static_cast<int>(b));
    std::uint16_t* code = codes() + first;
    const std::int64_t* id = ids_.plane<std::int64_t>(0) + first;
    std::size_t stay = classify_run(p(0) + first, p(1) + first, p(2) + first, id, count, code);
    if (moved_partition_ && given_away_[b]) {
      for (std::size_t i = 0; i < count; ++i)
        if (code[i] != code_removed) code[i] = code_left;
      stay = 0;
    }
    stay_[b] = static_cast<std::uint32_t>(stay);
    if (stay < count) leaving_[b] = static_cast<std::uint32_t>(std::count(code, code + count, code_left));
    settled_[b] = stay == count && in_order(code, id, count);
  }

  /// Lists those that leave, bucket by bucket, sorted by the neighbour they go to.
  void depart() {
    segments_.resize(old_count());
    std::vector<std::uint32_t> first(old_count() + 1, 0);
    for (std::size_t b = 0; b < old_count(); ++b) first[b + 1] = first[b] + leaving_[b];
    s_.movers_.reserve(std::size_t{first.back()} * sizeof(Arrival) * 9 / 8, 0);
    parallel_for(0, old_count(), 8, [&](std::size_t begin, std::size_t end) {
      std::vector<Arrival> left;
      std::vector<std::uint8_t> direction;
      std::vector<Stranger> far;
      for (std::size_t b = begin; b < end; ++b) depart_bucket(static_cast<int>(b), first[b], left, direction, far);
      if (far.empty()) return;
      std::lock_guard lock(mutex_);
      strangers_.insert(strangers_.end(), far.begin(), far.end());
    });
  }

  void depart_bucket(int b, std::uint32_t at, std::vector<Arrival>& left, std::vector<std::uint8_t>& direction,
                     std::vector<Stranger>& far) {
    auto& segment = segments_[static_cast<std::size_t>(b)];
    segment.fill(at);
    if (leaving_[static_cast<std::size_t>(b)] == 0) return;
    const std::size_t first = s_.first(b), last = first + s_.count(b);
    left.resize(last - first + 1), direction.resize(last - first + 1);
    const std::uint16_t* code = codes();
    std::size_t count = 0;  // written without a branch: who leaves is not predictable
    for (std::size_t i = first; i < last; ++i) {
      left[count].index = static_cast<std::uint32_t>(i);
      count += code[i] == code_left;
    }
    std::array<std::uint32_t, 28> cursor{};
    std::size_t near = 0;
    for (std::size_t l = 0; l < count; ++l) {
      const std::uint32_t i = left[l].index;
      const int n = rebase(b, i, far);
      if (n < 0) continue;
      left[near] = {i, cell_code(p(0)[i], p(1)[i], p(2)[i])};
      direction[near++] = static_cast<std::uint8_t>(n);
      ++cursor[static_cast<std::size_t>(n) + 1];
    }
    for (std::size_t n = 1; n < 28; ++n) segment[n] = segment[n - 1] + cursor[n];
    std::copy(segment.begin(), segment.end(), cursor.begin());
    for (std::size_t i = 0; i < near; ++i) movers()[cursor[direction[i]]++] = left[i];
  }

  /// Moves the origin of a particle's position to the bucket it lies in; the neighbour it goes to, or -1 for a
  /// stranger.
  int rebase(int b, std::size_t i, std::vector<Stranger>& far) {
    Vec3i steps;
    for (int a = 0; a < 3; ++a) {
      const float cells = p(a)[i];
      if (!(std::abs(cells) < 8e6f)) return fail(), -1;  // also NaN
      const float buckets = std::floor(cells * (1.0f / bucket_size));
      float inside = cells - buckets * bucket_size;
      if (inside >= bucket_size) inside = std::nextafter(float{bucket_size}, 0.0f);  // -1e-9 + 8 rounds to 8
      p(a)[i] = inside;
      steps[a] = static_cast<std::int32_t>(buckets);
    }
    const auto near = [](int step) { return step >= -1 && step <= 1; };
    if (near(steps.x) && near(steps.y) && near(steps.z)) {
      const int n = neighbour_index(steps.x, steps.y, steps.z);
      const int to = s_.topology_->neighbours(b)[static_cast<std::size_t>(n)];
      const bool local = to >= 0 && to < s_.topology_->local_count();
      if (local && !(moved_partition_ && given_away_[static_cast<std::size_t>(to)])) return n;
    }
    const BucketKey key{s_.topology_->key(b).coord + steps, 0};
    if (!addressable(key)) return fail(), -1;
    far.push_back({static_cast<std::uint32_t>(i), key});
    return -1;
  }

  /// Particles that were added since the last time.
  void newcomers() {
    for (std::size_t i = 0; i < s_.arrivals_.size(); ++i) {
      if (!addressable(s_.arrivals_[i])) return fail();
      strangers_.push_back({static_cast<std::uint32_t>(s_.size() + i), s_.arrivals_[i]});
    }
  }

  void fail() {
    std::lock_guard lock(mutex_);
    failure_ = simulation_error(
        "object '{}': a particle position (channel P) is not finite or lies more than {} buckets from the origin",
        s_.owner_, coordinate_limit);
  }

  /// Sends strangers whose place another rank owns, with all their channels; takes in what others send.
  void route() {
    std::vector<std::vector<Stranger>> away(static_cast<std::size_t>(exec_.comm.size()));
    std::vector<Stranger> here;
    BucketKey last{{coordinate_limit, 0, 0}, 0};  // of no bucket; strangers come by bucket
    int owner = 0;
    for (const Stranger& m : strangers_) {
      if (!(m.key == last)) last = m.key, owner = partition_.owner(curve_position(last));
      if (owner == exec_.comm.rank())
        here.push_back(m);
      else
        away[static_cast<std::size_t>(owner)].push_back(m);
    }
    strangers_ = std::move(here);
    std::size_t record = sizeof(BucketKey);
    for (const ParticleStore& c : s_.channels_) record += c.info.bytes_per_element();
    std::vector<Message> outgoing;
    for (int r = 0; r < exec_.comm.size(); ++r)
      if (const auto& group = away[static_cast<std::size_t>(r)]; !group.empty())
        outgoing.push_back({r, pack(group, record)});
    std::size_t end = s_.size() + s_.arrivals_.size();
    for (const Message& m : exec_.comm.exchange(std::move(outgoing))) {
      s_.resize_planes(end + m.bytes.size() / record, end);
      for (std::size_t at = 0; at < m.bytes.size(); at += record) unpack(m.bytes.data() + at, end++);
    }
  }

  Bytes pack(const std::vector<Stranger>& group, std::size_t record) {
    Bytes bytes(group.size() * record);
    std::byte* to = bytes.data();
    for (const Stranger& m : group) {
      std::memcpy(to, &m.key, sizeof m.key), to += sizeof m.key;
      for (ParticleStore& c : s_.channels_)
        for (Buffer& plane : c.planes) {
          const std::size_t width = scalar_size(c.info.scalar);
          std::memcpy(to, plane.data() + m.index * width, width), to += width;
        }
    }
    return bytes;
  }

  void unpack(const std::byte* from, std::size_t index) {
    Stranger m{static_cast<std::uint32_t>(index), {}};
    std::memcpy(&m.key, from, sizeof m.key), from += sizeof m.key;
    strangers_.push_back(m);
    for (ParticleStore& c : s_.channels_)
      for (Buffer& plane : c.planes) {
        const std::size_t width = scalar_size(c.info.scalar);
        std::memcpy(plane.data() + index * width, from, width), from += width;
      }
  }

  /// How many list entries go to old bucket b from its neighbours.
  std::uint32_t incoming(int b) const {
    std::uint32_t count = 0;
    for_each_segment(b, [&](std::uint32_t begin, std::uint32_t end) { count += end - begin; });
    return count;
  }
  template <class Fn>
  void for_each_segment(int b, Fn&& fn) const {
    const auto& neighbours = s_.topology_->neighbours(b);
    for (std::size_t n = 0; n < 27; ++n) {
      const int from = neighbours[n];
      if (n == neighbour_self || from < 0 || from >= s_.topology_->local_count()) continue;
      const auto& segment = segments_[static_cast<std::size_t>(from)];
      if (segment[26 - n] != segment[27 - n]) fn(segment[26 - n], segment[27 - n]);
    }
  }

  /// Finds the buckets of the next moment; false when every particle of every rank is already where it belongs.
  bool retopology() {
    const Topology& old = *s_.topology_;
    incoming_.resize(old_count());
    parallel_for(0, old_count(), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) incoming_[b] = incoming(static_cast<int>(b));
    });
    std::vector<char> occupied(old_count());
    for (std::size_t b = 0; b < old_count(); ++b) occupied[b] = stay_[b] + incoming_[b] > 0;
    std::vector<BucketKey> fresh;
    for (const Stranger& m : strangers_) {
      const int b = old.find(m.key);
      if (b >= 0 && b < old.local_count())
        occupied[static_cast<std::size_t>(b)] = 1;
      else if (fresh.empty() || !(fresh.back() == m.key))
        fresh.push_back(m.key);
    }
    bool other_buckets = moved_partition_ || padding_ != s_.padding_ || !fresh.empty(),
         unsorted = !strangers_.empty() || !s_.arrivals_.empty();
    for (std::size_t b = 0; b < old_count(); ++b) {
      other_buckets |= occupied[b] != (s_.count(static_cast<int>(b)) > 0);
      unsorted |= !settled_[b] || incoming_[b];
    }
    std::int64_t changes[2] = {other_buckets, unsorted};
    exec_.comm.max(std::span<std::int64_t>(changes));
    next_ = s_.topology_;
    if (changes[0]) {
      std::vector<BucketKey> wanted = std::move(fresh);
      sort_unique(wanted);
      for (int b = 0; b < old.local_count(); ++b)
        if (occupied[static_cast<std::size_t>(b)]) wanted.push_back(old.key(b));
      if (padding_ > 0) wanted = padded(wanted, padding_);
      auto next = Topology::build(old.spacing(), wanted, partition_, exec_.comm);
      if (exec_.comm.any(!next->same_buckets(old))) next_ = std::move(next);
      s_.padding_ = padding_;
    }
    return changes[0] || changes[1];
  }

  void sort() {
    const Topology &old = *s_.topology_, &next = *next_;
    const auto buckets = static_cast<std::size_t>(next.local_count());
    group_strangers();
    std::vector<std::int32_t> source(buckets);
    first_.assign(buckets + 1, 0);
    parallel_for(0, buckets, 256, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) {
        const int from = &old == &next ? static_cast<int>(b) : old.find(next.key(static_cast<int>(b)));
        source[b] = from < old.local_count() ? from : -1;
      }
    });
    for (std::size_t b = 0; b < buckets; ++b) {
      const auto from = static_cast<std::size_t>(source[b]);
      first_[b + 1] =
          first_[b] + (source[b] >= 0 ? stay_[from] + incoming_[from] : 0) + (group_first_[b + 1] - group_first_[b]);
    }
    s_.order_.reserve(first_.back() * sizeof(std::uint32_t) * 9 / 8, 0);
    reserve_spare(ids_.planes[0], s_.spare8_, sizeof(std::int64_t));
    parallel_for(0, buckets, 8, [&](std::size_t begin, std::size_t end) {
      CellSorter sorter;
      for (std::size_t b = begin; b < end; ++b) sort_bucket(sorter, b, source[b]);
    });
    std::swap(ids_.planes[0], s_.spare8_);
  }

  void group_strangers() {
    const auto buckets = static_cast<std::size_t>(next_->local_count());
    std::vector<std::int32_t> target(strangers_.size());
    parallel_for(0, strangers_.size(), 4096, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) target[i] = next_->find(strangers_[i].key);
    });
    group_first_.assign(buckets + 1, 0);
    for (std::int32_t t : target) ++group_first_[static_cast<std::size_t>(t) + 1];
    std::partial_sum(group_first_.begin(), group_first_.end(), group_first_.begin());
    std::vector<std::uint32_t> cursor(group_first_.begin(), group_first_.end() - 1);
    group_.resize(strangers_.size());
    for (std::size_t i = 0; i < strangers_.size(); ++i)
      group_[cursor[static_cast<std::size_t>(target[i])]++] = strangers_[i].index;
  }

  void sort_bucket(CellSorter& sorter, std::size_t b, int source) {
    const std::int64_t* id = ids_.plane<std::int64_t>(0);
    std::uint32_t* out = order() + first_[b];
    auto* out_id = reinterpret_cast<std::int64_t*>(s_.spare8_.data()) + first_[b];
    const std::size_t start = source < 0 ? 0 : s_.first(source),
                      count = source < 0 || !stay_[static_cast<std::size_t>(source)] ? 0 : s_.count(source);
    const bool alone = source < 0 || incoming_[static_cast<std::size_t>(source)] == 0;
    if (alone && group_first_[b] == group_first_[b + 1] && (count == 0 || settled_[static_cast<std::size_t>(source)])) {
      std::iota(out, out + count, static_cast<std::uint32_t>(start));
      std::copy_n(id + start, count, out_id);
      return;
    }
    sorter.arrivals.clear();
    if (source >= 0)
      for_each_segment(source, [&](std::uint32_t begin, std::uint32_t end) {
        sorter.arrivals.insert(sorter.arrivals.end(), movers() + begin, movers() + end);
      });
    for (std::uint32_t g = group_first_[b]; g < group_first_[b + 1]; ++g) {
      const std::uint32_t i = group_[g];
      sorter.arrivals.push_back({i, cell_code(p(0)[i], p(1)[i], p(2)[i])});
    }
    sorter.sort(codes() + start, static_cast<std::uint32_t>(start), count, id, out, out_id);
  }

  /// Planes of one width take turns with one spare plane; it has the room they have.
  void reserve_spare(const Buffer& plane, Buffer& spare, std::size_t width) {
    const std::size_t bytes = first_.back() * width;
    spare.reserve(std::max(bytes, std::min(plane.capacity(), bytes * 9 / 8)), 0);
  }

  template <class T>
  void gather_plane(Buffer& plane, Buffer& spare) {
    reserve_spare(plane, spare, sizeof(T));
    const T* in = reinterpret_cast<const T*>(plane.data());
    T* out = reinterpret_cast<T*>(spare.data());
    const std::uint32_t* from = order();
    parallel_for(0, first_.back(), 16384, [=](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) out[i] = in[from[i]];
    });
    std::swap(plane, spare);
  }

  void gather() {
    for (ParticleStore& c : s_.channels_) {
      c.valid_ghosts = 0;
      if (&c == &ids_) continue;  // sort() has moved them
      for (Buffer& plane : c.planes) {
        if (scalar_size(c.info.scalar) == 4)
          gather_plane<std::uint32_t>(plane, s_.spare4_);
        else
          gather_plane<std::uint64_t>(plane, s_.spare8_);
      }
    }
    s_.first_ = std::move(first_);
    s_.topology_ = std::move(next_);
    s_.arrivals_ = std::vector<BucketKey>();  // a first emission may be large; its memory is given back
    s_.ghost_width_ = 0;
  }

  ParticleSystem& s_;
  Exec& exec_;
  const Partition partition_;
  const int padding_;
  const bool moved_partition_;
  ParticleStore &position_, &ids_;
  std::mutex mutex_;
  Status failure_;
  // Per old bucket: how many stay, leave and come from neighbours; 1 where all stay and are in order.
  std::vector<std::uint32_t> stay_, leaving_, incoming_;
  std::vector<char> settled_;
  std::vector<char> given_away_;  // per old bucket, where the partition moves: 1 if another rank gets it
  std::vector<std::array<std::uint32_t, 28>> segments_;  // where each direction starts among movers()
  std::vector<Stranger> strangers_;
  std::vector<std::uint32_t> group_first_, group_;  // strangers by new bucket
  std::shared_ptr<const Topology> next_;
  std::vector<std::uint64_t> first_;
};

Status ParticleSystem::rebucket(Exec& exec, const Partition& partition, int padding) {
  return Rebucketer(*this, exec, partition, padding).run();
}

}  // namespace aegir
