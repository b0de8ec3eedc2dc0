// What sample("object", "channel", position) of expressions can read: channels of liquids' grids, colliders, files.
//
//   std::vector<SampleOffer> offers = sample_offers(build.all_objects());
//   options.samples = sources_of(offers);                      // for the compiler
//   …
//   std::shared_ptr<SampledChannel> air = find_offer(offers, "water", "vel")->open();
//   air->prepare(exec);                                        // in a task that has air->accesses()
//   if (const int rank = air->owner(x); rank < 0 || rank == here) air->value(x, out);
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "expressions/program.h"
#include "phenomena/common/vector_source.h"
#include "pipeline/model/object.h"

namespace aegir {

/// A float or three of them at any place of the world.
class SampledChannel {
 public:
  virtual ~SampledChannel() = default;
  /// What a task that asks has to declare.
  virtual std::vector<ChannelAccess> accesses() const { return {}; }
  /// Full name of the task of frame_end that makes it for the first frame; empty if there is none.
  virtual std::string first_made_by() const { return {}; }
  /// Makes ready to be asked. Collective.
  virtual void prepare(Exec&) {}
  /// The rank that can answer for a place; negative: every rank can.
  virtual int owner(const Vec3d&) const { return -1; }
  /// From any number of threads.
  virtual void value(const Vec3d& world, float out[3]) const = 0;
};

/// A channel that can be sampled.
struct SampleOffer {
  std::string object;  ///< path, or a name that an expression gives to a file
  std::string channel;
  expression::ValueType type = expression::ValueType::float32;
  /// Made by the substep's solves, and so known from then until the next sorting; all else is known when inputs have
  /// moved.
  bool solved = false;
  std::string stored;  ///< name of the grid's channel; empty where there is no grid
  std::function<std::shared_ptr<SampledChannel>()> open;
};

/// Everything that Objects offer: `vel`, `pressure`, `surface_distance`, … of liquids in SI units, `surface_distance`
/// and `vel` of colliders.
std::vector<SampleOffer> sample_offers(const std::vector<Object*>& objects);
/// A volume of vectors, as channel `vel` of `name`.
SampleOffer sample_offer(const std::string& name, std::shared_ptr<const VectorSource> vectors);

/// The offers under every name that a setup may use for them: paths, and the ends of paths that mean one Object.
std::vector<expression::SampleSource> sources_of(const std::vector<SampleOffer>& offers);
/// The offer that one of these names means.
const SampleOffer* find_offer(const std::vector<SampleOffer>& offers, const std::string& object,
                              const std::string& channel);

}  // namespace aegir
