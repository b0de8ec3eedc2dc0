#include "base/units.h"

#include <gtest/gtest.h>

#include <numbers>

namespace aegir {
namespace {

double read(const char* text, const Unit& wanted) {
  const Result<double> r = parse_quantity(text, wanted);
  EXPECT_TRUE(r) << text << ": " << (r ? "" : r.error().message);
  return r ? *r : -1e300;
}

std::string refuse(const char* text, const Unit& wanted) {
  const Result<double> r = parse_quantity(text, wanted);
  EXPECT_FALSE(r) << text;
  return r ? "" : r.error().message;
}

TEST(Units, ReadsNumbersWithUnits) {
  EXPECT_EQ(read("3", unit::metre), 3);
  EXPECT_EQ(read("+3", unit::metre), 3);
  EXPECT_EQ(read(" -3.5e-2 ", unit::metre), -0.035);
  EXPECT_EQ(read(".5", unit::none), 0.5);
  EXPECT_DOUBLE_EQ(read("1.5 cm", unit::metre), 0.015);
  EXPECT_DOUBLE_EQ(read("3cm", unit::metre), 0.03);
  EXPECT_EQ(read("10 min", unit::second), 600);
  EXPECT_EQ(read("2 h", unit::second), 7200);
  EXPECT_DOUBLE_EQ(read("250 ms", unit::second), 0.25);
  EXPECT_DOUBLE_EQ(read("2 g", unit::kilogram), 0.002);
  EXPECT_EQ(read("2 kg", unit::kilogram), 2);
  EXPECT_DOUBLE_EQ(read("2 L", unit::metre * unit::metre * unit::metre), 0.002);
  EXPECT_EQ(read("50 %", unit::none), 0.5);
  EXPECT_DOUBLE_EQ(read("5 µm", unit::metre), 5e-6);
  EXPECT_DOUBLE_EQ(read("5 um", unit::metre), 5e-6);
  EXPECT_EQ(read("440 Hz", unit::per_second), 440);
  EXPECT_EQ(read("3 1/s", unit::per_second), 3);
}

TEST(Units, ReadsCompoundUnits) {
  for (const char* text : {"1e3 kg/m^3", "1000 kg/m3", "1000 kg m^-3", "1 g/cm^3", "1000 kg/m³"})
    EXPECT_DOUBLE_EQ(read(text, unit::kilogram_per_metre3), 1000) << text;
  for (const char* text : {"0.05 Pa s", "0.05 Pa*s", "50 mPa s", "0.05 kg/(m s)", "0.05 Pa·s"})
    EXPECT_DOUBLE_EQ(read(text, unit::pascal_second), 0.05) << text;
  EXPECT_DOUBLE_EQ(read("72 mN/m", unit::newton / unit::metre), 0.072);
  EXPECT_DOUBLE_EQ(read("1e-6 m2/s", unit::metre * unit::metre / unit::second), 1e-6);
  EXPECT_EQ(read("9.81 m/s^2", unit::metre_per_second2), 9.81);
  EXPECT_DOUBLE_EQ(read("36 km/h", unit::metre_per_second), 10);
}

TEST(Units, AnglesAreTheirOwnDimensionAndBareNumbersAreRadians) {
  EXPECT_DOUBLE_EQ(read("180 deg", unit::radian), std::numbers::pi);
  EXPECT_EQ(read("2 rad", unit::radian), 2);
  EXPECT_EQ(read("2", unit::radian), 2);
  EXPECT_EQ(refuse("2 deg", unit::none), "'2 deg' is an angle (rad), but a pure number is expected");
}

TEST(Units, RefusesOtherDimensionsNamingBoth) {
  EXPECT_EQ(refuse("3 kg", unit::metre), "'3 kg' is a mass (kg), but a length (m) is expected");
  EXPECT_EQ(refuse("50 %", unit::metre), "'50 %' is a pure number, but a length (m) is expected");
  EXPECT_EQ(refuse("1 m^5", unit::pascal_second), "'1 m^5' is m^5, but a viscosity (Pa s) is expected");
}

TEST(Units, RefusesWhatIsNoNumber) {
  for (const char* text : {"",
                           " ",
                           "abc",
                           "nan",
                           "inf",
                           "-inf",
                           "+-3",
                           "--3",
                           "-",
                           "+",
                           ".",
                           "1_000",
                           "1:24",
                           "0x10",
                           "1.2.3",
                           "3 4",
                           "1e999",
                           "3 m/",
                           "3 m^",
                           "3 m^x",
                           "3 m^99",
                           "3 m//s",
                           "3 (m",
                           "3 m)",
                           "3 J/kg K",
                           "3 foo",
                           "3 Mm",
                           "3 kkg",
                           "3 m^9 m^9 m^9 m^9",
                           "3 ((((((((((m))))))))))",
                           "3 $",
                           "1 degC"})
    EXPECT_NE(refuse(text, unit::metre), "") << text;
  EXPECT_EQ(refuse("1,5 m", unit::metre), "'1,5 m' is not a number; decimals are written with a point");
  EXPECT_EQ(refuse("1 parsec", unit::metre), "'1 parsec' is not a number with a unit: 'parsec' is not a unit");
}

TEST(Units, TextReadsBack) {
  EXPECT_EQ(unit::none.text(), "");
  EXPECT_EQ(unit::metre_per_second.text(), "m/s");
  EXPECT_EQ(unit::kilogram_per_metre3.text(), "kg/m^3");
  EXPECT_EQ(unit::pascal_second.text(), "Pa s");
  EXPECT_EQ(unit::per_second.text(), "1/s");
  EXPECT_EQ((unit::joule / (unit::kilogram * unit::kelvin)).text(), "m^2/(s^2 K)");
  for (const Unit& u : {unit::newton, unit::pascal, unit::joule, unit::metre_per_second2, unit::per_second,
                        unit::joule / (unit::kilogram * unit::kelvin), unit::radian / unit::second}) {
    const Result<Quantity> back = parse_unit(u.text());
    ASSERT_TRUE(back) << u.text();
    EXPECT_EQ(back->unit, u);
    EXPECT_EQ(back->value, 1);
  }
}

}  // namespace
}  // namespace aegir
