#include "engine/wedge.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "engine/pictures.h"
#include "engine/wedge_table.h"
#include "io/atomic_file.h"
#include "io/frame_path.h"

namespace aegir {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_runs = 10000;

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

/// Parts between commas that stand in no bracket and no quotes.
std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote)
      quote = c == quote ? 0 : quote;
    else if (c == '\'' || c == '"')
      quote = c;
    else if (c == '[' || c == '{' || c == '(')
      ++depth;
    else if (c == ']' || c == '}' || c == ')')
      --depth;
    if (c == ',' && depth <= 0 && !quote)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (std::string& part : parts) part = trimmed(part);
  return parts;
}

std::vector<std::string> sets_of(const WedgeRun& run) {
  std::vector<std::string> sets;
  for (const auto& [path, value] : run.values) sets.push_back(path + "=" + value);
  return sets;
}

bool same_values(const WedgeRun& a, const WedgeRun& b) {
  using Map = std::map<std::string, std::string>;
  return Map(a.values.begin(), a.values.end()) == Map(b.values.begin(), b.values.end());
}

/// The table of an earlier call, as rank 0 finds it; empty where there is none. Collective.
Result<std::string> earlier_table(const std::string& folder, Comm& comm) {
  Bytes bytes;
  Status mine;
  const std::string path = folder + "/wedge.json";
  std::error_code ignored;
  if (comm.root() && fs::exists(path, ignored)) {
    std::ifstream stream(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    if (!stream || text.empty()) mine = io_error("cannot read {}", path);
    bytes.resize(text.size());
    if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  }
  if (Status ok = comm.agree(mine); !ok) return ok.error();
  comm.broadcast(bytes);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

class Wedge {
 public:
  Wedge(const RunOptions& options, const Catalog& catalog, Comm& comm, RunControl& control, WedgeObserver& observer)
      : options_(options), catalog_(catalog), comm_(comm), control_(control), observer_(observer) {
    report_.output = options.output.empty() ? default_wedge_output(options.setup) : options.output;
  }

  Result<WedgeReport> go() {
    if (Status ok = plan(); !ok) return ok.error();
    if (Status ok = check_first(); !ok) return ok.error();
    if (Status ok = save(); !ok) return ok.error();
    for (std::size_t i = 0; i < todo_.size() && !report_.stopped_by; ++i) {
      run_one(report_.runs[todo_[i]], static_cast<int>(i + 1));
      if (Status ok = save(); !ok) return ok.error();
    }
    if (comm_.root()) draw();
    return report_;
  }

 private:
  /// Which runs there are, and which of them are asked for now.
  Status plan() {
    const Result<std::vector<WedgeAxis>> axes = parse_wedge(options_.sets);
    if (!axes) return axes.error();
    const Result<std::string> before = earlier_table(report_.output, comm_);
    if (!before) return before.error();
    if (!before->empty()) {
      if (options_.resume.kind == ResumeChoice::none)
        return usage_error({}, "{} already holds a wedge; continue it with --resume, or choose another folder with -o",
                           report_.output);
      Result<std::vector<WedgeRun>> runs = parse_wedge_table(*before);
      if (!runs) return io_error("{}: {}", report_.output, runs.error().message);
      report_.runs = std::move(*runs);
    }
    int next = 1;
    for (const WedgeRun& run : report_.runs) next = std::max(next, run.number + 1);
    for (WedgeRun& wanted : combinations(*axes)) {
      const auto known = std::find_if(report_.runs.begin(), report_.runs.end(),
                                      [&](const WedgeRun& run) { return same_values(run, wanted); });
      todo_.push_back(static_cast<std::size_t>(known - report_.runs.begin()));
      if (known != report_.runs.end()) continue;
      wanted.number = next++;
      report_.runs.push_back(std::move(wanted));
    }
    return {};
  }

  /// Nothing is written when no combination makes a setup that can be run.
  Status check_first() {
    std::optional<CheckReport> wrong;
    for (const std::size_t i : todo_) {
      const CheckReport found = check(options_.setup, sets_of(report_.runs[i]), catalog_, comm_);
      if (found.messages.ok()) return {};
      if (!wrong) wrong = found;
    }
    if (comm_.root()) observer_.refused(*wrong);
    return wrong->messages.errors.front();
  }

  void run_one(WedgeRun& run, int index) {
    RunOptions options = options_;
    options.output = report_.output + "/" + run.folder();
    options.sets = sets_of(run);
    RunObserver& listener = observer_.begin(run, index, static_cast<int>(todo_.size()));
    const Stopwatch watch;
    const Result<RunSummary> summary = aegir::run(options, catalog_, comm_, control_, listener);
    if (!summary || summary->frames > 0) run.seconds += watch.seconds();
    run.outcome = !summary ? summary.error().message : summary->stopped_by ? "stopped" : "finished";
    run.code = !summary ? static_cast<int>(summary.error().kind) : summary->stopped_by ? 128 + summary->stopped_by : 0;
    if (summary) report_.stopped_by = summary->stopped_by;
    if (comm_.root()) read_statistics(options.output + "/stats.jsonl", run);
    const int code = observer_.end(run, summary);
    report_.code = std::max(report_.code, std::max(code, run.code));
  }

  Status save() {
    Status mine;
    if (comm_.root()) {
      std::error_code error;
      fs::create_directories(report_.output, error);
      mine = error ? Status(system_error("cannot make", report_.output, error.value()))
                   : save_wedge(report_.output, options_.setup, report_.runs);
    }
    return comm_.agree(mine);
  }

  /// The sheet is a picture of results that are safe already: where it cannot be drawn the wedge is still done.
  void draw() {
    std::vector<ComparedRun> compared;
    for (const WedgeRun& run : report_.runs)
      compared.push_back({report_.output + "/" + run.folder(), run.folder() + " " + run.label()});
    const std::string path = report_.output + "/contact_sheet.png";
    const Result<int> drawn = compare_runs(compared, path);
    if (!drawn)
      report_.sheet_problem = drawn.error().text();
    else if (*drawn > 0)
      report_.sheet = path;
  }

  const RunOptions& options_;
  const Catalog& catalog_;
  Comm& comm_;
  RunControl& control_;
  WedgeObserver& observer_;
  WedgeReport report_;
  std::vector<std::size_t> todo_;
};

}  // namespace

std::string WedgeRun::folder() const { return frame_text(number); }

std::string WedgeRun::label() const {
  std::string text;
  for (const auto& [path, value] : values) text += (text.empty() ? "" : " ") + path + "=" + value;
  return text;
}

std::string default_wedge_output(const std::string& setup) { return default_output(setup) + "_wedge"; }

Result<std::vector<WedgeAxis>> parse_wedge(const std::vector<std::string>& sets) {
  std::vector<WedgeAxis> axes;
  std::size_t runs = 1;
  for (const std::string& set : sets) {
    const auto equals = set.find('=');
    if (equals == std::string::npos || trimmed(set.substr(0, equals)).empty())
      return usage_error({}, "--set {}: it looks like --set voxel=1cm,2cm,3cm", set);
    WedgeAxis axis{trimmed(set.substr(0, equals)), split_values(set.substr(equals + 1))};
    for (const WedgeAxis& other : axes)
      if (other.path == axis.path)
        return usage_error({}, "--set {}: '{}' is there twice; write its values in one list", set, axis.path);
    std::set<std::string> seen;
    for (const std::string& value : axis.values) {
      if (value.empty()) return usage_error({}, "--set {}: a value is missing", set);
      if (!seen.insert(value).second) return usage_error({}, "--set {}: '{}' is there twice", set, value);
    }
    runs *= axis.values.size();
    if (runs > most_runs) return usage_error({}, "that would be more than {} runs", most_runs);
    axes.push_back(std::move(axis));
  }
  if (runs < 2)
    return usage_error(
        {}, "a wedge needs a parameter with several values: --set voxel=1cm,2cm (commas in brackets do not count)");
  return axes;
}

std::vector<WedgeRun> combinations(const std::vector<WedgeAxis>& axes) {
  std::vector<WedgeRun> runs(1);
  for (const WedgeAxis& axis : axes) {
    std::vector<WedgeRun> longer;
    for (const WedgeRun& run : runs)
      for (const std::string& value : axis.values) longer.emplace_back(run).values.emplace_back(axis.path, value);
    runs = std::move(longer);
  }
  return runs;
}

Result<WedgeReport> run_wedge(const RunOptions& options, const Catalog& catalog, Comm& comm, RunControl& control,
                              WedgeObserver& observer) {
  return Wedge(options, catalog, comm, control, observer).go();
}

}  // namespace aegir
