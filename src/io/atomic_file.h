// A file is there whole or not at all: written under a temporary name beside it, flushed to the disk, renamed.
//
//   Status s = write_atomically("out/frame.vdb", [&](const std::string& temporary) { return save(temporary); });
//   Status t = write_text_atomically("out/run.json", text);
//
// A program that wants an error instead of a signal at a file-size limit ignores SIGXFSZ (see ignore_file_size_signal).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aegir {

/// Calls `write` with a temporary name (".<name>.tmp-<pid>-<n>") in the folder of `path`, syncs what it wrote, renames
/// it.
///
/// On any failure, an exception included, the temporary file is removed and `path` is as it was before.
Status write_atomically(const std::string& path, const std::function<Status(const std::string& temporary)>& write);

/// Writes a text, whole or not at all.
Status write_text_atomically(const std::string& path, std::string_view text);

/// The io Error for an errno: path, reason, and what the user can do.
Error system_error(std::string_view doing, const std::string& path, int error_number);

/// Lets a write past RLIMIT_FSIZE fail with EFBIG instead of ending the process; called once at start of a program.
void ignore_file_size_signal();

/// Whether a file name is a temporary one of write_atomically (left over by a killed process).
bool is_temporary_name(std::string_view file_name);

}  // namespace aegir
