// Experiments with sand: what a run of each measures, by name. Tests hold the figures to laws; `sand_experiments` runs
// them by hand.
//
//   Figures f = column({{"shape", "flat"}, {"a", "2"}, {"cells", "16"}});
//   print(f), EXPECT_NEAR(f["error"], 0, 0.2);
//
// Options that all experiments know (defaults in parentheses):
//   kind (sand)       sand, or water: the same scene without the sand
//   phi (30)          internal friction, degrees
//   model, tension, sweeps, cohesion                            parameters of the sand; not given: Aegir's defaults
//   sand.X, hybrid.X, pressure.X, domain.X                      any other parameter of that node, as it is written
//   cfl (1), dt (0.2) cells per substep, and the longest substep in units of sqrt(voxel size / g)
//   out ()            folder for the curves as CSV; none are written without
//   trace (0)         seconds between two lines of progress on stderr
// An option that is not given is looked for in the environment: SAND_SWEEPS=20, SAND_PRESSURE_TOLERANCE=1e-6.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace aegir::test {

/// What an experiment is asked, by name.
class Options {
 public:
  Options() = default;
  Options(std::initializer_list<std::pair<const std::string, std::string>> given) : given_(given) {}

  void set(const std::string& name, const std::string& value) { given_[name] = value; }
  /// A copy with one more.
  Options with(const std::string& name, const std::string& value) const;
  Options with(const std::string& name, double value) const;
  std::string text(const std::string& name, const std::string& otherwise = "") const;
  double number(const std::string& name, double otherwise) const;
  int integer(const std::string& name, int otherwise) const;
  /// Whether it is given or in the environment.
  bool has(const std::string& name) const { return !text(name).empty(); }
  /// All that begin with `node.`, as lines of YAML.
  std::string lines(const std::string& node) const;
  /// All that were given, for the head of a line of figures.
  std::string summary() const;

 private:
  std::map<std::string, std::string> given_;
};

/// What an experiment found, in the order of printing.
class Figures {
 public:
  explicit Figures(std::string head) : head_(std::move(head)) {}
  void add(const std::string& name, double value) { values_.emplace_back(name, value); }
  /// By name; a name that is not there is a mistake of the test, and is not a number.
  double operator[](const std::string& name) const;
  /// One line: what was asked, what was found.
  std::string line() const;

 private:
  std::string head_;
  std::vector<std::pair<std::string, double>> values_;
};

/// Writes the line to standard output.
void print(const Figures& figures);

/// Collapse of a column on a rough floor. shape (round): round is a quarter of a cylinder, flat a slab against a
/// mirror; a (1): height / radius; cells (16) per radius; radius (0.1 m); mu (tan phi) of the floor.
/// runout, law, error: (r - r0)/r0 of 99 % of the mass, of Lube et al., relative difference of r - r0; height,
/// height_law, height_error and height_glass (law of Lajeunesse et al.), over r0; stop: time after which less than 1e-4
/// of the energy moves, in sqrt(h0/g); kinetic: what is left of it at the end; creep: rms speed then, cells per second.
Figures column(const Options& options);

/// A layer on a rough plane under tilted gravity. theta (phi + 5), depth (8 cells), length (300), thickness (4),
/// voxel (1 cm), time (1 s), mu (2); from, to (1/3, 2/3): the part of the length that is looked at.
/// speed, early: mean of that part in the second and the first half of the time; coulomb: what the former should be,
/// g t (sin theta - tan phi cos theta); flows: 1 or 0; drift, drift_max: way in cells, of that part; retreat: how far
/// the lower end has crept, cells.
Figures slope(const Options& options);
/// The angle above which `slope` flows, by halving an interval of ±`range` (6) degrees around phi down to `within`
/// (0.25).
Figures critical_slope(const Options& options);

/// A block of cohesive sand on a plane. mu (0.4), ratio (2): tan theta over mu (or theta, degrees); tilt (gravity):
/// gravity, or plane: the plane is tilted instead; cells (8) high, long (twice that) and as wide; time (0.5 s), voxel
/// (1 cm). speed, distance (in cells), late: of it in the second half, acceleration between a fifth of the time and the
/// end, coulomb, error; spread: growth of the block's length in cells.
Figures block(const Options& options);

/// A vertical cut, cells (24) high, through sand with cohesion. ratio (1): its height over Coulomb's critical one,
/// 4 c / (ρ g) tan(45° + phi / 2), or cohesion (Pa); mu (tan phi) of the floor, voxel (5 mm), time (12 sqrt(height /
/// g)). sunk, most: how far what is above the slip line has come down, mean and greatest, cells.
Figures cliff(const Options& options);

/// Slow pouring onto a floor. shape (flat), height (24 cells), speed (0.25 m/s) of the stream, mu (tan phi), rest
/// (1 s). angle: of the flank between 20 and 80 % of its height, degrees; curvature: of that part, lower half less
/// upper half, degrees; moving: share of the grains that are faster than a tenth of a cell per second at the end;
/// moved: share of those that moved by more than a tenth of a cell in the second half of `rest`.
Figures heap(const Options& options);

/// Discharge of a bin through a slot or a square hole. shape (flat), cells (10) across the opening, throat (4): how
/// deep it is, wide (40), high (60), mu (tan phi). rate: mean from 80 to 20 % fill, over rho sqrt(g) D^(3/2) (per
/// depth; D^(5/2) if square); part1 … part6: of that in steps of 10 %; deviation: greatest difference of a part from 1.
Figures hourglass(const Options& options);

/// A thrown block of sand in nothing. place, speed: worst difference of a particle from free fall in the substeps
/// taken, in cells, and over g t; mean_place, mean_speed: of the centre of mass; parabola: of that from the parabola.
Figures free_fall(const Options& options);

/// Sand without friction and cohesion against the liquid of the same transfer. different: particles that are not the
/// same to the bit at the end; first: the step after which the energies were not.
Figures same_bits(const Options& options);

/// A column that collapses: greatest rise of kinetic energy by friction over the column's energy, of all substeps.
Figures friction_energy(const Options& options);

/// A plate is lifted off sand that fills a box. cells (8) of depth, speed (0.5 m/s), mu (tan 30°), time (0.4 s). most,
/// rise, sunk: how far the highest, 99 % and 1 % of the grains have come up (sunk: down), cells.
Figures lifted_plate(const Options& options);

/// A leaning board is pushed through a bed of sand, just above the floor. cells (8) of depth, speed (0.4 m/s), mu (0.3)
/// and thick (2 cells) of the board, time (0.4 s). fastest: the greatest speed of a grain over that of the board.
Figures pushed_board(const Options& options);

/// Single grains, ten cells apart, lie on a plane tilted by theta (0) degrees. mu (0.8), time (1 s). gradient: the
/// greatest change of a grain's velocity over a cell, by the gradient that it carries, over what gravity gives in a
/// substep; moved: the farthest that one has moved, cells, after the first tenth of the time.
Figures lone_grains(const Options& options);

/// All of them by name.
const std::map<std::string, std::function<Figures(const Options&)>>& all_experiments();

}  // namespace aegir::test
