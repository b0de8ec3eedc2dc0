#include "json_display.h"

#include <nlohmann/json.hpp>

#include "console.h"

namespace aegir {
namespace {

using nlohmann::ordered_json;

class JsonDisplay final : public RunDisplay {
 public:
  explicit JsonDisplay(int rank) : rank_(rank) {}

  void header(const RunHeader& h) override {
    say("start", {{"aegir", h.version},
                  {"setup", h.setup},
                  {"hash", h.hash},
                  {"host", h.host},
                  {"threads", h.threads},
                  {"ranks", h.ranks},
                  {"simd", h.simd}});
  }
  void checked(const CheckReport& r) override {
    ordered_json warnings = ordered_json::array(), errors = ordered_json::array();
    for (const Error& e : r.messages.warnings) warnings.push_back(e.text());
    for (const Error& e : r.messages.errors) errors.push_back(e.text());
    say("checked", {{"inputs", r.inputs},
                    {"groups", r.groups},
                    {"behaviors", r.behaviors},
                    {"off", r.off.size()},
                    {"outputs", r.outputs},
                    {"warnings", warnings},
                    {"errors", errors}});
    if (r.messages.ok()) return;
    shown_ = true;
    code_ = report_errors(r.messages.errors, "the setup", "nothing was run and nothing written");
  }
  void forecast(const Forecast& f) override {
    say("forecast",
        {{"memory_needed", f.memory_needed}, {"memory_available", f.memory_available}, {"disk_free", f.disk_free}});
  }
  void resuming(const ResumeReport& r) override {
    say("resuming",
        {{"checkpoint", r.from.text()}, {"host", r.host}, {"changes", r.changes}, {"later_removed", r.later_removed}});
  }
  void frame(const FrameReport& f) override {
    ordered_json objects = ordered_json::object();
    for (const auto& [name, a] : f.objects) {
      objects[name] = {{"particles", a.particles}, {"max_speed", a.max_speed}};
      for (const auto& [what, value] : a.more) objects[name][what] = value;
    }
    say("frame", {{"frame", f.frame},
                  {"first", f.first},
                  {"last", f.last},
                  {"substeps", f.substeps},
                  {"objects", objects},
                  {"iterations", f.iterations},
                  {"seconds", f.seconds},
                  {"memory_bytes", f.memory},
                  {"eta", f.eta},
                  {"written", f.written}});
  }
  void warning(int frame, const std::string& text) override { say("warning", {{"frame", frame}, {"text", text}}); }
  void checkpoint(const RunMoment& m) override { say("checkpoint", {{"checkpoint", m.text()}}); }
  void done(const RunSummary& s) override {
    say("done", {{"output", s.output},
                 {"frames", s.frames},
                 {"last_frame", s.last_frame},
                 {"seconds", s.seconds},
                 {"stopped_by", s.stopped_by}});
  }
  int failed(const Error& error) override {
    say("failed", {{"code", exit_code(error.kind)}, {"text", error.text()}});
    return shown_ ? code_ : report_error(error);
  }
  void fatal(const Error& error) override {
    say("failed", {{"code", exit_code(error.kind)}, {"text", error.text()}});
    report_fatal(error, rank_);
  }
  void rank_news(const RankNews& news) override { report_news(news.text); }

 private:
  void say(const char* event, const ordered_json& fields) {
    ordered_json all = {{"event", event}};
    all.update(fields);
    print(all.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
  }

  bool shown_ = false;
  int rank_ = 0, code_ = 2;
};

}  // namespace

std::unique_ptr<RunDisplay> make_json_display(int rank) { return std::make_unique<JsonDisplay>(rank); }

}  // namespace aegir
