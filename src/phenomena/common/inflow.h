// Where sources say how liquid moves: inside the region of a continuous source, for one substep.
//
//   Inflow& pipe = inflows.add(region);                  // once; then, each substep:
//   pipe.active = true, pipe.velocity = {1, 0, 0}, pipe.flux = 0.2, …
//   inflows.close_faces(exec, volume, channels, dt);     // before the solves
//   inflows.add_divergence(exec, volume, rhs);           // in each solve for pressure, after divergence_of()
//   inflows.open_faces(exec, volume, channels);          // after velocities were extended
//   inflows.move(bucket, count, from, to, velocity);     // while particles move
//
// To the solves the region is a body from whose downstream side liquid is pushed out, and whose other sides are closed.
// With S the share of a face inside the region, A its open share, v the source's velocity and w that of the region:
//   A ← A (1 - S),   u_solid ← mean of what fills the closed part: solids, and s v + w over A S
// A cell through whose S more leaves than enters lies upstream. There the liquid is born, and nothing is sucked in:
//   rhs += max(0, D),   D = Σ faces (outward) A S s v
// and what is pushed out of the others is what was asked for:
//   s = flux / (Δx² Σ cells max(0, -D)) at s = 1
// s makes up for shares that are known to second order only.
//
// Particles inside move with the region and v, all alike, whatever the grid says. Those outside do not enter.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "domain/exec.h"
#include "domain/for_each_bucket.h"
#include "domain/volume/discrete_volume.h"
#include "geometry/motion.h"
#include "phenomena/common/region.h"

namespace aegir {

/// The liquid inside one source, during one substep.
struct Inflow {
  const Region* body = nullptr;  ///< in its own frame; outlives the Inflow
  bool active = false;
  bool fills = false;   ///< nobody else fills the region at the first frame
  Pose begin{}, end{};  ///< of the region, over the substep
  Vec3d velocity{};     ///< relative to the region, in axes of the world; m/s
  Vec3d step{};         ///< of the liquid over the substep, relative to the region and in its frame; m
  double dt = 0;        ///< of the substep
  double flux = 0;      ///< m³/s

  /// Whether a place in the region's frame is inside.
  bool holds(const Vec3d& place, double reach) const {
    return body->bounds.contains(place) && body->distance(place, reach) < 0;
  }
};

struct InflowChannels {
  FaceChannel<float> velocity, area, solid_velocity;
};

/// All continuous sources of one liquid.
class Inflows {
 public:
  /// Adds one; the reference stays good.
  Inflow& add(const Region& body) { return list_.emplace_back(Inflow{.body = &body}); }
  /// Whether there are any, at work or not.
  bool empty() const { return list_.empty(); }
  /// Whether any is at work in this substep.
  bool active() const;
  /// Whether a place of the world is filled by one of them at the first frame.
  bool fill(const Vec3d& x) const;

  /// Closes the faces inside; open_faces() undoes it. Reads area with halo 1; writes area and solid velocity.
  /// Collective.
  void close_faces(Exec& exec, DiscreteVolume& volume, const InflowChannels& channels);
  /// Adds what is born to the right-hand side of the pressure; writes rhs.
  void add_divergence(Exec& exec, DiscreteVolume& volume, const CellChannel<float>& rhs) const;
  /// Gives the faces inside the velocity of their sources, and area and solid velocity their old values; writes all.
  void open_faces(Exec& exec, DiscreteVolume& volume, const InflowChannels& channels);

  /// Moves particles that are inside, and keeps those out that are not; positions in cells relative to the bucket.
  void move(const Bucket& bucket, std::size_t count, const float* const from[3], float* const to[3],
            float* const velocity[3]) const;

 private:
  struct Face {
    int axis, cell;
    float share;            // of its open part that is inside
    float velocity;         // of the liquid there
    float area, solid;      // as they were
    float closed_velocity;  // of all that closes it
  };
  struct Birth {
    int cell;
    float divergence;
  };
  struct Block {
    int bucket;
    std::vector<Face> faces;
    std::vector<Birth> births;
    double pushed = 0;  // Σ max(0, -D) at s = 1
  };
  void find_faces(Exec& exec, DiscreteVolume& volume, const InflowChannels& channels, const Inflow& inflow,
                  std::vector<Block>& blocks) const;

  std::deque<Inflow> list_;
  std::vector<Block> blocks_;  // in the order in which they were closed
};

}  // namespace aegir
