#include "console.h"

#include <cstdio>

#include "engine/text.h"

namespace aegir {
namespace {

bool silent = false;

void write(std::FILE* file, const std::string& text) {
  if (silent) return;
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

}  // namespace

void silence() { silent = true; }
void print(const std::string& text) { write(stdout, text); }
void print_error(const std::string& text) { write(stderr, text); }
int exit_code(Failure kind) { return static_cast<int>(kind); }

int report_error(const Error& error) {
  print_error("aegir: " + error.text() + "\n");
  return exit_code(error.kind);
}

int report_fatal(const Error& error, int rank) {
  // In one piece, since several ranks may fail at once.
  const std::string text = fmt::format("aegir: rank {}: {}\n", rank, error.text());
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  return exit_code(error.kind);
}

void report_news(const std::string& text) {
  const std::string line = "aegir: " + text + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

int report_errors(const std::vector<Error>& errors, const std::string& what, const std::string& consequence) {
  for (const Error& error : errors) print_error(error.text() + "\n");
  print_error(fmt::format("aegir: {} in {}; {}\n", plural(static_cast<std::int64_t>(errors.size()), "error"), what,
                          consequence));
  return errors.empty() ? exit_code(Failure::usage) : exit_code(errors.front().kind);
}

void report_warnings(const std::vector<Error>& warnings) {
  for (Error warning : warnings) {
    warning.message = "warning: " + warning.message;
    print_error(warning.text() + "\n");
  }
}

}  // namespace aegir
