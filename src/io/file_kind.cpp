#include "io/file_kind.h"

#include <algorithm>
#include <cerrno>
#include <limits>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic_file.h"

namespace aegir {

namespace {

Result<std::string> read_first(const std::string& path, std::size_t most) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return system_error("cannot read", path, errno);
  struct stat status {};
  int error_number = ::fstat(descriptor, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
  std::string bytes;
  if (error_number == 0) bytes.resize(std::min(most, static_cast<std::size_t>(status.st_size)));
  std::size_t have = 0;
  while (error_number == 0 && have < bytes.size()) {
    const ssize_t n = ::read(descriptor, bytes.data() + have, std::min<std::size_t>(bytes.size() - have, 1 << 30));
    if (n < 0 && errno != EINTR) error_number = errno;
    if (n == 0) break;
    if (n > 0) have += static_cast<std::size_t>(n);
  }
  ::close(descriptor);
  if (error_number != 0) return system_error("cannot read", path, error_number);
  bytes.resize(have);
  return bytes;
}

}  // namespace

FileKind kind_of(std::string_view first_bytes) {
  if (first_bytes.starts_with(std::string_view(" BDV\0\0\0\0", 8))) return FileKind::vdb;
  if (first_bytes.starts_with("ply\n") || first_bytes.starts_with("ply\r")) return FileKind::ply;
  if (first_bytes.starts_with("\x89HDF\r\n\x1a\n")) return FileKind::hdf5;
  return FileKind::other;
}

Result<FileKind> kind_of_file(const std::string& path) {
  const auto first = read_first(path, 16);
  if (!first) return first.error();
  return kind_of(*first);
}

Result<std::string> read_bytes(const std::string& path) {
  return read_first(path, std::numeric_limits<std::size_t>::max());
}

}  // namespace aegir
