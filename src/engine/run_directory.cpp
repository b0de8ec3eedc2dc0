#include "engine/run_directory.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <tuple>

#include "io/atomic_file.h"
#include "io/checkpoint/checkpoint.h"
#include "io/frame_path.h"

namespace aegir {
namespace {

namespace fs = std::filesystem;

std::optional<int> integer(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

/// Takes "water.points.1001.vdb" apart.
std::optional<FrameFile> parse_frame_name(const std::string& name) {
  const auto extension = name.rfind('.');
  if (extension == std::string::npos || extension == 0) return {};
  const auto frame_dot = name.rfind('.', extension - 1);
  if (frame_dot == std::string::npos || frame_dot == 0) return {};
  const auto kind_dot = name.rfind('.', frame_dot - 1);
  if (kind_dot == std::string::npos || kind_dot == 0) return {};
  const auto frame = integer(std::string_view(name).substr(frame_dot + 1, extension - frame_dot - 1));
  FrameFile file{{}, {}, name.substr(kind_dot + 1, frame_dot - kind_dot - 1), frame.value_or(0)};
  const std::string ending = name.substr(extension + 1);
  const bool known =
      file.kind == "mesh" ? ending == "ply" : (file.kind == "points" || file.kind == "volumes") && ending == "vdb";
  if (!frame || !known) return {};
  return file;
}

/// The name that a temporary file would have got; empty for a file that is none.
std::string final_name(const std::string& name) {
  return is_temporary_name(name) ? name.substr(1, name.rfind(".tmp-") - 1) : std::string();
}

/// Whether a run writes files of this name.
bool is_ours(const std::string& name) {
  return name == "run.json" || name == "index.json" || name == "stats.jsonl" || name == "report.html" ||
         parse_frame_name(name);
}

/// Whether a folder in `checkpoints` is what a write or a removal left that did not come to its end.
bool is_checkpoint_leftover(const std::string& name) {
  return is_unfinished_checkpoint(name) && RunMoment::parse(std::string_view(name).substr(1, name.rfind(".tmp") - 1));
}

/// Calls visit(entry) for everything below a folder; what cannot be read is passed over.
template <class Visit>
void walk(const std::string& folder, Visit&& visit) {
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error), end;
  while (!error && at != end) {
    if (!visit(*at)) at.disable_recursion_pending();
    at.increment(error);
  }
}

/// Whether the folders of Objects may lie in a folder of a run directory; another run in there has its own.
bool may_hold_objects(const fs::directory_entry& folder) {
  const std::string name = folder.path().filename().string();
  std::error_code ignored;
  return name != "checkpoints" && !name.starts_with('.') && !fs::exists(folder.path() / "run.json", ignored);
}

}  // namespace

std::string RunMoment::text() const {
  return substep == 0 ? frame_text(frame) : fmt::format("{}.{}", frame_text(frame), substep);
}

std::optional<RunMoment> RunMoment::parse(std::string_view text) {
  const auto dot = text.find('.');
  const auto frame = integer(text.substr(0, dot));
  const auto substep = dot == std::string_view::npos ? std::optional(0) : integer(text.substr(dot + 1));
  if (!frame || !substep || *substep < 0) return {};
  const RunMoment moment{*frame, *substep};
  if (moment.text() != text) return {};
  return moment;
}

std::vector<FrameFile> RunDirectory::frames() const {
  std::vector<FrameFile> found;
  walk(path_, [&](const fs::directory_entry& entry) {
    std::error_code ignored;
    const std::string name = entry.path().filename().string();
    if (entry.is_directory(ignored)) return may_hold_objects(entry);
    if (auto file = parse_frame_name(name); file && !name.starts_with('.')) {
      const fs::path relative = entry.path().lexically_relative(path_);
      file->path = relative.string();
      file->object = relative.parent_path().string();
      found.push_back(std::move(*file));
    }
    return true;
  });
  std::sort(found.begin(), found.end(), [](const FrameFile& a, const FrameFile& b) {
    return std::tie(a.object, a.kind, a.frame) < std::tie(b.object, b.kind, b.frame);
  });
  return found;
}

std::vector<RunMoment> RunDirectory::checkpoints() const {
  std::vector<RunMoment> found;
  std::error_code error;
  fs::directory_iterator at(path_ + "/checkpoints", error), end;
  while (!error && at != end) {
    // What cannot even be looked at counts, so that a failing disk does not pass for an empty folder.
    std::error_code unknown;
    if (const auto moment = RunMoment::parse(at->path().filename().string());
        moment && (at->is_directory(unknown) || unknown))
      found.push_back(*moment);
    at.increment(error);
  }
  std::sort(found.begin(), found.end());
  return found;
}

Status RunDirectory::create() const {
  std::error_code error;
  fs::create_directories(path_ + "/checkpoints", error);
  if (!error) return {};
  Error failure = system_error("cannot make the output folder", path_, error.value());
  const bool full = error == std::errc::no_space_on_device;
  if (!full) failure.kind = Failure::usage;
  return failure;
}

void RunDirectory::remove_leftovers() const {
  // The run directory may be somebody's home: only what a run has certainly made, where a run makes it.
  std::vector<fs::path> leftovers;
  walk(path_, [&](const fs::directory_entry& entry) {
    std::error_code ignored;
    if (entry.is_directory(ignored)) return may_hold_objects(entry);
    const std::string name = final_name(entry.path().filename().string());
    const fs::path folder = entry.path().parent_path();
    const bool at_top = !entry.path().lexically_relative(path_).has_parent_path();
    const bool of_object = parse_frame_name(name) && name.starts_with(folder.filename().string() + ".");
    if (at_top ? is_ours(name) : of_object) leftovers.push_back(entry.path());
    return true;
  });
  const std::string checkpoints_folder = path_ + "/checkpoints";
  walk(checkpoints_folder, [&](const fs::directory_entry& entry) {
    std::error_code ignored;
    const std::string name = entry.path().filename().string();
    const bool folder = entry.is_directory(ignored);
    const bool at_top = entry.path().parent_path() == checkpoints_folder;
    const bool leftover = folder ? at_top && is_checkpoint_leftover(name) : is_ours(final_name(name));
    if (leftover) leftovers.push_back(entry.path());
    return !leftover;
  });
  leftovers.push_back(ranks_file());
  std::error_code ignored;
  for (const fs::path& path : leftovers) fs::remove_all(path, ignored);
}

void RunDirectory::remove_frames_after(int frame) const {
  std::error_code ignored;
  for (const FrameFile& file : frames())
    if (file.frame > frame) fs::remove(fs::path(path_) / file.path, ignored);
}

Result<std::string> RunDirectory::set_aside(const RunMoment& moment) const {
  const std::string path = checkpoint_path(moment);
  std::string aside = path + ".damaged";
  std::error_code error;
  for (int n = 2; fs::exists(fs::symlink_status(aside, error)); ++n) aside = fmt::format("{}.damaged.{}", path, n);
  fs::rename(path, aside, error);
  if (error) return system_error("cannot set aside", path, error.value());
  return aside;
}

Status RunDirectory::check_checkpoints() const {
  std::error_code error;
  const fs::directory_iterator at(path_ + "/checkpoints", error);
  // What stands in the way of the folder is told by create().
  if (!error || error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) return {};
  return system_error("cannot read", path_ + "/checkpoints", error.value());
}

void RunDirectory::remove_checkpoint(const RunMoment& moment) const {
  // Renamed first, so that a removal that is interrupted leaves no half checkpoint under a good name.
  const fs::path path = checkpoint_path(moment);
  const fs::path temporary = path.parent_path() / ("." + moment.text() + ".tmp");
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  fs::rename(path, temporary, ignored);
  fs::remove_all(temporary, ignored);
}

}  // namespace aegir
