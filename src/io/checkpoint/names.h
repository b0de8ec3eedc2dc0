// Where things lie inside a checkpoint; shared by its writer and its reader.
#pragma once

#include <string>

#include "domain/channel/channel.h"
#include "io/piece_file.h"

namespace aegir {

/// "bulk/water" → "bulk:water", one group of the piece.
std::string state_name(const std::string& path);
std::string piece_path(const std::string& directory, int rank);
PieceType piece_type(Scalar scalar);

}  // namespace aegir
