// Accessors of a ParticleSystem; included by particle_system.h.
#pragma once

#include "domain/particles/particle_system.h"

namespace aegir {

namespace detail {
template <class T>
ParticleSpan<T> span_of(ParticleStore& store, std::uint64_t first, std::size_t count) {
  using Component = typename Element<std::remove_const_t<T>>::Component;
  ParticleSpan<T> s;
  for (int p = 0; p < Element<std::remove_const_t<T>>::components; ++p)
    s.plane[static_cast<std::size_t>(p)] = store.plane<Component>(p) + first;
  s.count = count;
  return s;
}

template <class Span>
struct SpanView {
  Span span;
  Span& get() { return span; }
};
}  // namespace detail

template <class T>
class ParticleRead {
 public:
  ParticleRead(const ParticleSystem& system, ParticleStore& store) : system_(&system), store_(&store) {}
  using View = detail::SpanView<ParticleSpan<const T>>;
  const Topology& topology() const { return system_->topology(); }
  void prepare(Exec&) {}
  void load(View& v, int b) const { v.span = (*this)(b); }
  void store(View&, int) const {}
  void finish(Exec&) {}
  std::int64_t bytes() const { return static_cast<std::int64_t>(system_->size() * sizeof(T)); }
  /// The bucket's particles, for reductions that run outside a kernel.
  ParticleSpan<const T> operator()(int b) const {
    return detail::span_of<const T>(*store_, system_->first(b), system_->count(b));
  }

 private:
  const ParticleSystem* system_;
  ParticleStore* store_;
};

template <class T>
class ParticleWrite {
 public:
  ParticleWrite(const ParticleSystem& system, ParticleStore& store) : system_(&system), store_(&store) {}
  using View = detail::SpanView<ParticleSpan<T>>;
  const Topology& topology() const { return system_->topology(); }
  void prepare(Exec&) { store_->valid_ghosts = 0; }
  void load(View& v, int b) const { v.span = detail::span_of<T>(*store_, system_->first(b), system_->count(b)); }
  void store(View&, int) const {}
  void finish(Exec&) { store_->valid_ghosts = 0; }  // a halo read of the same kernel may have filled them before
  std::int64_t bytes() const { return static_cast<std::int64_t>(2 * system_->size() * sizeof(T)); }

 private:
  const ParticleSystem* system_;
  ParticleStore* store_;
};

/// The spans of a bucket and its neighbours, by neighbour_index(); empty where there is no bucket.
template <class T>
struct NeighbourSpans {
  std::array<ParticleSpan<const T>, 27> at;
  const ParticleSpan<const T>& self() const { return at[neighbour_self]; }
};

template <class T>
class ParticleReadNeighbours {
 public:
  ParticleReadNeighbours(ParticleSystem& system, ParticleStore& store) : system_(&system), store_(&store) {}
  using View = detail::SpanView<NeighbourSpans<T>>;
  const Topology& topology() const { return system_->topology(); }
  void prepare(Exec& exec) {
    HaloFlight flight(exec.comm);
    begin(exec, flight);
    flight.end();
  }
  void begin(Exec& exec, HaloFlight& flight) { system_->update_ghosts(exec, flight, *store_); }
  void load(View& v, int b) const {
    const auto& neighbours = topology().neighbours(b);
    for (std::size_t n = 0; n < 27; ++n)
      v.span.at[n] = neighbours[n] < 0 ? ParticleSpan<const T>{}
                                       : detail::span_of<const T>(*store_, system_->first(neighbours[n]),
                                                                  system_->count(neighbours[n]));
  }
  void store(View&, int) const {}
  void finish(Exec&) {}
  std::int64_t bytes() const { return static_cast<std::int64_t>(system_->size() * sizeof(T)); }

 private:
  ParticleSystem* system_;
  ParticleStore* store_;
};

template <class T>
ParticleRead<T> ParticleSystem::read(const ParticleChannel<T>& c) const {
  require_access(owner_, c.name, AccessMode::read, 0);
  return {*this, const_cast<ParticleSystem*>(this)->store(c.name)};
}
template <class T>
ParticleWrite<T> ParticleSystem::write(const ParticleChannel<T>& c) {
  require_access(owner_, c.name, AccessMode::write, 0);
  return {*this, store(c.name)};
}
template <class T>
ParticleReadNeighbours<T> ParticleSystem::read_neighbours(const ParticleChannel<T>& c) {
  require_access(owner_, c.name, AccessMode::read, bucket_size);
  return {*this, store(c.name)};
}

}  // namespace aegir
