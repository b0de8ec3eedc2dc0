#include "preview/report_stats.h"

#include <cerrno>
#include <cmath>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "io/atomic_file.h"

namespace aegir {
namespace {

using nlohmann::ordered_json;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

double number(const ordered_json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_number() ? found->get<double>() : unknown;
}

/// Brings a column to `lines` lines and sets the last of them.
void set_last(StatsColumn& column, std::size_t lines, double value) {
  column.resize(lines, unknown);
  column.back() = value;
}

/// Takes lines one after the other; names get their columns when they appear.
class StatisticsReader {
 public:
  /// Whether the line could be used.
  bool take(const std::string& line);
  RunStatistics finish();

 private:
  void take_object(const std::string& name, const ordered_json& j);
  void take_solves(const ordered_json& solves);
  void take_tasks(const ordered_json& tasks);
  template <class T>
  T& named(std::vector<T>& list, std::map<std::string, std::size_t>& places, const std::string& name);

  RunStatistics all_;
  std::map<std::string, std::size_t> object_places_, solve_places_, task_places_;
};

template <class T>
T& StatisticsReader::named(std::vector<T>& list, std::map<std::string, std::size_t>& places, const std::string& name) {
  const auto [place, is_new] = places.try_emplace(name, list.size());
  if (is_new) list.emplace_back().name = name;
  return list[place->second];
}

bool StatisticsReader::take(const std::string& line) {
  const ordered_json j = ordered_json::parse(line, nullptr, false);
  if (!j.is_object()) return false;
  const double frame = number(j, "frame"), time = number(j, "time"), dt = number(j, "dt");
  constexpr double largest_frame = 1e9;
  if (!(std::abs(frame) < largest_frame) || !std::isfinite(time) || !std::isfinite(dt)) return false;
  const auto objects = j.find("objects"), solves = j.find("solves"), tasks = j.find("tasks");
  if (objects == j.end() || !objects->is_object()) return false;
  if (all_.lines() > 0 && !(time > all_.time.back())) return false;

  const int number_of_frame = static_cast<int>(frame);
  all_.time.push_back(time);
  all_.dt.push_back(dt);
  all_.frame.push_back(number_of_frame);
  all_.memory.push_back(number(j, "memory_bytes"));
  if (all_.frames.empty() || all_.frames.back().frame != number_of_frame)
    all_.frames.emplace_back().frame = number_of_frame;
  if (dt > 0) ++all_.frames.back().substeps;
  for (const auto& [name, object] : objects->items())
    if (object.is_object()) take_object(name, object);
  if (solves != j.end() && solves->is_array()) take_solves(*solves);
  if (tasks != j.end() && tasks->is_object()) take_tasks(*tasks);
  return true;
}

void StatisticsReader::take_object(const std::string& name, const ordered_json& j) {
  ObjectColumns& o = named(all_.objects, object_places_, name);
  const auto set = [&](StatsColumn& column, const char* key) { set_last(column, all_.lines(), number(j, key)); };
  set(o.particles, "particles");
  set(o.mass, "mass");
  set(o.volume, "volume");
  set(o.volume_drift, "volume_drift");
  set(o.kinetic_energy, "kinetic_energy");
  set(o.potential_energy, "potential_energy");
  set(o.max_speed, "max_speed");
  const auto momentum = j.find("momentum");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const bool known = momentum != j.end() && momentum->is_array() && momentum->size() == 3;
    set_last(o.momentum[axis], all_.lines(),
             known && (*momentum)[axis].is_number() ? (*momentum)[axis].get<double>() : unknown);
  }
  const auto masses = [&](const char* key, std::vector<std::pair<std::string, double>>& into) {
    const auto found = j.find(key);
    if (found == j.end() || !found->is_object()) return;
    into.clear();
    for (const auto& [behavior, mass] : found->items())
      if (mass.is_number()) into.emplace_back(behavior, mass.template get<double>());
  };
  masses("added", o.added);
  masses("removed", o.removed);
}

void StatisticsReader::take_solves(const ordered_json& solves) {
  for (const ordered_json& s : solves) {
    const auto name = s.is_object() ? s.find("name") : s.end();
    if (!s.is_object() || name == s.end() || !name->is_string()) continue;
    SolveColumns& columns = named(all_.solves, solve_places_, name->get<std::string>());
    const bool again = columns.iterations.size() == all_.lines();
    set_last(columns.iterations, all_.lines(), number(s, "iterations") + (again ? columns.iterations.back() : 0));
    set_last(columns.seconds, all_.lines(), number(s, "seconds") + (again ? columns.seconds.back() : 0));
  }
}

void StatisticsReader::take_tasks(const ordered_json& tasks) {
  std::vector<double>& of_frame = all_.frames.back().seconds;
  for (const auto& [name, task] : tasks.items()) {
    if (!task.is_object()) continue;
    const double seconds = number(task, "seconds"), bytes = number(task, "bytes");
    TaskTotal& total = named(all_.tasks, task_places_, name);
    of_frame.resize(std::max(of_frame.size(), all_.tasks.size()), 0.0);
    if (std::isfinite(seconds)) total.seconds += seconds, of_frame[task_places_[name]] += seconds;
    if (std::isfinite(bytes)) total.bytes += bytes;
  }
}

RunStatistics StatisticsReader::finish() {
  const auto fill = [&](StatsColumn& column) { column.resize(all_.lines(), unknown); };
  for (ObjectColumns& o : all_.objects) {
    for (StatsColumn* c : {&o.particles, &o.mass, &o.volume, &o.volume_drift, &o.kinetic_energy, &o.potential_energy,
                           &o.max_speed, &o.momentum[0], &o.momentum[1], &o.momentum[2]})
      fill(*c);
  }
  for (SolveColumns& s : all_.solves) fill(s.iterations), fill(s.seconds);
  return std::move(all_);
}

}  // namespace

double RunStatistics::frame_rate(double otherwise) const {
  // The last frame may have been stopped half-way: the end of the one before it counts.
  std::size_t end = lines();
  while (end > 0 && frame[end - 1] == frame[lines() - 1]) --end;
  if (end < 2 || frame[end - 1] <= frame[0] || !(time[end - 1] > time[0])) return otherwise;
  return (frame[end - 1] - frame[0]) / (time[end - 1] - time[0]);
}

Result<RunStatistics> read_run_statistics(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return system_error("cannot read", path, errno);
  StatisticsReader reader;
  std::int64_t line_number = 0, skipped = 0, first_skipped = 0;
  bool torn = false;
  for (std::string line; std::getline(stream, line);) {
    ++line_number;
    const bool unfinished = stream.eof();
    if (reader.take(line)) continue;
    if (unfinished) {
      torn = true;
      continue;
    }
    if (skipped++ == 0) first_skipped = line_number;
  }
  if (stream.bad()) return system_error("cannot read", path, errno);
  RunStatistics all = reader.finish();
  all.skipped = skipped;
  all.first_skipped = first_skipped;
  all.torn_end = torn;
  return all;
}

}  // namespace aegir
