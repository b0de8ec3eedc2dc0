// The one verb that runs kernels: fills halos, threads the loop over buckets, sums what was added, names it in the
// profile. Halos travel while the kernel runs on buckets that need none.
//
//   for_each_bucket(exec, "divergence", topology, [](const Bucket& b, auto& u, auto& d) { … },
//                   volume.read<Halo<1>>(velocity), volume.write(divergence));
//
// The kernel sees one bucket through one view per accessor: no thread, no rank, no file.
#pragma once

#include <array>
#include <mutex>
#include <span>
#include <thread>
#include <tuple>
#include <vector>

#include "base/assert.h"
#include "domain/exec.h"
#include "domain/grid/topology.h"
#include "domain/transport/halo.h"
#include "parallel/exact_sum.h"
#include "parallel/threads.h"

namespace aegir {

/// The bucket a kernel works on.
struct Bucket {
  const Topology& topology;
  int index;

  Vec3d origin() const { return topology.origin(index); }
  double spacing() const { return topology.spacing(); }
};

namespace detail {

/// Accessors that bypass the caches finish when a thread has done its range of buckets.
template <class Access>
void end_range(const Access& access) {
  if constexpr (requires { access.end_range(); }) access.end_range();
}

template <class Access>
void begin(Access& access, Exec& exec, HaloFlight& flight) {
  if constexpr (requires { access.begin(exec, flight); })
    access.begin(exec, flight);
  else
    access.prepare(exec);
}

/// Accessors that others add to send what buckets beside ghosts have added.
template <class Access>
concept Sends = requires(Access& access, HaloFlight& flight) {
  access.send(flight);
};

template <class Access>
void send(Access& access, HaloFlight& flight) {
  if constexpr (Sends<Access>) access.send(flight);
}

template <class Kernel, class Views, std::size_t... I>
void call(Kernel& kernel, const Bucket& bucket, Views& views, std::index_sequence<I...>) {
  kernel(bucket, std::get<I>(views).get()...);
}

/// Runs a kernel on `count` buckets, the n-th of which is number(n).
template <class Number, class Kernel, class... Accesses>
void run_buckets(Exec& exec, const char* label, const Topology& topology, std::size_t count, const Number& number,
                 Kernel& kernel, Accesses&... accesses) {
  Stopwatch watch;
  (AEGIR_ASSERT(&accesses.topology() == &topology, "accessors of one kernel share their topology"), ...);
  HaloFlight flight(exec.comm);
  (begin(accesses, exec, flight), ...);
  const auto caller = std::this_thread::get_id();
  const auto run = [&](std::size_t buckets, const auto& which) {
    const bool flying = !flight.empty();
    parallel_for(0, buckets, 4, [&](std::size_t first, std::size_t last) {
      const bool pokes = flying && std::this_thread::get_id() == caller;
      std::tuple<typename std::remove_cvref_t<Accesses>::View...> views;
      for (std::size_t n = first; n < last; ++n) {
        const int index = which(n);
        std::apply([&](auto&... view) { (accesses.load(view, index), ...); }, views);
        detail::call(kernel, Bucket{topology, index}, views, std::index_sequence_for<Accesses...>{});
        std::apply([&](auto&... view) { (accesses.store(view, index), ...); }, views);
        if (pokes) flight.poke();
      }
      (detail::end_range(accesses), ...);
    });
  };
  constexpr bool sends = (Sends<Accesses> || ...);
  if (exec.comm.size() == 1 || (!sends && flight.empty())) {
    run(count, number);
  } else {
    std::vector<int> inner, border;
    for (std::size_t n = 0; n < count; ++n) (topology.on_border(number(n)) ? border : inner).push_back(number(n));
    const auto run_list = [&](const std::vector<int>& list) {
      run(list.size(), [&](std::size_t n) { return list[n]; });
    };
    if constexpr (sends) {
      flight.end();
      run_list(border);
      (send(accesses, flight), ...);
      run_list(inner);
      flight.end();
    } else {
      run_list(inner);
      flight.end();
      run_list(border);
    }
  }
  (accesses.finish(exec), ...);
  const std::int64_t bytes = (std::int64_t{0} + ... + accesses.bytes());
  const auto all = static_cast<std::int64_t>(topology.local_count());
  exec.profile.kernel(label, watch.seconds(),
                      all > 0 ? bytes / all * static_cast<std::int64_t>(count) : std::int64_t{0},
                      static_cast<std::int64_t>(count) * bucket_cells);
}

}  // namespace detail

template <class Kernel, class... Accesses>
void for_each_bucket(Exec& exec, const char* label, const Topology& topology, Kernel&& kernel, Accesses&&... accesses) {
  detail::run_buckets(
      exec, label, topology, static_cast<std::size_t>(topology.local_count()),
      [](std::size_t n) { return static_cast<int>(n); }, kernel, accesses...);
}

/// Some of the local buckets only, each listed once; accessors must not be `overwrite` or `add`, which are about all.
template <class Kernel, class... Accesses>
void for_buckets(Exec& exec, const char* label, const Topology& topology, std::span<const int> buckets, Kernel&& kernel,
                 Accesses&&... accesses) {
  detail::run_buckets(
      exec, label, topology, buckets.size(), [&](std::size_t n) { return buckets[n]; }, kernel, accesses...);
}

/// Sums over all buckets of all ranks: `partial(bucket)` adds up its bucket in canonical order, the rest is exact.
template <std::size_t N, class Partial>
std::array<double, N> exact_sums(Exec& exec, const Topology& topology, Partial&& partial) {
  std::array<ExactSum, N> sums;
  std::mutex mutex;
  parallel_for(0, static_cast<std::size_t>(topology.local_count()), 16, [&](std::size_t begin, std::size_t end) {
    std::array<ExactSum, N> part;
    for (std::size_t b = begin; b < end; ++b) {
      const std::array<double, N> values = partial(Bucket{topology, static_cast<int>(b)});
      for (std::size_t i = 0; i < N; ++i) part[i].add(values[i]);
    }
    std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < N; ++i) sums[i].add(part[i]);
  });
  constexpr std::size_t stride = ExactSum::limbs + 3;
  std::array<std::int64_t, stride * N> packed;
  for (std::size_t i = 0; i < N; ++i) {
    const auto one = sums[i].packed();
    std::copy(one.begin(), one.end(), packed.begin() + static_cast<std::ptrdiff_t>(i * stride));
  }
  exec.comm.sum(std::span<std::int64_t>(packed));
  std::array<double, N> result;
  for (std::size_t i = 0; i < N; ++i) {
    std::array<std::int64_t, stride> one;
    std::copy_n(packed.begin() + static_cast<std::ptrdiff_t>(i * stride), stride, one.begin());
    result[i] = ExactSum::unpacked(one).value();
  }
  return result;
}

template <class Partial>
double exact_sum(Exec& exec, const Topology& topology, Partial&& partial) {
  return exact_sums<1>(exec, topology, [&](const Bucket& b) { return std::array<double, 1>{partial(b)}; })[0];
}

/// Greatest value over all buckets of all ranks; `lowest` where there is none.
template <class Partial>
double maximum(Exec& exec, const Topology& topology, double lowest, Partial&& partial) {
  double greatest = lowest;
  std::mutex mutex;
  parallel_for(0, static_cast<std::size_t>(topology.local_count()), 16, [&](std::size_t begin, std::size_t end) {
    double part = lowest;
    for (std::size_t b = begin; b < end; ++b)
      part = std::max(part, static_cast<double>(partial(Bucket{topology, static_cast<int>(b)})));
    std::lock_guard lock(mutex);
    greatest = std::max(greatest, part);
  });
  return exec.comm.max(greatest);
}

}  // namespace aegir
