// `aegir report`: renews the page of a run.
//
//   aegir report runs/rain   →   report_command({.directory = "runs/rain"})
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace aegir {

struct ReportArguments {
  std::string directory;
  std::string file = {};  ///< empty: report.html in the directory
};

/// Adds the command and its options.
void add_report(CLI::App& app, ReportArguments& arguments);

/// Writes the page and says where it is; the exit code.
int report_command(const ReportArguments& arguments);

}  // namespace aegir
