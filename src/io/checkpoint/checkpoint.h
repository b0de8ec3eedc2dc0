// Checkpoints: every StateTree of a simulation, readable by any number of ranks.
//
//   <directory>/piece.0.h5, piece.1.h5, …   one per rank, whatever that rank owned
//   <directory>/index.json                  written last; without it the checkpoint does not exist
//
// The folder is made under a temporary name and renamed, so that a name without "tmp" is always whole.
//
//   Status s = write_checkpoint("run/checkpoints/1043", simulation.state(), {{"frame", "1043"}}, comm);
//   Status r = read_checkpoint("run/checkpoints/1043", simulation.state(), comm);
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "domain/state/state_tree.h"
#include "parallel/comm.h"

namespace aegir {

/// What a checkpoint says of itself.
struct CheckpointInfo {
  int ranks = 0;
  std::map<std::string, std::string> texts;       ///< as given to write_checkpoint
  std::map<std::string, std::int64_t> particles;  ///< per particle system
  std::uint64_t bytes = 0;
};

/// Writes the state of all ranks under `directory`. Collective; fails on all ranks or on none.
Status write_checkpoint(const std::string& directory, const std::vector<StateTree*>& state,
                        const std::map<std::string, std::string>& texts, Comm& comm);

/// Reads the index; an error where the checkpoint is not whole.
Result<CheckpointInfo> read_checkpoint_info(const std::string& directory);

/// Restores the state on any number of ranks. Collective. What the checkpoint does not know keeps its value.
Status read_checkpoint(const std::string& directory, const std::vector<StateTree*>& state, Comm& comm);

/// Whether a folder name is that of an unfinished checkpoint.
bool is_unfinished_checkpoint(std::string_view folder_name);

}  // namespace aegir
