// SI units: parsing "1.5 cm", "72 mN/m", "10 min" and checking dimensions.
//
//   Result<double> metres = parse_quantity("1.5 cm", unit::metre);   // 0.015
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aegir {

/// Powers of metre, kilogram, second, kelvin and radian.
struct Unit {
  std::array<std::int8_t, 5> power{};
  constexpr bool operator==(const Unit&) const = default;
  constexpr Unit operator*(const Unit& o) const {
    Unit r;
    for (std::size_t i = 0; i < 5; ++i) r.power[i] = static_cast<std::int8_t>(power[i] + o.power[i]);
    return r;
  }
  constexpr Unit operator/(const Unit& o) const {
    Unit r;
    for (std::size_t i = 0; i < 5; ++i) r.power[i] = static_cast<std::int8_t>(power[i] - o.power[i]);
    return r;
  }
  constexpr bool dimensionless() const { return *this == Unit{}; }
  /// "m/s", "kg/m^3", "" for a pure number.
  std::string text() const;
};

namespace unit {
inline constexpr Unit none{};
inline constexpr Unit metre{{1, 0, 0, 0, 0}};
inline constexpr Unit kilogram{{0, 1, 0, 0, 0}};
inline constexpr Unit second{{0, 0, 1, 0, 0}};
inline constexpr Unit kelvin{{0, 0, 0, 1, 0}};
inline constexpr Unit radian{{0, 0, 0, 0, 1}};
inline constexpr Unit per_second = none / second;
inline constexpr Unit metre_per_second = metre / second;
inline constexpr Unit metre_per_second2 = metre_per_second / second;
inline constexpr Unit newton = kilogram * metre_per_second2;
inline constexpr Unit pascal = newton / (metre * metre);
inline constexpr Unit pascal_second = pascal * second;
inline constexpr Unit joule = newton * metre;
inline constexpr Unit kilogram_per_metre3 = kilogram / (metre * metre * metre);
}  // namespace unit

struct Quantity {
  double value = 0;  ///< in SI
  Unit unit;
  bool has_unit = false;  ///< false for a bare number, which takes the unit of its parameter
};

/// Reads "3", "1.5 cm", "1e3 kg/m^3", "0.05 Pa s", "72 mN/m", "30 deg". Rejects NaN, infinities and trailing text.
Result<Quantity> parse_quantity(std::string_view text);

/// Reads a number in SI of the wanted unit; a bare number counts as SI, another dimension is an error that names both.
Result<double> parse_quantity(std::string_view text, const Unit& wanted);

/// Reads a unit alone, e.g. "kg/m^3".
Result<Quantity> parse_unit(std::string_view text);

}  // namespace aegir
