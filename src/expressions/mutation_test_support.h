// Snippets that are nearly right: good ones with words taken out, doubled, swapped, replaced, and characters changed.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace aegir::expression::testing {

inline constexpr std::array good_snippets{
    "v@v += {0.0f, -9.81f, 0.0f} * $dt; v@P += v@v * $dt;",
    "int offset = 12345; float threshold = 0.5; if (rand(offset + int@id) > threshold) { deletepoint(); }",
    "vec3f dV = {2, 0, 0} - v@v; float l = length(dV); float C = 0; if (l > 1) C = 24 / l; else C = 0.4; @rad *= C;",
    "for (int i = 0; i < 10; ++i) { if (i == 3) continue; if (i == 7) break; @heat += i; }",
    "int n = 5; while (n > 0) { n--; f@heat += rand(); } do { ++n; } while (n < 4);",
    "mat3f m = {1,2,3, 4,5,6, 7,8,10}; mat3f n = transpose(m) * m; v@v = transform(v@v, n); @heat = determinant(n);",
    "mat4d m = identity4(); prescale(m, {1, 2, 3}); vec4d q = {1, 2, 3, 4}; q = q * m; double@a = q[3] + m[1, 2];",
    "string s = \"abc\"; string t = s + \"defghijklmnopqrstuvw\"; @heat = hash(t); if (@heat > 3) return; s += t; s = "
    "@heat > 1 ? s : t;",
    "@heat = fit(@heat, 0, 1, 10, 20); v@n = normalize(cross(v@v, {0, 1, 0})); @b = dot(v@n, v@v) ?: 3;",
    "addtogroup(\"wet\"); if (ingroup(\"wet\") && !ingroup(\"dry\")) removefromgroup(\"dry\");",
    "int a = 7; a <<= 2; a >>= 1; a |= 3; a &= ~1; a ^= 5; a %= 4; i@n = a; int64@m = int64(a); bool b = a > 1; @c = "
    "b;",
    "v@v.x = 1; v@v[1] = 2; v@v.z += v@v.y; vec2i k = {1, 2}; k += 1; i@n = k[0] + k[1]; v@w = v$wind * "
    "external(\"dt\");",
    "@heat = simplexnoise(v@P) + simplexnoise(1, 2); vec3d c = curlsimplexnoise(v@P); v@w = c.y; v@v = "
    "hsvtorgb(rgbtohsv({0.2, 0.3, 0.4})); @a = "
    "hash(\"x\");",
    "float x = 1, y = 2; { float x = 3; y = x; } @a = (x, y); @b = -x + +y - !x; @c = x < y || x > y && x != y;",
    "@a = sample(\"air\", \"density\", v@P); v@w = sample(\"air\", \"vel\", v@P); i@n = neighbourcount(0.1);",
    "@a = distance(\"air\") < 0 && v@v < 3 ? 1 : 2; vec4i q = {1, 2, 3, 4}; @b = 2.5 >= q;",
    "v@w = neighbouraverage(\"v\", 0.05f); @a = pow(@rad, 3.0f) + sqrt(abs(@heat)) + atan2(1, 2) + floormod(-5, 3);",
    "mat3d u; mat3d s; mat3d m = 2; polardecompose(m, u, s); @a = trace(u) + isnan(@rad) + signbit(-1.0) + sign(-3);",
    "@a = int(3.5) + 2l + 3.0 + 4.f + true; v@v = max(1, 2); @b = clamp(3, 1, 2) ? lerp(1, 2, 0.5) : floor(1.5);",
};

inline constexpr std::array words{
    "@a",       "v@v",       "v@P",       "@P",          "i@n",     "@rad",   "$dt",
    "v$wind",   "float",     "int",       "vec3f",       "vec3d",   "mat3f",  "mat4d",
    "string",   "bool",      "vec2i",     "vec4f",       "int64",   "int16",  "if",
    "else",     "for",       "while",     "do",          "return",  "break",  "continue",
    "{",        "}",         "(",         ")",           "[",       "]",      ";",
    ",",        "=",         "+=",        "-=",          "*=",      "/=",     "%=",
    "<<",       ">>=",       "+",         "-",           "*",       "/",      "%",
    "&",        "|",         "^",         "~",           "!",       "&&",     "||",
    "==",       "!=",        "<",         ">=",          "?",       ":",      "++",
    "--",       ".x",        "0",         "1",           "2.5f",    "3.0",    "99999999999999999999",
    "1e40f",    "0.",        "\"s\"",     "\"\"",        "length",  "rand",   "sample",
    "dot",      "transpose", "identity3", "deletepoint", "ingroup", "print",  "max",
    "external", "a",         "b",         "m",           "//",      "/*",     "\\",
    "#",        "\"",        "'",         "@",           "$",       "vec3f@", "mat3f@m",
    "s@t",      "true",      "half",      "uint",        "char@c",  "sort",   "polardecompose",
    "argsort",
};

/// What may stand where a value stands, and where an operator stands: mutations that still parse reach the generator.
inline constexpr std::array values{
    "@a",
    "v@v",
    "v@P",
    "@P.x",
    "i@n",
    "@rad",
    "$dt",
    "v$wind",
    "1",
    "0",
    "2.5f",
    "3.0",
    "2l",
    "true",
    "-1",
    "\"s\"",
    "a",
    "m",
    "s",
    "x",
    "v@v[1]",
    "v@v[i]",
    "{1, 2}",
    "{1, 2, 3}",
    "{1.0, 2, 3, 4}",
    "{1, v@v, 3}",
    "identity3()",
    "identity4()",
    "deletepoint()",
    "rand()",
    "rand(v@v)",
    "length(v@v)",
    "(1, 2)",
    "int(1.5)",
    "float(v@v)",
    "i",
    "n",
    "mat3f@m",
    "mat4d@k",
    "vec4i@q",
    "m[0, 1]",
    "m[n]",
    "hash(s)",
    "99999999999999999999",
    "(@a = 2)",
    "++i@n",
    "1 / 0",
    "1 % 0",
    "1 << 99",
    "int(1e30)",
    "{}",
    "@P",
    "bool@b",
    "sample(\"air\", \"vel\", @P)",
    "distance(\"air\")",
    "neighbourcount(s)",
    "transpose(v@v)",
    "ingroup(\"x\")",
    "int16@h",
    "vec3d@P",
    "string(1)",
};
inline constexpr std::array operators{
    " + ",  " - ", " * ",  " / ",     " % ",  " & ", " | ",  " ^ ",  " << ", " >> ",  " && ", " || ", " == ",
    " != ", " < ", " >= ", " ? 1 : ", " ?: ", " = ", " += ", " *= ", " %= ", " <<= ", " |= ", ", ",   "; ",
};

/// Variables of every type, and every function to call with them.
inline constexpr const char* variables =
    "bool b = true; int i = 1; int64 l = 2l; float x = 1; double d = 2; vec2i p = 1; vec2f q = 2; vec2d e = 3; vec3i j "
    "= 1; "
    "vec3f v = 2; vec3d w = 3; vec4i f = 1; vec4f g = 2; vec4d h = 3; mat3f m = 1; mat3d n = 2; mat4f o = 3; mat4d k = "
    "4; "
    "string s = \"1\"; ";
inline constexpr std::array arguments{"b", "i", "l",   "x",    "d",   "p",  "q",     "e",    "j",
                                      "v", "w", "f",   "g",    "h",   "m",  "n",     "o",    "k",
                                      "s", "1", "2.5", "3.5f", "v@v", "@a", "\"1\"", "true", "deletepoint()"};
inline constexpr std::array functions{
    "abs",
    "acos",
    "acosh",
    "addtogroup",
    "adjoint",
    "argsort",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "atof",
    "atoi",
    "cbrt",
    "ceil",
    "clamp",
    "cofactor",
    "cos",
    "cosh",
    "cross",
    "curlsimplexnoise",
    "degrees",
    "deletepoint",
    "determinant",
    "diag",
    "dot",
    "euclideanmod",
    "exp",
    "exp2",
    "external",
    "externalv",
    "fabs",
    "fit",
    "floor",
    "floormod",
    "getcoord",
    "getcoordx",
    "getvoxelpws",
    "hash",
    "hsvtorgb",
    "identity3",
    "identity4",
    "ingroup",
    "inverse",
    "isfinite",
    "isinf",
    "isnan",
    "length",
    "lengthsq",
    "lerp",
    "log",
    "log10",
    "log2",
    "max",
    "min",
    "normalize",
    "polardecompose",
    "postscale",
    "pow",
    "prescale",
    "pretransform",
    "print",
    "radians",
    "rand",
    "rand32",
    "removefromgroup",
    "rgbtohsv",
    "round",
    "sign",
    "signbit",
    "simplexnoise",
    "sin",
    "sinh",
    "sort",
    "sqrt",
    "tan",
    "tanh",
    "trace",
    "transform",
    "transpose",
    "truncatemod",
    "sample",
    "distance",
    "neighbourcount",
    "neighbouraverage",
    "isactive",
    "getattribute",
    "string",
};

/// A stream of small random numbers.
class Dice {
 public:
  explicit Dice(std::uint64_t id) : random_(7, id, 0, Purpose::test) {}
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_.bits(next_++) % n); }

 private:
  Random random_;
  std::uint32_t next_ = 0;
};

/// Words and single characters, each with the spaces before it.
inline std::vector<std::string> tokens_of(std::string_view text) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '@' || c == '$';
  };
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && text[end] == ' ') ++end;
    if (end < text.size() && is_word(text[end]))
      while (end < text.size() && is_word(text[end])) ++end;
    else if (end < text.size())
      ++end;
    tokens.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

/// Replaces a word by a value or an operator by another: mostly still a sentence of the language.
inline void mutate_gently(std::vector<std::string>& tokens, Dice& dice) {
  const std::size_t at = dice.below(tokens.size());
  const char last = tokens[at].back();
  const bool operation = std::string_view("+-*/%<").find(last) != std::string_view::npos;
  const bool word = std::isalnum(static_cast<unsigned char>(last));
  const bool call = at + 1 < tokens.size() && tokens[at + 1] == "(";
  const bool doubled = at + 1 < tokens.size() && std::ispunct(static_cast<unsigned char>(tokens[at + 1].back()));
  if (operation && !doubled) tokens[at] = operators[dice.below(operators.size())];
  if (word && !call) tokens[at] = std::string(" ") + values[dice.below(values.size())];
}

/// A function, or an operator, with arguments of types that may not fit.
inline std::string call(Dice& dice) {
  const auto argument = [&] { return std::string(arguments[dice.below(arguments.size())]); };
  if (dice.below(4) == 0)
    return variables + ("x = " + argument()) + operators[dice.below(operators.size())] + argument() + ";";
  const std::string name = functions[dice.below(functions.size())];
  const std::size_t most = name == "fit" ? 5 : name == "clamp" || name == "lerp" ? 3 : 1 + dice.below(3);
  std::string list = dice.below(8) == 0 ? "" : argument();
  for (std::size_t a = 1; a < most && !list.empty(); ++a) list += ", " + argument();
  const std::array targets{"", "@a = ", "v@v = ", "x = ", "string t = ", "mat3f@r = ", "bool c = ", "v.x += "};
  return variables + (targets[dice.below(targets.size())] + name) + "(" + list + ");";
}

/// The snippet of this number; the same every time.
inline std::string mutated(std::uint64_t number) {
  Dice dice(number);
  if (dice.below(3) == 0) return call(dice);
  std::string text = good_snippets[dice.below(good_snippets.size())];
  if (dice.below(4) == 0) text += std::string(" ") + good_snippets[dice.below(good_snippets.size())];
  std::vector<std::string> tokens = tokens_of(text);
  if (dice.below(3) > 0) {
    for (std::size_t turn = 1 + dice.below(3); turn-- > 0;) mutate_gently(tokens, dice);
  }
  for (std::size_t turn = dice.below(3) > 0 ? 0 : 1 + dice.below(4); turn-- > 0 && !tokens.empty();) {
    const std::size_t at = dice.below(tokens.size()), other = dice.below(tokens.size());
    const std::string word = std::string(" ") + words[dice.below(words.size())] + (dice.below(2) ? " " : "");
    const auto place = tokens.begin() + static_cast<std::ptrdiff_t>(at);
    switch (dice.below(14)) {
      case 0:
        tokens.erase(place);
        break;
      case 1:
        tokens.insert(place, tokens[other]);
        break;
      case 2:
        std::swap(tokens[at], tokens[other]);
        break;
      case 3:
        tokens[at] = word;
        break;
      case 4:
        tokens.insert(place, word);
        break;
      case 5:
        tokens[at][dice.below(tokens[at].size())] = static_cast<char>(1 + dice.below(255));
        break;
      case 7:
      case 8:
      case 9:
      case 10:
        tokens[at] = std::string(" ") + values[dice.below(values.size())];
        break;
      case 11:
        tokens[at] += std::string(operators[dice.below(operators.size())]) + values[dice.below(values.size())];
        break;
      case 12:
        tokens[at] = operators[dice.below(operators.size())];
        break;
      default: {
        const std::size_t first = std::min(at, other), last = std::max(at, other);
        const std::vector<std::string> part(tokens.begin() + static_cast<std::ptrdiff_t>(first),
                                            tokens.begin() + static_cast<std::ptrdiff_t>(last));
        const std::size_t into = dice.below(tokens.size());
        tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(into), part.begin(), part.end());
      }
    }
  }
  std::string result;
  for (const std::string& t : tokens) result += t;
  return result;
}

}  // namespace aegir::expression::testing
