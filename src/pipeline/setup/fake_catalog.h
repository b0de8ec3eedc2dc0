// A small catalog of made-up Behaviors for tests and fuzzing of the setup language.
//
//   const Catalog catalog = fake_catalog();
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/model/behavior.h"
#include "pipeline/schema/catalog.h"

namespace aegir::fake {

struct Box3 {
  Vec3d min{-1, -1, -1}, max{1, 1, 1};
};
inline void describe(Schema<Box3>& s) {
  s.field("min", &Box3::min).unit("m").doc("Lower corner.");
  s.field("max", &Box3::max).unit("m").doc("Upper corner.");
  s.check([](const Box3& b) { return b.min.x > b.max.x ? std::string("'min' lies beyond 'max'") : std::string(); });
}

class Gravity : public Behavior {
 public:
  struct Settings {
    Parameter<Vec3d> acceleration = Vec3d{0, -9.81, 0};
  };
  static TypeInfo info() { return {"gravity", Category::force, "Gravity", "Pulls everything down.", "a = g"}; }
  static void describe(Schema<Settings>& s) {
    s.field("acceleration", &Settings::acceleration).unit("m/s^2").doc("Acceleration.");
  }
  explicit Gravity(Scoped<Settings> s) : settings(std::move(s)) {}
  Scoped<Settings> settings;
};

enum class Transfer { pic, flip, apic };

class Liquid : public Behavior {
 public:
  struct Settings {
    double voxel_size = 0.05;
    Parameter<double> viscosity = 0.001;
    Parameter<double> flip_ratio = 0.97;
    Parameter<bool> active = true;
    Parameter<int> count = 8;
    Transfer transfer = Transfer::flip;
    std::optional<double> level;
    std::optional<Box3> fill;
    Box3 bounds;
    double angle = 0.5;
    int seed = 0;
    std::int64_t first_id = 0;
    bool sticky = false;
    std::array<double, 2> radius{0.001, 0.002};
    std::vector<std::string> attributes;
    std::map<std::string, double> weights;
    std::vector<Box3> holes;
  };
  static TypeInfo info() { return {"liquid", Category::object, "Liquid", "Something wet.", "div u = 0"}; }
  static void describe(Schema<Settings>& s) {
    s.field("voxel_size", &Settings::voxel_size).unit(unit::metre).above(0).soft(0.001, 1).doc("Edge of a cell.");
    s.field("viscosity", &Settings::viscosity)
        .from_attribute()
        .unit("Pa s")
        .min(0)
        .group("Material")
        .doc("Shear viscosity.");
    s.field("flip_ratio", &Settings::flip_ratio).from_attribute().min(0).max(1).advanced().doc("Share of FLIP.");
    s.field("active", &Settings::active).from_attribute().doc("Whether it moves.");
    s.field("count", &Settings::count).min(1).max(64).doc("Particles per cell.");
    s.field("transfer", &Settings::transfer)
        .choices(
            {{"pic", Transfer::pic, "Smooth."}, {"flip", Transfer::flip, "Lively."}, {"apic", Transfer::apic, "Both."}})
        .doc("How velocities travel.");
    s.field("level", &Settings::level).unit("m").doc("Height of the surface.");
    s.field("fill", &Settings::fill).doc("Filled box.");
    s.field("bounds", &Settings::bounds).doc("Where it may be.");
    s.field("angle", &Settings::angle).unit(unit::radian).doc("Contact angle.");
    s.field("seed", &Settings::seed).doc("Seed of the jitter.");
    s.field("first_id", &Settings::first_id).min(0).doc("First particle id.");
    s.field("sticky", &Settings::sticky).doc("Whether it sticks.");
    s.field("radius", &Settings::radius).unit("m").above(0).doc("Smallest and largest radius.");
    s.field("attributes", &Settings::attributes).doc("What is written.");
    s.field("weights", &Settings::weights).min(0).doc("Weights by name.");
    s.field("holes", &Settings::holes).doc("Boxes without liquid.");
  }
  explicit Liquid(Scoped<Settings> s) : settings(std::move(s)) {}
  Scoped<Settings> settings;
};

class Emitter : public Behavior {
 public:
  struct Settings {
    Parameter<double> rate = 1000;
    std::string input;
    Located<std::string> where;
    ObjectList objects;
    FilePath mesh_file;
  };
  static TypeInfo info() { return {"emitter", Category::emitter, "Emitter", "Makes particles.", "dN/dt = rate"}; }
  static void describe(Schema<Settings>& s) {
    s.field("rate", &Settings::rate).unit("1/s").min(0).required().doc("Particles per second.");
    s.field("input", &Settings::input).doc("Input to emit from.");
    s.field("where", &Settings::where).doc("Condition.");
    s.field("objects", &Settings::objects).doc("Objects that it feeds.");
    s.field("mesh_file", &Settings::mesh_file).doc("Mesh to emit from.");
  }
  explicit Emitter(Scoped<Settings> s) : settings(std::move(s)) {}
  Scoped<Settings> settings;
};

class Points : public Behavior {
 public:
  struct Settings {
    ObjectList objects;
    int every = 1;
  };
  static TypeInfo info() { return {"points", Category::output, "Points", "Writes particles.", "One file per frame."}; }
  static void describe(Schema<Settings>& s) {
    s.field("objects", &Settings::objects).required().doc("Objects to write.");
    s.field("every", &Settings::every).min(1).doc("Frames between two files.");
  }
  explicit Points(Scoped<Settings> s) : settings(std::move(s)) {}
  Scoped<Settings> settings;
};

inline Catalog fake_catalog() {
  Catalog catalog;
  catalog.add<Gravity>();
  catalog.add<Liquid>();
  catalog.add<Emitter>();
  catalog.add<Points>();
  catalog.announce("hybrid", "liquids");
  return catalog;
}

}  // namespace aegir::fake
