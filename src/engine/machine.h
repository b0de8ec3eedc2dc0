// What a run records about where it runs: version, host, processor, memory, disk, time.
//
//   fmt::format("{} on {}, {}", aegir_version(), this_machine().host, this_machine().simd);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aegir {

/// The version of this build, e.g. "0.1.0".
std::string_view aegir_version();

/// The compiler of this build, e.g. "g++ 12.2.0".
std::string compiler_text();

struct MachineInfo {
  std::string host;
  std::string cpu;     ///< as the processor names itself
  std::string simd;    ///< widest vectors of the processor: "avx512", "avx2"
  std::string system;  ///< kernel name and release
  int cpus = 1;        ///< of the whole machine
};

/// The machine this process runs on.
MachineInfo this_machine();

/// Bytes that this process may still take: of the machine and of its cgroup, whichever is less.
std::uint64_t available_memory();

/// Bytes of memory that this process holds.
std::uint64_t resident_memory();

/// Free bytes on the disk of a path or, where it does not exist yet, of its nearest existing folder.
std::uint64_t free_disk(const std::string& path);

/// Time of day in UTC: "2031-05-04T13:37:00Z".
std::string now_text();

}  // namespace aegir
