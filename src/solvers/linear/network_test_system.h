// Networks over a block of buckets, for tests: plain loops that the kernels are compared with.
//
//   TestNetwork network({3, 2, 2});
//   network.scatter(1);
//   Level level = network.level(true);
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "domain/exec.h"
#include "solvers/linear/level.h"

namespace aegir {

/// A block of buckets and its links and sinks: all links 1 and no sinks to begin with, closed all around.
class TestNetwork {
 public:
  explicit TestNetwork(const Vec3i& block_) : block(block_), comm_(make_single_comm()), exec{*comm_, profile_} {
    std::vector<BucketKey> keys;
    for (int x = 0; x < block.x; ++x)
      for (int y = 0; y < block.y; ++y)
        for (int z = 0; z < block.z; ++z) keys.push_back({{x, y, z}, 0});
    topology = Topology::build(1.0, keys, Partition{}, exec.comm);
    fields = std::make_unique<NetworkFields>(*topology, nullptr);
    for_cells([&](const Vec3i& c) {
      for (int a = 0; a < 3; ++a) link(a, c) = c[a] > 0 ? 1.0f : 0.0f;
    });
  }

  Vec3i size() const { return block * bucket_size; }
  int cells() const { return topology->local_count() * bucket_cells; }
  /// Where a cell's value lies in fields of 512 per bucket.
  std::size_t at(const Vec3i& c) const {
    const int b = topology->find({{c.x >> 3, c.y >> 3, c.z >> 3}, 0});
    return static_cast<std::size_t>(b * bucket_cells + cell_offset(c.x & 7, c.y & 7, c.z & 7));
  }
  /// To the lower neighbour along an axis.
  float& link(int axis, const Vec3i& c) { return fields->link[axis].data()[at(c)]; }
  float& sink(int axis, const Vec3i& c) { return fields->sink[axis].data()[at(c)]; }

  template <class Body>
  void for_cells(const Body& body) const {
    const Vec3i s = size();
    for (int x = 0; x < s.x; ++x)
      for (int y = 0; y < s.y; ++y)
        for (int z = 0; z < s.z; ++z) body(Vec3i{x, y, z});
  }

  /// Cuts a cell off.
  void make_solid(const Vec3i& c) {
    for (int a = 0; a < 3; ++a) {
      const Vec3i up = c + Vec3i{a == 0, a == 1, a == 2};
      link(a, c) = 0;
      if (up[a] < size()[a]) link(a, up) = 0;
      sink(a, c) = 0;
    }
  }

  /// Weights by chance among 0, 1e-12, 1 and all between, solid cells, and sinks here and there; the last bucket along
  /// x is left as it is.
  void scatter(std::uint64_t seed, double sinks = 0.05) {
    for_cells([&](const Vec3i& c) {
      if (c.x >= size().x - bucket_size) return;
      const Random random(seed, at(c), 0, Purpose::test);
      for (int a = 0; a < 3; ++a) {
        const auto index = static_cast<std::uint32_t>(4 * a);
        const double kind = random.uniform(index);
        if (link(a, c) > 0)
          link(a, c) = kind < 0.2   ? 0.0f
                       : kind < 0.3 ? 1e-12f
                       : kind < 0.6 ? static_cast<float>(random.uniform(index + 1))
                                    : 1.0f;
        if (random.uniform(index + 2) < sinks) sink(a, c) = static_cast<float>(random.uniform(index + 3, 0, 10));
      }
      if (random.uniform(20) < 0.15) make_solid(c);
    });
  }

  std::vector<BucketShape> shapes(std::int64_t& unknowns) const { return classify(*topology, *fields, 1.0f, unknowns); }
  auto loader() const {
    return [this](int b, NetworkTile& tile) { fields->load(*topology, b, tile); };
  }
  std::unique_ptr<Level> level(bool last) {
    std::int64_t unknowns = 0;
    auto s = shapes(unknowns);
    return std::make_unique<Level>(exec, topology, std::move(s), 1.0f, last, loader());
  }

  /// A x, in double.
  std::vector<double> times(const std::vector<double>& x) {
    std::vector<double> y(x.size(), 0.0);
    for_cells([&](const Vec3i& c) {
      const std::size_t i = at(c);
      // The sinks of a cell are added in single precision before anything else.
      y[i] += static_cast<double>(sink(0, c) + sink(1, c) + sink(2, c)) * x[i];
      for (int a = 0; a < 3; ++a) {
        if (c[a] == 0) continue;
        const std::size_t j = at(c - Vec3i{a == 0, a == 1, a == 2});
        const double flow = static_cast<double>(link(a, c)) * (x[i] - x[j]);
        y[i] += flow, y[j] -= flow;
      }
    });
    return y;
  }

  /// Values by chance, zero where there is no unknown.
  std::vector<double> noise(const Level& l, std::uint64_t seed) const {
    std::vector<double> x(static_cast<std::size_t>(cells()), 0.0);
    for (int b = 0; b < topology->local_count(); ++b)
      for (int c = 0; c < bucket_cells; ++c) {
        const NetworkBucket* n = l.kind(b) == BucketKind::empty ? nullptr : l.bucket_operator(b).network;
        const bool unknown = l.kind(b) != BucketKind::empty && (!n || n->relax[c] > 0);
        const auto i = static_cast<std::size_t>(b * bucket_cells + c);
        if (unknown) x[i] = static_cast<float>(Random(seed, i, 1, Purpose::test).uniform(0, -1, 1));
      }
    return x;
  }

  Vec3i block;
  std::shared_ptr<const Topology> topology;
  std::unique_ptr<NetworkFields> fields;

 private:
  std::unique_ptr<Comm> comm_;
  Profile profile_;

 public:
  Exec exec;
};

}  // namespace aegir
