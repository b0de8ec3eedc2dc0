// An output stream buffer on a file descriptor that remembers the errno of its first failed write.
//
//   FileSink sink(temporary);
//   std::ostream out(&sink);
//   out << text;
//   Status s = sink.finish();   // the only place where success is known
#pragma once

#include <cstddef>
#include <streambuf>
#include <string>
#include <vector>

#include "base/result.h"

namespace aegir {

/// A file opened for writing from its start, seekable, with one large buffer.
class FileSink : public std::streambuf {
 public:
  /// Creates or empties the file; a failure is reported by finish().
  explicit FileSink(const std::string& path);
  ~FileSink() override;
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  /// Writes raw bytes; false after the first failure.
  bool write(const void* data, std::size_t bytes);
  /// Flushes, syncs to the disk, closes; says what went wrong first since the file was opened.
  Status finish();
  /// Whether everything so far worked.
  bool ok() const { return error_number_ == 0; }

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* data, std::streamsize count) override;
  int sync() override;
  pos_type seekoff(off_type offset, std::ios_base::seekdir direction, std::ios_base::openmode mode) override;
  pos_type seekpos(pos_type position, std::ios_base::openmode mode) override;

 private:
  bool flush_buffer();
  bool write_all(const char* data, std::size_t bytes);

  std::string path_;
  std::vector<char> buffer_;
  int descriptor_ = -1;
  int error_number_ = 0;
};

}  // namespace aegir
