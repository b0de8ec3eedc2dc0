// Temporary folders, a small setup and an observer that remembers, for the engine's tests.
//
//   TestFolder folder;
//   folder.write("rain.yaml", rain_setup());
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "engine/catalog.h"
#include "engine/run.h"

namespace aegir::test {

/// A folder that is gone afterwards.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "aegir_engine_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = *this / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

 private:
  std::string path_;
};

inline std::string read_text(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A few thousand particles over six frames of two substeps.
inline std::string rain_setup(
    const std::string& timeline = "{frames: [1, 6], substeps: 2, checkpoint: {every: 2, keep: 10}}") {
  return "aegir: 1\ntimeline: " + timeline + R"(
expose: {rate: 2000}
setup:
  - gravity: earth
  - particles: drops
    voxel_size: 10 cm
  - emitter: nozzle
    shape: {kind: sphere, center: [0, 1, 0], radius: 10 cm}
    count: 100
    rate: ${rate}
    velocity: [0, 3, 1]
    spread: 1
outputs:
  - points: cache
)";
}

/// Remembers what a run told, and can ask for something when a substep is done.
struct Memory : RunObserver {
  CheckReport check;
  Forecast expected;
  std::vector<int> frames;
  std::vector<std::string> checkpoints, warnings;
  std::vector<ResumeReport> resumes;
  std::function<void()> on_progress = [] {};

  void checked(const CheckReport& r) override { check = r; }
  void forecast(const Forecast& f) override { expected = f; }
  void resuming(const ResumeReport& r) override { resumes.push_back(r); }
  void progress(const FrameProgress&) override { on_progress(); }
  void frame(const FrameReport& f) override { frames.push_back(f.frame); }
  void warning(int, const std::string& text) override { warnings.push_back(text); }
  void checkpoint(const RunMoment& m) override { checkpoints.push_back(m.text()); }
};

/// Runs in this process alone.
inline Result<RunSummary> run_here(const RunOptions& options, RunObserver& observer, RunControl& control) {
  const auto comm = make_single_comm();
  return run(options, make_catalog(), *comm, control, observer);
}

}  // namespace aegir::test
