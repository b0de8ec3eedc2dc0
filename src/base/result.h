// The user's mistakes and the world's failures travel as values: what happened, where, and which exit code it means.
//
//   Result<Mesh> mesh = read_mesh(path);
//   if (!mesh) return mesh.error();
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace aegir {

/// A place in a user's file; line and column count from 1, 0 means unknown.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
  bool operator==(const Location&) const = default;
};

/// Why something failed; the values are the program's exit codes.
enum class Failure { usage = 2, simulation = 3, io = 4, memory = 5 };

struct Error {
  Failure kind = Failure::usage;
  std::string message;
  Location where;

  /// `file:line:column: message`, or only the parts that are known.
  std::string text() const {
    if (where.file.empty()) return message;
    if (where.line <= 0) return fmt::format("{}: {}", where.file, message);
    return fmt::format("{}:{}:{}: {}", where.file, where.line, where.column, message);
  }
};

template <class... Args>
Error usage_error(const Location& where, fmt::format_string<Args...> text, Args&&... args) {
  return {Failure::usage, fmt::format(text, std::forward<Args>(args)...), where};
}
template <class... Args>
Error io_error(fmt::format_string<Args...> text, Args&&... args) {
  return {Failure::io, fmt::format(text, std::forward<Args>(args)...), {}};
}
template <class... Args>
Error simulation_error(fmt::format_string<Args...> text, Args&&... args) {
  return {Failure::simulation, fmt::format(text, std::forward<Args>(args)...), {}};
}

/// A value or an Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}
  explicit operator bool() const { return !failed_; }
  const Error& error() const { return error_; }

 private:
  Error error_;
  bool failed_ = false;
};
using Status = Result<void>;

/// Everything found wrong or doubtful while reading something; reading goes on after an error so that one look shows
/// all.
struct Messages {
  std::vector<Error> errors;
  std::vector<Error> warnings;
  bool ok() const { return errors.empty(); }
};

}  // namespace aegir
