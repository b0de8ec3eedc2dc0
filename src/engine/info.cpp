#include "engine/info.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "engine/run_directory.h"
#include "engine/run_lock.h"
#include "engine/run_record.h"
#include "engine/stats.h"
#include "engine/text.h"
#include "io/atomic_file.h"
#include "io/checkpoint/checkpoint.h"
#include "io/content_hash.h"
#include "io/file_kind.h"
#include "io/info.h"

namespace aegir {
namespace {

namespace fs = std::filesystem;

/// A label in the first column, as everywhere in Aegir's output.
std::string labelled(const char* label, const std::string& text) { return fmt::format("{:<10}{}\n", label, text); }

std::string box_text(const Box& box) {
  return fmt::format("({:.4g}, {:.4g}, {:.4g}) … ({:.4g}, {:.4g}, {:.4g}) m", box.min.x, box.min.y, box.min.z,
                     box.max.x, box.max.y, box.max.z);
}

std::string range_of(const AttributeInfo& a) {
  const int n = std::min(a.components, 3);
  const auto numbers = [&](const std::array<double, 3>& v) {
    std::string text;
    for (int i = 0; i < n; ++i) text += fmt::format("{}{:.6g}", i ? ", " : "", v[static_cast<std::size_t>(i)]);
    return n > 1 ? "(" + text + ")" : text;
  };
  return n == 0 ? "" : numbers(a.minimum) + " … " + numbers(a.maximum);
}

std::string grid_text(const GridInfo& grid, FileInfo::Kind kind) {
  if (kind == FileInfo::piece)
    return fmt::format("  {:<40} {:>4}  {} × {}\n", grid.name, grid.type, grid.points, grid.active_voxels);
  std::string title = grid.type == grid.name ? grid.type : grid.name + ": " + grid.type;
  if (!grid.grid_class.empty()) title += ", " + grid.grid_class;
  if (kind == FileInfo::mesh)
    title += fmt::format(", {} vertices, {} triangles", grid.points, grid.active_voxels);
  else if (grid.type == "points")
    title += fmt::format(", {}", plural(static_cast<std::int64_t>(grid.points), "point"));
  else
    title += fmt::format(", {} active voxels", grid.active_voxels);
  std::string text = labelled("grid", title);
  if (kind == FileInfo::vdb) text += labelled("voxel", fmt::format("{:.6g} m", grid.voxel_size.x));
  if (grid.points > 0 || grid.active_voxels > 0) text += labelled("bounds", box_text(grid.bounds));
  TextTable table({"  attribute", "type", "range"});
  for (const AttributeInfo& a : grid.attributes) table.row({"  " + a.name, a.type, range_of(a)});
  return grid.attributes.empty() ? text : text + table.text();
}

/// Whether a file is what the ending of its name promises; an empty cache is what a crash leaves.
Status check_kind(const std::string& path) {
  const Result<FileKind> kind = kind_of_file(path);
  if (!kind) return kind.error();
  const std::string ending = fs::path(path).extension().string();
  const auto broken = [&](const char* promised) {
    std::error_code ignored;
    return io_error("{} is damaged: it is {}", path,
                    fs::file_size(path, ignored) == 0 ? "empty" : fmt::format("no {} in spite of its name", promised));
  };
  if (ending == ".vdb" && *kind != FileKind::vdb) return broken("OpenVDB file");
  if (ending == ".ply" && *kind != FileKind::ply) return broken("PLY mesh");
  if (ending == ".h5" && *kind != FileKind::hdf5) return broken("HDF5 file");
  return {};
}

/// An error where there is nothing at a path, or nothing that can be looked at.
Status check_exists(const std::string& path) {
  std::error_code error;
  const bool exists = fs::exists(path, error);
  if (error) return system_error("cannot read", path, error.value());
  return exists ? Status() : io_error("{} does not exist", path);
}

Result<std::string> file_text(const std::string& path) {
  if (Status ok = check_kind(path); !ok) return ok.error();
  const Result<FileInfo> file = inspect_file(path);
  if (!file) return file.error();
  constexpr const char* kinds[] = {"OpenVDB file", "mesh", "checkpoint piece", "file of another kind"};
  std::string text = labelled("file", fmt::format("{} · {} · {}", path, kinds[file->kind], short_bytes(file->bytes)));
  for (const auto& [key, value] : file->metadata) text += labelled("", key + " = " + value);
  for (const GridInfo& grid : file->grids) text += grid_text(grid, file->kind);
  return text;
}

std::string text_of(const CheckpointInfo& info, const char* key) {
  const auto found = info.texts.find(key);
  return found == info.texts.end() ? "?" : found->second;
}

Result<std::string> checkpoint_text(const std::string& path) {
  const Result<CheckpointInfo> info = read_checkpoint_info(path);
  if (!info) return info.error();
  std::string text =
      labelled("checkpoint", fmt::format(" {} · {} · {}", path, plural(info->ranks, "rank"), short_bytes(info->bytes)));
  const std::string substep = text_of(*info, "substep");
  text +=
      labelled("moment", fmt::format("frame {}{}, t = {} s", text_of(*info, "frame"),
                                     substep == "0" ? "" : " and " + substep + " substeps", text_of(*info, "time")));
  text += labelled("written", fmt::format("{} on {} by aegir {}", text_of(*info, "written"), text_of(*info, "host"),
                                          text_of(*info, "aegir")));
  text += labelled("setup", text_of(*info, "hash"));
  for (const auto& [system, count] : info->particles) {
    // An Object's own particles are called so; others keep their name.
    constexpr std::string_view own = "/particles";
    const std::string object = system.ends_with(own) ? system.substr(0, system.size() - own.size()) : system;
    text += labelled("object", fmt::format("{}: {}", object, plural(count, "particle")));
  }
  return text;
}

/// Frames that are missing between the first and the last one.
std::vector<int> gaps(const std::vector<int>& frames) {
  std::vector<int> missing;
  for (std::size_t i = 1; i < frames.size(); ++i)
    for (int f = frames[i - 1] + 1; f < frames[i]; ++f) missing.push_back(f);
  return missing;
}

/// Seconds of all tasks, and frames, that the statistics tell of.
std::string time_text(const std::string& stats_file) {
  std::ifstream stream(stats_file, std::ios::binary);
  double seconds = 0;
  std::int64_t substeps = 0;
  std::map<int, bool> frames;
  for (std::string line; std::getline(stream, line);) {
    const auto place = stats_place(line);
    if (!place) continue;
    ++substeps;
    frames[place->frame] = true;
    for (std::size_t at = line.find("\"tasks\":"); (at = line.find("\"seconds\":", at)) != std::string::npos; at += 10)
      seconds += std::strtod(line.c_str() + at + 10, nullptr);
  }
  if (frames.empty()) return {};
  return fmt::format("{}, {}, {:.3g} s of work per frame", plural(static_cast<std::int64_t>(frames.size()), "frame"),
                     plural(substeps, "substep"), seconds / static_cast<double>(frames.size()));
}

std::string state_text(const RunDirectory& directory, const std::optional<RunRecord>& record) {
  const auto owner = read_lock(directory.lock_file());
  if (owner && owner->alive)
    return fmt::format("running: process {} on {} since {}", owner->process, owner->host, owner->started);
  if (!record || record->sessions.empty()) return "unknown (no run.json)";
  const RunSession& session = record->sessions.back();
  if (session.outcome == "running")
    return fmt::format("ended without a word on {}, started {}; continue with --resume", session.host, session.started);
  return session.outcome + (session.outcome == "stopped" ? "; continue with --resume" : "");
}

std::string run_text(const std::string& path) {
  const RunDirectory directory(path);
  const auto record = RunRecord::load(directory.run_file());
  std::string text = labelled("run", path);
  text += labelled("state", state_text(directory, record));
  if (record) {
    text += labelled("setup", fmt::format("{} {} · frames {}–{}", record->setup_file, record->setup_hash.substr(0, 6),
                                          record->first_frame, record->last_frame));
    if (!record->sessions.empty()) {
      const RunSession& s = record->sessions.back();
      text += labelled("by", fmt::format("aegir {} · {} · {}, {}, {} · started {}", s.version, s.host,
                                         plural(s.ranks, "rank"), plural(s.threads, "thread"), s.simd, s.started));
    }
  }
  std::map<std::pair<std::string, std::string>, std::vector<int>> frames;
  for (const FrameFile& file : directory.frames()) frames[{file.object, file.kind}].push_back(file.frame);
  for (const auto& [what, list] : frames) {
    const std::vector<int> missing = gaps(list);
    text += labelled("frames", fmt::format("{} {}: {}{}", what.first, what.second, frame_ranges(list),
                                           missing.empty() ? "" : "; missing " + frame_ranges(missing)));
  }
  if (frames.empty()) text += labelled("frames", "none");
  std::string whole;
  for (const RunMoment& moment : directory.checkpoints()) {
    const bool good = static_cast<bool>(read_checkpoint_info(directory.checkpoint_path(moment)));
    whole += (whole.empty() ? "" : ", ") + moment.text() + (good ? "" : " (damaged)");
  }
  text += labelled("saved", whole.empty() ? "no checkpoint" : "checkpoint " + whole);
  if (const std::string time = time_text(directory.stats_file()); !time.empty()) text += labelled("work", time);
  return text;
}

}  // namespace

Result<std::string> info(const std::string& path) {
  if (Status ok = check_exists(path); !ok) return ok.error();
  std::error_code ignored;
  const fs::path at(path);
  if (!fs::is_directory(at, ignored)) return file_text(path);
  if (fs::exists(at / "index.json", ignored) ||
      (at.parent_path().filename() == "checkpoints" && RunMoment::parse(at.filename().string())))
    return checkpoint_text(path);
  const RunDirectory directory(path);
  if (fs::exists(at / "run.json", ignored) || fs::exists(at / "stats.jsonl", ignored) || !directory.frames().empty())
    return run_text(path);
  return usage_error({}, "{} is neither a run directory nor a checkpoint", path);
}

Result<std::string> file_hash(const std::string& path) {
  if (Status ok = check_exists(path); !ok) return ok.error();
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return usage_error({}, "{} is a folder; name the files in it", path);
  if (Status ok = check_kind(path); !ok) return ok.error();
  return content_hash(path);
}

}  // namespace aegir
