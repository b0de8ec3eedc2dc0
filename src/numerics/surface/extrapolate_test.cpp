#include "numerics/surface/extrapolate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "domain/for_each_bucket.h"
#include "numerics/surface/surface_test_support.h"

namespace aegir {
namespace {

constexpr FaceChannel<float> velocity{"vel"}, known{"face_mass"}, area{"open_area", {}, 1.0f};

/// A block of buckets with velocities, known faces and areas that are functions of the cell and the axis.
struct Faces {
  using Value = std::function<double(const Vec3i&, int)>;
  std::unique_ptr<Comm> comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  DiscreteVolume volume{"water", nullptr};

  explicit Faces(int size) {
    std::vector<BucketKey> keys;
    for (int n = 0; n < size * size * size; ++n)
      keys.push_back({{n / size / size - 1, n / size % size - 1, n % size - 1}});
    volume = DiscreteVolume("water", Topology::build(1.0, keys, Partition::even(1), *comm));
    volume.declare(velocity), volume.declare(known), volume.declare(area);
  }
  void set(const FaceChannel<float>& channel, const Value& value) {
    for_each_bucket(
        exec, "set", volume.topology(),
        [&](const Bucket& b, auto& out) {
          for (int c = 0; c < bucket_cells; ++c)
            for (int a = 0; a < 3; ++a)
              out[static_cast<std::size_t>(a)][c] = static_cast<float>(value(cell(b.index, c), a));
        },
        volume.write(channel));
  }
  Vec3i cell(int b, int c) const {
    const Vec3i k = volume.topology().key(b).coord;
    return {8 * k.x + (c >> 6), 8 * k.y + ((c >> 3) & 7), 8 * k.z + (c & 7)};
  }
  void each(const std::function<void(const Vec3i&, int, float)>& fn) const {
    for (int a = 0; a < 3; ++a) {
      const float* p = volume.store("vel").plane<float>(a);
      for (int b = 0; b < volume.topology().local_count(); ++b)
        for (int c = 0; c < bucket_cells; ++c) fn(cell(b, c), a, p[b * bucket_cells + c]);
    }
  }
  void run(int layers, bool solids = false) {
    extrapolate(exec, volume, {velocity, known, solids ? &area : nullptr}, layers);
  }
};

constexpr float nothing = std::numeric_limits<float>::quiet_NaN();

int steps_from_ball(const Vec3i& c) { return std::abs(c.x - 3) + std::abs(c.y - 4) + std::abs(c.z - 5); }

TEST(Extrapolate, a_constant_stays_constant_and_reaches_as_many_layers_as_asked) {
  for (int layers = 1; layers <= 4; ++layers) {
    Faces f(3);
    const auto is_known = [](const Vec3i& c) { return steps_from_ball(c) <= 5; };
    f.set(known, [&](const Vec3i& c, int) { return is_known(c) ? 2.5 : 0.0; });
    f.set(velocity, [&](const Vec3i& c, int a) { return is_known(c) ? 1.75 + a : nothing; });
    f.run(layers);
    int reached = 0;
    f.each([&](const Vec3i& c, int a, float v) {
      const bool inside = steps_from_ball(c) <= 5 + layers;
      ASSERT_EQ(v, inside ? 1.75f + static_cast<float>(a) : 0.0f) << c.x << ' ' << c.y << ' ' << c.z << ' ' << a;
      reached += inside;
    });
    EXPECT_GT(reached, 1000);
  }
}

TEST(Extrapolate, a_linear_field_is_met_to_first_order) {
  Faces f(3);
  f.set(known, [&](const Vec3i& c, int) { return c.y < 3; });
  f.set(velocity, [&](const Vec3i& c, int a) { return c.y < 3 ? 0.1 * c.x + 0.2 * c.y - 0.3 * c.z + a : nothing; });
  f.run(4);
  f.each([&](const Vec3i& c, int a, float v) {
    if (c.x < -4 || c.x > 11 || c.z < -4 || c.z > 11) return;
    if (c.y >= 7) {
      EXPECT_EQ(v, 0.0f);
      return;
    }
    const double truth = 0.1 * c.x + 0.2 * std::min(c.y, 2) - 0.3 * c.z + a;  // constant along the way outwards
    EXPECT_NEAR(v, truth, 1e-5);
  });
}

/// The rules of the header, face by face.
std::vector<double> reference(int layers, const Faces::Value& open, const Faces::Value& is_known,
                              const Faces::Value& value, int axis, const Vec3i& low, const Vec3i& high) {
  const Vec3i size = high - low;
  const auto at = [&](const Vec3i& c) { return ((c.x - low.x) * size.y + (c.y - low.y)) * size.z + (c.z - low.z); };
  const auto valid = [&](const Vec3i& c) {
    return c.x >= low.x && c.y >= low.y && c.z >= low.z && c.x < high.x && c.y < high.y && c.z < high.z;
  };
  std::vector<double> v(static_cast<std::size_t>(size.x * size.y * size.z), 0);
  std::vector<int> layer(v.size(), 99);
  const auto each = [&](const auto& fn) {
    for (int i = low.x; i < high.x; ++i)
      for (int j = low.y; j < high.y; ++j)
        for (int k = low.z; k < high.z; ++k) fn(Vec3i{i, j, k}, static_cast<std::size_t>(at({i, j, k})));
  };
  each([&](const Vec3i& c, std::size_t n) {
    if (open(c, axis) > 0 && is_known(c, axis) > 0) layer[n] = 0, v[n] = value(c, axis);
  });
  for (int l = 1; l <= layers; ++l)
    each([&](const Vec3i& c, std::size_t n) {
      if (layer[n] < l) return;
      double sum = 0;
      int count = 0;
      for (int step = 0; step < 6; ++step) {
        const int a = step / 2;
        Vec3i from = c, upper = c, beside{};
        from[a] += step % 2 ? 1 : -1, upper[a] += step % 2, beside[axis] = 1;
        if (!valid(from) || layer[static_cast<std::size_t>(at(from))] >= l) continue;
        const bool blocked = a != axis && open(upper, a) <= 0 && open(upper - beside, a) <= 0;
        if (open(c, axis) > 0 && (open(from, axis) <= 0 || blocked)) continue;
        sum += v[static_cast<std::size_t>(at(from))], ++count;
      }
      if (count) layer[n] = l, v[n] = sum / count;
    });
  return v;
}

TEST(Extrapolate, follows_its_rules_among_random_closed_faces) {
  Faces f(3);
  const auto draw = [](const Vec3i& c, int a, int what) {
    return Random(9, static_cast<std::uint64_t>((c.x + 64) + 256 * (c.y + 64) + 65536 * (c.z + 64)),
                  static_cast<std::uint64_t>(a + 4 * what), Purpose::test)
        .uniform(0);
  };
  const auto in = [](const Vec3i& c) { return std::min({c.x, c.y, c.z}) >= -8 && std::max({c.x, c.y, c.z}) < 16; };
  const Faces::Value open = [&](const Vec3i& c, int a) { return in(c) && draw(c, a, 0) < 0.4 ? 0.0 : 0.5; };
  const Faces::Value is_known = [&](const Vec3i& c, int a) { return in(c) && draw(c, a, 1) < 0.03 ? 1.0 : 0.0; };
  const Faces::Value value = [&](const Vec3i& c, int a) { return draw(c, a, 2); };
  f.set(known, is_known), f.set(area, open);
  f.set(velocity, [&](const Vec3i& c, int a) { return is_known(c, a) > 0 ? value(c, a) : nothing; });
  f.run(4, true);
  for (int axis = 0; axis < 3; ++axis) {
    const auto truth = reference(4, open, is_known, value, axis, {-8, -8, -8}, {16, 16, 16});
    f.each([&](const Vec3i& c, int a, float v) {
      if (a == axis) {
        ASSERT_NEAR(v, truth[static_cast<std::size_t>(((c.x + 8) * 24 + c.y + 8) * 24 + c.z + 8)], 1e-5)
            << c.x << ' ' << c.y << ' ' << c.z << ' ' << a;
      }
    });
  }
}

TEST(Extrapolate, sheets_are_not_crossed_and_solids_are_entered) {
  Faces f(3);
  // A sheet on the faces x = 4 and a floor below y = 0; liquid at x < 4.
  const auto open = [](const Vec3i& c, int a) {
    if (c.y < 0 || (a == 1 && c.y == 0)) return 0.0;
    return a == 0 && c.x == 4 ? 0.0 : 1.0;
  };
  f.set(area, open);
  f.set(known, [](const Vec3i& c, int) { return c.x < 4 && c.y >= 0 && c.y < 4 ? 1.0 : 0.0; });
  f.set(velocity, [](const Vec3i&, int a) { return 1.0 + a; });
  f.run(4, true);
  f.each([&](const Vec3i& c, int a, float v) {
    if (c.x > 4 && c.y >= 1 && c.z > -4) {  // outside all buckets the sheet is not there
      EXPECT_EQ(v, 0.0f) << c.x << ' ' << c.y << ' ' << a;
    }
    if (c.x < 2 && c.y < 0 && c.y >= -2) {
      EXPECT_EQ(v, 1.0f + static_cast<float>(a)) << c.x << ' ' << c.y << ' ' << a;
    }
  });
}

TEST(Extrapolate, same_bits_for_any_number_of_threads) {
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 7}) {
    Faces f(3);
    const auto is_known = [](const Vec3i& c, int a) { return (c.x * 7 + c.y * 5 + c.z * 3 + a) % 11 == 0; };
    f.set(known, is_known);
    f.set(velocity, [](const Vec3i& c, int a) { return std::sin(c.x * 1.1 + c.y * 2.3 + c.z * 0.7 + a); });
    ThreadScope scope(threads);
    scope.run([&] { f.run(4); });
    std::vector<float> all;
    f.each([&](const Vec3i&, int, float v) { all.push_back(v); });
    results.push_back(all);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

}  // namespace
}  // namespace aegir
