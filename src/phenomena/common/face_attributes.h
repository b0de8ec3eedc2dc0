// What forces read on the faces of a liquid's grid beside velocity: attributes of particles, and how thick the liquid
// is.
//
//   FaceAttributes attributes;                      // of one Object
//   attributes.want("wet", grid);                   // once for each name that a force reads
//   attributes.update(exec, particles, grid);       // each substep, after particles were sorted
//   FaceAttributes::Reader reader(attributes, exec, grid);
//   for_each_bucket(…) { FaceAttributes::Block block(reader, bucket); block.fill(axis, first, count); block.at("wet");
//   }
//
// An attribute is the mean of the particles in the two cells beside a face, or in the eighteen around it where those
// are empty. `thickness` is a number of cells: of a sheet its thickness, up to three. It is three times the greatest
// share that liquid has of the open part of the 27 cells around any open cell within two cells: bulk has three
// everywhere, also at its surface; sheets, threads and drops have less.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "domain/exec.h"
#include "domain/for_each_bucket.h"
#include "domain/particles/particle_system.h"
#include "domain/volume/discrete_volume.h"
#include "pipeline/model/action.h"

namespace aegir {

/// The name under which forces read how thick the liquid is, in cells; no particle has it.
inline constexpr const char* thickness_attribute = "thickness";

class FaceAttributes {
 public:
  /// Makes an attribute of particles, or `thickness`, known on faces from now on; a name that particles do not have is
  /// left out.
  void want(const std::string& name, const ParticleSystem& particles, DiscreteVolume& grid);
  bool empty() const { return particle_.empty() && !thickness_; }
  /// What a task that calls update() and reads has to declare.
  std::vector<ChannelAccess> accesses(const std::string& owner) const;

  /// Brings the cells up to date. Particles are sorted, and cell_fill and cell_room (crowding.h) are those of this
  /// substep.
  void update(Exec& exec, ParticleSystem& particles, DiscreteVolume& grid) const;

 private:
  using Access = GridReadHalo<float, 1, Halo<1>>;
  struct OfParticles {
    std::string name, channel;  // channel: sums of cells
  };
  void sum_cells(Exec& exec, ParticleSystem& particles, DiscreteVolume& grid) const;

  std::vector<OfParticles> particle_;
  bool thickness_ = false;

 public:
  /// Accessors for one pass over the faces.
  class Reader {
   public:
    Reader(const FaceAttributes& attributes, Exec& exec, DiscreteVolume& grid);

   private:
    friend class FaceAttributes;
    const FaceAttributes& attributes_;
    std::vector<Access> sums_;  // of particle_, then their counts
    std::vector<Access> thick_;
  };

  /// The values on faces of one bucket.
  class Block {
   public:
    Block(const Reader& reader, const Bucket& bucket);
    /// Works out the faces of an axis from cell `first` on.
    void fill(int axis, int first, int count);
    /// The values that fill() made, or null for what is not known.
    const float* at(std::string_view name) const;

   private:
    const Reader& reader_;
    std::vector<Access::View> tiles_;
    std::vector<std::array<float, ForceBlock::capacity>> values_;
  };
};

}  // namespace aegir
