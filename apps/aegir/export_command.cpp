// `aegir export`.
#include <fmt/format.h>
#include <unistd.h>

#include "commands.h"
#include "console.h"

namespace aegir {

int export_command(const ExportOptions& options) {
  const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  const Result<ExportReport> report = export_run(options, [&](int done, int all) {
    if (terminal) print(fmt::format("\r\033[Kwriting   {} of {}", done, all));
  });
  if (terminal) print("\r\033[K");
  if (!report) return report_error(report.error());
  print(fmt::format("exported  {} frames, {} new files in {}\n", report->frames, report->files, report->output));
  return 0;
}

}  // namespace aegir
