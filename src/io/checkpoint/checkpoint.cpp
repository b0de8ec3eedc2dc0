#include "io/checkpoint/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/assert.h"
#include "io/atomic_file.h"
#include "io/checkpoint/names.h"
#include "io/piece_file.h"

namespace aegir {
namespace fs = std::filesystem;
using nlohmann::json;

std::string state_name(const std::string& path) {
  std::string name = path;
  std::replace(name.begin(), name.end(), '/', ':');
  return name;
}

std::string piece_path(const std::string& directory, int rank) {
  return fmt::format("{}/piece.{}.h5", directory, rank);
}

PieceType piece_type(Scalar s) {
  switch (s) {
    case Scalar::f32:
      return PieceType::f32;
    case Scalar::f64:
      return PieceType::f64;
    case Scalar::i32:
      return PieceType::i32;
    case Scalar::i64:
      return PieceType::i64;
  }
  return PieceType::f32;
}

namespace {

constexpr int format_version = 1;

std::string channel_text(const ChannelInfo& c) {
  return json{{"name", c.name},
              {"scalar", static_cast<int>(c.scalar)},
              {"components", c.components},
              {"site", static_cast<int>(c.site)},
              {"unit", c.unit.power},
              {"background", {c.background[0], c.background[1], c.background[2]}}}
      .dump();
}

Status write_spacing(PieceWriter& out, const std::string& at, const Topology& topology) {
  const double spacing = topology.spacing();
  return out.array(at + "/spacing", &spacing, PieceType::f64, 1);
}

std::vector<std::int32_t> packed_keys(const Topology& t) {
  std::vector<std::int32_t> keys;
  for (const BucketKey& k : t.local_keys()) keys.insert(keys.end(), {k.coord.x, k.coord.y, k.coord.z, k.level});
  return keys;
}

Status write_particles(PieceWriter& out, const std::string& at, const ParticleSystem& system) {
  AEGIR_ASSERT(system.pending() == 0, "a checkpoint was asked for while new particles wait to be sorted in");
  if (Status ok = write_spacing(out, at, system.topology()); !ok) return ok;
  const auto keys = packed_keys(system.topology());
  const auto buckets = static_cast<std::size_t>(system.topology().local_count());
  if (Status ok = out.array(at + "/keys", keys.data(), PieceType::i32, buckets, 4); !ok) return ok;
  std::vector<std::uint64_t> counts(buckets);
  for (std::size_t b = 0; b < buckets; ++b) counts[b] = system.count(static_cast<int>(b));
  if (Status ok = out.array(at + "/counts", counts.data(), PieceType::u64, buckets); !ok) return ok;
  for (const ParticleStore& c : system.channels()) {
    const std::string channel = at + "/channels/" + c.info.name;
    if (Status ok = out.text(channel + "/info", channel_text(c.info)); !ok) return ok;
    for (int p = 0; p < c.info.components; ++p)
      if (Status ok = out.array(fmt::format("{}/{}", channel, p), c.planes[static_cast<std::size_t>(p)].data(),
                                piece_type(c.info.scalar), system.size());
          !ok)
        return ok;
  }
  return {};
}

Status write_volume(PieceWriter& out, const std::string& at, const DiscreteVolume& volume) {
  if (Status ok = write_spacing(out, at, volume.topology()); !ok) return ok;
  const auto keys = packed_keys(volume.topology());
  const auto buckets = static_cast<std::size_t>(volume.topology().local_count());
  if (Status ok = out.array(at + "/keys", keys.data(), PieceType::i32, buckets, 4); !ok) return ok;
  for (const GridStore& c : volume.channels()) {
    if (c.info.keep == Keep::scratch) continue;
    const std::string channel = at + "/channels/" + c.info.name;
    if (Status ok = out.text(channel + "/info", channel_text(c.info)); !ok) return ok;
    for (int p = 0; p < c.info.components; ++p)
      if (Status ok = out.array(fmt::format("{}/{}", channel, p), c.planes[static_cast<std::size_t>(p)].data(),
                                piece_type(c.info.scalar), buckets, bucket_cells);
          !ok)
        return ok;
  }
  return {};
}

Status write_record(PieceWriter& out, const std::string& at, const Record& record) {
  return std::visit(
      [&](const auto* value) -> Status {
        using T = std::remove_cvref_t<decltype(*value)>;
        if constexpr (std::is_same_v<T, std::string>)
          return out.text(at, *value);
        else if constexpr (std::is_same_v<T, std::int64_t>)
          return out.array(at, value, PieceType::i64, 1);
        else if constexpr (std::is_same_v<T, double>)
          return out.array(at, value, PieceType::f64, 1);
        else if constexpr (std::is_same_v<T, std::vector<double>>)
          return out.array(at, value->data(), PieceType::f64, value->size());
        else
          return out.array(at, value->data(), PieceType::i64, value->size());
      },
      record);
}

Status write_piece(const std::string& path, const std::vector<StateTree*>& state, bool with_records) {
  Result<PieceWriter> out = PieceWriter::create(path);
  if (!out) return out.error();
  Status status;
  const auto keep = [&](Status s) {
    if (status && !s) status = s;
  };
  for (const StateTree* tree : state)
    tree->walk([&](const std::string& node_path, const StateTree& node) {
      const std::string at = state_name(node_path);
      for (const auto& p : node.particles()) keep(write_particles(*out, at + "/particles/" + p.name, *p.value));
      for (const auto& v : node.volumes()) keep(write_volume(*out, at + "/volumes/" + v.name, *v.value));
      if (with_records)
        for (const auto& r : node.records()) keep(write_record(*out, at + "/records/" + r.name, r.value));
    });
  keep(out->close());
  return status;
}

void sync_folder(const std::string& path) {
  if (const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY); folder >= 0) fsync(folder), close(folder);
}

}  // namespace

bool is_unfinished_checkpoint(std::string_view folder_name) {
  return folder_name.starts_with(".") && folder_name.ends_with(".tmp");
}

Status write_checkpoint(const std::string& directory, const std::vector<StateTree*>& state,
                        const std::map<std::string, std::string>& texts, Comm& comm) {
  const fs::path target(directory);
  const std::string temporary = (target.parent_path() / ("." + target.filename().string() + ".tmp")).string();
  std::error_code failed;
  Status mine;
  if (comm.root()) {
    fs::remove_all(temporary, failed);
    fs::create_directories(temporary, failed);
    if (failed) mine = system_error("create checkpoint folder", temporary, failed.value());
  }
  Status all = comm.agree(mine);
  if (all) all = comm.agree(write_piece(piece_path(temporary, comm.rank()), state, comm.root()));

  json index{
      {"aegir_checkpoint", format_version}, {"ranks", comm.size()}, {"texts", texts}, {"particles", json::object()}};
  for (const StateTree* tree : state)
    tree->walk([&](const std::string& path, const StateTree& node) {
      for (const auto& p : node.particles()) index["particles"][path + "/" + p.name] = p.value->global_size(comm);
    });
  mine = {};
  if (all && comm.root()) {
    mine = write_text_atomically(temporary + "/index.json", index.dump(1));
    if (mine) {
      sync_folder(temporary);
      // One of the same name (a branch) stays until the new one stands in its place.
      const std::string old = (target.parent_path() / ("." + target.filename().string() + ".old.tmp")).string();
      if (fs::exists(directory, failed)) fs::rename(directory, old, failed);
      fs::rename(temporary, directory, failed);
      if (failed)
        mine = system_error("rename checkpoint", directory, failed.value());
      else
        fs::remove_all(old, failed);
      sync_folder(target.parent_path().string());
    }
  }
  if (all) all = comm.agree(mine);
  if (!all && comm.root()) fs::remove_all(temporary, failed);
  return all;
}

Result<CheckpointInfo> read_checkpoint_info(const std::string& directory) {
  std::ifstream file(directory + "/index.json");
  if (!file) return io_error("{} holds no whole checkpoint (no index.json)", directory);
  std::stringstream text;
  text << file.rdbuf();
  const json index = json::parse(text.str(), nullptr, false);
  if (index.is_discarded() || !index.is_object() || !index.contains("aegir_checkpoint"))
    return io_error("checkpoint {} is damaged (index.json)", directory);
  if (index["aegir_checkpoint"] != format_version)
    return io_error("checkpoint {} was written by another version of Aegir", directory);
  CheckpointInfo info;
  try {
    info.ranks = index.at("ranks").get<int>();
    info.texts = index.at("texts").get<std::map<std::string, std::string>>();
    info.particles = index.at("particles").get<std::map<std::string, std::int64_t>>();
  } catch (const json::exception&) {
    return io_error("checkpoint {} is damaged (index.json)", directory);
  }
  if (info.ranks < 1) return io_error("checkpoint {} is damaged (index.json)", directory);
  for (int r = 0; r < info.ranks; ++r) {
    std::error_code failed;
    const auto size = fs::file_size(piece_path(directory, r), failed);
    if (failed) return io_error("checkpoint {} is damaged (piece {} of {} is missing)", directory, r, info.ranks);
    info.bytes += size;
  }
  return info;
}

}  // namespace aegir
