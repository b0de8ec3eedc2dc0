#include <unistd.h>

#include <csignal>

#include "commands.h"
#include "console.h"
#include "engine/catalog.h"
#include "io/atomic_file.h"

namespace aegir {
namespace {

/// Signal handlers know nothing but globals.
RunControl control;

extern "C" void on_stop(int signal) {
  // The second time the user means it.
  if (control.stop.exchange(signal) != 0 && signal == SIGINT) ::_exit(128 + signal);
}

extern "C" void on_checkpoint(int) {
  control.checkpoint = true;
  confirm_next_checkpoint();
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // a signal must not make a write fail halfway
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

int run_command(const RunOptions& options, ProgressStyle style, Comm& comm) {
  handle(SIGINT, on_stop);
  handle(SIGTERM, on_stop);
  handle(SIGUSR1, on_checkpoint);
  std::signal(SIGPIPE, SIG_IGN);
  ignore_file_size_signal();
  const std::unique_ptr<RunDisplay> display = make_display(style, comm);
  const Result<RunSummary> summary = run(options, make_catalog(), comm, control, *display);
  if (!summary) return display->failed(summary.error());
  return summary->stopped_by ? 128 + summary->stopped_by : 0;
}

}  // namespace aegir
