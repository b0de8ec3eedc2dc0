// `aegir wedge`: several runs one after the other, each shown as `aegir run` would, then one table.
#include <nlohmann/json.hpp>

#include "commands.h"
#include "console.h"
#include "engine/text.h"
#include "engine/wedge.h"
#include "engine/wedge_table.h"
#include "signals.h"

namespace aegir {
namespace {

using nlohmann::ordered_json;

class WedgeDisplay final : public WedgeObserver {
 public:
  WedgeDisplay(ProgressStyle style, const Comm& comm) : style_(style), comm_(comm) {}

  void refused(const CheckReport& report) override {
    shown_ = true;
    code_ = report_errors(report.messages.errors, "the setup", "nothing was run and nothing written");
  }

  RunObserver& begin(const WedgeRun& run, int index, int count) override {
    if (style_ == ProgressStyle::json)
      say({{"event", "wedge"}, {"run", run.folder()}, {"index", index}, {"count", count}, {"label", run.label()}});
    else
      print(fmt::format("{}wedge     {} · {} of {} · {}\n", index > 1 ? "\n" : "", run.folder(), index, count,
                        run.label()));
    display_ = make_display(style_, comm_);
    return *display_;
  }

  int end(const WedgeRun& run, const Result<RunSummary>& summary) override {
    return summary ? run.code : display_->failed(summary.error());
  }

  void done(const WedgeReport& report) {
    if (style_ == ProgressStyle::json) {
      say({{"event", "wedge_done"}, {"output", report.output}, {"code", report.code}, {"sheet", report.sheet}});
      return;
    }
    print("\n" + wedge_text(report.runs) + "\n");
    print(fmt::format("table     {0}/wedge.md · {0}/wedge.json\n", report.output));
    if (!report.sheet.empty()) print(fmt::format("sheet     {}\n", report.sheet));
    if (!report.sheet_problem.empty()) print_error("aegir: no contact sheet: " + report.sheet_problem + "\n");
    if (report.stopped_by) print("go on     with the same command and --resume\n");
  }

  int failed(const Error& error) const { return shown_ ? code_ : report_error(error); }

 private:
  static void say(const ordered_json& event) {
    print(event.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
  }

  ProgressStyle style_;
  const Comm& comm_;
  std::unique_ptr<RunDisplay> display_;
  bool shown_ = false;
  int code_ = 2;
};

}  // namespace

int wedge_command(const RunOptions& options, const Catalog& catalog, ProgressStyle style, Comm& comm) {
  RunControl& control = watch_signals();
  WedgeDisplay display(style, comm);
  const Result<WedgeReport> report = run_wedge(options, catalog, comm, control, display);
  if (!report) return display.failed(report.error());
  display.done(*report);
  return report->code;
}

}  // namespace aegir
