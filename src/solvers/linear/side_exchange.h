// Halo exchange for kernels that read one layer of cells across the six sides of a bucket: 64 values of a bucket travel
// for each side that it shares with another rank, instead of all 512 of every bucket in sight.
//
//   SideExchange sides(topology);
//   sides.run(comm, unknown.data());                 // all buckets
//   SideExchange::Flight f = sides.begin(comm, unknown.data(), 0);   // those of colour 0 only, on their way
//   …                                                // what neither reads their ghosts nor needs them sent
//   f.end();
#pragma once

#include <memory>
#include <vector>

#include "domain/grid/topology.h"
#include "domain/transport/halo.h"
#include "parallel/comm.h"

namespace aegir {

class SideExchange {
 public:
  /// Finds out what travels; both sides list it alike, so nothing is said.
  explicit SideExchange(const Topology& topology);

  /// Layers that are on their way; the ghosts are there when it has ended.
  class Flight {
   public:
    void poke() { pending_->poke(); }
    void end();

   private:
    friend class SideExchange;
    const SideExchange* sides_ = nullptr;
    float* values_ = nullptr;
    int begin_ = 0, end_ = 0;             // colours
    std::vector<FlightBuffer> out_, in_;  // by peer
    std::unique_ptr<PendingExchange> pending_;
  };

  /// Brings the layers of ghosts that lie against local buckets from their owners; `values` are 512 per bucket, ghosts
  /// last. `colour`: of the buckets that are sent, 0 where the sum of the key's coordinates is even; -1 for all.
  /// Collective.
  Flight begin(Comm& comm, float* values, int colour = -1) const;
  void run(Comm& comm, float* values, int colour = -1) const { begin(comm, values, colour).end(); }

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
