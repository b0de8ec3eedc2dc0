// Parameters that may be a value, {keys: {frame: value}, interpolation: …} or {attribute: NAME, remap: [a, b], default:
// v}.
#include <algorithm>
#include <cmath>
#include <set>

#include "pipeline/schema/codec.h"
#include "pipeline/schema/suggest.h"

namespace aegir {
namespace {

constexpr double last_frame = 1e9;  // beyond this a frame and its half are no longer told apart safely

/// Reports keys of `value` that are not among the known ones.
bool only_keys(const Value& value, const std::vector<std::string>& known, const FieldDescription& d, Reader& reader) {
  bool good = true;
  for (const Value::Entry& entry : value.entries)
    if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
      reader.error(entry.where, fmt::format("'{}' does not belong beside '{}' in '{}'{}", entry.key, known.front(),
                                            d.name, suggestion(entry.key, known)));
      good = false;
    }
  return good;
}

bool read_interpolation(const Value& value, Interpolation& out, const FieldDescription& d, Reader& reader) {
  FieldDescription words;
  words.name = d.name + ".interpolation", words.type = FieldType::choice;
  words.choices = {{"linear", static_cast<int>(Interpolation::linear), ""},
                   {"smooth", static_cast<int>(Interpolation::smooth), ""},
                   {"step", static_cast<int>(Interpolation::step), ""}};
  if (d.type == FieldType::boolean) words.choices.erase(words.choices.begin(), words.choices.begin() + 2);
  std::int64_t number = 0;
  if (!read_choice(value, number, words, reader)) return false;
  out = static_cast<Interpolation>(number);
  return true;
}

template <class T>
bool read_keys(const Value& value, Parameter<T>& out, const FieldDescription& d, Reader& reader) {
  bool good = only_keys(value, {"keys", "interpolation"}, d, reader);
  const Value& frames = *value.find("keys");
  if (!frames.is_map() || frames.entries.empty()) {
    reader.error(
        frames.where,
        fmt::format("the keys of '{}' should be a mapping of frames to values, as in {{1: 0, 24: 1}}", d.name));
    return false;
  }
  std::vector<typename Parameter<T>::Key> keys;
  std::set<double> seen;
  for (const Value::Entry& entry : frames.entries) {
    typename Parameter<T>::Key key;
    const Result<Quantity> frame = parse_quantity(entry.key);
    if (!frame || frame->has_unit || std::abs(frame->value) > last_frame) {
      reader.error(entry.where, fmt::format("'{}' in the keys of '{}' is not a frame number", entry.key, d.name));
      good = false;
    } else {
      key.frame = frame->value;
    }
    good = read_scalar(entry.value, key.value, d, reader) && good;
    if (good && !seen.insert(key.frame).second) {
      reader.error(entry.where, fmt::format("frame {} appears twice in the keys of '{}'", key.frame, d.name));
      good = false;
    }
    keys.push_back(key);
  }
  Interpolation interpolation = std::is_same_v<T, bool> ? Interpolation::step : Interpolation::linear;
  if (const Value* word = value.find("interpolation"))
    good = read_interpolation(*word, interpolation, d, reader) && good;
  if (good) out = Parameter<T>::animation(std::move(keys), interpolation);
  return good;
}

bool is_attribute_name(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || name.size() > 100 || !letter(name[0])) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

bool read_remap(const Value& value, AttributeBinding& out, const FieldDescription& d, Reader& reader) {
  if (d.type != FieldType::number && d.type != FieldType::integer) {
    reader.error(value.where, fmt::format("'{}' is not a single number and cannot be remapped", d.name));
    return false;
  }
  if (!expect_list(value, 2, d, reader)) return false;
  out.has_remap = true;
  const bool low = read_scalar(value.items[0], out.low, d, reader);
  return read_scalar(value.items[1], out.high, d, reader) && low;
}

template <class T>
bool read_attribute(const Value& value, Parameter<T>& out, const FieldDescription& d, Reader& reader) {
  bool good = only_keys(value, {"attribute", "remap", "default"}, d, reader);
  AttributeBinding binding;
  const Value& name = *value.find("attribute");
  if (!name.is_scalar() || !is_attribute_name(name.text)) {
    reader.error(name.where,
                 fmt::format("'{}' binds to {}, which is not the name of an attribute", d.name, name.describe()));
    good = false;
  }
  binding.name = name.text;
  if (const Value* remap = value.find("remap")) good = read_remap(*remap, binding, d, reader) && good;
  T otherwise = out.constant();
  if (const Value* given = value.find("default")) good = read_scalar(*given, otherwise, d, reader) && good;
  if (good && !d.attributable) {
    reader.error(value.where, fmt::format("'{}' cannot come from an attribute; give a value or {{keys: …}}", d.name));
    return false;
  }
  if (good) out = Parameter<T>::bound(std::move(binding), otherwise);
  return good;
}

}  // namespace

template <class T>
bool read_parameter(const Value& value, Parameter<T>& out, const FieldDescription& d, Reader& reader) {
  if (value.is_map()) {
    if (value.find("keys")) return read_keys(value, out, d, reader);
    if (value.find("attribute")) return read_attribute(value, out, d, reader);
    reader.error(value.where,
                 fmt::format("'{}' is a mapping, but should be a value, {{keys: …}} or {{attribute: …}}", d.name));
    return false;
  }
  T constant{};
  if (!read_scalar(value, constant, d, reader)) return false;
  out = Parameter<T>(constant);
  return true;
}

template <class T>
Value write_parameter(const Parameter<T>& value, const Writer& writer) {
  if (value.attribute()) {
    Value map = Value::map();
    map.set("attribute", Value::quoted_text(value.attribute()->name));
    if (value.attribute()->has_remap)
      map.set("remap", Value::list({write_scalar(value.attribute()->low, writer),
                                    write_scalar(value.attribute()->high, writer)}));
    map.set("default", write_scalar(value.constant(), writer));
    return map;
  }
  if (value.keys().empty()) return write_scalar(value.constant(), writer);
  Value keys = Value::map(), map = Value::map();
  for (const auto& key : value.keys())
    keys.entries.push_back({write_scalar(key.frame, writer).text, {}, write_scalar(key.value, writer)});
  map.set("keys", std::move(keys));
  static constexpr const char* words[] = {"linear", "smooth", "step"};
  const bool usual = value.interpolation() == (std::is_same_v<T, bool> ? Interpolation::step : Interpolation::linear);
  if (!usual) map.set("interpolation", Value::quoted_text(words[static_cast<int>(value.interpolation())]));
  return map;
}

template bool read_parameter(const Value&, Parameter<double>&, const FieldDescription&, Reader&);
template bool read_parameter(const Value&, Parameter<Vec3d>&, const FieldDescription&, Reader&);
template bool read_parameter(const Value&, Parameter<bool>&, const FieldDescription&, Reader&);
template bool read_parameter(const Value&, Parameter<int>&, const FieldDescription&, Reader&);
template Value write_parameter(const Parameter<double>&, const Writer&);
template Value write_parameter(const Parameter<Vec3d>&, const Writer&);
template Value write_parameter(const Parameter<bool>&, const Writer&);
template Value write_parameter(const Parameter<int>&, const Writer&);

}  // namespace aegir
