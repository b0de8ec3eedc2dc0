#include "io/ply.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <vector>

namespace aegir {

namespace {

enum class Format { ascii, little, big };
enum class Number { i8, u8, i16, u16, i32, u32, f32, f64 };

struct Property {
  std::string name;
  Number type = Number::f32;
  std::optional<Number> count_type;  // set for lists
};

struct Element {
  std::string name;
  std::uint64_t count = 0;
  std::vector<Property> properties;
};

struct Header {
  Format format = Format::ascii;
  std::vector<Element> elements;
  std::size_t size = 0;
};

constexpr std::size_t most_elements = 1000, most_properties = 10000;

std::size_t size_of(Number type) {
  constexpr std::size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 8};
  return sizes[static_cast<std::size_t>(type)];
}

std::optional<Number> number_named(std::string_view name) {
  constexpr std::pair<std::string_view, Number> names[] = {
      {"char", Number::i8},   {"int8", Number::i8},     {"uchar", Number::u8},   {"uint8", Number::u8},
      {"short", Number::i16}, {"int16", Number::i16},   {"ushort", Number::u16}, {"uint16", Number::u16},
      {"int", Number::i32},   {"int32", Number::i32},   {"uint", Number::u32},   {"uint32", Number::u32},
      {"float", Number::f32}, {"float32", Number::f32}, {"double", Number::f64}, {"float64", Number::f64}};
  for (const auto& [known, type] : names)
    if (known == name) return type;
  return {};
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t begin = line.find_first_not_of(" \t\r", at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    at = end;
  }
  return words;
}

/// Reads the header line by line and stops at the first line that makes no sense.
class HeaderReader {
 public:
  HeaderReader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Result<Header> read() {
    std::string_view line;
    if (!next(line) || words_of(line) != std::vector<std::string_view>{"ply"})
      return error("a PLY file starts with 'ply'");
    while (next(line)) {
      const auto words = words_of(line);
      if (words.empty() || words[0] == "comment" || words[0] == "obj_info") continue;
      if (words[0] == "end_header") {
        if (!format_seen_) return error("the header names no format");
        header_.size = at_;
        return header_;
      }
      Status s = words[0] == "format"    ? format(words)
                 : words[0] == "element" ? element(words)
                 : words[0] == "property"
                     ? property(words)
                     : Status(error(fmt::format("'{}' is not a PLY keyword", words[0].substr(0, 40))));
      if (!s) return s.error();
    }
    return error("the header has no end_header");
  }

 private:
  Error error(std::string message) const { return {Failure::io, std::move(message), {name_, std::max(line_, 1), 1}}; }

  bool next(std::string_view& line) {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) return false;
    line = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    ++line_;
    return true;
  }

  Status format(const std::vector<std::string_view>& words) {
    if (words.size() != 3 || words[2] != "1.0") return error("expected 'format NAME 1.0'");
    if (words[1] == "ascii")
      header_.format = Format::ascii;
    else if (words[1] == "binary_little_endian")
      header_.format = Format::little;
    else if (words[1] == "binary_big_endian")
      header_.format = Format::big;
    else
      return error("the format must be ascii, binary_little_endian or binary_big_endian");
    format_seen_ = true;
    return {};
  }

  Status element(const std::vector<std::string_view>& words) {
    Element e;
    if (words.size() != 3) return error("expected 'element NAME COUNT'");
    const auto [end, code] = std::from_chars(words[2].data(), words[2].data() + words[2].size(), e.count);
    if (code != std::errc() || end != words[2].data() + words[2].size())
      return error("the element count is not a number");
    if (header_.elements.size() == most_elements) return error("too many elements");
    e.name = words[1];
    for (const auto& other : header_.elements)
      if (other.name == e.name) return error(fmt::format("element '{}' is there twice", e.name));
    header_.elements.push_back(std::move(e));
    return {};
  }

  Status property(const std::vector<std::string_view>& words) {
    const bool list = words.size() == 5 && words[1] == "list";
    if (!list && words.size() != 3) return error("expected 'property TYPE NAME' or 'property list TYPE TYPE NAME'");
    if (header_.elements.empty()) return error("a property before the first element");
    auto& properties = header_.elements.back().properties;
    const auto type = number_named(words[list ? 3 : 1]);
    const auto count_type = list ? number_named(words[2]) : std::nullopt;
    if (!type || (list && !count_type)) return error("unknown number type");
    if (list && (*count_type == Number::f32 || *count_type == Number::f64))
      return error("a list is counted by an integer");
    if (!names_.emplace(header_.elements.size(), words.back()).second)
      return error(fmt::format("property '{}' is there twice", words.back()));
    if (properties.size() == most_properties) return error("too many properties");
    properties.push_back({std::string(words.back()), *type, count_type});
    return {};
  }

  std::string_view bytes_;
  const std::string& name_;
  Header header_;
  std::set<std::pair<std::size_t, std::string>> names_;
  std::size_t at_ = 0;
  int line_ = 0;
  bool format_seen_ = false;
};

/// Takes numbers one after the other from the body, whatever its encoding.
class Body {
 public:
  Body(std::string_view bytes, std::size_t at, Format format) : bytes_(bytes), at_(at), format_(format) {}

  std::size_t left() const { return bytes_.size() - at_; }
  bool failed() const { return failed_; }
  /// The fewest bytes a number can take.
  std::size_t smallest(Number type) const { return format_ == Format::ascii ? 1 : size_of(type); }

  double next(Number type) {
    if (failed_) return 0;
    if (format_ != Format::ascii) return next_binary(type);
    const double value = next_text();
    return type == Number::f32 ? static_cast<double>(static_cast<float>(value)) : value;
  }

  /// Where reading stands, as `line:column` for text.
  Error error(std::string message, const std::string& name) const {
    if (format_ != Format::ascii) return {Failure::io, fmt::format("{} at byte {}", message, at_), {name, 0, 0}};
    const std::string_view before = bytes_.substr(0, at_);
    const auto line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
    const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
    return {Failure::io, std::move(message), {name, line, static_cast<int>(at_ - start) + 1}};
  }

 private:
  double fail() {
    failed_ = true;
    return 0;
  }

  double next_text() {
    const std::size_t begin = std::min(bytes_.find_first_not_of(" \t\r\n", at_), bytes_.size());
    at_ = begin;
    std::size_t end = std::min(bytes_.find_first_of(" \t\r\n", begin), bytes_.size());
    if (begin < end && bytes_[begin] == '+') at_ = begin + 1;
    double value = 0;
    const auto [stop, code] = std::from_chars(bytes_.data() + at_, bytes_.data() + end, value);
    if ((code != std::errc() && code != std::errc::result_out_of_range) || stop != bytes_.data() + end) return fail();
    // Out of range is either nothing or infinite; from_chars does not say which.
    if (code != std::errc()) value = std::strtod(std::string(bytes_.substr(at_, end - at_)).c_str(), nullptr);
    at_ = end;
    return value;
  }

  template <class T>
  double take() {
    unsigned char raw[sizeof(T)];
    std::memcpy(raw, bytes_.data() + at_, sizeof(T));
    if (format_ == Format::big) std::reverse(raw, raw + sizeof(T));
    at_ += sizeof(T);
    T value;
    std::memcpy(&value, raw, sizeof(T));
    return static_cast<double>(value);
  }

  double next_binary(Number type) {
    static_assert(std::endian::native == std::endian::little);
    if (left() < size_of(type)) return fail();
    switch (type) {
      case Number::i8:
        return take<std::int8_t>();
      case Number::u8:
        return take<std::uint8_t>();
      case Number::i16:
        return take<std::int16_t>();
      case Number::u16:
        return take<std::uint16_t>();
      case Number::i32:
        return take<std::int32_t>();
      case Number::u32:
        return take<std::uint32_t>();
      case Number::f32:
        return take<float>();
      case Number::f64:
        return take<double>();
    }
    return fail();
  }

  std::string_view bytes_;
  std::size_t at_;
  Format format_;
  bool failed_ = false;
};

/// Fills a mesh element by element.
class Reader {
 public:
  Reader(Body body, const std::string& name, bool finite) : body_(body), name_(name), finite_(finite) {}

  Result<TriangleMesh> read(const Header& header) {
    for (const auto& element : header.elements) {
      if (element.properties.empty()) continue;
      std::size_t smallest = 0;
      for (const auto& p : element.properties) smallest += body_.smallest(p.count_type.value_or(p.type));
      if (element.count > body_.left() / smallest)
        return error(fmt::format("the file is too short for {} elements '{}'", element.count, element.name));
      Status s = element.name == "vertex" ? vertices(element) : element.name == "face" ? faces(element) : skip(element);
      if (!s) return s.error();
    }
    for (const auto& t : mesh_.triangles)
      for (int k = 0; k < 3; ++k)
        if (t[k] < 0 || static_cast<std::size_t>(t[k]) >= mesh_.positions.size())
          return error(fmt::format("a face uses vertex {} of {}", t[k], mesh_.positions.size()));
    return std::move(mesh_);
  }

 private:
  Error error(std::string message) const { return body_.error(std::move(message), name_); }
  Error broken() const { return error(body_.left() == 0 ? "the file is cut short" : "a number is expected"); }

  /// Reads a list and its length; false when the rest of the file cannot hold it.
  bool list(const Property& p, std::vector<double>* values) {
    const double n = body_.next(*p.count_type);
    if (body_.failed() || !(n >= 0) || n != std::floor(n) ||
        n > static_cast<double>(body_.left() / body_.smallest(p.type)))
      return false;
    if (values) values->clear();
    for (auto left = static_cast<std::size_t>(n); left > 0 && !body_.failed(); --left) {
      const double value = body_.next(p.type);
      if (values) values->push_back(value);
    }
    return !body_.failed();
  }

  Status vertices(const Element& element) {
    if (element.count > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
      return error("more vertices than an index can address");
    const auto count = static_cast<std::size_t>(element.count);
    mesh_.positions.resize(count);
    std::vector<std::vector<float>*> scalar(element.properties.size(), nullptr);
    std::vector<int> axis(element.properties.size(), -1);
    int axes = 0;
    for (std::size_t p = 0; p < axis.size(); ++p) {
      const Property& property = element.properties[p];
      if (property.count_type) continue;
      axis[p] = property.name == "x" ? 0 : property.name == "y" ? 1 : property.name == "z" ? 2 : -1;
      axes += axis[p] >= 0;
      if (axis[p] < 0) (scalar[p] = &mesh_.scalars[property.name])->resize(count);
    }
    if (axes != 3) return error("vertices need the properties x, y and z");
    for (std::size_t v = 0; v < count; ++v) {
      for (std::size_t p = 0; p < axis.size(); ++p) {
        if (element.properties[p].count_type) {
          if (!list(element.properties[p], nullptr)) return error("a list does not fit into the file");
          continue;
        }
        const double value = body_.next(element.properties[p].type);
        if (axis[p] >= 0)
          mesh_.positions[v][axis[p]] = value;
        else
          (*scalar[p])[v] = static_cast<float>(value);
      }
      if (body_.failed()) return broken();
      if (finite_ && !is_finite(mesh_.positions[v])) return error(fmt::format("vertex {} is not finite", v));
    }
    return {};
  }

  Status faces(const Element& element) {
    std::vector<double> corners;
    for (std::uint64_t f = 0; f < element.count; ++f) {
      for (const auto& p : element.properties) {
        const bool indices = p.count_type && (p.name == "vertex_indices" || p.name == "vertex_index");
        if (p.count_type) {
          if (!list(p, indices ? &corners : nullptr)) return error("a list does not fit into the file");
        } else {
          body_.next(p.type);
        }
        if (body_.failed()) return broken();
        if (indices)
          if (Status s = fan(corners); !s) return s;
      }
    }
    return {};
  }

  Status fan(const std::vector<double>& corners) {
    for (const double c : corners)
      if (!(c >= 0 && c <= std::numeric_limits<std::int32_t>::max()) || c != std::floor(c))
        return error(fmt::format("{} is not the index of a vertex", c));
    for (std::size_t k = 2; k < corners.size(); ++k)
      mesh_.triangles.emplace_back(static_cast<std::int32_t>(corners[0]), static_cast<std::int32_t>(corners[k - 1]),
                                   static_cast<std::int32_t>(corners[k]));
    return {};
  }

  Status skip(const Element& element) {
    for (std::uint64_t e = 0; e < element.count; ++e) {
      for (const auto& p : element.properties) {
        if (!p.count_type)
          body_.next(p.type);
        else if (!list(p, nullptr))
          return error("a list does not fit into the file");
      }
      if (body_.failed()) return broken();
    }
    return {};
  }

  Body body_;
  const std::string& name_;
  bool finite_;
  TriangleMesh mesh_;
};

}  // namespace

namespace {

Result<TriangleMesh> parse(std::string_view bytes, const std::string& name, bool finite) {
  const auto header = HeaderReader(bytes, name).read();
  if (!header) return header.error();
  return Reader(Body(bytes, header->size, header->format), name, finite).read(*header);
}

}  // namespace

Result<TriangleMesh> parse_ply(std::string_view bytes, const std::string& name) { return parse(bytes, name, true); }

Result<TriangleMesh> parse_ply_points(std::string_view bytes, const std::string& name) {
  return parse(bytes, name, false);
}

}  // namespace aegir
