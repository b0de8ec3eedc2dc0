// What liquid does at solids can differ from collider to collider: `overrides` of `pressure`.
#include "liquid/liquid_laboratory.h"

namespace aegir::test {
namespace {

struct Speeds {
  double left = 0, right = 0;
};

/// Water that slides along z over two floors, for an eighth of a second: mean speed of the lowest layer over the middle
/// of each, over what it started with.
Speeds slide_over(const std::string& pressure) {
  LiquidLaboratory lab(
      "{fps: 24, frames: [0, 3], substeps: 6}",
      "  - gravity: g\n  - domain: d\n    box: {min: [0, -1, 0], max: [1, 2, 4]}\n"
      "  - collider: ice\n    shape: {kind: box, center: [0, -0.25, 2], size: [1, 0.5, 5]}\n    friction: 0.05\n"
      "  - collider: rough\n    shape: {kind: box, center: [1, -0.25, 2], size: [1, 0.5, 5]}\n    friction: 0.05\n"
      "  - hybrid: water\n    voxel_size: 0.05\n    velocity: [0, 0, 1]\n    fill: {shape: {kind: box, center: "
      "[0.5, 0.1, 1.5], size: [1, 0.2, 1.6]}}\n  - pressure: p\n" +
          pressure);
  lab.run();
  Speeds mean;
  double left = 0, right = 0;
  for (const auto& [id, p] : lab.particles("water")) {
    if (p.x.y > 0.05 || std::abs(p.x.z - 1.6) > 0.3) continue;
    if (std::abs(p.x.x - 0.2) < 0.15) mean.left += p.v.z, left += 1;
    if (std::abs(p.x.x - 0.8) < 0.15) mean.right += p.v.z, right += 1;
  }
  EXPECT_GT(left, 100);
  EXPECT_GT(right, 100);
  return {mean.left / left, mean.right / right};
}

TEST(Contacts, TwoFloorsOfDifferentKinds) {
  const Speeds free = slide_over("");
  EXPECT_NEAR(free.left, 1, 0.02);
  EXPECT_NEAR(free.right, 1, 0.02);
  for (const char* kind : {"no_slip", "friction"}) {
    const Speeds all = slide_over(fmt::format("    solids: {}\n", kind)),
                 one = slide_over(fmt::format("    overrides: {{rough: {{solids: {}}}}}\n", kind)),
                 other =
                     slide_over(fmt::format("    solids: {}\n    overrides: {{rough: {{solids: free_slip}}}}\n", kind));
    printf("%s: everywhere %.3f, %.3f; on the right alone %.3f, %.3f; on the left alone %.3f, %.3f\n", kind, all.left,
           all.right, one.left, one.right, other.left, other.right);
    EXPECT_LT(all.right, 0.85);
    EXPECT_NEAR(one.left, free.left, 0.03);
    EXPECT_NEAR(one.right, all.right, 0.03);
    EXPECT_NEAR(other.left, all.left, 0.03);
    EXPECT_NEAR(other.right, free.right, 0.03);
  }
}

TEST(Contacts, WallsOfTheDomain) {
  // Nothing but the domain: its floor holds the lowest layer if that is said of the domain.
  const auto speed = [](const std::string& pressure) {
    LiquidLaboratory lab(
        "{fps: 24, frames: [0, 3], substeps: 6}",
        "  - gravity: g\n  - domain: tank\n    box: {min: [0, 0, 0], max: [1, 1, 4]}\n  - hybrid: water\n    "
        "voxel_size: 0.05\n    velocity: [0, 0, 1]\n    fill: {shape: {kind: box, center: [0.5, 0.1, 1.5], "
        "size: [1, 0.2, 1.6]}}\n  - pressure: p\n" +
            pressure);
    lab.run();
    double sum = 0, count = 0;
    for (const auto& [id, p] : lab.particles("water"))
      if (p.x.y < 0.05 && std::abs(p.x.z - 1.6) < 0.3) sum += p.v.z, count += 1;
    return sum / count;
  };
  const double free = speed(""), held = speed("    overrides: {tank: {solids: no_slip}}\n"),
               all = speed("    solids: no_slip\n");
  EXPECT_NEAR(free, 1, 0.02);
  EXPECT_LT(held, 0.85);
  EXPECT_EQ(held, all);
}

/// Water below two plates: the share of free fall's speed that it has below the middle of each after two frames.
Speeds hang_below(const std::string& pressure) {
  LiquidLaboratory lab(
      "{fps: 24, frames: [0, 2], substeps: 6}",
      "  - gravity: g\n  - collider: tight\n    shape: {kind: box, center: [0, 1.1, 0], size: [1.4, 0.2, 1.4]}\n"
      "  - collider: loose\n    shape: {kind: box, center: [3, 1.1, 0], size: [1.4, 0.2, 1.4]}\n"
      "  - hybrid: water\n    voxel_size: 0.05\n"
      "  - source: a\n    shape: {kind: box, center: [0, 0.9, 0], size: [1, 0.2, 1]}\n"
      "  - source: b\n    shape: {kind: box, center: [3, 0.9, 0], size: [1, 0.2, 1]}\n"
      "  - pressure: p\n    density_correction: false\n"  // it would join the two blocks
          + pressure);
  lab.run();
  Speeds mean;
  double left = 0, right = 0;
  for (const auto& [id, p] : lab.particles("water")) {
    if (std::abs(p.x.z) > 0.2) continue;
    if (std::abs(p.x.x) < 0.2) mean.left += p.v.y, left += 1;
    if (std::abs(p.x.x - 3) < 0.2) mean.right += p.v.y, right += 1;
  }
  const double fallen = -9.80665 * lab.time();
  return {mean.left / left / fallen, mean.right / right / fallen};
}

TEST(Contacts, OneCeilingLetsGo) {
  // From the plate that lets go it falls, at the other its pressure holds it.
  const Speeds none = hang_below(""), all = hang_below("    solids: separating\n"),
               one = hang_below("    overrides: {loose: {solids: separating}}\n");
  printf("speed over that of free fall: both hold %.3f, %.3f; both let go %.3f, %.3f; one lets go %.3f, %.3f\n",
         none.left, none.right, all.left, all.right, one.left, one.right);
  EXPECT_NEAR(one.left, none.left, 0.01);
  EXPECT_NEAR(one.right, all.right, 0.01);
  EXPECT_GT(one.right, one.left + 0.5);
}

}  // namespace
}  // namespace aegir::test
