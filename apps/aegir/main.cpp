// The command line of Aegir.
#include <iostream>
#include <map>

#include <CLI/CLI.hpp>

#include "ax_command.h"
#include "commands.h"
#include "console.h"
#include "engine/catalog.h"
#include "engine/machine.h"
#include "engine/plugins.h"
#include "option_words.h"
#include "pipeline/schema/suggest.h"
#include "preview_command.h"
#include "report_command.h"
#include "surface_command.h"

namespace aegir {
namespace {

/// Everything that the command line can say.
struct Arguments {
  RunOptions run;
  ProgressStyle style = ProgressStyle::automatic;
  std::string frames, every, resume;
  DescribeChoice describe;
  std::vector<std::string> paths, plugins;
  bool hash = false;
  PreviewArguments preview;
  ExportOptions exported;
  SurfaceArguments surface;
  AxArguments ax;
  ReportArguments report;
};

void add_plugins(CLI::App& command, Arguments& a) {
  command.add_option("--plugin", a.plugins, "A shared library that brings more types; may be given several times")
      ->allow_extra_args(false)
      ->type_name("FILE.so");
}

void add_setup(CLI::App& command, Arguments& a) {
  add_plugins(command, a);
  command.add_option("SETUP", a.run.setup, "Setup file (YAML or JSON)")->required();
  command
      .add_option("--set", a.run.sets, "Changes an exposed value or any parameter: voxel=3cm, bulk/water.enabled=false")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
}

/// What `run` and `wedge` have in common.
void add_running(CLI::App* c, Arguments& a) {
  c->add_option("--frames", a.frames, "First frame to write and last frame, both included")->type_name("A:B");
  c->add_option("--threads", a.run.threads, "Threads; all CPUs of the process if not given")
      ->check(CLI::Range(1, 4096));
  c->add_option("--resume", a.resume,
                "Goes on from the newest whole checkpoint, or (--resume=FRAME) branches from that frame's; starts "
                "fresh where nothing is there")
      ->type_name("[=FRAME]");
  c->add_option("--checkpoint-every", a.every, "Instead of the timeline's: frames (10) or time ('10 min')")
      ->type_name("INTERVAL");
  c->add_option("--patience", a.run.patience, "Seconds that ranks wait for one of them before it is named (60)")
      ->check(CLI::Range(1.0, 1e6))
      ->type_name("SECONDS");
  c->add_option("--progress", a.style, "auto, bar, plain, alf, openjd or json")
      ->transform(word(progress_styles))
      ->type_name("STYLE");
}

void add_run(CLI::App& app, Arguments& a) {
  CLI::App* c = app.add_subcommand("run", "Simulates a setup into a directory");
  add_setup(*c, a);
  c->add_option("-o,--output", a.run.output, "Run directory; runs/NAME_OF_THE_SETUP if not given")->type_name("DIR");
  add_running(c, a);
  c->add_flag("--no-output", a.run.no_output, "Simulates without writing anything");
  c->add_flag("--split", a.run.split, "Every rank writes its piece of points and volumes into a file of its own");
  c->add_flag("--preview", a.run.preview, "Draws every frame when it is written: preview/latest.png beside the caches");
  c->footer(
      "Ctrl-C finishes the substep, writes a checkpoint and ends; SIGUSR1 writes one and goes on.\n"
      "Exit codes: 0 done, 2 wrong setup or usage, 3 simulation failed, 4 input/output, 5 memory, 128+signal.\n\n"
      "Example:\n  aegir run setups/sprinkler.yaml -o runs/sprinkler --frames 1:48 --set jet=8m/s");
}

void add_wedge(CLI::App& app, Arguments& a) {
  CLI::App* c = app.add_subcommand("wedge", "Runs a setup with every combination of some values");
  c->add_option("SETUP", a.run.setup, "Setup file (YAML or JSON)")->required();
  add_plugins(*c, a);
  c->add_option("--set", a.run.sets,
                "A parameter and its values; commas inside brackets and quotes do not count. Several make a product")
      ->allow_extra_args(false)
      ->required()
      ->type_name("PATH=VALUE,VALUE…");
  c->add_option("-o,--output", a.run.output, "Folder for the runs; runs/NAME_OF_THE_SETUP_wedge if not given")
      ->type_name("DIR");
  add_running(c, a);
  c->footer(
      "Runs are numbered folders in DIR, beside wedge.md, wedge.json and contact_sheet.png. A run that fails is noted\n"
      "and the others go on; the exit code is the worst of them. --resume goes on with every run and adds new "
      "values.\n\n"
      "Example:\n  aegir wedge setups/sprinkler.yaml --set jet=4m/s,8m/s --set drops.voxel_size=5cm,10cm");
}

void add_looking(CLI::App& app, Arguments& a) {
  CLI::App* check = app.add_subcommand("check", "Says everything that is wrong or doubtful in a setup; writes nothing");
  add_setup(*check, a);
  check->footer("Example:\n  aegir check setups/sprinkler.yaml");
  CLI::App* explain = app.add_subcommand("explain", "Prints the timeline of a setup: stage, task, behavior, channels");
  add_setup(*explain, a);
  explain->footer("Example:\n  aegir explain setups/sprinkler.yaml");

  CLI::App* describe = app.add_subcommand("describe", "Describes the types that a setup may name");
  describe->add_option("TYPE", a.describe.type, "One type; all if not given");
  add_plugins(*describe, a);
  describe->add_flag("--json", a.describe.json, "The whole catalog as JSON");
  describe->add_flag("--schema", a.describe.schema, "JSON Schema of setup files, for editors");
  describe->add_option("--pages,--markdown", a.describe.pages, "Writes the reference manual into a folder")
      ->type_name("DIR");
  describe->add_option("--check-pages", a.describe.check_pages, "Fails when the reference manual in a folder is stale")
      ->type_name("DIR");
  describe->footer("Examples:\n  aegir describe gravity\n  aegir describe --schema > aegir.schema.json");
}

void add_results(CLI::App& app, Arguments& a) {
  CLI::App* info = app.add_subcommand("info", "Describes a cache, a checkpoint or a run directory");
  info->add_option("PATH", a.paths, "Files or folders")->required();
  info->add_flag("--hash", a.hash, "Prints a hash over what the files mean, without metadata and compression");
  info->footer("Examples:\n  aegir info runs/sprinkler\n  aegir info --hash runs/sprinkler/drops/*.vdb");

  CLI::App* out = app.add_subcommand("export", "Writes points and colliders of a run as PLY, for other programs");
  out->add_option("RUN_DIR", a.exported.run, "Run directory")->required();
  out->add_option("-o,--output", a.exported.output, "Folder; `export` in the run directory if not given")
      ->type_name("DIR");
  out->add_option("--frames", a.frames, "First and last frame, both included")->type_name("A:B");
  out->footer(
      "scene.json lists what is there. blender/open_run.py brings a run into Blender with it.\n\n"
      "Example:\n  aegir export runs/dam_break --frames 40:40");
}

/// Texts that mean numbers; the first that does not make sense is the user's mistake.
Status understand(Arguments& a) {
  if (!a.frames.empty()) {
    const auto frames = parse_frames(a.frames);
    if (!frames) return Error{Failure::usage, "--frames: " + frames.error().message, {}};
    a.run.frames = a.exported.frames = *frames;
  }
  if (!a.every.empty()) {
    const auto every = parse_interval(a.every);
    if (!every) return Error{Failure::usage, "--checkpoint-every: " + every.error().message, {}};
    a.run.checkpoint_every = *every;
  }
  if (a.resume == "latest")
    a.run.resume.kind = ResumeChoice::latest;
  else if (!a.resume.empty()) {
    const auto frame = parse_frames(a.resume + ":" + a.resume);
    if (!frame) return usage_error({}, "--resume={}: that is no frame; write --resume, or --resume=1043", a.resume);
    a.run.resume = {ResumeChoice::frame, frame->first};
  }
  return {};
}

/// The commands that look at types, with those that plugins bring.
int dispatch_with_types(const std::string& command, Arguments& a, Comm& comm) {
  Catalog catalog = make_catalog();
  auto plugins = load_plugins(a.plugins, catalog);
  if (!plugins) return report_error(plugins.error());
  a.run.plugins = std::move(*plugins);
  if (command == "run") return run_command(a.run, catalog, a.style, comm);
  if (command == "wedge") return wedge_command(a.run, catalog, a.style, comm);
  if (command == "check") return check_command(a.run.setup, a.run.sets, catalog, comm);
  if (command == "explain") return explain_command(a.run.setup, a.run.sets, catalog, comm);
  return comm.root() ? describe_command(a.describe, catalog) : 0;
}

int dispatch(const CLI::App& app, Arguments& a, Comm& comm) {
  if (Status ok = understand(a); !ok) return report_error(ok.error());
  const std::string command = app.get_subcommands().front()->get_name();
  for (const char* name : {"run", "wedge", "check", "explain", "describe"})
    if (command == name) return dispatch_with_types(command, a, comm);
  if (command == "surface") return surface_command(a.surface, comm);
  if (command == "ax") return ax_command(a.ax, comm);
  if (!comm.root()) return 0;
  if (command == "export") return export_command(a.exported);
  if (command == "report") return report_command(a.report);
  if (command == "info") return info_command(a.paths, a.hash);
  return preview_command(a.preview);
}

int guarded_dispatch(const CLI::App& app, Arguments& a, Comm& comm) {
  Error failure;
  try {
    return dispatch(app, a, comm);
  } catch (const std::bad_alloc&) {
    failure = {Failure::memory, "memory ran out", {}};
  } catch (const std::exception& e) {
    failure = simulation_error("this is a bug in Aegir, please report it: {}", e.what());
  }
  if (comm.size() > 1) comm.abort(report_fatal(failure, comm.rank()));
  return report_error(failure);
}

int main_program(int argc, char** argv) {
  std::unique_ptr<Comm> comm = make_comm();
  if (!comm->root()) silence();
  Arguments a;
  a.run.command.assign(argv, argv + argc);
  CLI::App app{"Aegir simulates liquids, particles and more for visual effects."};
  app.name("aegir");
  app.set_version_flag("--version", "aegir " + std::string(aegir_version()));
  app.require_subcommand(1);
  app.footer(
      "Example:\n  aegir run setups/dam_break.yaml && aegir preview runs/dam_break\n\naegir COMMAND --help says more.");
  add_run(app, a);
  add_wedge(app, a);
  add_looking(app, a);
  add_results(app, a);
  add_surface(app, a.surface);
  add_ax(app, a.ax);
  add_preview(app, a.preview);
  add_report(app, a.report);

  // `--resume` has an optional value, which is only ever given with '='.
  std::vector<std::string> words(argv + 1, argv + argc);
  for (std::string& word : words)
    if (word == "--resume" && words.front() != "ax") word = "--resume=latest";
  std::reverse(words.begin(), words.end());
  if (words.empty()) return print_error(app.help()), static_cast<int>(Failure::usage);
  std::vector<std::string> known;
  for (const CLI::App* s : app.get_subcommands([](const CLI::App*) { return true; })) known.push_back(s->get_name());
  if (const std::string& command = words.back();
      !command.starts_with("-") && std::find(known.begin(), known.end(), command) == known.end()) {
    print_error(
        fmt::format("aegir: '{}' is no command{}\naegir --help lists them\n", command, suggestion(command, known)));
    return static_cast<int>(Failure::usage);
  }
  try {
    app.parse(words);
  } catch (const CLI::ParseError& e) {
    std::ostringstream out, errors;
    const bool fine = app.exit(e, out, errors) == 0;
    print(out.str());
    print_error(errors.str());
    return fine ? 0 : static_cast<int>(Failure::usage);
  }
  return guarded_dispatch(app, a, *comm);
}

}  // namespace
}  // namespace aegir

int main(int argc, char** argv) { return aegir::main_program(argc, argv); }
