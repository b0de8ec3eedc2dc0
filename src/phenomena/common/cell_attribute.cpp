#include "phenomena/common/cell_attribute.h"

#include <algorithm>

#include "domain/for_each_bucket.h"

namespace aegir {
namespace {

/// The mean of the cells around that have one.
template <class Tile>
float around(const Tile& mean, int i, int j, int k, double otherwise) {
  float sum = 0;
  int count = 0;
  for (int a = -1; a <= 1; ++a)
    for (int b = -1; b <= 1; ++b)
      for (int c = -1; c <= 1; ++c)
        if (const float v = mean(i + a, j + b, k + c); v >= 0) sum += v, ++count;
  return count ? sum / static_cast<float>(count) : static_cast<float>(otherwise);
}

}  // namespace

bool from_particles(const Parameter<double>& parameter, HybridObject& object) {
  return parameter.attribute() && object.particles()->has(parameter.attribute()->name);
}

void cell_attribute(Exec& exec, HybridObject& object, const AttributeBinding& binding, const CellAttribute& channels,
                    double otherwise, FunctionRef<double(double)> of) {
  const ParticleChannel<float> channel{binding.name.c_str()};
  DiscreteVolume& grid = object.grid();
  for_each_bucket(
      exec, "mean of particles", grid.topology(),
      [&](const Bucket&, auto& p, auto& value, auto& cells) {
        float sum[bucket_cells] = {};
        int count[bucket_cells] = {};
        for (std::size_t i = 0; i < p.count; ++i) {
          const int cell = cell_offset(static_cast<int>(p.plane[0][i]), static_cast<int>(p.plane[1][i]),
                                       static_cast<int>(p.plane[2][i]));
          sum[cell] += static_cast<float>(std::max(0.0, of(binding.map(value[i])))), ++count[cell];
        }
        for (int i = 0; i < bucket_cells; ++i) cells[i] = count[i] ? sum[i] / static_cast<float>(count[i]) : -1.0f;
      },
      object.particles()->read(particle::position), object.particles()->read(channel), grid.overwrite(channels.mean));
  for_each_bucket(
      exec, "mean of cells", grid.topology(),
      [&](const Bucket&, auto& mean, auto& cells) {
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j)
            for (int k = 0; k < bucket_size; ++k)
              cells(i, j, k) = mean(i, j, k) >= 0 ? mean(i, j, k) : around(mean, i, j, k, otherwise);
      },
      grid.read<Halo<1>>(channels.mean), grid.overwrite(channels.value));
}

}  // namespace aegir
