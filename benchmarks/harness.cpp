#include "benchmarks/harness.h"

#include <algorithm>

#include <fmt/format.h>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace aegir::bench {

void Bench::rate(const std::string& name, double value, const std::string& unit, const std::string& peer,
                 double peer_value) {
  measurements_.push_back({name, value, unit, peer, peer_value, value / peer_value});
}

void Bench::cost(const std::string& name, double value, const std::string& unit, const std::string& peer,
                 double peer_value) {
  measurements_.push_back({name, value, unit, peer, peer_value, peer_value / value});
}

void Bench::number(const std::string& name, double value, const std::string& unit) {
  measurements_.push_back({name, value, unit, {}, 0, 0});
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

std::vector<double> in_turns(int rounds, const std::vector<Turn>& turns) {
  std::vector<std::vector<double>> seconds(turns.size());
  for (int round = -1; round < rounds; ++round)
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if (turns[i].before) turns[i].before();
      const Stopwatch watch;
      turns[i].body();
      if (round >= 0) seconds[i].push_back(watch.seconds());
    }
  std::vector<double> medians;
  for (auto& s : seconds) medians.push_back(median(std::move(s)));
  return medians;
}

std::string table(const Bench& bench) {
  const auto number = [](double v) { return fmt::format("{:.4g}", v); };
  std::vector<std::vector<std::string>> rows{{"name", "value", "unit", "peer", "peer value", "ratio"}};
  for (const Measurement& m : bench.measurements()) {
    const bool alone = m.peer.empty();
    rows.push_back({m.name, number(m.value), m.unit, m.peer, alone ? "" : number(m.peer_value),
                    alone ? "" : fmt::format("{:.3f}", m.ratio)});
  }
  std::vector<std::size_t> width(rows[0].size(), 0);
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const bool numeric = c == 1 || c >= 4;
      text += numeric ? fmt::format("{:>{}}  ", row[c], width[c]) : fmt::format("{:<{}}  ", row[c], width[c]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  for (const std::string& note : bench.notes()) text += "  " + note + '\n';
  return text;
}

std::string json(const Bench& bench) {
  auto all = nlohmann::ordered_json::array();
  for (const Measurement& m : bench.measurements()) {
    nlohmann::ordered_json one{{"name", m.name}, {"value", m.value}, {"unit", m.unit}};
    if (m.peer.empty()) {
      one["peer"] = nullptr, one["peer_value"] = nullptr, one["ratio"] = nullptr;
    } else {
      one["peer"] = m.peer, one["peer_value"] = m.peer_value, one["ratio"] = m.ratio;
    }
    all.push_back(std::move(one));
  }
  return all.dump(2) + "\n";
}

double status_bytes(const char* field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(field, 0) == 0) return 1024 * std::atof(line.c_str() + std::strlen(field) + 1);
  return 0;
}

}  // namespace aegir::bench
