#include "numerics/surface/cell_counts.h"

#include <array>
#include <atomic>
#include <cstring>
#include <numeric>

#include "base/simd.h"
#include "domain/transport/overlap.h"

namespace aegir {
namespace {

constexpr std::size_t block = 512;

/// Cells of a block of particles. 12 bytes in, 4 out, 9 operations per particle.
AEGIR_HOT void cells_of(const float* __restrict x, const float* __restrict y, const float* __restrict z, std::size_t n,
                        std::int32_t* __restrict cell) {
  for (std::size_t p = 0; p < n; ++p) {
    const auto i = static_cast<std::int32_t>(x[p]), j = static_cast<std::int32_t>(y[p]),
               k = static_cast<std::int32_t>(z[p]);
    cell[p] = ((i << 6) | (j << 3) | k) & (bucket_cells - 1);
  }
}

/// Four histograms in turn: particles of one cell follow each other and would wait for one counter.
struct Histogram {
  alignas(64) std::array<std::array<std::uint32_t, bucket_cells>, 4> part;

  void count(const ParticleSpan<const Vec3f>& p) {
    std::memset(&part, 0, sizeof part);
    alignas(64) std::int32_t cell[block];
    for (std::size_t begin = 0; begin < p.count; begin += block) {
      const std::size_t n = std::min(block, p.count - begin);
      cells_of(p.plane[0] + begin, p.plane[1] + begin, p.plane[2] + begin, n, cell);
      std::size_t q = 0;
      for (; q + 4 <= n; q += 4)
        for (std::size_t l = 0; l < 4; ++l) ++part[l][static_cast<std::size_t>(cell[q + l])];
      for (; q < n; ++q) ++part[0][static_cast<std::size_t>(cell[q])];
    }
  }
};

}  // namespace

CellCounts::CellCounts(Exec& exec, ParticleSystem& particles, BufferPool* pool) {
  Stopwatch watch;
  const Topology& topology = particles.topology();
  require_access(particles.owner(), particle::position.name, AccessMode::read, bucket_size);
  HaloFlight flight(exec.comm);
  particles.update_ghosts(exec, flight, particles.store(particle::position.name), CellCounts::reach);
  const auto buckets = static_cast<std::size_t>(topology.total_count());
  first_ = PooledBuffer(buckets * stride * sizeof(std::uint32_t), pool);
  count_ = PooledBuffer(buckets * bucket_cells * sizeof(float), pool);
  auto* table = reinterpret_cast<std::uint32_t*>(first_.data());
  auto* count = reinterpret_cast<float*>(count_.data());
  ParticleStore& store = particles.store(particle::position.name);
  std::atomic<std::int64_t> filled{0};
  const auto count_some = [&](std::span<const int> some) {
    Histogram histogram;
    std::int64_t filled_here = 0;
    for (const int bucket : some) {
      const auto b = static_cast<std::size_t>(bucket);
      std::uint32_t* first = table + b * stride;
      float* number = count + b * bucket_cells;
      const auto span = detail::span_of<const Vec3f>(store, particles.first(bucket), particles.count(bucket));
      if (span.count == 0) {
        std::memset(first, 0, stride * sizeof *first), std::memset(number, 0, bucket_cells * sizeof *number);
        continue;
      }
      histogram.count(span);
      std::uint32_t sum = 0;
      for (std::size_t c = 0; c < bucket_cells; ++c) {
        const auto& h = histogram.part;
        const std::uint32_t n = (h[0][c] + h[1][c]) + (h[2][c] + h[3][c]);
        first[c] = sum, sum += n;
        number[c] = static_cast<float>(n);
        if (bucket < topology.local_count()) filled_here += n != 0;
      }
      first[bucket_cells] = sum;
    }
    filled += filled_here;
  };
  std::vector<int> all(buckets);
  std::iota(all.begin(), all.end(), 0);
  const auto local = static_cast<std::size_t>(topology.local_count());
  for_parts(std::span<const int>(all).first(local), flight, count_some);
  flight.end();
  for_parts(std::span<const int>(all).subspan(local), flight, count_some);
  const std::int64_t cells = exec.comm.sum(filled.load());
  typical_ =
      cells ? static_cast<float>(static_cast<double>(particles.global_size(exec.comm)) / static_cast<double>(cells))
            : 0.0f;
  const auto size = static_cast<std::int64_t>(particles.size());
  exec.profile.kernel("count particles", watch.seconds(),
                      12 * size + 2 * static_cast<std::int64_t>(buckets * (stride + bucket_cells) * 4));
}

}  // namespace aegir
