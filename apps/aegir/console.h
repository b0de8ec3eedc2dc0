// What the command line prints with: messages in one form, exit codes, the marks of progress.
//
//   return report_errors(messages.errors, "rain.yaml", "nothing was run");
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace aegir {

/// Only rank 0 prints; the others keep quiet from here on.
void silence();

/// Prints to standard output, at once.
void print(const std::string& text);
/// Prints to standard error, at once.
void print_error(const std::string& text);

/// The exit code that a failure means.
int exit_code(Failure kind);

/// `aegir: message` on standard error; the exit code that it means.
int report_error(const Error& error);

/// Says why one rank ends the whole job, on standard error and also on a rank that is silent; the exit code.
int report_fatal(const Error& error, int rank);

/// What happened to a rank, on standard error and also from a rank that is silent; from any thread.
void report_news(const std::string& text);

/// Every error on a line of its own, then one line that sums up; the exit code of the first.
int report_errors(const std::vector<Error>& errors, const std::string& what, const std::string& consequence);

/// Every warning on a line of its own, to standard error.
void report_warnings(const std::vector<Error>& warnings);

}  // namespace aegir
