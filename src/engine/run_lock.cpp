#include "engine/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "engine/machine.h"
#include "io/atomic_file.h"

namespace aegir {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds beat_interval{5};
constexpr std::chrono::seconds longest_pause{15};
constexpr double stale_seconds = 60;

/// When the kernel started a process, in its own ticks; tells a process from a later one with the same number. Empty
/// for one that is dead, also when nobody has collected it yet.
std::string process_start(long process) {
  std::ifstream stream("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  // The name in brackets may hold spaces; field 22 counts from behind it.
  const auto bracket = text.rfind(')');
  if (bracket == std::string::npos || bracket + 2 >= text.size()) return {};
  if (const char state = text[bracket + 2]; state == 'Z' || state == 'X') return {};
  std::size_t at = bracket + 1;
  for (int field = 3; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  if (at == std::string::npos) return {};
  return text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}

/// Where process numbers have this meaning: a container's numbers are its own.
std::string process_space() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
}

std::string own_content() {
  return json{{"host", this_machine().host},
              {"process", ::getpid()},
              {"process_start", process_start(::getpid())},
              {"process_space", process_space()},
              {"started", now_text()}}
             .dump() +
         "\n";
}

/// A file descriptor that closes itself.
struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

std::string read_all(int descriptor) {
  std::string text(4096, '\0');
  const ssize_t n = ::pread(descriptor, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

LockOwner parse_owner(const std::string& text, double heartbeat_age) {
  LockOwner owner;
  owner.heartbeat_age = heartbeat_age;
  const json content = json::parse(text, nullptr, false);
  // Somebody may be between making the file and filling it; an empty or broken lock lives as long as its heartbeat.
  owner.alive = heartbeat_age <= stale_seconds;
  if (!content.is_object()) return owner.alive = owner.alive && !text.empty(), owner;
  const auto text_of = [&](const char* key) {
    return content.contains(key) && content[key].is_string() ? content[key].get<std::string>() : std::string();
  };
  owner.host = text_of("host");
  owner.started = text_of("started");
  if (content.contains("process") && content["process"].is_number_integer())
    owner.process = content["process"].get<long>();
  if (owner.host == this_machine().host && text_of("process_space") == process_space() && owner.process > 0) {
    const bool exists = ::kill(static_cast<pid_t>(owner.process), 0) == 0 || errno == EPERM;
    if (!exists || process_start(owner.process) != text_of("process_start")) owner.alive = false;
  }
  return owner;
}

LockOwner owner_of(int descriptor) {
  struct stat status {};
  ::fstat(descriptor, &status);
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const double age = static_cast<double>(now.tv_sec - status.st_mtim.tv_sec) +
                     1e-9 * static_cast<double>(now.tv_nsec - status.st_mtim.tv_nsec);
  return parse_owner(read_all(descriptor), age);
}

/// Whether a path still names an open file: its last owner may have removed it in the meantime.
bool still_names(const std::string& path, int descriptor) {
  struct stat here {
  }, there{};
  return ::fstat(descriptor, &here) == 0 && ::stat(path.c_str(), &there) == 0 && here.st_ino == there.st_ino &&
         here.st_dev == there.st_dev;
}

Error in_use(const std::string& path, const LockOwner& owner) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return usage_error(
      {},
      "another run is at work in {}: process {} on {}, since {}; wait for it, stop it (kill {}), or choose "
      "another folder with -o",
      folder, owner.process, owner.host, owner.started, owner.process);
}

Error cannot_lock(const std::string& path, int error_number) {
  Error error = system_error("cannot write the lock", path, error_number);
  if (error_number != ENOSPC && error_number != EDQUOT) error.kind = Failure::usage;
  return error;
}

}  // namespace

std::optional<LockOwner> read_lock(const std::string& path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.number < 0) return {};
  return owner_of(file.number);
}

Result<std::unique_ptr<RunLock>> RunLock::take(const std::string& path) {
  for (;;) {
    Descriptor file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)};
    if (file.number < 0) return cannot_lock(path, errno);
    // Held only while the file is looked at and written, so that two takers do not both find it stale.
    while (::flock(file.number, LOCK_EX) != 0)
      if (errno != EINTR) break;  // a file system without flock: the heartbeat alone must do
    if (!still_names(path, file.number)) continue;
    if (const LockOwner owner = owner_of(file.number); owner.alive) return in_use(path, owner);
    const std::string content = own_content();
    const bool written = ::ftruncate(file.number, 0) == 0 && ::pwrite(file.number, content.data(), content.size(), 0) ==
                                                                 static_cast<ssize_t>(content.size());
    if (!written) {
      const int error_number = errno ? errno : ENOSPC;
      ::unlink(path.c_str());
      return cannot_lock(path, error_number);
    }
    return std::unique_ptr<RunLock>(new RunLock(path, content));
  }
}

RunLock::RunLock(std::string path, std::string content)
    : path_(std::move(path)), content_(std::move(content)), last_beat_(std::chrono::steady_clock::now()) {
  heart_ = std::thread([this] {
    std::unique_lock guard(mutex_);
    while (!wake_.wait_for(guard, beat_interval, [this] { return ending_; })) beat();
  });
}

bool RunLock::lost() {
  const std::lock_guard guard(mutex_);
  if (std::chrono::steady_clock::now() - last_beat_ > longest_pause) beat();
  return lost_;
}

void RunLock::beat() {
  last_beat_ = std::chrono::steady_clock::now();
  Descriptor file{::open(path_.c_str(), O_RDWR | O_CLOEXEC)};
  if (file.number < 0) {
    if (errno == ENOENT) lost_ = true;
    return;  // a network that hangs for a moment is not a lost lock
  }
  if (read_all(file.number) != content_) {
    lost_ = true;
    return;
  }
  ::futimens(file.number, nullptr);
}

RunLock::~RunLock() {
  {
    const std::lock_guard guard(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  heart_.join();
  Descriptor file{::open(path_.c_str(), O_RDWR | O_CLOEXEC)};
  if (file.number < 0) return;
  while (::flock(file.number, LOCK_EX) != 0)
    if (errno != EINTR) break;
  if (read_all(file.number) == content_) ::unlink(path_.c_str());
}

}  // namespace aegir
