// A simulation from setup text through the whole catalog, and its particles as plain arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/vec.h"
#include "domain/exec.h"
#include "parallel/comm.h"
#include "pipeline/schedule/simulation.h"
#include "pipeline/schema/catalog.h"
#include "sand/experiments.h"

namespace aegir::test {

inline constexpr double g = 9.80665;
inline constexpr double degree = 3.14159265358979323846 / 180;

/// All particles, by id.
struct Grains {
  std::vector<std::int64_t> id;
  std::vector<Vec3d> x, v;
  std::vector<double> mass;
  std::size_t size() const { return id.size(); }
};

/// The parts of a scene that all experiments share.
struct Scene {
  double voxel = 0.01;
  double seconds = 1;
  double density = 1600;
  std::string nodes;        ///< gravity, domain, colliders, sources
  std::string fill;         ///< the value of `fill`, or empty
  std::string hybrid = {};  ///< more lines of the Object
};

class Sandbox {
 public:
  /// Builds and starts; ends the program with what is wrong if the setup has a mistake.
  Sandbox(const Options& options, const Scene& scene);

  bool finished() const { return simulation_->finished(); }
  void step();
  double time() const { return simulation_->time(); }
  int steps() const { return static_cast<int>(simulation_->steps()); }
  /// Of the sand, after the last step.
  const ObjectAudit& audit() const { return last_.objects.front().second; }
  /// One of the audit's more special figures; `otherwise` where there is none of that name.
  double audited(const char* name, double otherwise) const;
  const StepReport& report() const { return last_; }
  Grains grains();
  /// The greatest change of a grain's velocity over a cell, by the gradient that it carries, m/s.
  double greatest_gradient();
  /// Wall time since the start, s.
  double seconds() const;
  /// Adds steps and wall seconds.
  void add_cost(Figures& figures) const { figures.add("steps", steps()), figures.add("seconds", seconds()); }

 private:
  void take(Result<StepReport> report);

  Catalog catalog_;
  Messages messages_;
  std::unique_ptr<Comm> comm_;
  Profile profile_;
  std::unique_ptr<Simulation> simulation_;
  StepReport last_;
  double begin_ = 0, trace_ = 0, next_trace_ = 0;
};

/// Gravity of which the plane y = 0 is tilted by `theta`, so that sand flows along x.
std::string tilted_gravity(double theta);
/// Walls without friction around a box; below is nothing.
std::string smooth_box(const Options& options, const Vec3d& min, const Vec3d& max);
/// Everything below y = 0 is solid.
std::string rough_floor(double mu);
/// `{shape: {kind: box, …}}` between two corners.
std::string box_fill(const Vec3d& min, const Vec3d& max);
/// The same as a collider.
std::string box_collider(const std::string& name, const Vec3d& min, const Vec3d& max, double mu);
/// Height of what lies on y = 0 at (k + 1/2) voxels from the mirror x = 0 (of thickness `width`) or from the axis (of a
/// quarter, `width` 0), from the mass above each strip or ring, smoothed over about three of them.
std::vector<double> heights(const Grains& grains, double voxel, double width, double density);
/// A number that is not smaller than this share of the others: 0.99 for run-outs.
double quantile(std::vector<double> values, double share);

/// A table that goes to `<out>/<name>.csv`; nothing where `out` is not given.
class Curve {
 public:
  Curve(const Options& options, const std::string& name, const std::string& head);
  ~Curve();
  Curve(const Curve&) = delete;
  Curve& operator=(const Curve&) = delete;
  void row(const std::vector<double>& values);

 private:
  std::string path_, text_;
};

}  // namespace aegir::test
