#include "phenomena/common/cache_pieces.h"

#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

namespace aegir {
namespace fs = std::filesystem;
namespace {

/// Whether a folder holds pieces, of any number of ranks.
bool is_piece(const std::string& name) {
  int rank = 0, ranks = 0, end = 0;
  return std::sscanf(name.c_str(), "piece_%dof%d%n", &rank, &ranks, &end) == 2 &&
         static_cast<std::size_t>(end) == name.size();
}

}  // namespace

CachePiece::CachePiece(std::string out, std::string object, CacheKind kind, int frame, const Comm& comm, bool split)
    : out_(std::move(out)),
      object_(std::move(object)),
      kind_(kind),
      frame_(frame),
      rank_(comm.rank()),
      ranks_(comm.size()),
      split_(split && comm.size() > 1) {}

std::string CachePiece::folder_name(int rank) const { return fmt::format("piece_{}of{}", rank + 1, ranks_); }

std::string CachePiece::path() const {
  std::string path = cache_path(out_, split_ ? object_ + "/" + folder_name(rank_) : object_, kind_, frame_);
  std::error_code failed;
  fs::create_directories(fs::path(path).parent_path(), failed);  // writing tells why it cannot be
  return path;
}

Status CachePiece::finish(Comm& comm, const Status& mine) const {
  const Status all = comm.agree(mine);
  if (!all || rank_ != 0) return all;
  std::error_code ignored;
  if (split_) fs::remove(cache_path(out_, object_, kind_, frame_), ignored);
  for (fs::directory_iterator at(out_ + "/" + object_, ignored), end; !ignored && at != end; at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (!is_piece(name) || (split_ && name.ends_with("of" + std::to_string(ranks_)))) continue;
    std::error_code kept;
    fs::remove(cache_path(out_, object_ + "/" + name, kind_, frame_), kept);
    fs::remove(at->path(), kept);  // an empty folder only
  }
  return all;
}

}  // namespace aegir
