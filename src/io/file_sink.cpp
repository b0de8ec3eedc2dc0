#include "io/file_sink.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "io/atomic_file.h"

namespace aegir {

namespace {
constexpr std::size_t buffer_bytes = 1 << 20;
constexpr std::size_t largest_write = 1 << 30;
}  // namespace

FileSink::FileSink(const std::string& path) : path_(path), buffer_(buffer_bytes) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) error_number_ = errno;
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

FileSink::~FileSink() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool FileSink::write_all(const char* data, std::size_t bytes) {
  while (bytes > 0 && ok()) {
    const ssize_t n = ::write(descriptor_, data, std::min(bytes, largest_write));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      error_number_ = n < 0 ? errno : EIO;
      break;
    }
    data += n, bytes -= static_cast<std::size_t>(n);
  }
  return ok();
}

bool FileSink::flush_buffer() {
  const bool good = write_all(pbase(), static_cast<std::size_t>(pptr() - pbase()));
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return good;
}

bool FileSink::write(const void* data, std::size_t bytes) {
  if (!ok()) return false;
  if (bytes <= static_cast<std::size_t>(epptr() - pptr())) {
    if (bytes > 0) std::memcpy(pptr(), data, bytes);
    pbump(static_cast<int>(bytes));
    return true;
  }
  if (!flush_buffer()) return false;
  if (bytes >= buffer_bytes) return write_all(static_cast<const char*>(data), bytes);
  return write(data, bytes);
}

Status FileSink::finish() {
  flush_buffer();
  if (descriptor_ >= 0) {
    if (ok() && ::fsync(descriptor_) != 0) error_number_ = errno;
    // A network file system may report a failed write only here.
    if (::close(descriptor_) != 0 && ok()) error_number_ = errno;
    descriptor_ = -1;
  }
  if (!ok()) return system_error("cannot write", path_, error_number_);
  return {};
}

FileSink::int_type FileSink::overflow(int_type c) {
  if (!flush_buffer()) return traits_type::eof();
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  *pptr() = traits_type::to_char_type(c);
  pbump(1);
  return c;
}

std::streamsize FileSink::xsputn(const char* data, std::streamsize count) {
  return write(data, static_cast<std::size_t>(count)) ? count : 0;
}

int FileSink::sync() { return flush_buffer() ? 0 : -1; }

FileSink::pos_type FileSink::seekoff(off_type offset, std::ios_base::seekdir direction, std::ios_base::openmode) {
  if (direction == std::ios_base::cur && offset == 0) {  // tellp
    const off_t at = ::lseek(descriptor_, 0, SEEK_CUR);
    return at < 0 ? pos_type(off_type(-1)) : pos_type(at + (pptr() - pbase()));
  }
  if (!flush_buffer()) return pos_type(off_type(-1));
  const int whence = direction == std::ios_base::beg ? SEEK_SET : direction == std::ios_base::cur ? SEEK_CUR : SEEK_END;
  return pos_type(::lseek(descriptor_, offset, whence));
}

FileSink::pos_type FileSink::seekpos(pos_type position, std::ios_base::openmode mode) {
  return seekoff(off_type(position), std::ios_base::beg, mode);
}

}  // namespace aegir
