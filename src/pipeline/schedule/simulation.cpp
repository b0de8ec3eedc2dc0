#include "pipeline/schedule/simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "pipeline/model/action.h"
#include "pipeline/model/in_order.h"

namespace aegir {
namespace {

/// Time, as integers where possible so that it is the same on every path to it.
struct Clock {
  std::int64_t frame = 0;    // last complete frame
  std::int64_t substep = 0;  // substeps done after it
  std::int64_t step = 0;     // substeps since the start
  double elapsed = 0;        // share of the next frame that is done
};

bool in_group(const std::string& path, const std::string& group) {
  return group.empty() || (path.size() > group.size() && path.starts_with(group) && path[group.size()] == '/');
}

std::string group_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

}  // namespace

struct Simulation::Impl {
  Setup setup;
  Exec exec;
  std::vector<std::unique_ptr<Object>> objects;
  std::vector<std::unique_ptr<Operator>> operators;
  std::vector<BehaviorSummary> behaviors;
  std::unique_ptr<Plan> plan;
  Clock clock;
  StateTree clock_state{"clock"};
  int last_frame = 0;
  std::string output_directory;
  const std::int32_t* stop = nullptr;
  std::function<void(const std::string&)> tell_task;
  std::int64_t capped_frame =
      std::numeric_limits<std::int64_t>::min();  // the newest that would have needed more substeps than it may have
  std::vector<std::pair<std::string, ObjectAudit>> audits;

  Impl(Setup s, Exec e) : setup(std::move(s)), exec(e) {
    clock.frame = setup.timeline.first() - 1;
    last_frame = setup.timeline.last();
    clock_state.record("frame", &clock.frame)
        .record("substep", &clock.substep)
        .record("step", &clock.step)
        .record("elapsed", &clock.elapsed);
  }

  double frame_start(std::int64_t frame) const { return setup.timeline.time(static_cast<double>(frame)); }
  double now() const { return frame_start(clock.frame) + clock.elapsed / setup.timeline.fps; }
  double frame_time() const { return static_cast<double>(clock.frame) + clock.elapsed; }

  StepContext context(double dt, std::vector<std::string>& warnings, std::vector<SolveRecord>& solves) {
    StepContext c{exec};
    c.frame = static_cast<int>(clock.frame) + 1;
    c.substep = static_cast<int>(clock.substep);
    c.step = static_cast<std::uint64_t>(clock.step);
    c.time = now();
    c.dt = dt;
    c.fps = setup.timeline.fps;
    c.cfl = setup.timeline.substeps.cfl;
    c.most_substeps = setup.timeline.substeps.max;
    c.frame_time = frame_time();
    c.output_directory = output_directory;
    c.stop = stop;
    c.warnings = &warnings;
    c.solves = &solves;
    return c;
  }

  Status run_stages(Stage first, Stage last, StepContext& context) {
    for (const Task& task : plan->tasks()) {
      if (task.stage < first || task.stage > last) continue;
      const Grant grant{task.full_name(), task.accesses};
      GrantScope scope(grant);
      if (tell_task) tell_task(grant.task);
      Stopwatch watch;
      exec.profile.begin_task();
      const Status status = task.run(context);
      exec.profile.end_task(task.full_name(), watch.seconds());
      if (status) continue;
      Error error = status.error();
      if (error.kind == Failure::simulation)
        error.message += fmt::format(" (frame {}, substep {}{})", context.frame, context.substep,
                                     context.first_frame ? "" : "; the state before is in the last checkpoint");
      return error;
    }
    return {};
  }

  /// Parts of equal length that the rest of the frame is cut into: as many as the fastest Object and the limits ask
  /// for. `capped` is told whether the limits allow fewer than that.
  int choose_parts(bool& capped) const {
    const SubstepSettings& s = setup.timeline.substeps;
    const double left = (1 - clock.elapsed) / setup.timeline.fps;
    const int done = static_cast<int>(clock.substep);
    int parts = 0;
    if (s.fixed > 0) {
      parts = s.fixed - done;
    } else {
      double rate = 0;
      for (const auto& o : objects) rate = std::max(rate, o->substeps_per_second(s.cfl));
      const double wanted = std::ceil(left * rate);
      capped = wanted > std::max(1, s.max - done);
      parts =
          static_cast<int>(std::clamp(wanted, static_cast<double>(s.min - done), static_cast<double>(s.max - done)));
    }
    return std::max(1, parts);
  }

  /// What tasks cost, over all ranks: bytes and cells added, the seconds of the slowest.
  std::map<std::string, Profile::Entry> all_tasks() {
    auto tasks = exec.profile.tasks();
    std::vector<std::int64_t> counts;
    std::vector<double> seconds;
    for (const auto& [name, e] : tasks)
      counts.push_back(e.bytes), counts.push_back(e.cells), seconds.push_back(e.seconds);
    exec.comm.sum(counts);
    exec.comm.max(seconds);
    std::size_t i = 0;
    for (auto& [name, e] : tasks) e.bytes = counts[2 * i], e.cells = counts[2 * i + 1], e.seconds = seconds[i], ++i;
    return tasks;
  }

  Status audit(StepReport& report) {
    audits.clear();
    std::size_t memory = 0;
    for (const auto& o : objects) {
      memory += o->memory_bytes();
      if (!o->simulated()) continue;
      if (tell_task) tell_task(o->path() + ":audit");
      Stopwatch watch;
      exec.profile.begin_task();
      audits.emplace_back(o->path(), o->audit(exec));
      exec.profile.end_task(o->path() + ":audit", watch.seconds());
    }
    report.memory_bytes = static_cast<std::size_t>(exec.comm.sum(static_cast<std::int64_t>(memory)));
    report.objects = audits;
    for (const auto& [path, a] : audits)
      if (!a.not_finite.empty())
        return simulation_error(
            "object '{}': channel '{}' is not finite or out of reach in frame {}, substep {} (t = {:.6g} s){}", path,
            a.not_finite, report.frame, report.substep, report.time,
            clock.step > 0 ? "; the state before is in the last checkpoint" : "");
    return {};
  }
};

namespace {

class NodeBuilder final : public Builder {
 public:
  NodeBuilder(const SetupNode& node, const Setup& setup, Exec& exec, std::vector<std::unique_ptr<Object>>& objects,
              std::vector<std::unique_ptr<Operator>>& operators, Messages& messages, BehaviorSummary& summary)
      : node_(node),
        setup_(setup),
        exec_(exec),
        objects_(objects),
        operators_(operators),
        messages_(messages),
        summary_(summary) {}

  const std::string& path() const override { return node_.path; }
  const Location& where() const override { return node_.where; }
  std::vector<Object*> objects() const override {
    const std::string group = is_output_ ? "" : group_of(node_.path);
    return objects_that([&](const Object& o) { return in_group(o.path(), group); });
  }
  std::vector<Object*> objects_acting_on(const Object& object) const override {
    return objects_that([&](const Object& o) { return &o != &object && in_group(object.path(), group_of(o.path())); });
  }
  std::vector<Object*> all_objects() const override {
    return objects_that([](const Object&) { return true; });
  }
  void add(std::unique_ptr<Object> object) override { objects_.push_back(std::move(object)); }
  void add(std::unique_ptr<Operator> action) override { operators_.push_back(std::move(action)); }
  void switch_off(std::string why) override { summary_.off = std::move(why); }
  void warn(std::string text) override { messages_.warnings.push_back({Failure::usage, std::move(text), node_.where}); }
  Exec& exec() override { return exec_; }
  const Timeline& timeline() const override { return setup_.timeline; }
  const Scene& scene() const override { return setup_.scene; }
  const std::map<std::string, InputSettings>& inputs() const override { return setup_.inputs; }
  bool is_output_ = false;

 private:
  template <class Wanted>
  std::vector<Object*> objects_that(Wanted&& wanted) const {
    std::vector<Object*> found;
    for (const auto& o : objects_)
      if (wanted(*o)) found.push_back(o.get());
    std::sort(found.begin(), found.end(), [](Object* a, Object* b) { return a->path() < b->path(); });
    return found;
  }

  const SetupNode& node_;
  const Setup& setup_;
  Exec& exec_;
  std::vector<std::unique_ptr<Object>>& objects_;
  std::vector<std::unique_ptr<Operator>>& operators_;
  Messages& messages_;
  BehaviorSummary& summary_;
};

/// Every Behavior below a node, with whether it is on.
struct Leaf {
  const SetupNode* node;
  bool output;
  std::string off;
  int turn = 0;  // of those that are built in the order written, from 1; all others 0
};

void collect(const SetupNode& node, bool output, const std::string& off, std::vector<Leaf>& leaves) {
  const std::string reason = !off.empty()    ? off
                             : node.enabled  ? ""
                             : node.behavior ? "disabled"
                                             : "group '" + node.path + "' is disabled";
  if (node.behavior) {
    const bool in_order = dynamic_cast<const InOrder*>(node.behavior.get()) != nullptr;
    leaves.push_back({&node, output, reason, in_order ? 1 + static_cast<int>(leaves.size()) : 0});
  }
  for (const SetupNode& c : node.children) collect(c, output, reason, leaves);
}

}  // namespace

Simulation::Simulation(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Simulation::~Simulation() = default;

Result<std::unique_ptr<Simulation>> Simulation::create(Setup setup, Exec exec, Messages& messages, bool checked) {
  auto impl = std::make_unique<Impl>(std::move(setup), exec);
  std::vector<Leaf> leaves;
  collect(impl->setup.root, false, "", leaves);
  for (const SetupNode& o : impl->setup.outputs) collect(o, true, "", leaves);
  // Order in the file does not matter, except to what is built in order: all else is built by path.
  std::sort(leaves.begin(), leaves.end(), [](const Leaf& a, const Leaf& b) {
    return std::tie(a.turn, a.output, a.node->path) < std::tie(b.turn, b.output, b.node->path);
  });
  for (const Leaf& l : leaves) impl->behaviors.push_back({l.node->type, l.node->path, l.node->where, l.off});

  for (const bool second_round : {false, true})
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!impl->behaviors[i].off.empty()) continue;
      NodeBuilder builder(*leaves[i].node, impl->setup, impl->exec, impl->objects, impl->operators, messages,
                          impl->behaviors[i]);
      builder.is_output_ = leaves[i].output;
      Behavior& behavior = *leaves[i].node->behavior;
      const Status status = second_round ? behavior.create_actions(builder) : behavior.create_objects(builder);
      if (!status) {
        Error error = status.error();
        if (error.where.file.empty()) error.where = leaves[i].node->where;
        messages.errors.push_back(std::move(error));
      }
    }
  for (const Leaf& l : leaves)
    for (const auto& [object, where] : l.node->overrides)
      if (std::none_of(impl->objects.begin(), impl->objects.end(),
                       [&object = object](const auto& o) { return o->named(object); }))
        messages.errors.push_back(
            usage_error(where, "'overrides' of '{}' names '{}', but there is no such Object", l.node->path, object));
  if (!messages.ok()) return messages.errors.front();

  TaskList tasks;
  // Actions first: an Object may join its own tasks where no Action wants to look in between.
  for (const auto& o : impl->operators) o->plan(tasks);
  for (const auto& o : impl->objects) o->plan(tasks);
  impl->plan = std::make_unique<Plan>(std::move(tasks.tasks()));
  if (checked)
    for (const Conflict& c : impl->plan->conflicts()) {
      const auto maker = std::find_if(impl->behaviors.begin(), impl->behaviors.end(),
                                      [&](const BehaviorSummary& b) { return c.second.starts_with(b.path + ":"); });
      messages.errors.push_back({Failure::usage, c.text(), maker == impl->behaviors.end() ? Location{} : maker->where});
    }
  if (!messages.ok()) return messages.errors.front();
  return std::unique_ptr<Simulation>(new Simulation(std::move(impl)));
}

void Simulation::set_output_directory(std::string directory) { impl_->output_directory = std::move(directory); }
void Simulation::set_stop(const std::int32_t* stop) { impl_->stop = stop; }
void Simulation::set_last_frame(int frame) { impl_->last_frame = frame; }
void Simulation::on_task(std::function<void(const std::string&)> tell) { impl_->tell_task = std::move(tell); }

Result<StepReport> Simulation::start() {
  Impl& s = *impl_;
  s.exec.profile.clear();
  StepReport report;
  report.frame = s.setup.timeline.first();
  s.clock.frame = report.frame - 1;
  StepContext context = s.context(0, report.warnings, report.solves);
  context.time = 0;
  context.frame_time = report.frame;
  context.first_frame = true;
  if (Status ok = s.run_stages(Stage::ingest, Stage::rebucket, context); !ok) return ok.error();
  s.clock.frame = report.frame;
  ++s.clock.step;
  report.time = s.now();
  report.frame_done = true;
  if (Status ok = s.run_stages(Stage::audit, Stage::audit, context); !ok) return ok.error();
  if (Status ok = s.audit(report); !ok) return ok.error();
  if (Status ok = s.run_stages(Stage::frame_end, Stage::output, context); !ok) return ok.error();
  report.tasks = s.all_tasks();
  return report;
}

Status Simulation::resume() {
  StepReport report;
  report.frame = frame();
  report.time = time();
  return impl_->audit(report);
}

Result<StepReport> Simulation::advance() {
  Impl& s = *impl_;
  s.exec.profile.clear();
  StepReport report;
  bool capped = false;
  const int parts = s.choose_parts(capped);
  const bool last = parts == 1;
  const double share = (1 - s.clock.elapsed) / parts;
  report.dt = share / s.setup.timeline.fps;
  StepContext context = s.context(report.dt, report.warnings, report.solves);
  context.cap_reached = capped && std::exchange(s.capped_frame, context.frame) != context.frame;
  context.last_substep = last;
  report.frame = context.frame;
  report.substep = context.substep;
  if (s.clock.substep == 0)
    if (Status ok = s.run_stages(Stage::frame_begin, Stage::frame_begin, context); !ok) return ok.error();
  if (Status ok = s.run_stages(Stage::substep_begin, Stage::remove, context); !ok) return ok.error();
  ++s.clock.step;
  if (last) {
    ++s.clock.frame;
    s.clock.substep = 0;
    s.clock.elapsed = 0;
  } else {
    ++s.clock.substep;
    s.clock.elapsed += share;
  }
  report.time = context.time = s.now();
  context.frame_time = s.frame_time();
  report.frame_done = last;
  if (Status ok = s.run_stages(Stage::audit, Stage::audit, context); !ok) return ok.error();
  if (Status ok = s.audit(report); !ok) return ok.error();
  if (last)
    if (Status ok = s.run_stages(Stage::frame_end, Stage::output, context); !ok) return ok.error();
  report.tasks = s.all_tasks();
  return report;
}

bool Simulation::finished() const { return frame() >= impl_->last_frame && at_frame_end(); }
int Simulation::frame() const { return static_cast<int>(impl_->clock.frame); }
bool Simulation::at_frame_end() const { return impl_->clock.substep == 0; }
double Simulation::time() const { return impl_->now(); }
std::uint64_t Simulation::steps() const { return static_cast<std::uint64_t>(impl_->clock.step); }
const Setup& Simulation::setup() const { return impl_->setup; }
const Plan& Simulation::plan() const { return *impl_->plan; }
const std::vector<BehaviorSummary>& Simulation::behaviors() const { return impl_->behaviors; }
const std::vector<std::unique_ptr<Object>>& Simulation::objects() const { return impl_->objects; }

Object* Simulation::find(std::string_view path) const {
  for (const auto& o : impl_->objects)
    if (o->path() == path) return o.get();
  return nullptr;
}

std::vector<StateTree*> Simulation::state() {
  std::vector<StateTree*> trees{&impl_->clock_state};
  for (const auto& o : impl_->objects) trees.push_back(&o->state());
  return trees;
}

}  // namespace aegir
