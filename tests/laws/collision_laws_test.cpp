// Laws of contact: restitution, Coulomb friction, and that nothing passes a plate.
#include <cmath>
#include <filesystem>

#include <unistd.h>

#include "io/mesh.h"
#include "laws/laboratory.h"

namespace aegir::test {
namespace {

constexpr double g = 9.80665;
const std::string gravity = "  - gravity: earth\n";
std::string floor(double restitution, double friction) {
  return fmt::format("  - collider: floor\n    shape: {{kind: plane}}\n    restitution: {}\n    friction: {}\n",
                     restitution, friction);
}

TEST(Bounce, ElasticKeepsItsEnergy) {
  for (int substeps : {1, 5}) {
    Laboratory lab(timeline(240, substeps), one_particle({0, 1, 0}, {0.3, 0, 0}) + gravity + floor(1, 0));
    ASSERT_TRUE(lab.ok());
    const double start = lab.audit().kinetic_energy + lab.audit().potential_energy;
    double worst = 0;
    while (!lab.simulation().finished()) {
      lab.step();
      worst = std::max(worst, std::abs((lab.audit().kinetic_energy + lab.audit().potential_energy) / start - 1));
    }
    // 11 bounces; each puts the particle a thousandth of a cell (0.1 mm) off the floor.
    EXPECT_LT(worst, 2e-3) << substeps;
    EXPECT_NEAR(lab.only().x.x, 3, 1e-3);
  }
}

TEST(Bounce, LosesOneMinusRestitutionSquaredOfItsEnergy) {
  for (int substeps : {1, 4}) {
    const double h = 2, e = 0.6;
    Laboratory lab(timeline(40, substeps), one_particle({0, h, 0}, {0, 0, 0}) + gravity + floor(e, 0));
    ASSERT_TRUE(lab.ok());
    double apex = 0;
    const double impact = std::sqrt(2 * h / g);
    while (!lab.simulation().finished()) {
      lab.step();
      if (lab.time() > impact)
        apex = std::max(apex, (lab.audit().kinetic_energy + lab.audit().potential_energy) / (g * lab.audit().mass));
      if (lab.time() > impact * (1 + 1.9 * e)) break;
    }
    EXPECT_NEAR(apex, e * e * h, 0.01 * h) << substeps;
  }
}

TEST(Bounce, ComesToRestAndStays) {
  Laboratory lab(timeline(120, 1), one_particle({0, 0.5, 0}, {0, 0, 0}) + gravity + floor(0.3, 0.5));
  lab.run();
  EXPECT_NEAR(lab.only().x.y, 1e-4, 1e-4);
  EXPECT_LT(length(lab.only().v), 1e-6);
}

/// A particle on a slope of 30 degrees: distance slid in one second.
double slide(double friction, int substeps) {
  const double s = std::sin(M_PI / 6), c = std::cos(M_PI / 6);
  Laboratory lab(
      timeline(24, substeps),
      one_particle({s * 1e-4, c * 1e-4, 0}, {0, 0, 0}) + gravity +
          fmt::format("  - collider: slope\n    shape: {{kind: plane, axis: [{}, {}, 0]}}\n    friction: {}\n", s, c,
                      friction));
  EXPECT_TRUE(lab.ok());
  lab.run();
  return length(lab.only().x);
}

/// A domain two metres wide and high whose top is open.
std::string tank(double friction) {
  return fmt::format("  - domain: tank\n    box: {{min: [-1, 0, -1], max: [1, 2, 1]}}\n    friction: {}\n", friction);
}

TEST(Domain, ParticlesStayBetweenItsWalls) {
  for (const Vec3d& v : {Vec3d(9, 0, 0), Vec3d(-9, 0, 0), Vec3d(0, 0, 9), Vec3d(4, -6, -9)}) {
    Laboratory lab(timeline(48, 1), one_particle({0, 1, 0}, v) + gravity + tank(0));
    ASSERT_TRUE(lab.ok());
    lab.run();
    const Vec3d x = lab.only().x;
    for (int a : {0, 2})
      EXPECT_NEAR(x[a], v[a] == 0 ? 0 : std::copysign(1.0, v[a]), 2e-4) << "axis " << a << ", " << v.x << " " << v.z;
    EXPECT_NEAR(x.y, 0, 2e-4);
  }
}

TEST(Domain, ItsTopIsOpenAndItsFloorHasFriction) {
  Laboratory up(timeline(24, 4), one_particle({0, 1, 0}, {0, 9, 0}) + gravity + tank(0.5));
  up.run();
  EXPECT_NEAR(up.only().x.y, 1 + 9 - 0.5 * g, 1e-3);
  const double v = 2;
  Laboratory slides(timeline(24, 4), one_particle({-0.5, 1e-4, 0}, {v, 0, 0}) + gravity + tank(0.5));
  slides.run();
  EXPECT_NEAR(slides.only().x.x, -0.5 + v * v / (2 * 0.5 * g), 2e-3);
}

TEST(Friction, SlopeObeysCoulomb) {
  const double s = std::sin(M_PI / 6), c = std::cos(M_PI / 6);
  for (int substeps : {1, 6}) {
    EXPECT_NEAR(slide(0, substeps), 0.5 * g * s, 0.02) << substeps;
    EXPECT_NEAR(slide(0.3, substeps), 0.5 * g * (s - 0.3 * c), 0.02) << substeps;
    EXPECT_LT(slide(0.6, substeps), 1e-3) << substeps;  // tan 30° = 0.577: it sticks
  }
}

TEST(Friction, BelongsToTheVertexWhereItIsPainted) {
  // The left half of the slope is rough, the right half smooth.
  TriangleMesh mesh;
  mesh.positions = {{-5, 0, -5}, {0, 0, -5}, {5, 0, -5}, {-5, 0, 5}, {0, 0, 5}, {5, 0, 5}};
  mesh.triangles = {{0, 3, 1}, {1, 3, 4}, {1, 4, 2}, {2, 4, 5}};
  mesh.scalars["wet"] = {0, 0, 1, 0, 0, 1};
  const std::string file =
      fmt::format("{}/aegir_painted_{}.ply", std::filesystem::temp_directory_path().string(), getpid());
  ASSERT_TRUE(write_ply(file, mesh));
  Laboratory lab(
      timeline(12, 2),
      "  - particles: dust\n  - emitter: left\n    shape: {kind: sphere, center: [-3, 0.001, 0], radius: 1e-9}\n    "
      "count: 1\n    velocity: [0, 0, 1]\n"
      "  - emitter: right\n    shape: {kind: sphere, center: [4.9, 0.001, 0], radius: 1e-9}\n    count: 1\n    "
      "velocity: [0, 0, 1]\n" +
          gravity +
          "  - collider: table\n    input: table\n    friction: {attribute: wet, remap: [0.8, 0.0], default: 0.3}\n",
      "inputs: {table: {file: " + file + "}}\n");
  ASSERT_TRUE(lab.ok());
  lab.run();
  std::filesystem::remove(file);
  const auto all = lab.particles();
  EXPECT_LT(all.at(0).x.z, 0.1);   // stopped by μ = 0.8 after v²/2μg = 64 mm
  EXPECT_GT(all.at(1).x.z, 0.45);  // slides on through 0.5 s at almost 1 m/s
}

/// A square plate of two or many triangles, tilted a little so that it is aligned with nothing.
std::string plate_file(int pieces) {
  TriangleMesh mesh;
  for (int i = 0; i <= pieces; ++i)
    for (int j = 0; j <= pieces; ++j) {
      const double x = 40.0 * i / pieces - 20, z = 40.0 * j / pieces - 20;
      mesh.positions.push_back({x, 0.11 * x - 0.07 * z, z});
    }
  for (int i = 0; i < pieces; ++i)
    for (int j = 0; j < pieces; ++j) {
      const int a = i * (pieces + 1) + j;
      mesh.triangles.push_back({a, a + 1, a + pieces + 1});
      mesh.triangles.push_back({a + 1, a + pieces + 2, a + pieces + 1});
    }
  const std::string file =
      fmt::format("{}/aegir_plate_{}_{}.ply", std::filesystem::temp_directory_path().string(), pieces, getpid());
  EXPECT_TRUE(write_ply(file, mesh));
  return file;
}

TEST(ThinPlate, NoParticleCrossesAtAThousandCellsPerStep) {
  // Cells of 1 cm, one substep per frame: 240 m/s is 1000 cells per step.
  for (int pieces : {1, 12})
    for (const char* motion : {"", "    translate: {keys: {1: [0, 0, 0], 9: [0, 2, 0]}}\n",
                               "    rotate: {keys: {1: [0, 0, 0], 9: [10 deg, 0, 0]}}\n"}) {
      const std::string file = plate_file(pieces);
      Laboratory lab(timeline(8, 1),
                     std::string("  - particles: dust\n    voxel_size: 1 cm\n  - emitter: jet\n    shape: {kind: box, "
                                 "center: [0, 5, 0], size: [6, 2, 6]}\n    count: 4000\n"
                                 "    velocity: [0, -240 m/s, 0]\n    spread: 5 m/s\n") +
                         gravity + "  - collider: plate\n    input: plate\n    restitution: 0.2\n" + motion,
                     "inputs: {plate: {file: " + file + "}}\n");
      ASSERT_TRUE(lab.ok());
      EXPECT_FALSE(lab.messages().warnings.empty());  // it says what it takes an open mesh for
      while (!lab.simulation().finished()) {
        lab.step();
        const double s = (lab.report().frame - 1) / 8.0;
        int below = 0;
        for (const auto& [id, p] : lab.particles()) {
          Vec3d x = p.x;
          if (std::string(motion).find("translate") != std::string::npos) x.y -= 2 * s;
          if (std::string(motion).find("rotate") != std::string::npos) {
            const double angle = -10 * M_PI / 180 * s;
            x = {x.x, x.y * std::cos(angle) - x.z * std::sin(angle), x.y * std::sin(angle) + x.z * std::cos(angle)};
          }
          if (std::abs(x.x) < 19 && std::abs(x.z) < 19) below += x.y < 0.11 * x.x - 0.07 * x.z;
        }
        ASSERT_EQ(below, 0) << pieces << " " << motion << " frame " << lab.report().frame;
      }
      std::filesystem::remove(file);
    }
}

TEST(ThinPlate, HoldsWhatAMirrorThrowsAtIt) {
  // 240 m/s along x onto a mirror at 45 degrees, from there straight up against a lid 5 m above: 1000 cells per step.
  Laboratory lab(timeline(6, 1),
                 "  - particles: dust\n    voxel_size: 1 cm\n  - emitter: jet\n    shape: {kind: box, center: [-5, 0, "
                 "0], size: [1, 0.5, 0.5]}\n    count: 500\n    velocity: [240 m/s, 0, 0]\n"
                 "  - collider: mirror\n    shape: {kind: rectangle, size: [4, 1, 4], axis: [-1, 1, 0]}\n    "
                 "restitution: 1\n    friction: 0\n"
                 "  - collider: lid\n    shape: {kind: rectangle, center: [0, 5, 0], size: [200, 1, 200]}\n    "
                 "restitution: 0.1\n");
  ASSERT_TRUE(lab.ok());
  while (!lab.simulation().finished()) {
    lab.step();
    for (const auto& [id, p] : lab.particles()) ASSERT_LT(p.x.y, 5) << lab.report().frame;
  }
}

TEST(ThinPlate, AWedgeOfTwoSheetsHoldsRain) {
  for (double angle : {4.0, 20.0, 60.0}) {
    const double a = angle / 2 * M_PI / 180;
    Laboratory lab(timeline(24, 1),
                   fmt::format("  - particles: dust\n    voxel_size: 1 cm\n  - emitter: rain\n    shape: {{kind: box, "
                               "center: [0, 3, 0], size: [{}, 1, 1]}}\n    count: 1000\n    velocity: [0, -60 m/s, 0]\n"
                               "  - gravity: g\n"
                               "  - collider: left\n    shape: {{kind: rectangle, center: [{}, {}, 0], size: [20, 1, "
                               "20], axis: [{}, {}, 0]}}\n    restitution: 0.5\n"
                               "  - collider: right\n    shape: {{kind: rectangle, center: [{}, {}, 0], size: [20, 1, "
                               "20], axis: [{}, {}, 0]}}\n    restitution: 0.5\n",
                               2 * std::tan(a), -10 * std::sin(a) + 0.001, 10 * std::cos(a), std::cos(a), std::sin(a),
                               10 * std::sin(a) - 0.001, 10 * std::cos(a), -std::cos(a), std::sin(a)));
    ASSERT_TRUE(lab.ok());
    // The sheets cross a millimetre above the origin; what is held stays between them.
    const double apex = -0.001 / std::tan(a);
    while (!lab.simulation().finished()) {
      lab.step();
      for (const auto& [id, p] : lab.particles())
        ASSERT_LE(std::abs(p.x.x) - std::tan(a) * (p.x.y - apex), 1e-9)
            << angle << " frame " << lab.report().frame << " id " << id << " y " << p.x.y;
    }
  }
}

TEST(Collider, WhatIsHeldInATurningCornerDoesNotGainSpeed) {
  Laboratory lab(timeline(24, 1),
                 "  - gravity: g\n  - particles: dust\n  - emitter: e\n    shape: {kind: sphere, center: [0, 0.2, 0], "
                 "radius: 5 cm}\n    count: 100\n"
                 "  - collider: a\n    shape: {kind: plane, axis: [1, 1, 0]}\n    rotate: {keys: {1: [0, 0, 0], 73: "
                 "[0, 0.5 deg, 0]}}\n  - collider: b\n    shape: {kind: plane, axis: [-1, 1, 0]}\n");
  ASSERT_TRUE(lab.ok());
  lab.run();
  EXPECT_LT(lab.audit().max_speed, 0.5);
  for (const auto& [id, p] : lab.particles()) EXPECT_GT(p.x.y, -1e-3);
}

TEST(Collider, ThicknessPushesAwayFromTheMiddleOfASheet) {
  const std::string file = plate_file(2);
  Laboratory lab(timeline(2, 1),
                 "  - particles: dust\n    voxel_size: 5 cm\n  - emitter: above\n    shape: {kind: sphere, center: [0, "
                 "0.02, 0], radius: 1e-9}\n    count: 1\n"
                 "  - emitter: below\n    shape: {kind: sphere, center: [0, -0.02, 0], radius: 1e-9}\n    count: 1\n  "
                 "- collider: plate\n    input: plate\n    thickness: 10 cm\n",
                 "inputs: {plate: " + file + "}\n");
  ASSERT_TRUE(lab.ok());
  lab.run();
  std::filesystem::remove(file);
  EXPECT_GT(lab.particles().at(0).x.y, 0.045);
  EXPECT_LT(lab.particles().at(1).x.y, -0.045);
}

TEST(Collider, MovingFloorCarriesWhatRestsOnIt) {
  Laboratory lab(timeline(24, 2), one_particle({0, 0.001, 0}, {0, 0, 0}) + gravity +
                                      "  - collider: lift\n    shape: {kind: box, center: [0, -0.5, 0], size: [2, 1, "
                                      "2]}\n    translate: {keys: {1: [0, 0, 0], 25: [0, 3, 0]}}\n    friction: 1\n");
  ASSERT_TRUE(lab.ok());
  lab.run();
  EXPECT_NEAR(lab.only().x.y, 3, 0.01);
}

TEST(Collider, PushesOutWhatWasEmittedInside) {
  Laboratory lab(timeline(2, 1),
                 "  - particles: dust\n    voxel_size: 5 cm\n  - emitter: blob\n    shape: {kind: sphere, radius: "
                 "0.4}\n    count: 500\n  - collider: ball\n    shape: {kind: sphere, radius: 0.5}\n");
  ASSERT_TRUE(lab.ok());
  lab.run();
  for (const auto& [id, p] : lab.particles()) EXPECT_GT(length(p.x), 0.5);
}

}  // namespace
}  // namespace aegir::test
