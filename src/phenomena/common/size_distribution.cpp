#include "phenomena/common/size_distribution.h"

#include <algorithm>
#include <cmath>

namespace aegir {
namespace {

constexpr std::size_t intervals = 8192;

double median_of(const SizeSettings& s, double smallest, double largest) {
  return s.median ? *s.median : std::sqrt(smallest) * std::sqrt(largest);
}

/// ln of the number density over ln r, up to a constant: ln(r n).
double log_density(const SizeSettings& s, double log_ratio) {  // ln(r/m)
  if (s.law == SizeLaw::log_normal) return -0.5 * log_ratio * log_ratio / (s.spread * s.spread);
  return (s.exponent - 3) * log_ratio - std::log(2.0) * std::exp(s.exponent * log_ratio);
}

/// ∫ of a density that goes from a to b exponentially, over a length of 1.
double exponential_mean(double a, double b) {
  if (!(a > 0) || !(b > 0)) return 0.5 * (a + b);
  const double g = std::log(b / a);
  return std::abs(g) < 1e-4 ? 0.5 * (a + b) - a * g * g / 12 : (b - a) / g;
}

}  // namespace

void describe(Schema<SizeSettings>& s) {
  s.shorthand("law");
  s.field("law", &SizeSettings::law)
      .choices(
          {{"uniform", SizeLaw::uniform, "Every radius as often as any other."},
           {"inverse_cubic", SizeLaw::inverse_cubic, "Numbers fall with the cube of the radius: many small drops."},
           {"log_normal", SizeLaw::log_normal, "A bell over the logarithm of the radius."},
           {"rosin_rammler", SizeLaw::rosin_rammler,
            "Of sprays: the volume in drops larger than r falls as exp(-ln 2 (r/median)^exponent)."}})
      .doc("How often radii between the smallest and the largest are.");
  s.field("median", &SizeSettings::median)
      .unit("m")
      .above(0)
      .doc(
          "Of `log_normal` the radius that half of the drops stay below, of `rosin_rammler` the radius below which "
          "half "
          "of the volume is, before both are cut at the limits; the geometric mean of these if not given.");
  s.field("spread", &SizeSettings::spread)
      .min(0.01)
      .max(5)
      .soft(0.1, 1)
      .doc("Of `log_normal`: standard deviation of the logarithm of the radius.");
  s.field("exponent", &SizeSettings::exponent)
      .min(0.5)
      .max(20)
      .soft(1.5, 4)
      .doc("Of `rosin_rammler`: greater means more alike; sprays have 1.5 to 4.");
}

std::string check_sizes(const SizeSettings& s, double smallest, double largest) {
  const bool wants_median = s.law == SizeLaw::log_normal || s.law == SizeLaw::rosin_rammler;
  if (s.median && !wants_median) return "'median' of 'sizes' belongs to the laws log_normal and rosin_rammler";
  if (s.median && !(*s.median >= smallest && *s.median <= largest))
    return fmt::format("'median' of 'sizes' is {:g} m, but should lie between the radii {:g} m and {:g} m", *s.median,
                       smallest, largest);
  return "";
}

SizeDistribution::SizeDistribution(const SizeSettings& s, double smallest, double largest)
    : law_(s.law), smallest_(smallest), largest_(largest) {
  if (law_ == SizeLaw::uniform || law_ == SizeLaw::inverse_cubic || !(largest > smallest)) return;
  const double median = median_of(s, smallest, largest), low = std::log(smallest / median),
               step = std::log(largest / smallest) / static_cast<double>(intervals);
  double most = -1e300;
  for (std::size_t i = 0; i <= intervals; ++i) {
    density_.push_back(log_density(s, low + step * static_cast<double>(i)));
    most = std::max(most, density_.back());
  }
  for (double& d : density_) d = std::exp(d - most);
  sum_.assign(1, 0.0);
  for (std::size_t i = 0; i < intervals; ++i)
    sum_.push_back(sum_.back() + exponential_mean(density_[i], density_[i + 1]));
}

double SizeDistribution::radius(double u) const {
  if (!(largest_ > smallest_)) return smallest_;
  if (law_ == SizeLaw::uniform) return smallest_ + (largest_ - smallest_) * u;
  if (law_ == SizeLaw::inverse_cubic) {
    // u = (r₀⁻² - r⁻²) / (r₀⁻² - r₁⁻²)
    const double ratio = smallest_ / largest_;
    return std::clamp(smallest_ / std::sqrt(1 - u * (1 - ratio * ratio)), smallest_, largest_);
  }
  const double wanted = u * sum_.back();
  const auto above = std::upper_bound(sum_.begin() + 1, sum_.end() - 1, wanted);
  const auto i = static_cast<std::size_t>(above - sum_.begin()) - 1;
  // Between nodes the density is exponential: a (e^(gt) - 1)/g = what is left.
  const double a = density_[i], b = density_[i + 1], left = wanted - sum_[i], whole = sum_[i + 1] - sum_[i];
  double t = whole > 0 ? left / whole : 0;
  if (a > 0 && b > 0)
    if (const double g = std::log(b / a); std::abs(g) > 1e-6) t = std::log1p(t * std::expm1(g)) / g;
  const double share = (static_cast<double>(i) + std::clamp(t, 0.0, 1.0)) / static_cast<double>(intervals);
  return std::clamp(smallest_ * std::pow(largest_ / smallest_, share), smallest_, largest_);
}

}  // namespace aegir
