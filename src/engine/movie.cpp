#include "engine/movie.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "io/atomic_file.h"

extern char** environ;

namespace aegir {
namespace {

namespace fs = std::filesystem;

/// The program's path, or empty.
std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string rest = path ? path : "";
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    const fs::path candidate = fs::path(rest.substr(0, colon)) / name;
    if (::access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) return candidate.string();
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return {};
}

/// Runs a program quietly; its exit code, or the reason why it could not be started.
Result<int> run_program(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&files, stream, "/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, words.front().c_str(), &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed) return system_error("cannot start", words.front(), failed);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return system_error("cannot wait for", words.front(), errno);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// ffmpeg's list of pictures: an apostrophe ends the quotes, stands escaped, and opens them again.
std::string quoted(const std::string& path) {
  std::string text;
  for (const char c : path) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + text + "'";
}

}  // namespace

Result<MovieReport> make_movie(const std::vector<std::string>& pictures, double fps, const std::string& path) {
  const std::string ffmpeg = find_program("ffmpeg");
  if (ffmpeg.empty()) return MovieReport{false, "no movie, because ffmpeg is not installed; the pictures are numbered"};
  const std::string list = path + ".list";
  {
    std::ofstream out(list);
    for (const std::string& picture : pictures)
      out << "file " << quoted(fs::absolute(picture).string()) << "\nduration " << 1 / fps << "\n";
    if (!out.flush()) return io_error("cannot write {}; is the disk full?", list);
  }
  Result<int> code = 0;
  const Status written = write_atomically(path, [&](const std::string& temporary) -> Status {
    code = run_program({ffmpeg, "-nostdin", "-y", "-f", "concat", "-safe", "0", "-i", list, "-vf",
                        fmt::format("fps={},pad=ceil(iw/2)*2:ceil(ih/2)*2", fps), "-pix_fmt", "yuv420p", "-movflags",
                        "+faststart", "-f", "mp4", temporary});
    if (!code) return code.error();
    if (*code != 0) return io_error("ffmpeg ended with code {}", *code);
    return {};
  });
  std::error_code ignored;
  fs::remove(list, ignored);
  if (!written) return MovieReport{false, "no movie: " + written.error().message};
  return MovieReport{true, {}};
}

}  // namespace aegir
