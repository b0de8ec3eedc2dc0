#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "sand/experiments.h"

extern char** environ;

namespace aegir::test {
namespace {

/// "pressure.tolerance" -> "SAND_PRESSURE_TOLERANCE"
std::string variable(const std::string& name) {
  std::string v = "SAND_";
  for (const char c : name) v += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return v;
}

}  // namespace

Options Options::with(const std::string& name, const std::string& value) const {
  Options copy = *this;
  copy.set(name, value);
  return copy;
}

Options Options::with(const std::string& name, double value) const { return with(name, fmt::format("{}", value)); }

std::string Options::text(const std::string& name, const std::string& otherwise) const {
  if (const auto found = given_.find(name); found != given_.end()) return found->second;
  const char* value = std::getenv(variable(name).c_str());
  return value ? value : otherwise;
}

double Options::number(const std::string& name, double otherwise) const {
  const std::string value = text(name);
  return value.empty() ? otherwise : std::stod(value);
}

int Options::integer(const std::string& name, int otherwise) const {
  return static_cast<int>(std::lround(number(name, otherwise)));
}

std::string Options::lines(const std::string& node) const {
  std::map<std::string, std::string> found;
  const std::string head = variable(node + ".");
  for (char** e = environ; *e; ++e) {
    const std::string entry = *e;
    const std::size_t equals = entry.find('=');
    if (!entry.starts_with(head) || equals == std::string::npos) continue;
    std::string name = entry.substr(head.size(), equals - head.size());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    found[name] = entry.substr(equals + 1);
  }
  for (const auto& [name, value] : given_)
    if (name.starts_with(node + ".")) found[name.substr(node.size() + 1)] = value;
  std::string lines;
  for (const auto& [name, value] : found) lines += fmt::format("    {}: {}\n", name, value);
  return lines;
}

std::string Options::summary() const {
  std::string all;
  for (const auto& [name, value] : given_)
    if (name != "out" && name != "trace" && name != "show") all += " " + name + "=" + value;
  return all;
}

double Figures::operator[](const std::string& name) const {
  for (const auto& [key, value] : values_)
    if (key == name) return value;
  return std::nan("");
}

std::string Figures::line() const {
  std::string text = head_ + " |";
  for (const auto& [name, value] : values_) text += fmt::format(" {} {:.4g}", name, value);
  return text;
}

void print(const Figures& figures) {
  std::printf("%s\n", figures.line().c_str());
  std::fflush(stdout);
}

const std::map<std::string, std::function<Figures(const Options&)>>& all_experiments() {
  static const std::map<std::string, std::function<Figures(const Options&)>> all{{"column", column},
                                                                                 {"slope", slope},
                                                                                 {"critical_slope", critical_slope},
                                                                                 {"block", block},
                                                                                 {"cliff", cliff},
                                                                                 {"heap", heap},
                                                                                 {"hourglass", hourglass},
                                                                                 {"free_fall", free_fall},
                                                                                 {"same_bits", same_bits},
                                                                                 {"friction_energy", friction_energy},
                                                                                 {"lifted_plate", lifted_plate},
                                                                                 {"pushed_board", pushed_board},
                                                                                 {"lone_grains", lone_grains}};
  return all;
}

}  // namespace aegir::test
