#include "io/atomic_file.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "io/file_sink.h"

namespace aegir {

namespace {

std::string_view remedy(int error_number) {
  switch (error_number) {
    case ENOSPC:
      return "; free space and resume";
    case EDQUOT:
      return "; free space in your quota and resume";
    case EFBIG:
      return "; raise the file-size limit (ulimit -f) and resume";
    case EACCES:
    case EPERM:
      return "; check who may write there";
    case EROFS:
      return "; choose another output folder";
    case ENOENT:
      return "; check that the folder exists";
    case ENOTDIR:
      return "; a part of the path is a file";
    case EMFILE:
    case ENFILE:
      return "; raise the limit of open files (ulimit -n)";
    default:
      return "";
  }
}

/// Removes the temporary file unless it was renamed.
struct TemporaryFile {
  std::string path;
  bool kept = false;
  ~TemporaryFile() {
    if (!kept) ::unlink(path.c_str());
  }
};

std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  const std::filesystem::path whole(path);
  const std::string name = fmt::format(".{}.tmp-{}-{}", whole.filename().string(), ::getpid(), counter++);
  return (whole.parent_path() / name).string();
}

/// Flushes a file or a folder to the disk; writers may have closed it without doing so.
int sync_path(const std::string& path, bool folder) {
  const int descriptor = ::open(path.c_str(), (folder ? O_RDONLY | O_DIRECTORY : O_RDONLY) | O_CLOEXEC);
  if (descriptor < 0) return errno;
  int error_number = ::fsync(descriptor) != 0 ? errno : 0;
  // Some file systems cannot sync a folder; the rename has happened all the same.
  if (folder && (error_number == EINVAL || error_number == ENOTSUP)) error_number = 0;
  if (::close(descriptor) != 0 && error_number == 0) error_number = errno;
  return error_number;
}

Status call_guarded(const std::string& path, const std::string& temporary,
                    const std::function<Status(const std::string&)>& write) {
  try {
    return write(temporary);
  } catch (const BugFound&) {
    throw;
  } catch (const std::bad_alloc&) {
    return Error{Failure::memory, fmt::format("cannot write {}: not enough memory", path), {}};
  } catch (const std::exception& e) {
    return io_error("cannot write {}: {}", path, e.what());
  }
}

}  // namespace

Error system_error(std::string_view doing, const std::string& path, int error_number) {
  return io_error("{} {}: {}{}", doing, path, std::strerror(error_number), remedy(error_number));
}

Status write_atomically(const std::string& path, const std::function<Status(const std::string& temporary)>& write) {
  const std::filesystem::path whole(path);
  if (whole.filename().empty()) return io_error("cannot write {}: it names no file", path.empty() ? "''" : path);
  const std::string folder = whole.has_parent_path() ? whole.parent_path().string() : ".";
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return system_error("cannot write", path, errno);
  if (!S_ISDIR(status.st_mode)) return system_error("cannot write", path, ENOTDIR);
  if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return system_error("cannot write", path, EISDIR);

  TemporaryFile temporary{temporary_name(path)};
  if (Status written = call_guarded(path, temporary.path, write); !written) {
    Error error = written.error();
    // The user knows the file by its own name.
    if (const auto at = error.message.find(temporary.path); at != std::string::npos)
      error.message.replace(at, temporary.path.size(), path);
    return error;
  }
  if (const int e = sync_path(temporary.path, false)) return system_error("cannot write", path, e);
  if (::rename(temporary.path.c_str(), path.c_str()) != 0) return system_error("cannot write", path, errno);
  temporary.kept = true;
  if (const int e = sync_path(folder, true)) return system_error("cannot write", path, e);
  return {};
}

Status write_text_atomically(const std::string& path, std::string_view text) {
  return write_atomically(path, [&](const std::string& temporary) {
    FileSink sink(temporary);
    sink.write(text.data(), text.size());
    return sink.finish();
  });
}

void ignore_file_size_signal() { std::signal(SIGXFSZ, SIG_IGN); }

bool is_temporary_name(std::string_view file_name) {
  const auto at = file_name.rfind(".tmp-");
  if (file_name.empty() || file_name.front() != '.' || at == std::string_view::npos || at == 0) return false;
  const std::string_view digits = file_name.substr(at + 5);
  return !digits.empty() && digits.find_first_not_of("0123456789-") == std::string_view::npos;
}

}  // namespace aegir
