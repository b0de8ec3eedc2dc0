// What the conformance table holds: every statement, operator, type and function of AX as a snippet that writes its
// results to attributes. A test runs each on channels and on a VDB with AX's own executable.
#pragma once

#include <string_view>
#include <vector>

#include "expressions/program.h"

namespace aegir::expression::testing {

struct Case {
  std::string_view kind;  ///< statement, operator, type, function
  std::string_view name;
  std::string_view text;
  Elements elements = Elements::particles;
};

/// What is not the same as in AX, and why.
struct Exception {
  std::string_view name;
  std::string_view reason;
};

inline const std::vector<Case>& conformance_cases() {
  constexpr auto voxels = Elements::voxels;
  static const std::vector<Case> cases = {
      {"statement", "declaration", "float x = @a, y = 2; int k; k = 3; float@r = x * y + k;"},
      {"statement", "assignment", "float@r = @a; vec3f@u = vec3f@v; vec3f@w = 2; float@s = float@t = @b;"},
      {"statement", "if else", "if (@a > 0) @r = 1; else if (@b > 0) { @r = 2; } else @r = 3; if (@a < @b) @r += 10;"},
      {"statement", "for", "float s = 0; for (int k = 0; k < 7; ++k) { s += k * @a; } @r = s; for (;;) { break; }"},
      {"statement", "for, length of data", "@r = 0; for (int k = 0; k < abs(int@n); k++) @r += k;"},
      {"statement", "while", "int k = int@n; @r = 0; while (k > 0) { k--; @r += 1; }"},
      {"statement", "do while", "int k = 0; do { ++k; } while (k < int@n); int@r = k;"},
      {"statement", "break, continue",
       "@r = 0; for (int k = 0; k < 9; ++k) { if (k == 2) continue; if (k > 5) break; @r += k; }"},
      {"statement", "return", "@r = 1; if (@a > 0) return; @r = 2;"},
      {"statement", "block, shadowing", "float x = 1; { float x = @a; @s = x; } @r = x;"},
      {"statement", "comma", "float x = (@a, @b); @r = x;"},
      {"statement", "comment", "@r = 1; // @r = 2;\n@s = 4; // the end"},
      {"statement", "parts of an attribute", "vec3f@v.x = @a; vec3f@v[1] += 2; @r = vec3f@v.z; @s = vec3f@v[int@m];"},

      {"statement", "position", "vec3f@v = vec3f@P; vec3f@P *= 1.5f; if (@a > 0) vec3f@P = {1.25f, 2.5f, 3.75f};"},
      {"statement", "position, moved", "vec3f@P += {0.25f, 0.5f, -1}; vec3f@P.y -= 2;"},

      {"operator", "+ - * /", "@r = @a + @b; @s = @a - @b; @t = @a * @b; @q = @a / @b; int@i = int@n + int@m * 3 - 4;"},
      {"operator", "%", "@r = @a % @b; int@i = int@n % 3; int@j = -7 % 3; double@d = 5.5 % 2.0;"},
      {"operator", "unary + - ! ~", "@r = -@a; @s = +@a; int@i = ~int@n; bool@c = !int@n; vec3f@u = -vec3f@v;"},
      {"operator", "& | ^ << >>",
       "int@i = int@n & 6; int@j = int@n | 9; int@k = int@n ^ 5; int@l = int@m << 2; int@o = int@n >> 1;"},
      {"operator", "== != < > <= >=",
       "int@i = (@a == @b) + 2 * (@a != @b) + 4 * (@a < @b) + 8 * (@a > @b) + 16 * (@a <= 0.5f) + 32 * (@a >= 0.5f);"},
      {"operator", "&& ||",
       "int@i = (@a > 0 && @b > 0) + 2 * (@a > 0 || @b > 0); int k = 0; bool c = @a > 0 && ++k; int@j = k;"},
      {"operator", "?: and ?",
       "@r = @a > 0 ? @b : 3; @s = int@n ?: 7; vec3f@u = @a > 0 ? vec3f@v : {1.0f, 2.0f, 3.0f};"},
      {"operator",
       "+= -= *= /= %=", "@a += 2; @b -= @a; @r = @a; @r *= @b; @s = 5; @s /= @a; int@n %= 3; vec3f@v *= 2;"},
      {"operator", "&= |= ^= <<= >>=", "int@n &= 7; int@m |= 8; int k = int@n; k ^= 3; k <<= 2; k >>= 1; int@r = k;"},
      {"operator", "++ --", "int@n++; --int@m; float x = @a; @r = x++; @s = ++x; @t = x--;"},
      {"operator", "vector arithmetic",
       "vec3f@r = vec3f@v + vec3f@w * 2 - 1; vec3f@s = vec3f@v / 3; int@i = vec3f@v == vec3f@v; int@j = vec3f@v != "
       "vec3f@w;"},
      {"operator", "matrix arithmetic",
       "mat3f m = {1,2,3,4,5,6,7,8,@a}; mat3f k = m * m + m - 2; vec3f@r = vec3f@v * m; vec3f@s = m * vec3f@v; @t = "
       "k[1, 2] + k[4];"},
      {"operator", "implicit conversion",
       "int@i = 2.75f * @a; @r = int@n; double@d = @a; vec3d@e = vec3f@v; bool@c = @a; int64@l = int@n;"},

      {"type", "bool", "bool x = @a > 0; bool@r = x; bool@s = !bool@r;"},
      {"type", "int16", "int16@r = int@n * 2; int@s = int16@r;"},
      {"type", "int32", "int x = 2147483647; int32@r = x; int@s = int@n * 1000;"},
      {"type", "int64", "int64 x = 1099511627776l; int64@r = x + int@n;"},
      {"type", "float", "float x = 1.5f; float@r = x * @a; float@s = 1e-3f;"},
      {"type", "double", "double x = 0.1; double@r = x * @a; double@s = double@r + 1.0;"},
      {"type", "vec2i", "vec2i x = {1, int@n}; vec2i@r = x * 2; int@s = x.y;"},
      {"type", "vec2f", "vec2f x = {1.0f, @a}; vec2f@r = x; @s = length(vec2f@r);"},
      {"type", "vec2d", "vec2d x = {1.0, 2.0}; vec2d@r = x * @a;"},
      {"type", "vec3i", "vec3i x = {1, 2, int@n}; vec3i@r = x; int@s = vec3i@r.z;"},
      {"type", "vec3f", "vec3f x = {1.0f, @a, @b}; vec3f@r = x; v@s = v@v;"},
      {"type", "vec3d", "vec3d x = vec3f@v; vec3d@r = x / 3.0;"},
      {"type", "vec4i", "vec4i x = {1, 2, 3, int@n}; vec4i@r = x + 1;"},
      {"type", "vec4f", "vec4f x = {1.0f, 2.0f, @a, @b}; vec4f@r = x; @s = x[3];"},
      {"type", "vec4d", "vec4d x = {1.0, 2.0, 3.0, 4.0}; vec4d@r = x * @a;"},
      {"type", "mat3f", "mat3f x = 2; x[0, 1] = @a; mat3f@r = x; @s = x[1];"},
      {"type", "mat3d", "mat3d x = 2; x[2, 2] = @a; mat3d@r = x * x;"},
      {"type", "mat4f", "mat4f x = 3; x[3, 0] = @b; mat4f@r = x;"},
      {"type", "mat4d", "mat4d x = 1; x[1, 3] = @b; mat4d@r = x + x;"},
      {"type", "string", "string s = \"abc\"; string t = s + \"defghijklmnopqrstuvwxyz\"; s = t; int64@r = hash(s);"},
      {"type", "casts",
       "int@i = int(@a * 10); @r = float(int@n) / 2; double@d = double(@a); bool@c = bool(int@n); int64@l = int64(@b * "
       "100);"},

      {"function", "abs", "@r = abs(@a); int@i = abs(int@n); double@d = abs(-2.5); int64@l = abs(-3l);"},
      {"function", "acos", "@r = acos(@u01); double@d = acos(0.25);"},
      {"function", "acosh", "@r = acosh(1 + abs(@a)); double@d = acosh(2.0);"},
      {"function", "addtogroup", "if (@a > 0) addtogroup(\"wet\"); int@i = ingroup(\"wet\");"},
      {"function", "adjoint",
       "mat3f m = {1,2,3,4,5,6,7,8,@a}; mat3f k = adjoint(m); @r = k[1] + k[5]; mat3d e = {1,2,3,4,5,6,7,8,9}; e = "
       "adjoint(e); double@d = e[2];"},
      {"function", "argsort",
       "vec3i@r = argsort(vec3f@v); vec4f q = {3.0f, 1.0f, @a, 2.0f}; vec4i k = argsort(q); int@i = k[0];"},
      {"function", "asin", "@r = asin(@u01); double@d = asin(0.25);"},
      {"function", "asinh", "@r = asinh(@a); double@d = asinh(0.25);"},
      {"function", "atan", "@r = atan(@a); double@d = atan(0.25);"},
      {"function", "atan2", "@r = atan2(@a, @b); double@d = atan2(0.25, -1.0);"},
      {"function", "atanh", "@r = atanh(@u01 * 0.5f); double@d = atanh(0.25);"},
      {"function", "atof", "double@r = atof(\"2.5\"); string s = \"-1e3\"; double@d = atof(s);"},
      {"function", "atoi", "int@r = atoi(\"42\"); string s = \"-7\"; int@i = atoi(s);"},
      {"function", "cbrt", "@r = cbrt(@a); double@d = cbrt(27.0);"},
      {"function", "ceil", "@r = ceil(@a); double@d = ceil(-1.5);"},
      {"function", "clamp",
       "@r = clamp(@a, -0.5f, 0.5f); int@i = clamp(int@n, -1, 2); double@d = clamp(3.0, 1.0, 2.0); int64@l = clamp(9l, "
       "1l, 5l);"},
      {"function", "cofactor",
       "mat3f m = {1,2,3,4,5,6,7,8,@a}; mat3f k = cofactor(m); @r = k[0] + k[7]; mat3d e = {1,2,3,4,5,6,7,8,9}; e = "
       "cofactor(e); double@d = e[1];"},
      {"function", "cos", "@r = cos(@a); double@d = cos(0.3);"},
      {"function", "cosh", "@r = cosh(@a); double@d = cosh(0.3);"},
      {"function", "cross",
       "vec3f@r = cross(vec3f@v, vec3f@w); vec3d d = vec3f@v; vec3d@s = cross(d, d * 2 + 1); vec3i k = {1, 2, int@n}; "
       "vec3i@t = cross(k, k + {1, 0, 0});"},
      {"function", "curlsimplexnoise", "vec3d@r = curlsimplexnoise(vec3f@v); vec3d@s = curlsimplexnoise(@a, @b, 0.5);"},
      {"function", "degrees", "@r = degrees(@a); double@d = degrees(1.0);"},
      {"function", "deletepoint", "@r = 1; if (@a > 0) deletepoint(); @r = 2;"},
      {"function", "determinant",
       "mat3f m = {1,2,3,4,5,6,7,8,@a}; @r = determinant(m); mat4d k = 2; k[0, 3] = @b; double@d = determinant(k);"},
      {"function", "diag",
       "mat3f m = diag(vec3f@v); vec3f@r = diag(m * 2); vec4d q = {1, 2, 3, 4}; mat4d k = diag(q); vec4d p = diag(k); "
       "double@d = p[3];"},
      {"function", "dot",
       "@r = dot(vec3f@v, vec3f@w); vec3d d = vec3f@v; double@d = dot(d, d); vec3i k = {1, 2, int@n}; int@i = dot(k, "
       "k);"},
      {"function", "euclideanmod",
       "@r = euclideanmod(@a, 0.7f); int@i = euclideanmod(int@n, 3); double@d = euclideanmod(-5.5, 2.0); int64@l = "
       "euclideanmod(-7l, 3l);"},
      {"function", "exp", "@r = exp(@a); double@d = exp(0.3);"},
      {"function", "exp2", "@r = exp2(@a); double@d = exp2(0.3);"},
      {"function", "external", "@r = external(\"dt\") * 2; @s = $dt;"},
      {"function", "externalv", "vec3f@r = externalv(\"wind\") * 2; vec3f@s = v$wind;"},
      {"function", "fabs", "@r = fabs(@a); double@d = fabs(-2.5);"},
      {"function", "fit",
       "@r = fit(@a, -1.0f, 1.0f, 10.0f, 20.0f); double@d = fit(0.3, 0.0, 1.0, 2.0, 3.0); double@e = fit(int@n, -5, 5, "
       "0, 100); double@f = fit(3l, 0l, 10l, 0l, 1l);"},
      {"function", "floor", "@r = floor(@a); double@d = floor(-1.5);"},
      {"function", "floormod",
       "@r = floormod(@a, 0.7f); int@i = floormod(int@n, 3); double@d = floormod(-5.5, 2.0); int64@l = floormod(-7l, "
       "3l);"},
      {"function", "hash", "int64@r = hash(\"drop\"); string s = \"abcdefghijklmnopqrstuvwxyz\"; int64@s = hash(s);"},
      {"function", "hsvtorgb",
       "vec3f c = {@u01, 0.5f, 0.7f}; vec3f@r = hsvtorgb(c); vec3d e = c; vec3d@s = hsvtorgb(e);"},
      {"function", "identity3", "mat3f m = identity3(); @r = m[0] + m[1] + m[4];"},
      {"function", "identity4", "mat4f m = identity4(); @r = m[0] + m[1] + m[5];"},
      {"function", "ingroup", "int@i = ingroup(\"none\"); addtogroup(\"wet\"); int@j = ingroup(\"wet\");"},
      {"function", "inverse",
       "mat3f m = {2,0,1,0,3,0,1,0,4}; m[0] += abs(@a); mat3f k = inverse(m); @r = k[0] + k[8]; mat3d e = 2; e = "
       "inverse(e); double@d = e[0];"},
      {"function", "isfinite",
       "bool@r = isfinite(@a / 0); bool@s = isfinite(vec3f@v); mat3f m = @a; bool@t = isfinite(m);"},
      {"function", "isinf", "bool@r = isinf(@a / 0); bool@s = isinf(vec3f@v / 0); mat4d m = 1; bool@t = isinf(m);"},
      {"function", "isnan", "bool@r = isnan(sqrt(@a)); bool@s = isnan(vec3f@v); mat3d m = 1; bool@t = isnan(m);"},
      {"function", "length",
       "@r = length(vec3f@v); vec2f p = {@a, @b}; @s = length(p); vec4d q = {1, 2, 3, 4}; double@d = length(q); vec3i "
       "k = {1, 2, int@n}; double@e = length(k);"},
      {"function", "lengthsq",
       "@r = lengthsq(vec3f@v); vec2f p = {@a, @b}; @s = lengthsq(p); vec4d q = {1, 2, 3, 4}; double@d = lengthsq(q); "
       "vec3i k = {1, 2, int@n}; int@i = lengthsq(k);"},
      {"function", "lerp", "@r = lerp(@a, @b, 0.25f); double@d = lerp(1.0, 2.0, 0.3);"},
      {"function", "log", "@r = log(@a); double@d = log(0.3);"},
      {"function", "log10", "@r = log10(@a); double@d = log10(0.3);"},
      {"function", "log2", "@r = log2(@a); double@d = log2(0.3);"},
      {"function", "max",
       "@r = max(@a, @b); int@i = max(int@n, int@m); double@d = max(1.0, 2.0); int64@l = max(3l, 4l);"},
      {"function", "min",
       "@r = min(@a, @b); int@i = min(int@n, int@m); double@d = min(1.0, 2.0); int64@l = min(3l, 4l);"},
      {"function", "normalize",
       "vec3f@r = normalize(vec3f@v + 3); vec4d q = {1, 2, 3, 4}; q = normalize(q); double@d = q[2]; vec3i k = {1, 2, "
       "3}; vec3d@s = normalize(k);"},
      {"function", "polardecompose",
       "mat3d m = {2,0,1,0,3,0,1,0,4}; m[0] += abs(@a); mat3d u; mat3d s; bool@r = polardecompose(m, u, s); double@d = "
       "u[0] + s[4];"},
      {"function", "postscale",
       "mat4f m = 2; m[0, 3] = @a; postscale(m, {1.0f, 2.0f, 3.0f}); @r = m[3] + m[5]; mat4d k = 1; postscale(k, {2.0, "
       "3.0, 4.0}); double@d = k[10];"},
      {"function", "pow", "@r = pow(abs(@a), 2.5f); @s = pow(@a, 2.0f); @t = pow(@a, 3.0f); double@d = pow(2.0, 0.5);"},
      {"function", "prescale",
       "mat4f m = 2; m[0, 3] = @a; prescale(m, {2.0f, 2.0f, 3.0f}); @r = m[3] + m[5]; mat4d k = 1; prescale(k, {2.0, "
       "3.0, 4.0}); double@d = k[10];"},
      {"function", "pretransform",
       "mat3f m = {1,2,3,4,5,6,7,8,@a}; vec3f@r = pretransform(m, vec3f@v); mat4d k = 2; vec4d q = {1, 2, 3, 4}; q = "
       "pretransform(k, q); double@d = q[1];"},
      {"function", "radians", "@r = radians(@a * 100); double@d = radians(180.0);"},
      {"function", "rand",
       "double@r = rand(@a); double@s = rand(int64@id); double@t = rand(int@n); double@d = rand(0.25);"},
      {"function", "rand32", "double@r = rand32(@a); double@s = rand32(int@n);"},
      {"function", "removefromgroup",
       "addtogroup(\"wet\"); if (@a > 0) removefromgroup(\"wet\"); int@i = ingroup(\"wet\");"},
      {"function", "rgbtohsv",
       "vec3f c = {@u01, 0.5f, 0.7f}; vec3f@r = rgbtohsv(c); vec3d e = c; vec3d@s = rgbtohsv(e);"},
      {"function", "round", "@r = round(@a); double@d = round(-1.5);"},
      {"function", "sign", "int@r = sign(@a); int@i = sign(int@n); int@j = sign(-2.5); int@k = sign(3l);"},
      {"function", "signbit", "bool@r = signbit(@a); bool@s = signbit(-2.5);"},
      {"function", "simplexnoise",
       "double@r = simplexnoise(vec3f@v); double@s = simplexnoise(@a); double@t = simplexnoise(@a, @b); double@d = "
       "simplexnoise(@a, @b, 0.5);"},
      {"function", "sin", "@r = sin(@a); double@d = sin(0.3);"},
      {"function", "sinh", "@r = sinh(@a); double@d = sinh(0.3);"},
      {"function", "sort",
       "vec3f@r = sort(vec3f@v); vec4d q = {3, 1, 4, 2}; q = sort(q); double@d = q[3]; vec3i k = {3, 1, int@n}; "
       "vec3i@s = sort(k);"},
      {"function", "sqrt", "@r = sqrt(abs(@a)); double@d = sqrt(2.0);"},
      {"function", "tan", "@r = tan(@a); double@d = tan(0.3);"},
      {"function", "tanh", "@r = tanh(@a); double@d = tanh(0.3);"},
      {"function", "trace", "mat3f m = {1,2,3,4,5,6,7,8,@a}; @r = trace(m); mat4d k = 2; double@d = trace(k);"},
      {"function", "transform",
       "mat3f m = {1,2,3,4,5,6,7,8,@a}; vec3f@r = transform(vec3f@v, m); mat4f k = 2; k[3, 0] = 1; vec3f@s = "
       "transform(vec3f@v, k); vec4d q = {1, 2, 3, 4}; mat4d o = 2; q = transform(q, o); double@d = q[1];"},
      {"function", "transpose",
       "mat3f m = {1,2,3,4,5,6,7,8,@a}; mat3f@r = transpose(m); mat4d k = 2; k[0, 3] = 5; mat4d@s = transpose(k);"},
      {"function", "truncatemod",
       "@r = truncatemod(@a, 0.7f); int@i = truncatemod(int@n, 3); double@d = truncatemod(-5.5, 2.0); int64@l = "
       "truncatemod(-7l, 3l);"},

      {"function", "getcoord", "vec3i@r = getcoord();", voxels},
      {"function", "getcoordx", "@a = getcoordx();", voxels},
      {"function", "getcoordy", "@a = getcoordy() * 2;", voxels},
      {"function", "getcoordz", "@a = getcoordz() + 1;", voxels},
      {"function", "getvoxelpws", "vec3d@r = getvoxelpws();", voxels},
      {"statement", "voxels: read and write", "@a = @a * 2 + @b;", voxels},
      {"statement", "voxels: condition", "if (@a > @b) @a = @b; else @a = -@a;", voxels},
      {"statement", "voxels: vector", "vec3f@v = normalize(vec3f@v + 2) * @a;", voxels},
      {"statement", "voxels: several channels", "@b = @a + 1; vec3f@v *= 2;", voxels},
      {"function", "voxels: simplexnoise", "@a = simplexnoise(getvoxelpws() * 0.1);", voxels},
  };
  return cases;
}

inline const std::vector<Exception>& conformance_exceptions() {
  static const std::vector<Exception> exceptions = {
      {"print", "Refused: the library does not print, and lines of many threads would mix. Write to an attribute."},
      {"rand(), rand32()",
       "Without a seed AX draws from a generator per thread, so that results depend on order. Here the number is a "
       "function of the setup's seed, the particle's id (or the cell), the step and the number of the call. It does "
       "not "
       "go on from a seeded call before it."},
      {"addtogroup, removefromgroup, ingroup",
       "The name is a literal, because a group is a channel `group:NAME` that must be known before the run."},
      {"external, externalv", "The name is a literal, because a missing variable is an error of the setup."},
      {"string@name", "Refused: channels hold numbers."},
      {"@name",
       "A bare name takes the type of the channel that exists, `@P` is vec3f; AX takes float and fails when run."},
      {"int@name of an int64 channel", "Converts, as for any two types of as many components; AX fails when run."},
      {"vec4, mat3, mat4 attributes", "Work, but channels of particles and voxels have at most three components yet."},
      {"pow(double, int)", "Works, as pow(double, double); AX 10.0 with LLVM 14 stops the program."},
      {"x / 0, x % 0 of integers", "0; in AX the program ends."},
      {"v[i] out of range", "The nearest component, or an error where i is a constant; in AX other memory."},
      {"endless loops", "End after a number of turns or when the run is cancelled; in AX never."},
      {"several written volumes",
       "One pass over the cells writes all; AX makes a pass for each volume, so that a later one sees the earlier "
       "already written."},
      {"@P",
       "A position is kept relative to its bucket. `@P` is rounded to float as in AX (`vec3d@P` is not); a snippet "
       "that "
       "only adds to `@P` moves the particle by what it adds, without that rounding."},
      {"getattribute, setattribute, getvoxel, … (internal functions)", "Not callable in AX's snippets either."},
  };
  return exceptions;
}

}  // namespace aegir::expression::testing
