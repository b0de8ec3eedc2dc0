#include "commands.h"
#include "signals.h"

namespace aegir {

int run_command(const RunOptions& options, const Catalog& catalog, ProgressStyle style, Comm& comm) {
  RunControl& control = watch_signals();
  const std::unique_ptr<RunDisplay> display = make_display(style, comm);
  const Result<RunSummary> summary = run(options, catalog, comm, control, *display);
  if (!summary) return display->failed(summary.error());
  return summary->stopped_by ? 128 + summary->stopped_by : 0;
}

}  // namespace aegir
