#include "base/units.h"

#include <charconv>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

namespace aegir {
namespace {

struct NamedUnit {
  std::string_view name;
  Unit unit;
  double factor;
  std::string_view prefixes;  // those that people write; "u" also stands for µ
};

constexpr Unit cubic_metre = unit::metre * unit::metre * unit::metre;
constexpr Unit watt = unit::joule / unit::second;

constexpr NamedUnit named_units[] = {
    {"m", unit::metre, 1, "numcdk"},
    {"g", unit::kilogram, 1e-3, "umk"},
    {"t", unit::kilogram, 1e3, ""},
    {"s", unit::second, 1, "num"},
    {"min", unit::second, 60, ""},
    {"h", unit::second, 3600, ""},
    {"K", unit::kelvin, 1, "mk"},
    {"rad", unit::radian, 1, "m"},
    {"deg", unit::radian, std::numbers::pi / 180, ""},
    {"N", unit::newton, 1, "numkMG"},
    {"Pa", unit::pascal, 1, "umkMG"},
    {"J", unit::joule, 1, "umkMG"},
    {"W", watt, 1, "umkMG"},
    {"Hz", unit::per_second, 1, "kMG"},
    {"L", cubic_metre, 1e-3, "umcd"},
    {"l", cubic_metre, 1e-3, "umcd"},
};

double prefix_factor(char prefix) {
  switch (prefix) {
    case 'p':
      return 1e-12;
    case 'n':
      return 1e-9;
    case 'u':
      return 1e-6;
    case 'm':
      return 1e-3;
    case 'c':
      return 1e-2;
    case 'd':
      return 1e-1;
    case 'k':
      return 1e3;
    case 'M':
      return 1e6;
    default:
      return 1e9;
  }
}

Error wrong(std::string message) { return {Failure::usage, std::move(message), {}}; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Both letters for micro become u, raised digits become plain ones, a raised dot becomes *.
std::string plain_letters(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> replacements[] = {
      {"\u00b5", "u"}, {"\u03bc", "u"}, {"\u00b2", "2"}, {"\u00b3", "3"}, {"\u00b7", "*"}, {"\u00b0", "deg"}};
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    bool replaced = false;
    for (const auto& [from, to] : replacements)
      if (text.substr(i).starts_with(from)) {
        plain += to, i += from.size(), replaced = true;
        break;
      }
    if (!replaced) plain += text[i++];
  }
  return plain;
}

std::optional<Quantity> find_unit(std::string_view name) {
  for (const NamedUnit& u : named_units)
    if (u.name == name) return Quantity{u.factor, u.unit, true};
  for (const NamedUnit& u : named_units)
    if (name.size() == u.name.size() + 1 && name.ends_with(u.name) &&
        u.prefixes.find(name[0]) != std::string_view::npos)
      return Quantity{prefix_factor(name[0]) * u.factor, u.unit, true};
  return std::nullopt;
}

/// unit = factor { (space | * | /) factor };  factor = name [exponent] | ( unit ) | 1.  A space after a division is
/// ambiguous
/// ("J/kg K") and refused.
class UnitParser {
 public:
  explicit UnitParser(std::string_view text) : whole_(trimmed(text)), text_(plain_letters(trimmed(text))) {}

  Result<Quantity> parse() {
    Quantity q{1, unit::none, true};
    if (text_.empty()) return wrong("a unit is missing");
    if (text_ == "%") return Quantity{0.01, unit::none, true};
    if (Status s = product(q); !s) return s.error();
    if (at_ != text_.size()) return wrong(fmt::format("'{}' is not a unit", whole_));
    if (!std::isfinite(q.value) || q.value == 0) return wrong(fmt::format("the unit '{}' is out of range", whole_));
    return q;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  Status product(Quantity& q) {
    if (++depth_ > 8) return wrong(fmt::format("'{}' has too many parentheses", whole_));
    bool divided = false;
    if (Status s = factor(q, false); !s) return s;
    while (true) {
      const std::size_t before = at_;
      skip_spaces();
      if (at_ == text_.size() || text_[at_] == ')') break;
      if (text_[at_] == '/' || text_[at_] == '*') {
        const bool divide = text_[at_++] == '/';
        skip_spaces();
        if (Status s = factor(q, divide); !s) return s;
        divided = divided || divide;
      } else if (at_ == before) {
        return wrong(fmt::format("'{}' is not a unit", whole_));
      } else if (divided) {
        return wrong(fmt::format("'{}' can be read in two ways; write parentheses, as in J/(kg K)", whole_));
      } else if (Status s = factor(q, false); !s) {
        return s;
      }
    }
    --depth_;
    return {};
  }

  Status factor(Quantity& q, bool divide) {
    Quantity one{1, unit::none, true};
    if (at_ < text_.size() && text_[at_] == '(') {
      ++at_;
      skip_spaces();
      if (Status s = product(one); !s) return s;
      if (at_ == text_.size()) return wrong(fmt::format("'{}' lacks a closing parenthesis", whole_));
      ++at_;
    } else if (at_ < text_.size() && text_[at_] == '1' && !divide) {
      ++at_;
      return {};
    } else if (Status s = named(one); !s) {
      return s;
    }
    int power = 1;
    if (Status s = exponent(power); !s) return s;
    if (divide) power = -power;
    for (std::size_t i = 0; i < 5; ++i) {
      const int sum = q.unit.power[i] + power * one.unit.power[i];
      if (std::abs(sum) > 30) return wrong(fmt::format("the powers of '{}' are out of range", whole_));
      q.unit.power[i] = static_cast<std::int8_t>(sum);
    }
    // A quotient rather than a negative power keeps decimal prefixes exact more often.
    const double raised = std::pow(one.value, std::abs(power));
    q.value = power < 0 ? q.value / raised : q.value * raised;
    return {};
  }

  Status named(Quantity& one) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
    const std::string_view name = std::string_view(text_).substr(begin, at_ - begin);
    const std::optional<Quantity> found = find_unit(name);
    if (!found) {
      if (name == "C" || name == "degC") return wrong("temperatures are given in kelvin (K)");
      return wrong(name.empty() || name.size() == text_.size()
                       ? fmt::format("'{}' is not a unit", whole_)
                       : fmt::format("'{}' is not a unit (in '{}')", name, whole_));
    }
    one = *found;
    return {};
  }

  Status exponent(int& power) {
    const bool caret = at_ < text_.size() && text_[at_] == '^';
    if (caret) ++at_;
    const std::size_t begin = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    if (at_ == begin && !caret) return {};
    const auto [end, failure] = std::from_chars(text_.data() + begin, text_.data() + at_, power);
    if (failure != std::errc{} || end != text_.data() + at_ || std::abs(power) > 9 || power == 0)
      return wrong(fmt::format("'{}' has an exponent that is not a small whole number", whole_));
    return {};
  }

  std::string_view whole_;
  std::string text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

/// "a length (m)", "a pure number", or only the unit where the dimension has no common name.
std::string dimension_text(const Unit& u) {
  static constexpr std::pair<Unit, std::string_view> names[] = {
      {unit::none, "a pure number"},
      {unit::metre, "a length"},
      {unit::metre * unit::metre, "an area"},
      {cubic_metre, "a volume"},
      {unit::kilogram, "a mass"},
      {unit::second, "a time"},
      {unit::per_second, "a rate"},
      {unit::kelvin, "a temperature"},
      {unit::radian, "an angle"},
      {unit::radian / unit::second, "an angular speed"},
      {unit::metre_per_second, "a speed"},
      {unit::metre_per_second2, "an acceleration"},
      {unit::newton, "a force"},
      {unit::newton / unit::metre, "a surface tension"},
      {unit::pascal, "a pressure"},
      {unit::pascal_second, "a viscosity"},
      {unit::metre * unit::metre / unit::second, "a kinematic viscosity"},
      {unit::joule, "an energy"},
      {watt, "a power"},
      {unit::kilogram_per_metre3, "a density"}};
  for (const auto& [known, name] : names)
    if (known == u) return u.dimensionless() ? std::string(name) : fmt::format("{} ({})", name, u.text());
  return u.text();
}

}  // namespace

std::string Unit::text() const {
  static constexpr std::pair<Unit, std::string_view> names[] = {
      {unit::newton, "N"},  {unit::newton / unit::metre, "N/m"},
      {unit::pascal, "Pa"}, {unit::pascal_second, "Pa s"},
      {unit::joule, "J"},   {watt, "W"}};
  for (const auto& [known, name] : names)
    if (known == *this) return std::string(name);
  static constexpr std::size_t order[] = {1, 0, 2, 3, 4};  // kilogram first: "kg/m^3", "kg m/s"
  static constexpr std::string_view symbols[] = {"m", "kg", "s", "K", "rad"};
  std::string above, below;
  int below_count = 0;
  for (const std::size_t i : order) {
    if (power[i] == 0) continue;
    std::string& side = power[i] > 0 ? above : below;
    if (!side.empty()) side += ' ';
    side += symbols[i];
    if (std::abs(power[i]) > 1) side += fmt::format("^{}", std::abs(power[i]));
    below_count += power[i] < 0;
  }
  if (below.empty()) return above;
  if (below_count > 1) below = "(" + below + ")";
  return fmt::format("{}/{}", above.empty() ? "1" : above, below);
}

Result<Quantity> parse_unit(std::string_view text) { return UnitParser(text).parse(); }

Result<Quantity> parse_quantity(std::string_view text) {
  const std::string_view all = trimmed(text);
  if (all.empty()) return wrong("a number is missing");
  std::string_view rest = all;
  if (rest.front() == '+') rest.remove_prefix(1);
  const std::size_t first = rest.starts_with('-') && rest.size() != all.size() ? rest.size() : rest.starts_with('-');
  if (first >= rest.size() || !(is_digit(rest[first]) || rest[first] == '.'))
    return wrong(fmt::format("'{}' is not a number", all));
  Quantity q;
  const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), q.value);
  if (failure == std::errc::result_out_of_range) return wrong(fmt::format("'{}' is out of range", all));
  if (failure != std::errc{} || !std::isfinite(q.value)) return wrong(fmt::format("'{}' is not a number", all));
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  if (rest.empty()) return q;
  if (rest.front() == ',') return wrong(fmt::format("'{}' is not a number; decimals are written with a point", all));
  if (!is_space(rest.front()) && is_digit(rest.front())) return wrong(fmt::format("'{}' is not a number", all));
  if (rest.front() == '.' || rest.front() == '_' || rest.front() == ':')
    return wrong(fmt::format("'{}' is not a number", all));
  const Result<Quantity> scale = parse_unit(rest);
  if (!scale) return wrong(fmt::format("'{}' is not a number with a unit: {}", all, scale.error().message));
  q.value *= scale->value, q.unit = scale->unit, q.has_unit = true;
  if (!std::isfinite(q.value)) return wrong(fmt::format("'{}' is out of range", all));
  return q;
}

Result<double> parse_quantity(std::string_view text, const Unit& wanted) {
  const Result<Quantity> q = parse_quantity(text);
  if (!q) return q.error();
  if (q->has_unit && q->unit != wanted)
    return wrong(
        fmt::format("'{}' is {}, but {} is expected", trimmed(text), dimension_text(q->unit), dimension_text(wanted)));
  return q->value;
}

}  // namespace aegir
