// A halo that is copied only when the kernel asks for it: buckets without particles cost nothing.
//
//   for_each_bucket(exec, "sample", topology, [](const Bucket&, auto& p, auto& u) { if (p.size()) use(u.fetch()); },
//                   particles.read(position), OnDemand(volume.read<Halo<1>>(velocity)));
#pragma once

#include <utility>

#include "domain/volume/discrete_volume.h"

namespace aegir {

template <class Access>
class OnDemand {
 public:
  explicit OnDemand(Access access) : access_(std::move(access)) {}

  struct View {
    typename Access::View tiles;
    const Access* access;
    int bucket;
    /// Copies the bucket and its halo.
    decltype(auto) fetch() {
      access->load(tiles, bucket);
      return tiles.get();
    }
    View& get() { return *this; }
  };
  const Topology& topology() const { return access_.topology(); }
  void prepare(Exec& exec) { access_.prepare(exec); }
  void begin(Exec& exec, HaloFlight& flight) { access_.begin(exec, flight); }
  void load(View& v, int b) const { v.access = &access_, v.bucket = b; }
  void store(View&, int) const {}
  void finish(Exec& exec) { access_.finish(exec); }
  std::int64_t bytes() const { return access_.bytes(); }

 private:
  Access access_;
};

}  // namespace aegir
