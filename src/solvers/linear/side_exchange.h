// Halo exchange for kernels that read one layer of cells across the six sides of a bucket: 64 values of a bucket travel
// for each side that it shares with another rank, instead of all 512 of every bucket in sight.
//
//   SideExchange sides(topology);
//   sides.run(comm, unknown.data());                 // all buckets
//   sides.run(comm, unknown.data(), 0);              // those of colour 0 only, where no others have changed
#pragma once

#include <vector>

#include "domain/grid/topology.h"
#include "parallel/comm.h"

namespace aegir {

class SideExchange {
 public:
  /// Finds out what travels; both sides list it alike, so nothing is said.
  explicit SideExchange(const Topology& topology);

  /// Brings the layers of ghosts that lie against local buckets from their owners; `values` are 512 per bucket, ghosts
  /// last. `colour`: of the buckets that are sent, 0 where the sum of the key's coordinates is even; -1 for all.
  /// Collective.
  void run(Comm& comm, float* values, int colour = -1) const;

 private:
  struct Side {
    std::int32_t bucket;
    std::int32_t direction;  // 0…5: -x +x -y +y -z +z, from the bucket to its neighbour
  };
  struct Peer {
    int rank;
    std::vector<Side> send[2], receive[2];  // by colour
  };
  std::vector<Peer> peers_;
};

}  // namespace aegir
