#include "report_command.h"

#include <CLI/CLI.hpp>

#include "console.h"
#include "engine/run_report.h"
#include "engine/text.h"

namespace aegir {

void add_report(CLI::App& app, ReportArguments& arguments) {
  CLI::App* c = app.add_subcommand("report", "Writes the page of a run: pictures, plots over time, times, warnings");
  c->add_option("RUN_DIR", arguments.directory, "Run directory")->required();
  c->add_option("-o,--output", arguments.file, "The page; report.html in the run directory if not given")
      ->type_name("FILE");
  c->footer(
      "The page is one file that needs nothing else; a run writes it at its end. Pictures are those that `preview` "
      "has\n"
      "made before.\n\n"
      "Example:\n  aegir report runs/sprinkler");
}

int report_command(const ReportArguments& arguments) {
  const Result<RunReport> report = write_run_report(arguments.directory, arguments.file);
  if (!report) return report_error(report.error());
  print(fmt::format("report    {} · {}, {}, {}, {}\n", report->file, plural(report->frames, "frame"),
                    plural(report->substeps, "substep"), plural(report->plots, "plot"),
                    plural(report->pictures, "picture")));
  for (const std::string& remark : report->remarks) print_error("aegir: warning: " + remark + "\n");
  return 0;
}

}  // namespace aegir
