#include "phenomena/common/vector_source.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <vector>

#include "domain/exec.h"
#include "io/frame_path.h"
#include "io/vdb_volumes.h"
#include "phenomena/common/mask.h"
#include "pipeline/model/action.h"
#include "pipeline/schedule/task.h"
#include "pipeline/schema/sections.h"

namespace aegir {
namespace {

using FieldPointer = std::shared_ptr<const VolumeField>;

/// One file for the whole run.
class StillVectors final : public VectorSource {
 public:
  explicit StillVectors(FieldPointer field) : field_(std::move(field)) {}
  void vectors(std::span<const Vec3d> world, std::span<Vec3f> out) const override { field_->vectors(world, out); }

 private:
  FieldPointer field_;
};

/// One file per frame; the two around the present time are in memory.
class FrameVectors final : public VectorSource {
 public:
  using Read = std::function<Result<FieldPointer>(int frame)>;
  FrameVectors(std::vector<int> frames, Read read) : frames_(std::move(frames)), read_(std::move(read)) {}

  bool changes() const override { return true; }

  Status go_to(StepContext& c) override { return c.exec.comm.agree(load(c.frame_time + 0.5 * c.dt * c.fps)); }

  /// Reads what a time, as a frame number, needs.
  Status load(double frame) {
    const auto next = std::upper_bound(frames_.begin(), frames_.end(), frame);
    const int before = next == frames_.begin() ? frames_.front() : *std::prev(next),
              after = next == frames_.end() ? frames_.back() : *next;
    share_ = after > before ? static_cast<float>(std::clamp((frame - before) / (after - before), 0.0, 1.0)) : 0.0f;
    if (slots_[0].frame != before && slots_[1].frame == before) std::swap(slots_[0], slots_[1]);
    for (const auto& [slot, wanted] : {std::pair{&slots_[0], before}, std::pair{&slots_[1], after}}) {
      if (slot == &slots_[1] && share_ == 0) break;
      if (slot->field && slot->frame == wanted) continue;
      slot->field.reset();  // never three in memory
      Result<FieldPointer> read = read_(wanted);
      if (!read) return read.error();
      *slot = {wanted, std::move(*read)};
    }
    return {};
  }

  void vectors(std::span<const Vec3d> world, std::span<Vec3f> out) const override {
    slots_[0].field->vectors(world, out);
    if (share_ == 0) return;
    constexpr std::size_t block = 256;
    std::array<Vec3f, block> later;
    for (std::size_t first = 0; first < world.size(); first += block) {
      const std::size_t n = std::min(block, world.size() - first);
      slots_[1].field->vectors(world.subspan(first, n), {later.data(), n});
      for (std::size_t i = 0; i < n; ++i) out[first + i] += (later[i] - out[first + i]) * share_;
    }
  }

 private:
  struct Slot {
    int frame = 0;
    FieldPointer field;
  };
  std::vector<int> frames_;
  Read read_;
  std::array<Slot, 2> slots_;
  float share_ = 0;  // of the later frame
};

/// Tells a source of every substep.
class FollowTime final : public Operator {
 public:
  FollowTime(std::string behavior, std::string name, std::shared_ptr<VectorSource> source)
      : Operator(std::move(behavior)), name_(std::move(name)), source_(std::move(source)) {}
  void plan(TaskList& tasks) override {
    tasks.add({.name = name_,
               .stage = Stage::move_inputs,
               .behavior = behavior(),
               .accesses = {},
               .after = {},
               .acting = {},
               .run = [this](StepContext& c) { return source_->go_to(c); }});
  }

 private:
  std::string name_;
  std::shared_ptr<VectorSource> source_;
};

/// The frames of a sequence: evenly spaced, so that one that is missing is noticed.
Result<std::vector<int>> frames_of(const FilePath& file) {
  const FramePattern pattern(file.resolved);
  auto frames = pattern.existing();
  if (!frames) return Error{Failure::usage, frames.error().message, file.where};
  if (frames->empty()) return usage_error(file.where, "no file matches '{}'", file.text);
  int apart = 0;
  for (std::size_t i = 1; i < frames->size(); ++i) {
    const int step = (*frames)[i] - (*frames)[i - 1];
    apart = apart ? std::min(apart, step) : step;
  }
  for (std::size_t i = 1; i < frames->size(); ++i)
    if ((*frames)[i] - (*frames)[i - 1] != apart)
      return usage_error(file.where, "'{}' is missing: there are frames {} to {} of '{}'",
                         FramePattern(file.text).path((*frames)[i - 1] + apart), frames->front(), frames->back(),
                         file.text);
  return *frames;
}

}  // namespace

bool is_sequence(const FilePath& file) {
  std::error_code ignored;
  return FramePattern(file.resolved).animated() && !std::filesystem::exists(file.resolved, ignored);
}

Result<std::shared_ptr<VectorSource>> VectorSources::make(const FilePath& file, const std::string& volume) {
  const auto scene = build_.scene();
  const auto read = [file, volume, scene, what = what_](const std::string& path) -> Result<FieldPointer> {
    auto field = read_field(scene, {file.text, path, file.where}, volume);
    if (field && !(*field)->is_vector())
      return usage_error(file.where, "'{}' of '{}' is no vector volume; {} needs one", (*field)->name(),
                         path == file.resolved ? file.text : path, what);
    return field;
  };
  if (!is_sequence(file)) {
    auto field = read(file.resolved);
    if (!field) return field.error();
    return std::shared_ptr<VectorSource>(std::make_shared<StillVectors>(std::move(*field)));
  }
  const auto frames = frames_of(file);
  if (!frames) return frames.error();
  const Timeline& timeline = build_.timeline();
  if (frames->back() < timeline.first() || frames->front() > timeline.last())
    build_.warn(fmt::format("'{}' has frames {} to {}, none of the run's {} to {}: it stays the same", file.text,
                            frames->front(), frames->back(), timeline.first(), timeline.last()));
  auto sequence = std::make_shared<FrameVectors>(
      *frames, [read, pattern = FramePattern(file.resolved)](int frame) { return read(pattern.path(frame)); });
  // What is wrong with the first frame is told before the run.
  if (Status ready = sequence->load(timeline.first()); !ready) return ready.error();
  return std::shared_ptr<VectorSource>(std::move(sequence));
}

Result<std::shared_ptr<const VectorSource>> VectorSources::open(const FilePath& file, const std::string& volume) {
  auto& known = opened_[{file.resolved, volume}];
  if (known) return known;
  auto made = make(file, volume);
  if (!made) return made.error();
  if ((*made)->changes()) {
    const std::string name = volume.empty() ? "read " + file.text : fmt::format("read {} of {}", volume, file.text);
    build_.add(std::make_unique<FollowTime>(build_.path(), name, *made));
  }
  return known = std::move(*made);
}

}  // namespace aegir
