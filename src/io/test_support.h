// For tests only: a folder that cleans up after itself, a limit that makes writes fail, bytes of a file.
//
//   TestFolder folder;
//   { FileSizeLimit limit(1000); EXPECT_FALSE(write_text_atomically(folder / "a", long_text)); }
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "io/atomic_file.h"

namespace aegir {

/// A fresh folder, removed at the end.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "aegir_test_XXXXXX").string();
    path_ = ::mkdtemp(name.data()) ? name : std::string();
  }
  ~TestFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  /// Names of everything in the folder, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      all.push_back(entry.path().filename().string());
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  std::string path_;
};

/// While alive, no file of this process can grow beyond `bytes`: a write past it fails with EFBIG.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::size_t bytes) {
    ignore_file_size_signal();
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limited = before_;
    limited.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

extern "C" {
void __lsan_disable() __attribute__((weak));
void __lsan_enable() __attribute__((weak));
}

/// While alive, the leak sanitizer does not count what this thread allocates: OpenVDB loses memory when a
/// damaged file stops it half way.
class LibraryLeaksIgnored {
 public:
  LibraryLeaksIgnored() {
    if (__lsan_disable) __lsan_disable();
  }
  ~LibraryLeaksIgnored() {
    if (__lsan_enable) __lsan_enable();
  }
  LibraryLeaksIgnored(const LibraryLeaksIgnored&) = delete;
  LibraryLeaksIgnored& operator=(const LibraryLeaksIgnored&) = delete;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace aegir
