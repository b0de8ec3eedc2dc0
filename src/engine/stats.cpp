#include "engine/stats.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "io/atomic_file.h"

namespace aegir {
namespace {

/// 17 significant digits bring every double back; JSON has no word for what is not finite.
std::string number(double value) { return std::isfinite(value) ? fmt::format("{:.17g}", value) : "null"; }

std::string vector(const Vec3d& v) { return fmt::format("[{},{},{}]", number(v.x), number(v.y), number(v.z)); }

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// "name":kg,… of what Behaviors have put in or taken out.
std::string masses_text(const std::vector<std::pair<std::string, double>>& masses) {
  std::string all;
  for (const auto& [name, mass] : masses) all += (all.empty() ? "" : ",") + quoted(name) + ":" + number(mass);
  return all;
}

std::string object_text(const ObjectAudit& a) {
  std::string more;
  for (const auto& [name, value] : a.more) more += fmt::format(R"(,"{}":{})", name, number(value));
  if (!a.added.empty()) more += fmt::format(R"(,"added":{{{}}})", masses_text(a.added));
  if (!a.removed.empty()) more += fmt::format(R"(,"removed":{{{}}})", masses_text(a.removed));
  return fmt::format(
      R"({{"particles":{},"mass":{},"volume":{},"momentum":{},"angular_momentum":{},"kinetic_energy":{},"potential_energy":{},"max_speed":{}{}}})",
      a.particles, number(a.mass), number(a.volume), vector(a.momentum), vector(a.angular_momentum),
      number(a.kinetic_energy), number(a.potential_energy), number(a.max_speed), more);
}

std::string solve_text(const SolveRecord& s) {
  return fmt::format(R"({{"name":{},"unknowns":{},"iterations":{},"residual":{},"seconds":{}}})", quoted(s.name),
                     s.unknowns, s.iterations, number(s.residual), number(s.seconds));
}

/// "a,b,c" of whatever `text` makes of the elements.
template <class List, class Text>
std::string joined(const List& list, Text&& text) {
  std::string all;
  for (const auto& item : list) all += (all.empty() ? "" : ",") + text(item);
  return all;
}

/// What every rank did; nothing on one rank.
std::string ranks_text(const RankReport& r) {
  if (r.memory_bytes.empty()) return {};
  const auto integer = [](std::int64_t n) { return std::to_string(n); };
  return fmt::format(
      R"(,"ranks":{{"memory_bytes":[{}],"particles":[{}],"buckets":[{}],"ghost_buckets":[{}],"bytes_sent":[{}],"halo_bytes":[{}],"waiting":[{}],"seconds":{},"recuts":{}}})",
      joined(r.memory_bytes, integer), joined(r.particles, integer), joined(r.buckets, integer),
      joined(r.ghost_buckets, integer), joined(r.bytes_sent, integer), joined(r.halo_bytes, integer),
      joined(r.waiting, number), number(r.seconds), r.recuts);
}

/// The leading lines that tell of substeps up to a moment.
std::string kept_lines(const std::string& path, const RunMoment& keep) {
  std::ifstream stream(path, std::ios::binary);
  std::string kept;
  for (std::string line; std::getline(stream, line);) {
    if (stream.eof()) break;  // no line end: torn
    const auto place = stats_place(line);
    if (!place) break;
    const bool done = place->frame <= keep.frame || (place->frame == keep.frame + 1 && place->substep < keep.substep);
    if (!done) break;
    kept += line + '\n';
  }
  return kept;
}

}  // namespace

std::string stats_line(const StepReport& r) {
  const std::string objects =
      joined(r.objects, [](const auto& o) { return quoted(o.first) + ":" + object_text(o.second); });
  const std::string solves = joined(r.solves, solve_text);
  const std::string tasks = joined(r.tasks, [](const auto& t) {
    return fmt::format(R"({}:{{"seconds":{},"bytes":{},"cells":{}}})", quoted(t.first), number(t.second.seconds),
                       t.second.bytes, t.second.cells);
  });
  return fmt::format(
      R"({{"frame":{},"substep":{},"time":{},"dt":{},"objects":{{{}}},"solves":[{}],"tasks":{{{}}},"memory_bytes":{}{}}})"
      "\n",
      r.frame, r.substep, number(r.time), number(r.dt), objects, solves, tasks, r.memory_bytes, ranks_text(r.ranks));
}

std::optional<StatsPlace> stats_place(const std::string& line) {
  StatsPlace place;
  if (line.empty() || line.back() != '}') return {};
  if (std::sscanf(line.c_str(), R"({"frame":%d,"substep":%d,)", &place.frame, &place.substep) != 2) return {};
  return place;
}

StatsFile::StatsFile(std::string path, int descriptor, std::uint64_t size)
    : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

StatsFile::StatsFile(StatsFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

StatsFile::~StatsFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<StatsFile> StatsFile::open(const std::string& path, const std::optional<RunMoment>& keep) {
  const std::string kept = keep ? kept_lines(path, *keep) : std::string();
  if (Status written = write_text_atomically(path, kept); !written) return written.error();
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return system_error("cannot write", path, errno);
  return StatsFile(path, descriptor, kept.size());
}

Status StatsFile::append(const StepReport& report) {
  const std::string line = stats_line(report);
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t n = ::pwrite(descriptor_, line.data() + done, line.size() - done, static_cast<off_t>(size_ + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error_number = n < 0 ? errno : ENOSPC;
      if (::ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) {
        // The torn line is passed over by whoever reads it.
      }
      return system_error("cannot write", path_, error_number);
    }
    done += static_cast<std::size_t>(n);
  }
  size_ += line.size();
  return {};
}

Status StatsFile::sync() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP)
    return system_error("cannot write", path_, errno);
  return {};
}

}  // namespace aegir
