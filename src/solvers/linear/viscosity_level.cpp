#include "solvers/linear/viscosity_level.h"

#include <memory>

namespace aegir {
namespace {

template <class Body>
void with_scratch(std::size_t count, const Body& body) {
  parallel_for(0, count, 8, [&](std::size_t begin, std::size_t end) {
    const auto scratch = std::make_unique_for_overwrite<ViscosityScratch>();
    for (std::size_t i = begin; i < end; ++i) body(i, *scratch);
  });
}

}  // namespace

ViscosityLevel::ViscosityLevel(Exec& exec, const ViscosityInput& input, BufferPool* pool)
    : topology_(input.topology), stiffness_(static_cast<float>(input.stiffness)) {
  Stopwatch watch;
  const auto count = static_cast<std::size_t>(topology_->local_count());
  looks_.resize(count), bucket_of_.assign(count, nullptr);
  with_scratch(count, [&](std::size_t b, ViscosityScratch& scratch) {
    looks_[b] = look_at_bucket(input, static_cast<int>(b), scratch);
  });
  std::vector<std::int32_t> mixed;
  for (std::size_t b = 0; b < count; ++b) {
    if (looks_[b].kind == ViscosityKind::mixed) mixed.push_back(static_cast<std::int32_t>(b));
    if (looks_[b].trouble != ViscosityTrouble::none && bad_bucket_ < 0) bad_bucket_ = static_cast<int>(b);
  }
  mixed_ = static_cast<std::int64_t>(mixed.size());
  memory_ = PooledBuffer(mixed.size() * sizeof(ViscosityBucket), pool);
  with_scratch(mixed.size(), [&](std::size_t i, ViscosityScratch& scratch) {
    const int b = mixed[i];
    ViscosityLook& look = looks_[static_cast<std::size_t>(b)];
    ViscosityBucket* bucket = reinterpret_cast<ViscosityBucket*>(memory_.data()) + i;
    look_at_bucket(input, b, scratch);
    look.unknowns = fill_bucket(input, b, scratch, *bucket);
    bucket_of_[static_cast<std::size_t>(b)] = bucket;
    if (!look.unknowns) look.kind = ViscosityKind::beside;
  });
  for (std::size_t b = 0; b < count; ++b) {
    unknowns_ += looks_[b].unknowns;
    if (looks_[b].unknowns) active_.push_back(static_cast<std::int32_t>(b));
  }
  unknowns_ = exec.comm.sum(unknowns_);
  exec.profile.kernel("viscosity.coefficients", watch.seconds(),
                      static_cast<std::int64_t>(count) * bucket_cells * 8 +
                          2 * mixed_ * static_cast<std::int64_t>(sizeof(ViscosityBucket)));
}

}  // namespace aegir
