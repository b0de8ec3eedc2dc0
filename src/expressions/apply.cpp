#include "expressions/apply.h"

#include <algorithm>
#include <atomic>

#include "domain/channel/grant.h"
#include "parallel/threads.h"

namespace aegir::expression {

namespace {

template <class Stores>
std::vector<Named> named(const Stores& stores) {
  std::vector<Named> result;
  for (const auto& store : stores)
    if (const auto type = type_of(store.info.scalar, store.info.components)) result.push_back({store.info.name, *type});
  std::sort(result.begin(), result.end(), [](const Named& a, const Named& b) { return a.name < b.name; });
  return result;
}

/// Declares each channel that is missing; a channel of another type, or of more planes than channels have, is an error.
template <class Owner>
Status declare_missing(const Program& program, Owner& owner, Site site) {
  for (const Attribute& a : program.attributes()) {
    const auto& stores = owner.channels();
    const auto found =
        std::find_if(stores.begin(), stores.end(), [&](const auto& store) { return store.info.name == a.name; });
    if (found != stores.end()) {
      if (found->info.scalar == a.scalar && found->info.components == a.components) continue;
      return usage_error({}, "channel '{}' of '{}' holds {} x {}, and the expression was compiled for {} x {}", a.name,
                         owner.owner(), found->info.components, scalar_name(found->info.scalar), a.components,
                         scalar_name(a.scalar));
    }
    if (a.components > 3)
      return usage_error({}, "attribute '{}' of '{}' is a {}, and channels have at most three components", a.name,
                         owner.owner(), type_name(a.type));
    owner.declare(ChannelInfo{a.name, a.scalar, a.components, site, {}, Keep::between_steps, {}});
  }
  return {};
}

/// Where each plane starts, what one element of it has in bytes, and whether the program writes it.
struct Plane {
  std::byte* data;
  std::size_t width;
  bool written;
};

template <class Owner>
std::vector<Plane> planes_of(const Program& program, Owner& owner) {
  std::vector<Plane> planes;
  for (const Attribute& a : program.attributes()) {
    require_access(owner.owner(), a.name, a.written ? AccessMode::write : AccessMode::read, 0);
    auto& store = owner.store(a.name);
    if (a.written) store.valid_ghosts = 0;
    for (int c = 0; c < a.components; ++c)
      planes.push_back({store.planes[static_cast<std::size_t>(c)].data(), scalar_size(a.scalar), a.written});
  }
  return planes;
}

std::int64_t bytes_per_element(const Program& program) {
  std::int64_t bytes = 0;
  for (const Attribute& a : program.attributes())
    bytes += static_cast<std::int64_t>(scalar_size(a.scalar)) * a.components * (a.written ? 2 : 1);
  return bytes;
}

Status verdict(RunStatus status, const char* label, const Application& how) {
  if (status == RunStatus::interrupted) return simulation_error("expression '{}' was interrupted in a loop", label);
  if (status == RunStatus::loop_limit)
    return simulation_error(
        "expression '{}' took more than {} turns of its loops for one element; it may be endless, else raise its limit",
        label, how.loop_budget);
  return {};
}

/// Calls run(bucket, span, scratch) for every local bucket on all threads, with what all buckets share filled in.
template <class Run>
RunStatus for_each_local(const Topology& topology, const Program& program, const Application& how, Run&& run) {
  const std::vector<float> values = program.values(how.values);
  std::atomic<std::int32_t> worst{0};
  parallel_for(0, static_cast<std::size_t>(topology.local_count()), 4, [&](std::size_t begin, std::size_t end) {
    std::vector<void*> pointers(static_cast<std::size_t>(program.plane_count()));
    for (std::size_t b = begin; b < end && worst.load(std::memory_order_relaxed) == 0; ++b) {
      const int bucket = static_cast<int>(b);
      const Vec3d origin = topology.origin(bucket);
      const Vec3i first = topology.key(bucket).coord * bucket_size;
      Span span;
      span.planes = pointers.data();
      span.variables = values.data();
      for (int axis = 0; axis < 3; ++axis) span.origin[axis] = origin[axis], span.first_cell[axis] = first[axis];
      span.spacing = topology.bucket_width(bucket) / bucket_size;
      span.level = topology.key(bucket).level;
      span.seed = how.seed, span.step = how.step, span.purpose = how.purpose;
      span.stop = how.stop, span.loop_budget = how.loop_budget;
      span.services = how.services, span.bucket = bucket;
      const auto status = static_cast<std::int32_t>(run(bucket, span, pointers));
      // Of several endings the one with the greatest number is told, whichever thread met it first.
      std::int32_t before = worst.load();
      while (before < status && !worst.compare_exchange_weak(before, status)) {
      }
    }
  });
  return static_cast<RunStatus>(worst.load());
}

/// Runs over a bucket's elements, one by one where the services want to know.
RunStatus run_elements(const Program& program, const Span& span, std::size_t count) {
  const Services* services = span.services;
  if (!services || !services->begin) return program.run(span, 0, static_cast<std::int64_t>(count));
  auto worst = RunStatus::finished;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i)
    if (services->begin(services->sample_context, span.bucket, i)) worst = std::max(worst, program.run(span, i, i + 1));
  return worst;
}

/// Runs over a bucket's particles, then marks those that deletepoint() chose by the complement of their id.
RunStatus run_and_delete(const Program& program, Span& span, std::int64_t* ids, std::size_t count) {
  if (!program.uses().deletes) return run_elements(program, span, count);
  thread_local std::vector<std::uint8_t> deleted;
  deleted.assign(count, 0);
  span.deleted = deleted.data();
  const RunStatus status = run_elements(program, span, count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = deleted[i] && ids[i] >= 0 ? ~ids[i] : ids[i];
  return status;
}

/// Runs over `count` elements from `first` on in a bucket, on copies of what the program writes.
void run_on_copies(const Program& program, Span& span, const std::vector<Plane>& planes, std::vector<void*>& pointers,
                   std::uint64_t first, std::size_t count) {
  thread_local std::vector<std::vector<std::byte>> copies;
  thread_local std::vector<std::uint8_t> deleted;
  copies.resize(std::max(copies.size(), planes.size()));
  for (std::size_t p = 0; p < planes.size(); ++p) {
    std::byte* from = planes[p].data + first * planes[p].width;
    if (planes[p].written) copies[p].assign(from, from + count * planes[p].width);
    pointers[p] = planes[p].written ? copies[p].data() : from;
  }
  deleted.assign(count, 0);
  span.deleted = deleted.data();
  (void)run_elements(program, span, count);
}

}  // namespace

std::vector<Named> channels_of(const ParticleSystem& particles) { return named(particles.channels()); }
std::vector<Named> channels_of(const DiscreteVolume& volume) { return named(volume.channels()); }

Status declare_created(const Program& program, ParticleSystem& particles) {
  return declare_missing(program, particles, Site::particle);
}
Status declare_created(const Program& program, DiscreteVolume& volume) {
  return declare_missing(program, volume, Site::cell);
}

Status apply(Exec& exec, const char* label, const Program& program, ParticleSystem& particles, const Application& how) {
  AEGIR_ASSERT(program.elements() == Elements::particles, "a particle expression runs on particles");
  if (Status declared = declare_created(program, particles); !declared) return declared;
  const Stopwatch watch;
  const std::vector<Plane> planes = planes_of(program, particles);
  std::int64_t* ids = nullptr;
  if (program.uses().deletes) {
    require_access(particles.owner(), particle::id.name, AccessMode::write, 0);
    ParticleStore& store = particles.store(particle::id.name);
    store.valid_ghosts = 0;
    ids = store.plane<std::int64_t>(0);
  }
  const RunStatus status =
      for_each_local(particles.topology(), program, how, [&](int bucket, Span& span, std::vector<void*>& pointers) {
        const std::uint64_t first = particles.first(bucket);
        for (std::size_t p = 0; p < planes.size(); ++p) pointers[p] = planes[p].data + first * planes[p].width;
        return run_and_delete(program, span, ids ? ids + first : nullptr, particles.count(bucket));
      });
  exec.profile.kernel(label, watch.seconds(), bytes_per_element(program) * static_cast<std::int64_t>(particles.size()));
  return verdict(status, label, how);
}

void rehearse(const Program& program, ParticleSystem& particles, const Application& how) {
  const std::vector<Plane> planes = planes_of(program, particles);
  for_each_local(particles.topology(), program, how, [&](int bucket, Span& span, std::vector<void*>& pointers) {
    run_on_copies(program, span, planes, pointers, particles.first(bucket), particles.count(bucket));
    return RunStatus::finished;
  });
}

void rehearse(const Program& program, DiscreteVolume& volume, const Application& how) {
  const std::vector<Plane> planes = planes_of(program, volume);
  for_each_local(volume.topology(), program, how, [&](int bucket, Span& span, std::vector<void*>& pointers) {
    run_on_copies(program, span, planes, pointers, static_cast<std::uint64_t>(bucket) * bucket_cells, bucket_cells);
    return RunStatus::finished;
  });
}

Status apply(Exec& exec, const char* label, const Program& program, DiscreteVolume& volume, const Application& how) {
  AEGIR_ASSERT(program.elements() == Elements::voxels, "a voxel expression runs on voxels");
  if (Status declared = declare_created(program, volume); !declared) return declared;
  const Stopwatch watch;
  const std::vector<Plane> planes = planes_of(program, volume);
  const RunStatus status =
      for_each_local(volume.topology(), program, how, [&](int bucket, Span& span, std::vector<void*>& pointers) {
        for (std::size_t p = 0; p < planes.size(); ++p)
          pointers[p] = planes[p].data + static_cast<std::size_t>(bucket) * bucket_cells * planes[p].width;
        return run_elements(program, span, bucket_cells);
      });
  exec.profile.kernel(label, watch.seconds(),
                      bytes_per_element(program) * volume.topology().local_count() * std::int64_t{bucket_cells});
  return verdict(status, label, how);
}

}  // namespace aegir::expression
