// What happens to the run directory before the first step: lock, refusal, choice of a checkpoint, cutting back.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/machine.h"
#include "engine/runner.h"
#include "io/checkpoint/checkpoint.h"
#include "parallel/threads.h"
#include "pipeline/setup/yaml.h"

namespace aegir {
namespace {

std::string list_of(const std::vector<RunMoment>& moments) {
  std::string text;
  for (const RunMoment& m : moments) text += (text.empty() ? "" : ", ") + m.text();
  return text;
}

/// Where the statistics of an earlier run end.
std::string last_place(const std::string& stats_file) {
  std::ifstream stream(stats_file, std::ios::binary);
  std::string last;
  for (std::string line; std::getline(stream, line);)
    if (const auto place = stats_place(line)) last = std::to_string(place->frame);
  return last;
}

std::vector<std::string> changes_since(const CheckpointInfo& info, const Setup& now) {
  const auto hash = info.texts.find("hash");
  const auto text = info.texts.find("setup");
  if (hash == info.texts.end() || text == info.texts.end()) return {"the checkpoint does not say which setup it is of"};
  if (hash->second == now.hash) return {};
  Messages ignored;
  const std::optional<Value> before = read_yaml(text->second, "checkpoint", ignored);
  if (!before) return {"the setup of the checkpoint cannot be read"};
  return diff_setups(*before, now.document);
}

}  // namespace

Status Runner::open_directory() {
  if (options_.no_output) return {};
  Status mine;
  if (root()) mine = take_directory();
  return together(mine);
}

Status Runner::take_directory() {
  const ResumeChoice& resume = options_.resume;
  std::error_code ignored;
  const bool exists = std::filesystem::exists(directory_.path(), ignored);
  if (!exists && resume.kind == ResumeChoice::frame)
    return usage_error({}, "--resume={}: there is no run in {}", resume.at, directory_.path());
  if (!exists || !std::filesystem::is_directory(directory_.path(), ignored))
    if (Status ok = directory_.create(); !ok) return ok;
  Result<std::unique_ptr<RunLock>> lock = RunLock::take(directory_.lock_file());
  if (!lock) return lock.error();
  lock_ = std::move(*lock);

  const std::vector<FrameFile> frames = directory_.frames();
  if (Status ok = directory_.check_checkpoints(); !ok) return ok;
  const std::vector<RunMoment> checkpoints = directory_.checkpoints();
  if (resume.kind == ResumeChoice::none && !(frames.empty() && checkpoints.empty()))
    return usage_error({}, "{} already holds {}; continue that run with --resume, or choose another folder with -o",
                       directory_.path(), frames.empty() ? "checkpoints" : "frames");
  if (resume.kind == ResumeChoice::frame &&
      std::find(checkpoints.begin(), checkpoints.end(), RunMoment{resume.at, 0}) == checkpoints.end())
    return usage_error({}, "--resume={}: {} has no checkpoint of that frame; {}", resume.at, directory_.path(),
                       checkpoints.empty() ? "it has none at all" : "there are " + list_of(checkpoints));
  for (const FrameFile& file : frames) files_before_.insert(file.path);
  directory_.remove_leftovers();
  return directory_.create();
}

/// Rank 0's view of the checkpoints to try, newest first, on every rank.
std::vector<RunMoment> Runner::candidates() const {
  std::string text;
  if (root() && options_.resume.kind == ResumeChoice::frame) text = RunMoment{options_.resume.at, 0}.text() + "\n";
  if (root() && options_.resume.kind == ResumeChoice::latest)
    for (const RunMoment& m : directory_.checkpoints()) text = m.text() + "\n" + text;
  Bytes bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  comm_.broadcast(bytes);
  const std::string_view agreed_text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<RunMoment> moments;
  for (std::size_t at = 0; at < agreed_text.size();) {
    const std::size_t end = agreed_text.find('\n', at);
    if (const auto moment = RunMoment::parse(agreed_text.substr(at, end - at))) moments.push_back(*moment);
    at = end + 1;
  }
  return moments;
}

Status Runner::restore() {
  if (options_.no_output || options_.resume.kind == ResumeChoice::none) return {};
  for (const RunMoment& moment : candidates()) {
    bool restored = false;
    if (Status ok = restore_from(moment, restored); !ok) return ok;
    if (restored) {
      resumed_ = true;
      moment_ = moment;
      last_checkpoint_ = summary_.checkpoint = moment;
      if (watch_) watch_->saved(moment.text());
      summary_.last_frame = moment.frame;
      return together(simulation_->resume());
    }
  }
  // Beginning again would write over frames that may have taken days, though the disk may be back in a minute.
  if (!damaged_.empty()) return none_readable();
  return {};
}

Error Runner::none_readable() const {
  std::string reasons;
  for (const DamagedCheckpoint& d : damaged_) reasons += fmt::format("\n  {}: {}", d.moment.text(), d.reason);
  return io_error(
      "there are checkpoints in {}/checkpoints and none can be read; all is left as it was. If a disk or the network "
      "is "
      "at fault, repair that and resume; to start again at the first frame, move the folder away or choose a new one "
      "with -o:{}",
      directory_.path(), reasons);
}

/// Keeps damaged checkpoints where nothing takes them for good ones and nothing is written over them.
Status Runner::set_damaged_aside() {
  for (const DamagedCheckpoint& d : damaged_) {
    const Result<std::string> kept = directory_.set_aside(d.moment);
    if (!kept) return kept.error();
    warn(d.moment.frame,
         fmt::format("checkpoint {} is left out: {}; it is kept as {}", d.moment.text(), d.reason, *kept));
  }
  return {};
}

/// Tries one checkpoint; a damaged one is no error unless it was asked for by name.
Status Runner::restore_from(const RunMoment& moment, bool& restored) {
  const std::string path = directory_.checkpoint_path(moment);
  const Result<CheckpointInfo> info = read_checkpoint_info(path);
  Status status = together(info ? Status() : Status(info.error()));
  std::vector<std::string> changes;
  if (status) {
    changes = changes_since(*info, simulation_->setup());
    if (const auto before = info->texts.find("inputs"); root() && before != info->texts.end())
      if (const auto inputs = inputs_of_text(before->second))
        for (std::string& change : input_changes(*inputs, inputs_)) changes.push_back(std::move(change));
    status = together(read_checkpoint(path, simulation_->state(), comm_));
  }
  const bool changed = comm_.any(!changes.empty());
  if (!status) {
    if (changed)
      return usage_error({}, "checkpoint {} does not fit the setup, which has changed since ({}): {}", moment.text(),
                         changes.empty() ? "" : changes.front(), status.error().message);
    if (options_.resume.kind == ResumeChoice::frame) return usage_error({}, "{}", status.error().message);
    damaged_.push_back({moment, status.error().message});
    return {};
  }
  restored = true;
  if (Status ok = together(root() ? set_damaged_aside() : Status()); !ok) return ok;
  if (!root()) return {};
  const bool branch = changed || options_.resume.kind == ResumeChoice::frame;
  ResumeReport report;
  report.from = moment;
  if (const auto host = info->texts.find("host"); host != info->texts.end()) report.host = host->second;
  report.last = last_place(directory_.stats_file());
  report.changes = changes;
  for (const FrameFile& file : directory_.frames()) {
    if (file.frame <= moment.frame)
      report.first_kept = std::min(report.first_kept.value_or(file.frame), file.frame);
    else
      report.later_removed = branch;
  }
  observer_.resuming(report);
  if (branch) clear_after(moment);
  return {};
}

/// Removes what would pass for a result of this branch and is none: whatever came later.
void Runner::clear_after(const RunMoment& from) {
  for (const RunMoment& m : directory_.checkpoints())
    if (m > from) directory_.remove_checkpoint(m);
  directory_.remove_frames_after(from.frame);
  files_before_.clear();
  for (const FrameFile& file : directory_.frames()) files_before_.insert(file.path);
}

Status Runner::open_records() {
  if (options_.no_output) return {};
  Status mine;
  if (root()) {
    if (auto before = RunRecord::load(directory_.run_file()); before && options_.resume.kind != ResumeChoice::none)
      record_ = std::move(*before);
    record_.inputs = inputs_;
    record_.begin(options_, simulation_->setup(), current_threads(), comm_.size(),
                  resumed_ ? moment_.text() : std::string());
    for (const RunWarning& w : early_warnings_) record_.warn(w.frame, w.text);
    mine = record_.save(directory_.run_file());
    recorded_ = static_cast<bool>(mine);
    if (mine) {
      Result<StatsFile> stats =
          StatsFile::open(directory_.stats_file(), resumed_ ? std::optional(moment_) : std::nullopt);
      if (stats)
        stats_ = std::make_unique<StatsFile>(std::move(*stats));
      else
        mine = stats.error();
    }
  }
  return together(mine);
}

}  // namespace aegir
