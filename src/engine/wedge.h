// Wedges: one setup run with every combination of some values, side by side in numbered folders.
//
//   RunOptions options{.setup = "dam.yaml", .output = "runs/dam_wedge", .sets = {"voxel=1cm,2cm",
//   "jet=[0,1,0],[1,0,0]"}}; Result<WedgeReport> report = run_wedge(options, make_catalog(), comm, control, observer);
//
// The folder holds 0001/, 0002/, … (run directories), wedge.json, wedge.md and contact_sheet.png. The table is written
// after every run, so that a wedge that was killed goes on with --resume.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/run.h"

namespace aegir {

/// A parameter and the values it takes.
struct WedgeAxis {
  std::string path;
  std::vector<std::string> values;
};

/// One combination of values and what came of it.
struct WedgeRun {
  int number = 0;                                           ///< from 1; also the name of its folder
  std::vector<std::pair<std::string, std::string>> values;  ///< path and value, in the order of the command line
  std::string outcome;                                      ///< "finished", "stopped", what failed; empty: not run yet
  int code = 0;                                             ///< exit code that a run alone would have had
  double seconds = 0;                                       ///< of all sessions
  int last_frame = 0;                                       ///< that statistics tell of
  std::int64_t particles = 0;                               ///< at the end, of all Objects
  double max_speed = 0;                                     ///< over the whole run, m/s
  std::optional<double> volume_drift;  ///< change of volume per mass since the start, of the Object where it is largest

  /// "0001".
  std::string folder() const;
  /// "voxel=1cm jet=[0,1,0]".
  std::string label() const;
};

struct WedgeReport {
  std::string output;
  std::vector<WedgeRun> runs;  ///< those of earlier calls in the same folder included
  std::string sheet;           ///< path of the contact sheet; empty where there was nothing to draw
  std::string sheet_problem;   ///< why there is none, if that is no fault of the runs
  int code = 0;                ///< the worst of this call's runs
  int stopped_by = 0;          ///< signal number
};

/// What a wedge tells while it goes on; on rank 0.
class WedgeObserver {
 public:
  virtual ~WedgeObserver() = default;
  /// No combination can be run; this is what is wrong with the first.
  virtual void refused(const CheckReport&) {}
  /// Run `index` of `count`, from 1, begins; what it tells goes to the observer that is returned. On every rank.
  virtual RunObserver& begin(const WedgeRun& run, int index, int count) = 0;
  /// A run is over; returns its exit code. On every rank.
  virtual int end(const WedgeRun& run, const Result<RunSummary>& summary) = 0;
};

/// "runs/<name of the setup file>_wedge".
std::string default_wedge_output(const std::string& setup);

/// Splits "a=1,2,3" at commas that are in no bracket and no quotes; several --set make several axes.
Result<std::vector<WedgeAxis>> parse_wedge(const std::vector<std::string>& sets);

/// Every combination, the last axis fastest; numbers are not given yet.
std::vector<WedgeRun> combinations(const std::vector<WedgeAxis>& axes);

/// Runs every combination one after the other; a failure is noted and the next one goes on. Collective.
///
/// `options.sets` are the axes. With `options.resume` combinations that the folder already has keep their number, new
/// ones are added.
Result<WedgeReport> run_wedge(const RunOptions& options, const Catalog& catalog, Comm& comm, RunControl& control,
                              WedgeObserver& observer);

}  // namespace aegir
