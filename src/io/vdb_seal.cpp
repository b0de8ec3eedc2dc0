#include "io/vdb_seal.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <tbb/parallel_for.h>
#include <unistd.h>

#include "io/atomic_file.h"
#include "io/hash128.h"

namespace aegir {

namespace {

constexpr std::string_view marker = "AegirSum";
constexpr std::size_t digits = 32, chunk_bytes = 1 << 22, searched_bytes = 1 << 16;

/// A file descriptor that closes itself.
struct Descriptor {
  int id;
  ~Descriptor() {
    if (id >= 0) ::close(id);
  }
};

bool read_at(int descriptor, char* out, std::size_t bytes, std::size_t offset) {
  while (bytes > 0) {
    const ssize_t n = ::pread(descriptor, out, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;
    if (n <= 0) return false;
    out += n, bytes -= static_cast<std::size_t>(n), offset += static_cast<std::size_t>(n);
  }
  return true;
}

std::string counted(std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  return bytes.append(text);
}

/// How OpenVDB stores the entry, up to the digits: name, type, length, value.
std::string entry_start() {
  std::string entry = counted(seal_key) + counted("string") + counted(empty_seal());
  entry.resize(entry.size() - digits);
  return entry;
}

enum class Place { none, found, broken };

/// Looks for the entry near the start of the file; half of an entry means that the file is damaged.
Place find_digits(std::string_view start, std::size_t& at) {
  const std::string entry = entry_start();
  const std::size_t whole = start.find(entry);
  if (whole != std::string_view::npos && whole + entry.size() + digits <= start.size()) {
    at = whole + entry.size();
    return Place::found;
  }
  const bool part = start.find(seal_key) != std::string_view::npos || start.find(marker) != std::string_view::npos;
  return part ? Place::broken : Place::none;
}

/// Hash of the whole file with the digits of the seal taken as zeros; nothing when it cannot be read.
std::optional<std::string> checksum(int descriptor, std::size_t size, std::size_t digits_at) {
  const std::size_t chunks = (size + chunk_bytes - 1) / chunk_bytes;
  std::vector<Hash128> parts(chunks);
  std::vector<int> failed(chunks, 0);
  tbb::parallel_for(std::size_t{0}, chunks, [&](std::size_t c) {
    const std::size_t begin = c * chunk_bytes, count = std::min(chunk_bytes, size - begin);
    std::vector<char> bytes(count);
    if (!read_at(descriptor, bytes.data(), count, begin)) {
      failed[c] = errno;
      return;
    }
    for (std::size_t d = digits_at; d < digits_at + digits; ++d)
      if (d >= begin && d < begin + count) bytes[d - begin] = '0';
    parts[c].add_bytes(bytes.data(), count);
  });
  for (const int f : failed)
    if (f != 0) return errno = f, std::nullopt;
  Hash128 whole;
  whole.add(size);
  for (const auto& part : parts) whole.add(part.low()), whole.add(part.high());
  return whole.hex();
}

/// Opens the file and finds the seal.
struct Sealed {
  Descriptor file;
  std::size_t size = 0, at = 0;
  Place place = Place::none;
  int error_number = 0;

  Sealed(const std::string& path, int flags) : file{::open(path.c_str(), flags | O_CLOEXEC)} {
    struct stat status {};
    if (file.id < 0 || ::fstat(file.id, &status) != 0) {
      error_number = errno;
      return;
    }
    size = static_cast<std::size_t>(status.st_size);
    std::string start(std::min(size, searched_bytes), '\0');
    if (!read_at(file.id, start.data(), start.size(), 0))
      error_number = errno;
    else
      place = find_digits(start, at);
  }
};

}  // namespace

std::string empty_seal() { return std::string(marker) + std::string(digits, '0'); }

Status seal_vdb(const std::string& path) {
  const Sealed sealed(path, O_RDWR);
  if (sealed.error_number != 0) return system_error("cannot write", path, sealed.error_number);
  // Very long metadata in front can push the entry out of reach; such a file goes without.
  if (sealed.place != Place::found) return {};
  const auto sum = checksum(sealed.file.id, sealed.size, sealed.at);
  if (!sum) return system_error("cannot write", path, errno);
  const ssize_t n = ::pwrite(sealed.file.id, sum->data(), digits, static_cast<off_t>(sealed.at));
  if (n != static_cast<ssize_t>(digits)) return system_error("cannot write", path, n < 0 ? errno : EIO);
  return {};
}

Status check_seal(const std::string& path) {
  const Sealed sealed(path, O_RDONLY);
  if (sealed.error_number != 0) return system_error("cannot read", path, sealed.error_number);
  if (sealed.place == Place::none) return {};
  std::string stored(digits, '0');
  std::optional<std::string> sum;
  if (sealed.place == Place::found) {
    if (!read_at(sealed.file.id, stored.data(), digits, sealed.at)) return system_error("cannot read", path, errno);
    sum = checksum(sealed.file.id, sealed.size, sealed.at);
    if (!sum) return system_error("cannot read", path, errno);
  }
  if (!sum || *sum != stored)
    return io_error("cannot read {}: the file is damaged or cut short (its checksum is wrong)", path);
  return {};
}

}  // namespace aegir
