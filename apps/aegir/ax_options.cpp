// The options of `aegir ax`; in a file of its own because CLI11 is slow to compile.
#include <CLI/CLI.hpp>

#include "ax_command.h"
#include "option_words.h"

namespace aegir {
namespace {

const OptionWords overs = option_words<AxOver>({{"points", AxOver::points}, {"voxels", AxOver::voxels}});
const OptionWords engines = option_words<AxEngine>({{"aegir", AxEngine::aegir}, {"openvdb", AxEngine::openvdb}});

}  // namespace

void add_ax(CLI::App& app, AxArguments& a) {
  CLI::App* c = app.add_subcommand("ax", "Runs an expression over points or volumes of VDB files");
  c->add_option("FILES", a.job.inputs, "VDB files of any program, or patterns: water.points.$F4.vdb")->required();
  auto* snippet = c->add_option("-s,--snippet", a.snippet, "The expression itself")->type_name("CODE");
  c->add_option("-f,--file", a.file, "A file that holds the expression")->type_name("FILE.ax")->excludes(snippet);
  c->add_option("-o,--output", a.job.output, "Folder for the files, or a name or pattern that ends with .vdb")
      ->required()
      ->type_name("OUT");
  c->add_option("--over", a.job.work.over,
                "points or voxels; by what the file holds and the expression names if not given")
      ->transform(word(overs))
      ->type_name("WHAT");
  c->add_option("--grids", a.job.work.grids, "Only these grids; all others are copied")
      ->delimiter(',')
      ->type_name("NAME,…");
  c->add_option("--set", a.sets, "A variable of the expression: --set rate=0.5 for $rate, --set wind=1,0,0 for v$wind")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  c->add_option("--frames", a.frames, "First and last frame, both included")->type_name("A:B");
  c->add_option("--fps", a.job.fps, "Frames per second, for $time and $dt");
  c->add_option("--seed", a.job.work.seed, "Of rand()");
  c->add_option("--loop-limit", a.job.work.loop_budget, "Turns of loops per point or voxel")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 60))
      ->type_name("TURNS");
  c->add_flag("--resume", a.job.resume, "Leaves out files that the same expression has written from the same input");
  c->add_option("--engine", a.job.work.engine, "aegir (default), or openvdb for OpenVDB's own executable")
      ->transform(word(engines))
      ->type_name("WHICH");
  c->add_option("--threads", a.threads, "Threads; all CPUs of the process if not given")->check(CLI::Range(1, 4096));
  c->add_option("--progress", a.style, "auto, bar, plain, alf, openjd or json")
      ->transform(word(progress_styles))
      ->type_name("STYLE");
  c->footer(
      "The language is OpenVDB AX; $frame, $time and $dt are there. Grids and metadata that the expression does not "
      "touch are copied.\nmpirun -n K spreads files over ranks. Exit codes: 0 done, 2 usage, 4 input/output, 5 memory, "
      "128+signal.\n\n"
      "Examples:\n  aegir ax 'splash.$F4.vdb' -s 'if (@age > 2) deletepoint();' -o young\n"
      "  aegir ax smoke.vdb -s '@density *= $gain;' --set gain=0.5 -o thin.vdb");
}

}  // namespace aegir
