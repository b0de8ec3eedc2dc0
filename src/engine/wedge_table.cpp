#include "engine/wedge_table.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "engine/text.h"
#include "io/atomic_file.h"

namespace aegir {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// Rows of cells, the first of them the header.
using Cells = std::vector<std::vector<std::string>>;

Cells cells_of(const std::vector<WedgeRun>& runs) {
  std::vector<std::string> paths;
  for (const WedgeRun& run : runs)
    for (const auto& [path, value] : run.values)
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  Cells rows{{"run"}};
  rows[0].insert(rows[0].end(), paths.begin(), paths.end());
  for (const char* title : {"frame", "seconds", "particles", "max m/s", "volume", "result"}) rows[0].push_back(title);
  for (const WedgeRun& run : runs) {
    std::vector<std::string> row{run.folder()};
    for (const std::string& path : paths) {
      const auto found =
          std::find_if(run.values.begin(), run.values.end(), [&](const auto& v) { return v.first == path; });
      row.push_back(found == run.values.end() ? "" : found->second);
    }
    const bool known = run.particles > 0 || run.last_frame != 0;
    row.push_back(known ? std::to_string(run.last_frame) : "");
    row.push_back(run.seconds > 0 ? fmt::format("{:.1f}", run.seconds) : "");
    row.push_back(known ? short_count(run.particles) : "");
    row.push_back(known ? fmt::format("{:.3g}", run.max_speed) : "");
    row.push_back(run.volume_drift ? fmt::format("{:+.2f} %", 100 * *run.volume_drift) : "");
    row.push_back(run.outcome.empty() ? "not run" : run.outcome);
    rows.push_back(std::move(row));
  }
  return rows;
}

ordered_json run_json(const WedgeRun& run) {
  ordered_json values = ordered_json::object();
  for (const auto& [path, value] : run.values) values[path] = value;
  return {{"run", run.folder()},
          {"values", values},
          {"outcome", run.outcome},
          {"code", run.code},
          {"seconds", run.seconds},
          {"last_frame", run.last_frame},
          {"particles", run.particles},
          {"max_speed", run.max_speed},
          {"volume_drift", run.volume_drift ? ordered_json(*run.volume_drift) : ordered_json()}};
}

std::string markdown(const std::string& setup, const std::vector<WedgeRun>& runs) {
  std::string text = "# Wedge of " + setup + "\n\n";
  Cells rows = cells_of(runs);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::string cell : rows[r]) {
      std::replace(cell.begin(), cell.end(), '\n', ' ');
      for (std::size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2) cell.insert(at, "\\");
      text += "| " + cell + " ";
    }
    text += "|\n";
    for (std::size_t c = 0; r == 0 && c < rows[0].size(); ++c) text += "|---";
    if (r == 0) text += "|\n";
  }
  return text + "\n![The last frame of every run](contact_sheet.png)\n";
}

}  // namespace

std::string wedge_text(const std::vector<WedgeRun>& runs) {
  const Cells rows = cells_of(runs);
  TextTable table(rows.front());
  for (std::size_t r = 1; r < rows.size(); ++r) table.row(rows[r]);
  return table.text();
}

Status save_wedge(const std::string& folder, const std::string& setup, const std::vector<WedgeRun>& runs) {
  ordered_json all = {{"aegir_wedge", 1}, {"setup", setup}, {"runs", ordered_json::array()}};
  for (const WedgeRun& run : runs) all["runs"].push_back(run_json(run));
  const std::string text = all.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  if (Status ok = write_text_atomically(folder + "/wedge.json", text); !ok) return ok;
  return write_text_atomically(folder + "/wedge.md", markdown(setup, runs));
}

Result<std::vector<WedgeRun>> parse_wedge_table(const std::string& text) {
  const ordered_json all = ordered_json::parse(text, nullptr, false);
  try {
    if (all.at("aegir_wedge").get<int>() != 1) return io_error("wedge.json is of a newer version of Aegir");
    std::vector<WedgeRun> runs;
    for (const ordered_json& j : all.at("runs")) {
      WedgeRun run;
      run.number = std::stoi(j.at("run").get<std::string>());
      for (const auto& [path, value] : j.at("values").items())
        run.values.emplace_back(path, value.template get<std::string>());
      run.outcome = j.at("outcome").get<std::string>();
      run.code = j.value("code", 0);
      run.seconds = j.value("seconds", 0.0);
      run.last_frame = j.value("last_frame", 0);
      run.particles = j.value("particles", std::int64_t{0});
      run.max_speed = j.value("max_speed", 0.0);
      if (j.contains("volume_drift") && j["volume_drift"].is_number()) run.volume_drift = j["volume_drift"];
      runs.push_back(std::move(run));
    }
    return runs;
  } catch (const std::exception&) {
    return io_error("wedge.json is damaged");
  }
}

void read_statistics(const std::string& stats_file, WedgeRun& run) {
  std::ifstream stream(stats_file, std::ios::binary);
  std::map<std::string, double> first;  // volume per mass of an Object when it first had some
  run.last_frame = 0, run.particles = 0, run.max_speed = 0, run.volume_drift.reset();
  for (std::string line; std::getline(stream, line);) {
    const json all = json::parse(line, nullptr, false);
    if (!all.is_object() || !all.contains("objects")) continue;  // a torn line
    run.last_frame = all.value("frame", run.last_frame);
    run.particles = 0;
    run.volume_drift.reset();  // the last line decides
    for (const auto& [name, object] : all["objects"].items()) {
      const auto number = [&, &o = object](const char* key) {
        return o.contains(key) && o[key].is_number() ? o[key].template get<double>() : 0.0;
      };
      run.particles += static_cast<std::int64_t>(number("particles"));
      run.max_speed = std::max(run.max_speed, number("max_speed"));
      const double mass = number("mass"), volume = number("volume");
      if (mass <= 0 || volume <= 0) continue;
      const double start = first.try_emplace(name, volume / mass).first->second;
      const double drift = volume / mass / start - 1;
      if (!run.volume_drift || std::abs(drift) > std::abs(*run.volume_drift)) run.volume_drift = drift;
    }
  }
}

}  // namespace aegir
