// The types a setting can have beyond numbers, texts and vectors: files, lists of Objects, values that know their
// place.
//
//   struct Settings { FilePath file; ObjectList objects; Located<std::string> where; };
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace aegir {

/// A file name as written, and as found from the folder of the file that it was written in.
struct FilePath {
  std::string text;
  std::string resolved;
  Location where;
  bool empty() const { return text.empty(); }
};

/// Names of Objects: a single name or a list of names.
struct ObjectList {
  std::vector<std::string> names;
  Location where;
  bool empty() const { return names.empty(); }
};

/// A setting that keeps its place, for messages that can be given only later.
template <class T>
struct Located {
  T value{};
  Location where;

  Located() = default;
  Located(T v) : value(std::move(v)) {}
  const T& operator*() const { return value; }
  const T* operator->() const { return &value; }
};

/// A span of the run counted in frames or in seconds: `10` and `10 frames`, or `10 min`; zero of both means never.
struct Interval {
  int frames = 0;
  double seconds = 0;
  bool operator==(const Interval&) const = default;
};

}  // namespace aegir
