// What a file is, by its first bytes rather than by its name; and all of its bytes.
//
//   Result<std::string> bytes = read_bytes(path);
//   if (kind_of(*bytes) == FileKind::ply) …
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace aegir {

enum class FileKind { vdb, ply, hdf5, other };

/// The kind that the first bytes (16 are enough) announce.
FileKind kind_of(std::string_view first_bytes);

/// The kind of a file on disk.
Result<FileKind> kind_of_file(const std::string& path);

/// A whole file.
Result<std::string> read_bytes(const std::string& path);

}  // namespace aegir
