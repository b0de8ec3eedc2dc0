#include "surface_filters.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "pipeline/schema/suggest.h"

namespace aegir {
namespace {

const std::map<std::string, FilterKind> kinds = {
    {"mean", FilterKind::mean},     {"gaussian", FilterKind::gaussian},
    {"median", FilterKind::median}, {"mean_curvature", FilterKind::mean_curvature},
    {"dilate", FilterKind::dilate}, {"erode", FilterKind::erode}};

Status set_option(SurfaceFilter& filter, const std::string& key, const std::string& value) {
  const std::vector<std::string> keys = {"width",     "iterations", "distance", "spare_droplets", "never_raise",
                                         "attribute", "volume",     "grid",     "none",           "full"};
  if (std::find(keys.begin(), keys.end(), key) == keys.end())
    return usage_error({}, "--filter: '{}' is nothing that a filter has{}", key, suggestion(key, keys));
  if (key == "never_raise") return filter.never_raise = value != "false", Status();
  if (key == "spare_droplets") return filter.spare_droplets = value != "false", Status();
  if (key == "attribute") return filter.mask.attribute = value, Status();
  if (key == "volume") return filter.mask.volume = value, Status();
  if (key == "grid") return filter.mask.grid = value, Status();
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(number))
    return usage_error({}, "--filter: {}={}: that is no number", key, value);
  const bool whole = key == "width" || key == "iterations";
  if (whole && (number != std::floor(number) || std::abs(number) > 1e6))
    return usage_error({}, "--filter: {}={}: that is no whole number", key, value);
  if (key == "width") filter.width = static_cast<int>(number);
  if (key == "iterations") filter.iterations = static_cast<int>(number);
  if (key == "distance") filter.distance = number;
  if (key == "none") filter.mask.none = number;
  if (key == "full") filter.mask.full = number;
  return {};
}

Result<SurfaceFilter> parse_filter(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const auto kind = kinds.find(name);
  if (kind == kinds.end()) {
    std::vector<std::string> known;
    for (const auto& [word, value] : kinds) known.push_back(word);
    const std::string meant = suggestion(name, known);
    return usage_error(
        {}, "--filter: '{}' is no filter{}", name,
        meant.empty() ? "; there are mean, gaussian, median, mean_curvature, dilate, erode and none" : meant);
  }
  SurfaceFilter filter;
  filter.kind = kind->second;
  if (colon == std::string::npos) return filter;
  for (std::size_t at = colon + 1; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    const std::size_t equals = part.find('=');
    if (Status ok =
            set_option(filter, part.substr(0, equals), equals == std::string::npos ? "" : part.substr(equals + 1));
        !ok)
      return ok.error();
    at = end + 1;
  }
  return filter;
}

}  // namespace

Result<std::vector<SurfaceFilter>> parse_filters(const std::vector<std::string>& texts) {
  std::vector<SurfaceFilter> filters;
  if (texts.size() == 1 && texts[0] == "none") return filters;
  for (const std::string& text : texts) {
    auto filter = parse_filter(text);
    if (!filter) return filter.error();
    filters.push_back(std::move(*filter));
  }
  return filters;
}

}  // namespace aegir
