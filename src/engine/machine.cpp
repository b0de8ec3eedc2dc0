#include "engine/machine.h"

#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>

#include <fmt/format.h>

namespace aegir {
namespace {

/// A line of the form "key : value" in one of the kernel's files; empty where it is not there.
std::string field(const char* file, const std::string& key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto first = line.find_first_not_of(" \t", colon + 1);
    return first == std::string::npos ? std::string() : line.substr(first);
  }
  return {};
}

std::uint64_t number_in(const char* file) {
  std::ifstream stream(file);
  std::uint64_t value = 0;
  return stream >> value ? value : 0;
}

std::string widest_vectors() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return "avx512";
  if (__builtin_cpu_supports("avx2")) return "avx2";
  return "sse2";
}

}  // namespace

std::string_view aegir_version() { return AEGIR_VERSION; }

std::string compiler_text() {
#if defined(__clang__)
  return "clang++ " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

MachineInfo this_machine() {
  MachineInfo machine;
  utsname names{};
  if (::uname(&names) == 0) {
    machine.host = names.nodename;
    machine.system = fmt::format("{} {}", names.sysname, names.release);
  }
  machine.cpu = field("/proc/cpuinfo", "model name");
  machine.simd = widest_vectors();
  machine.cpus = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  return machine;
}

std::uint64_t available_memory() {
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
  if (const std::string text = field("/proc/meminfo", "MemAvailable"); !text.empty())
    bytes = std::strtoull(text.c_str(), nullptr, 10) * 1024;
  // A cgroup without a limit says "max", which reads as no number.
  if (const std::uint64_t limit = number_in("/sys/fs/cgroup/memory.max")) {
    const std::uint64_t used = number_in("/sys/fs/cgroup/memory.current");
    bytes = std::min(bytes, limit > used ? limit - used : 0);
  }
  return bytes;
}

std::uint64_t resident_memory() {
  std::ifstream stream("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  stream >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t free_disk(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path at = std::filesystem::absolute(path, ignored);
  while (!std::filesystem::exists(at, ignored) && at.has_relative_path()) at = at.parent_path();
  struct statvfs disk {};
  if (::statvfs(at.c_str(), &disk) != 0) return 0;
  return static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace aegir
