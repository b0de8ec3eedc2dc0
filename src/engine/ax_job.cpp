#include "engine/ax_job.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "domain/exec.h"
#include "io/atomic_file.h"
#include "io/frame_path.h"
#include "io/hash128.h"
#include "surfacing/points_file.h"

namespace aegir {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Name of the metadata by which a file tells what made it.
constexpr const char* note_name = "aegir_ax";

struct Piece {
  int frame;
  std::string input, output;
};

Result<std::string> output_of(const AxJob& job, const std::string& input, int frame) {
  const FramePattern pattern(job.output);
  std::string path = job.output;
  if (!path.ends_with(".vdb"))
    path = (fs::path(path) / fs::path(input).filename()).string();
  else if (pattern.animated())
    path = pattern.path(frame);
  std::error_code ignored;
  if (fs::equivalent(path, input, ignored) || fs::path(path).lexically_normal() == fs::path(input).lexically_normal())
    return usage_error({}, "{} would be written over; choose another folder or name with -o", input);
  return path;
}

Result<std::vector<Piece>> pieces_of(const AxJob& job) {
  auto sequences = find_point_files(job.inputs);
  if (!sequences) return sequences.error();
  std::vector<Piece> pieces;
  std::set<std::string> outputs;
  for (const PointSequence& s : *sequences)
    for (const auto& [frame, file] : s.files) {
      if (job.frames && (frame < job.frames->first || frame > job.frames->second)) continue;
      auto output = output_of(job, file, frame);
      if (!output) return output.error();
      if (!outputs.insert(*output).second)
        return usage_error(
            {}, "two files would be written to {}; give a folder, or a frame pattern such as out.$F4.vdb", *output);
      pieces.push_back({frame, file, std::move(*output)});
    }
  if (pieces.empty())
    return usage_error(
        {}, "there are no files{}",
        job.frames ? fmt::format(" between frames {} and {}", job.frames->first, job.frames->second) : "");
  return pieces;
}

AxWork work_at(const AxJob& job, int frame) {
  AxWork work = job.work;
  work.step = static_cast<std::uint64_t>(static_cast<std::int64_t>(frame));
  const auto provide = [&](const char* name, double value) {
    const auto same = [&](const AxVariable& v) { return v.name == name; };
    if (std::none_of(work.variables.begin(), work.variables.end(), same)) work.variables.push_back({name, {value}});
  };
  provide("frame", frame), provide("time", frame / job.fps), provide("dt", 1 / job.fps);
  return work;
}

/// What decides a file's content: the snippet with everything that it runs with, and which input file it was.
std::string note_of(const AxWork& work, const std::string& input) {
  Hash128 hash;
  hash.add_text(work.source.text);
  hash.add(static_cast<std::uint64_t>(work.over)), hash.add(static_cast<std::uint64_t>(work.engine));
  for (const std::string& g : work.grids) hash.add_text(g);
  for (const AxVariable& v : work.variables) {
    hash.add_text(v.name);
    hash.add_bytes(v.values.data(), v.values.size() * sizeof(double));
  }
  hash.add(work.seed), hash.add(work.step);
  std::error_code failed;
  hash.add_text(fs::path(input).filename().string());
  hash.add(fs::file_size(input, failed));
  hash.add(static_cast<std::uint64_t>(fs::last_write_time(input, failed).time_since_epoch().count()));
  return hash.hex();
}

Status make_folder(const std::string& file) {
  std::error_code failed;
  const fs::path folder = fs::path(file).parent_path();
  if (!folder.empty()) fs::create_directories(folder, failed);
  if (failed) return system_error("cannot make", folder.string(), failed.value());
  return {};
}

/// A file's name before what went wrong in it, unless the message has a place of its own.
Error in_file(const Error& error, const std::string& path) {
  if (error.where.line > 0 || error.message.find(path) != std::string::npos) return error;
  return Error{error.kind, path + ": " + error.message, error.where};
}

Result<AxFile> make_one(const AxJob& job, const Piece& piece) {
  AxFile done;
  done.frame = piece.frame, done.input = piece.input, done.output = piece.output;
  const AxWork work = work_at(job, piece.frame);
  const std::string note = note_of(work, piece.input);
  std::error_code ignored;
  if (job.resume && fs::exists(piece.output, ignored) && read_vdb_note(piece.output, note_name) == note) {
    done.skipped = true;
    return done;
  }
  Stopwatch watch;
  Result<VdbEdit> file = VdbEdit::open(piece.input);
  if (!file) return file.error();
  done.read = watch.seconds();
  Result<AxOutcome> outcome = apply_ax(*file, work);
  if (!outcome) return in_file(outcome.error(), piece.input);
  done.outcome = std::move(*outcome);
  done.run = watch.seconds() - done.read;
  if (Status ok = make_folder(piece.output); !ok) return ok.error();
  if (Status ok = file->save(piece.output, note_name, note); !ok) return ok.error();
  done.write = watch.seconds() - done.read - done.run;
  return done;
}

json packed(const AxFile& f) {
  return {
      f.frame,          f.index,           f.count,           f.input,           f.output, f.skipped, f.outcome.points,
      f.outcome.voxels, f.outcome.deleted, f.outcome.openvdb, f.outcome.remarks, f.read,   f.run,     f.write};
}

AxFile unpacked(const json& j) {
  AxFile f;
  f.frame = j[0], f.index = j[1], f.count = j[2], f.input = j[3], f.output = j[4], f.skipped = j[5];
  f.outcome.points = j[6], f.outcome.voxels = j[7], f.outcome.deleted = j[8], f.outcome.openvdb = j[9];
  f.outcome.remarks = j[10].get<std::vector<std::string>>();
  f.read = j[11], f.run = j[12], f.write = j[13];
  return f;
}

void gather_files(AxJobReport& report, Comm& comm) {
  if (comm.size() == 1) return;
  json mine = json::array();
  for (const AxFile& f : report.made) mine.push_back(packed(f));
  const std::string text = mine.dump(-1, ' ', false, json::error_handler_t::replace);
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  const std::vector<Bytes> all = comm.gather(std::move(bytes));
  if (!comm.root()) return;
  report.made.clear();
  for (const Bytes& part : all)
    for (const json& j : json::parse(std::string(reinterpret_cast<const char*>(part.data()), part.size())))
      report.made.push_back(unpacked(j));
}

bool stopping(const AxJob& job) {
  return job.work.stop && *static_cast<const volatile std::int32_t*>(job.work.stop) != 0;
}

}  // namespace

Result<AxJobReport> run_ax_job(const AxJob& job, Comm& comm, const std::function<void(const AxFile&)>& made) {
  if (!(job.fps > 0 && job.fps < 1e6)) return usage_error({}, "{} frames per second make no sense", job.fps);
  const auto pieces = pieces_of(job);
  if (Status ok = comm.agree(pieces ? Status() : Status(pieces.error())); !ok) return ok.error();
  AxJobReport report;
  report.files = static_cast<int>(pieces->size());
  Status status;
  for (std::size_t i = static_cast<std::size_t>(comm.rank()); i < pieces->size() && !stopping(job);
       i += static_cast<std::size_t>(comm.size())) {
    Result<AxFile> done = make_one(job, (*pieces)[i]);
    if (!done) {
      // With its place in the text: ranks agree on kind and message only.
      if (!stopping(job)) status = Error{done.error().kind, done.error().text(), {}};
      break;
    }
    done->index = static_cast<int>(i + 1), done->count = report.files;
    made(*done);
    report.made.push_back(std::move(*done));
  }
  report.stopped = comm.any(stopping(job));
  if (Status ok = comm.agree(status); !ok) return ok.error();
  gather_files(report, comm);
  std::sort(report.made.begin(), report.made.end(), [](const AxFile& a, const AxFile& b) { return a.index < b.index; });
  return report;
}

}  // namespace aegir
