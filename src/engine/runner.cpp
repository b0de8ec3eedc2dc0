#include "engine/runner.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>

#include "base/assert.h"
#include "engine/build.h"
#include "engine/machine.h"
#include "engine/run_report.h"
#include "engine/text.h"
#include "io/checkpoint/checkpoint.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

/// A sum that stays at the largest number instead of beginning again at zero.
std::uint64_t added(std::uint64_t a, std::uint64_t b) {
  return std::min(a, std::numeric_limits<std::uint64_t>::max() - b) + b;
}

/// Switches every output that can be split to pieces; what is wrong in the setup is told when it is built.
void split_outputs(const std::string& setup, const Catalog& catalog, std::vector<std::string>& sets) {
  Messages ignored;
  const Result<Setup> loaded = load_setup(setup, {.sets = sets}, catalog, ignored);
  if (!loaded) return;
  for (const SetupNode& output : loaded->outputs)
    if (output.type == "points" || output.type == "volumes")
      sets.push_back((output.path.starts_with("outputs/") ? "" : "outputs/") + output.path + ".split=true");
}

}  // namespace

Runner::Runner(const RunOptions& options, const Catalog& catalog, Comm& comm, RunControl& control,
               RunObserver& observer)
    : options_(options),
      catalog_(catalog),
      monitored_(comm),
      control_(control),
      observer_(observer),
      directory_(options.output.empty() ? default_output(options.setup) : options.output) {}

Result<RunSummary> Runner::go() {
  ThreadScope scope(threads());
  Status outcome;
  scope.run([&] { outcome = guarded([&] { return run_all(); }); });
  // All ranks come here, whatever the outcome; those that leave after this are done.
  if (watch_) watch_->ending(), comm_.barrier(), watch_.reset();
  close(outcome);
  if (!outcome) return outcome.error();
  summary_.seconds = since_start_.seconds();
  if (root()) observer_.done(summary_);
  return summary_;
}

Status Runner::guarded(FunctionRef<Status()> body) {
  Error failure;
  try {
    return body();
  } catch (const BugFound& e) {
    failure = simulation_error("this is a bug in Aegir, please report it: {}", e.what());
  } catch (const std::bad_alloc&) {
    failure = {Failure::memory,
               fmt::format("memory ran out after frame {}, with {} in use; use more machines or a coarser setup",
                           moment_.frame, short_bytes(resident_memory())),
               {}};
  } catch (const std::exception& e) {
    failure = simulation_error("this is a bug in Aegir, please report it: {}", e.what());
  }
  // The other ranks may wait for this one in the middle of anything.
  if (comm_.size() > 1) {
    observer_.fatal(failure);
    comm_.abort(static_cast<int>(failure.kind));
  }
  return failure;
}

/// All CPUs of the process; ranks that share a whole machine share them evenly.
int Runner::threads() const {
  if (options_.threads > 0) return options_.threads;
  const int mine = available_threads();
  const MachineInfo machine = this_machine();
  if (comm_.size() == 1) return mine;
  const auto here = static_cast<int>(std::clamp<std::uint64_t>(sum_on_host(1), 1, 1 << 20));
  // A rank that its launcher bound to some CPUs has these for itself.
  return mine < machine.cpus ? mine : std::max(1, mine / here);
}

/// The sum over the ranks that share this machine; the largest number there is where it would be more.
std::uint64_t Runner::sum_on_host(std::uint64_t mine) const {
  const std::string host = this_machine().host;
  Bytes packed(sizeof mine + host.size());
  std::memcpy(packed.data(), &mine, sizeof mine);
  std::memcpy(packed.data() + sizeof mine, host.data(), host.size());
  std::uint64_t total = 0;
  for (const Bytes& other : comm_.all_gather(packed)) {
    if (!std::equal(other.begin() + sizeof mine, other.end(), packed.begin() + sizeof mine, packed.end())) continue;
    std::uint64_t value = 0;
    std::memcpy(&value, other.data(), sizeof value);
    total = added(total, value);
  }
  return total;
}

Status Runner::run_all() {
  if (Status ok = build(); !ok) return ok;
  if (Status ok = forecast(); !ok) return ok;
  if (Status ok = open_directory(); !ok) return ok;
  start_watch();
  if (Status ok = restore(); !ok) return ok;
  if (Status ok = open_records(); !ok) return ok;
  return loop();
}

Status Runner::build() {
  std::vector<std::string> sets = options_.sets;
  if (options_.split) split_outputs(options_.setup, catalog_, sets);
  BuiltRun built = build_run(options_.setup, sets, catalog_, {comm_, profile_});
  hash_ = built.hash;
  std::vector<Error>& errors = built.report.messages.errors;
  if (built.simulation && options_.frames) {
    const Timeline& timeline = built.simulation->setup().timeline;
    if (options_.frames->first < timeline.first())
      errors.push_back(usage_error({}, "--frames starts at {}, but the timeline of {} starts at {}",
                                   options_.frames->first, options_.setup, timeline.first()));
    else
      built.simulation->set_last_frame(options_.frames->second);
  }
  simulation_ = std::move(built.simulation);
  // Machine code of expressions looks at it, and knows no atomics.
  static_assert(sizeof(control_.stop) == sizeof(std::int32_t) && std::atomic<int>::is_always_lock_free);
  if (simulation_) simulation_->set_stop(reinterpret_cast<const std::int32_t*>(&control_.stop));
  if (simulation_ && comm_.size() > 1)
    simulation_->on_task([this](const std::string& task) { comm_.working_on(task); });
  if (root()) {
    if (simulation_) {
      const MachineInfo machine = this_machine();
      observer_.header({std::string(aegir_version()), options_.setup, hash_, machine.host, machine.simd,
                        current_threads(), comm_.size()});
    }
    observer_.checked(built.report);
    for (const Error& w : built.report.messages.warnings) warn({}, w.text());
  }
  if (!errors.empty()) return errors.front();
  const Timeline& timeline = simulation_->setup().timeline;
  every_ = options_.checkpoint_every.value_or(timeline.checkpoint.every);
  moment_ = {timeline.first() - 1, 0};
  if (root() && !options_.no_output) {
    inputs_ = record_inputs(simulation_->setup().inputs);
    for (const PluginRecord& p : options_.plugins) inputs_.push_back({"plugin " + p.name, {{p.file, p.hash}}});
  }
  return {};
}

Status Runner::forecast() {
  Forecast forecast;
  for (const auto& object : simulation_->objects())
    forecast.memory_needed = added(forecast.memory_needed, object->forecast_bytes(comm_));
  // What is available is the machine's, and so is what its ranks need together.
  forecast.memory_needed = sum_on_host(forecast.memory_needed);
  forecast.memory_available = options_.memory_limit ? options_.memory_limit : available_memory();
  forecast.disk_free = options_.no_output ? 0 : free_disk(directory_.path());
  if (root()) observer_.forecast(forecast);
  Status mine;
  if (forecast.memory_needed > forecast.memory_available)
    mine = Error{
        Failure::memory,
        fmt::format("the run needs {} of memory on {} and {} are available; use more machines or a coarser setup",
                    short_bytes(forecast.memory_needed), this_machine().host, short_bytes(forecast.memory_available)),
        {}};
  return together(mine);
}

Status Runner::loop() {
  if (!resumed_)
    if (Status ok = make_first_frame(); !ok) return interrupted(ok) ? Status() : ok;
  since_checkpoint_ = {};
  frame_started_ = since_start_.seconds();
  while (!simulation_->finished()) {
    const std::int64_t request = poll();
    if (request >= stop) {
      summary_.stopped_by = static_cast<int>(request - stop);
      break;
    }
    if (request == checkpoint_now)
      if (Status ok = checkpoint(); !ok) return ok;
    if (Status ok = advance(); !ok) return interrupted(ok) ? Status() : ok;
  }
  summary_.last_frame = moment_.frame;
  return checkpoint();
}

/// Whether a step failed because the run was asked to stop in the middle of it. Its state is half of a substep: no
/// checkpoint is written, and the run goes on from the last one.
bool Runner::interrupted(const Status& outcome) {
  const std::int64_t request = poll();
  if (request < stop || outcome.error().kind != Failure::simulation) return false;
  summary_.stopped_by = static_cast<int>(request - stop);
  summary_.last_frame = moment_.frame;
  return true;
}

Status Runner::make_first_frame() {
  const int frame = simulation_->setup().timeline.first();
  if (Status ok = together(still_ours()); !ok) return ok;
  choose_outputs(frame);
  if (Status ok = take_report(simulation_->start()); !ok) return drop_partial_frame(frame), ok;
  return checkpoint();
}

Status Runner::advance() {
  const int frame = moment_.frame + 1;
  // Asked before the step as well as after it: the step may write a frame, and that may be another run's by now.
  if (Status ok = together(still_ours()); !ok) return ok;
  choose_outputs(frame);
  const Status ok = take_report(simulation_->advance());
  if (!ok) drop_partial_frame(frame);
  return ok;
}

/// Frames before the first one asked for are computed, since the later ones follow from them, but not written.
void Runner::choose_outputs(int frame) {
  const bool written = !options_.no_output && (!options_.frames || frame >= options_.frames->first);
  simulation_->set_output_directory(written ? directory_.path() : std::string());
}

void Runner::start_watch() {
  if (comm_.size() == 1) return;
  watch_ = std::make_unique<RankWatch>(
      comm_,
      RankWatchSettings{.board = options_.no_output ? std::string() : directory_.ranks_file(),
                        .patience = options_.patience},
      [this](const RankNews& news) { observer_.rank_news(news); });
}

/// What every rank did since it was last asked; one sum brings it together.
RankReport Runner::rank_report() {
  RankReport all;
  const auto ranks = static_cast<std::size_t>(comm_.size()), me = static_cast<std::size_t>(comm_.rank());
  if (ranks == 1) return all;
  const CommTraffic now = comm_.traffic(), step = now - traffic_before_;
  traffic_before_ = now;
  std::int64_t memory = 0, count = 0, buckets = 0, ghosts = 0;
  for (const auto& object : simulation_->objects()) {
    memory += static_cast<std::int64_t>(object->memory_bytes());
    if (const ParticleSystem* particles = object->particles()) {
      count += static_cast<std::int64_t>(particles->size());
      buckets += particles->topology().local_count();
      ghosts += particles->topology().total_count() - particles->topology().local_count();
      const auto [at, first] = cuts_.try_emplace(object.get(), particles->topology().partition());
      if (!first && !(at->second == particles->topology().partition()))
        at->second = particles->topology().partition(), ++all.recuts;
    }
  }
  constexpr double nano = 1e9;
  constexpr std::size_t rows = 8;
  std::vector<std::int64_t> table(rows * ranks);
  const std::int64_t mine[rows] = {memory,
                                   count,
                                   buckets,
                                   ghosts,
                                   step.bytes_sent,
                                   step.halo_bytes,
                                   static_cast<std::int64_t>(nano * step.waiting),
                                   static_cast<std::int64_t>(nano * since_step_.seconds())};
  since_step_ = {};
  for (std::size_t i = 0; i < rows; ++i) table[i * ranks + me] = mine[i];
  comm_.sum(std::span<std::int64_t>(table));
  const auto row = [&](std::size_t i) { return std::span(table).subspan(i * ranks, ranks); };
  all.memory_bytes.assign(row(0).begin(), row(0).end());
  all.particles.assign(row(1).begin(), row(1).end());
  all.buckets.assign(row(2).begin(), row(2).end());
  all.ghost_buckets.assign(row(3).begin(), row(3).end());
  all.bytes_sent.assign(row(4).begin(), row(4).end());
  all.halo_bytes.assign(row(5).begin(), row(5).end());
  for (const std::int64_t n : row(6)) all.waiting.push_back(static_cast<double>(n) / nano);
  for (const std::int64_t n : row(7)) all.seconds = std::max(all.seconds, static_cast<double>(n) / nano);
  return all;
}

Status Runner::take_report(Result<StepReport> report) {
  Status mine = report ? Status() : Status(report.error());
  RankReport ranks = rank_report();
  if (mine) report->ranks = std::move(ranks);
  if (mine) mine = still_ours();
  if (mine && stats_) mine = stats_->append(*report);
  if (Status all = together(mine); !all) return all;
  moment_ = report->frame_done ? RunMoment{report->frame, 0} : RunMoment{report->frame - 1, report->substep + 1};
  ++frame_substeps_;
  for (const SolveRecord& s : report->solves) frame_iterations_ += s.iterations;
  if (root())
    for (const std::string& text : report->warnings)
      if (warned_.insert(text).second) warn(report->frame, text);
  tell_frame(*report);
  return {};
}

void Runner::tell_frame(const StepReport& report) {
  const Timeline& timeline = simulation_->setup().timeline;
  const int last = options_.frames ? options_.frames->second : timeline.last();
  const double mean = frame_seconds_.empty() ? 0
                                             : std::accumulate(frame_seconds_.begin(), frame_seconds_.end(), 0.0) /
                                                   static_cast<double>(frame_seconds_.size());
  if (!report.frame_done) {
    const double fraction = 1 + (report.time - timeline.time(report.frame)) * timeline.fps;
    if (root())
      observer_.progress({report.frame, timeline.first(), last, report.substep + 1, std::clamp(fraction, 0.0, 1.0),
                          mean * (last - moment_.frame - fraction)});
    return;
  }
  const double now = since_start_.seconds();
  FrameReport frame;
  frame.frame = report.frame;
  frame.first = timeline.first();
  frame.last = last;
  frame.substeps = report.dt > 0 ? frame_substeps_ : 0;
  frame.objects = report.objects;
  for (const auto& [name, audit] : report.objects) frame.max_speed = std::max(frame.max_speed, audit.max_speed);
  frame.iterations = frame_iterations_;
  frame.seconds = now - frame_started_;
  frame.memory = static_cast<std::uint64_t>(comm_.sum(static_cast<std::int64_t>(resident_memory())));
  if (recorded_) record_.saw_memory(frame.memory);
  frame.written = !options_.no_output && (!options_.frames || report.frame >= options_.frames->first);
  constexpr std::size_t remembered = 8;
  if (report.dt > 0) frame_seconds_.push_back(frame.seconds);
  if (frame_seconds_.size() > remembered) frame_seconds_.erase(frame_seconds_.begin());
  const double recent = frame_seconds_.empty() ? frame.seconds
                                               : std::accumulate(frame_seconds_.begin(), frame_seconds_.end(), 0.0) /
                                                     static_cast<double>(frame_seconds_.size());
  frame.eta = recent * (last - report.frame);
  frame_started_ = now;
  frame_substeps_ = frame_iterations_ = 0;
  ++summary_.frames;
  summary_.objects = report.objects;
  if (root()) observer_.frame(frame);
  if (root() && options_.preview && frame.written) draw_frame(report.frame);
}

/// A picture that cannot be drawn is no reason to lose the frame.
void Runner::draw_frame(int frame) {
  if (!picture_) picture_ = std::make_unique<LivePicture>(directory_.path());
  if (const Status drawn = picture_->draw(frame); !drawn)
    if (warned_.insert(drawn.error().message).second) warn(frame, "no picture: " + drawn.error().message);
}

std::int64_t Runner::poll() {
  std::int64_t mine = none;
  if (control_.checkpoint.exchange(false)) mine = checkpoint_now;
  if (root() && checkpoint_due()) mine = checkpoint_now;
  if (const int signal = control_.stop) mine = stop + signal;
  return comm_.max(mine);
}

bool Runner::checkpoint_due() const {
  if (every_.seconds > 0) return since_checkpoint_.seconds() >= every_.seconds;
  const int since =
      moment_.frame - (last_checkpoint_ ? last_checkpoint_->frame : simulation_->setup().timeline.first());
  return every_.frames > 0 && moment_.substep == 0 && since >= every_.frames;
}

Status Runner::checkpoint() {
  if (options_.no_output || last_checkpoint_ == moment_) return {};
  comm_.working_on("checkpoint");
  Status mine = still_ours();
  if (mine && stats_) mine = stats_->sync();
  if (Status ok = together(mine); !ok) return ok;
  const Setup& setup = simulation_->setup();
  const std::map<std::string, std::string> texts = {{"frame", std::to_string(moment_.frame)},
                                                    {"substep", std::to_string(moment_.substep)},
                                                    {"time", fmt::format("{:.17g}", simulation_->time())},
                                                    {"hash", setup.hash},
                                                    {"setup", write_setup(setup)},
                                                    {"inputs", inputs_text(inputs_)},
                                                    {"host", this_machine().host},
                                                    {"aegir", std::string(aegir_version())},
                                                    {"written", now_text()}};
  const Status written = write_checkpoint(directory_.checkpoint_path(moment_), simulation_->state(), texts, comm_);
  if (Status all = together(written); !all) {
    Error error = all.error();
    error.message = fmt::format("checkpoint {} is left out: {}", moment_.text(), error.message);
    return error;
  }
  last_checkpoint_ = summary_.checkpoint = moment_;
  if (watch_) watch_->saved(moment_.text());
  since_checkpoint_ = {};
  if (root()) {
    std::vector<RunMoment> kept = directory_.checkpoints();
    while (kept.size() > static_cast<std::size_t>(std::max(1, setup.timeline.checkpoint.keep))) {
      if (kept.front() != moment_) directory_.remove_checkpoint(kept.front());
      kept.erase(kept.begin());
    }
    observer_.checkpoint(moment_);
    // A run that is killed later has told its warnings up to here; the record is not worth ending it for.
    if (record_changed_ && record_.save(directory_.run_file())) record_changed_ = false;
  }
  return {};
}

/// Tells a warning and keeps it for the record; what the setup's check has found was told with the rest of it.
void Runner::warn(std::optional<int> frame, const std::string& text) {
  if (frame) observer_.warning(*frame, text);
  if (recorded_)
    record_.warn(frame, text), record_changed_ = true;
  else
    early_warnings_.push_back({frame, text});
}

/// A process that was put to sleep for long enough has been given up by others and must not write any more.
Status Runner::still_ours() {
  if (!lock_ || !lock_->lost()) return {};
  return io_error("another run has taken over {}; this one stops and writes nothing more", directory_.path());
}

/// A frame of which one Object was written and another could not be is no frame.
void Runner::drop_partial_frame(int frame) {
  if (!root() || options_.no_output || !still_ours()) return;
  std::error_code ignored;
  for (const FrameFile& file : directory_.frames())
    if (file.frame == frame && !files_before_.contains(file.path))
      std::filesystem::remove(directory_.path() + "/" + file.path, ignored);
}

/// A report that cannot be made is no reason to lose anything else.
Status Runner::make_report() {
  try {
    const auto report = write_run_report(directory_.path());
    return report ? Status() : Status(report.error());
  } catch (const std::bad_alloc&) {
    return Error{Failure::memory, "memory ran out", {}};
  } catch (const std::exception& e) {
    return simulation_error("this is a bug in Aegir, please report it: {}", e.what());
  }
}

void Runner::close(const Status& outcome) {
  if (!options_.no_output) summary_.output = directory_.path();
  const bool lost = lock_ && lock_->lost();
  if (recorded_ && !lost) {
    record_.end(!outcome              ? "failed: " + outcome.error().message
                : summary_.stopped_by ? "stopped"
                                      : "finished",
                since_start_.seconds());
    // On a full disk the record keeps saying "running"; the lock is what tells whether that is so.
    (void)static_cast<bool>(record_.save(directory_.run_file()));
    const Status report = make_report();
    if (!report) observer_.warning(moment_.frame, "there is no report of this run: " + report.error().text());
  }
  stats_.reset();
  lock_.reset();
}

}  // namespace aegir
