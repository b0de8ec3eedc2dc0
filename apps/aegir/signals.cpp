#include "signals.h"

#include <unistd.h>

#include <csignal>

#include "io/atomic_file.h"
#include "run_display.h"

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

RunControl& watch_signals() {
  handle(SIGINT, on_stop);
  handle(SIGTERM, on_stop);
  handle(SIGUSR1, on_checkpoint);
  std::signal(SIGPIPE, SIG_IGN);
  ignore_file_size_signal();
  return control;
}

}  // namespace aegir
