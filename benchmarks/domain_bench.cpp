// Grid kernels through the accessors against plain loops and the memory's limit.
#include <fmt/format.h>

#include "benchmarks/bandwidth.h"
#include "domain/for_each_bucket.h"
#include "domain/volume/discrete_volume.h"

namespace aegir::bench {
namespace {

constexpr CellChannel<float> field_x{"x"}, field_y{"y"};

/// A box of nx × ny × nz buckets.
std::shared_ptr<const Topology> box(Exec& exec, int nx, int ny, int nz) {
  std::vector<BucketKey> keys;
  for (int x = 0; x < nx; ++x)
    for (int y = 0; y < ny; ++y)
      for (int z = 0; z < nz; ++z) keys.push_back({{x, y, z}, 0});
  return Topology::build(1.0, keys, Partition{}, exec.comm);
}

void fill(Exec& exec, DiscreteVolume& volume, const CellChannel<float>& channel) {
  for_each_bucket(
      exec, "fill", volume.topology(),
      [](const Bucket& bucket, auto& v) {
        for (int c = 0; c < bucket_cells; ++c) v[c] = static_cast<float>((bucket.index * 7 + c) % 1000) * 1e-3f;
      },
      volume.write(channel));
}

void axpy(Bench& bench) {
  DiscreteVolume volume("bench", box(bench.exec, 64, 64, 32));
  volume.declare(field_x), volume.declare(field_y);
  fill(bench.exec, volume, field_x);
  const std::size_t cells = static_cast<std::size_t>(volume.topology().local_count()) * bucket_cells;
  Buffer plain_x(cells * sizeof(float)), plain_y(cells * sizeof(float));
  auto *x = reinterpret_cast<float*>(plain_x.data()), *y = reinterpret_cast<float*>(plain_y.data());
  plain_copy(volume.store("x").planes[0].data(), plain_x.data(), cells * sizeof(float));
  plain_copy(volume.store("y").planes[0].data(), plain_y.data(), cells * sizeof(float));
  const float a = 1e-3f;
  const auto ours = [&] {
    for_each_bucket(
        bench.exec, "axpy", volume.topology(),
        [a](const Bucket&, auto& in, auto& out) {
          for (int c = 0; c < bucket_cells; ++c) out[c] += a * in[c];
        },
        volume.read(field_x), volume.write(field_y));
  };
  const auto t = in_turns(11, {{ours}, {[&] { plain_axpy(a, x, y, cells); }}});
  const double n = static_cast<double>(cells);
  bench.rate("domain.axpy", n / t[0] * 1e-6, "Mcells/s", "plain array loop", n / t[1] * 1e-6);
}

/// One sweep of the 7-point Laplacian.
void laplacian(Exec& exec, DiscreteVolume& volume) {
  for_each_bucket(
      exec, "laplacian", volume.topology(),
      [](const Bucket&, auto& in, auto& out) {
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j)
            out.set_line(i, j,
                         6.0f * in.line(i, j) - (in.line(i - 1, j) + in.line(i + 1, j) + in.line(i, j - 1) +
                                                 in.line(i, j + 1) + in.line(i, j, -1) + in.line(i, j, 1)));
      },
      volume.read<Star<1>>(field_x), volume.overwrite(field_y));
}

void stencil_at(Bench& bench, const std::string& name, int nx, int ny, int nz, int rounds) {
  DiscreteVolume volume("bench", box(bench.exec, nx, ny, nz));
  volume.declare(field_x), volume.declare(field_y);
  fill(bench.exec, volume, field_x);
  const double cells = static_cast<double>(volume.topology().local_count()) * bucket_cells;
  Bandwidth limit(static_cast<std::size_t>(cells) * 2 * sizeof(float));
  auto turns = limit.turns();
  turns.insert(turns.begin(), {[&] { laplacian(bench.exec, volume); }});
  const auto t = in_turns(rounds, turns);
  const double bytes = cells * 3 * sizeof(float), bound = limit.best(&t[1]) / bytes;
  bench.rate(name, cells / t[0] * 1e-6, "Mcells/s", "bandwidth bound", cells * bound * 1e-6);
  bench.note(fmt::format("{}: {:.1f} M cells, {:.1f} of {:.1f} GB/s", name, cells * 1e-6, bytes / t[0] * 1e-9,
                         limit.best(&t[1]) * 1e-9));
}

void stencil7(Bench& bench) {
  stencil_at(bench, "domain.stencil7", 64, 64, 32, 11);
  stencil_at(bench, "domain.stencil7_cached", 8, 8, 4, 201);
}

void memory_bucket(Bench& bench) {
  DiscreteVolume volume("bench", box(bench.exec, 32, 32, 32));
  const double buckets = volume.topology().local_count();
  const double bare = static_cast<double>(volume.topology().memory_bytes()) / buckets;
  volume.declare(field_x);
  const double one = bare + static_cast<double>(volume.memory_bytes()) / buckets;
  bench.cost("domain.memory_bucket", one, "bytes", "its 512 floats", bucket_cells * sizeof(float));
  bench.note(fmt::format(
      "domain.memory_bucket: {:.0f} bytes for keys, neighbours and hash, {:.0f} with one float channel", bare, one));
}

}  // namespace

void register_domain(Registry& r) {
  r.add("domain.axpy", axpy);
  r.add("domain.stencil7", stencil7);
  r.add("domain.memory_bucket", memory_bucket);
}

}  // namespace aegir::bench
