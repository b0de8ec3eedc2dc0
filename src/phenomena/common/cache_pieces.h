// Where the ranks of a job write the cache of an Object: one file from rank 0, or a piece from each rank.
//
//   const CachePiece piece(c.output_directory, "water", CacheKind::points, c.frame, comm, split);
//   if (piece.writes()) status = write_points(piece.path(), …);
//   return piece.finish(comm, status);
//
// Pieces are `<object>/piece_<rank>of<ranks>/piece_<rank>of<ranks>.points.<frame>.vdb`, ranks counted from 1. A frame
// is there in one form only: what a run on other ranks has left of it goes when the new form is whole.
#pragma once

#include <string>

#include "base/result.h"
#include "io/frame_path.h"
#include "parallel/comm.h"

namespace aegir {

class CachePiece {
 public:
  /// On one rank nothing is ever split.
  CachePiece(std::string out, std::string object, CacheKind kind, int frame, const Comm& comm, bool split);

  /// Whether this rank gathers nothing and writes what it has.
  bool split() const { return split_; }
  /// Whether this rank writes a file.
  bool writes() const { return split_ || rank_ == 0; }
  /// The file; its folder is made.
  std::string path() const;
  /// The outcome of all ranks; rank 0 removes other forms of the frame when it is good. Collective.
  Status finish(Comm& comm, const Status& mine) const;

 private:
  std::string folder_name(int rank) const;

  std::string out_, object_;
  CacheKind kind_;
  int frame_, rank_, ranks_;
  bool split_;
};

}  // namespace aegir
