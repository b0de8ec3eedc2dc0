#include "engine/pictures.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "engine/movie.h"
#include "engine/picture_scene.h"
#include "io/atomic_file.h"
#include "io/frame_path.h"
#include "io/gltf_camera.h"
#include "preview/image.h"
#include "preview/slice.h"

namespace aegir {
namespace {

namespace fs = std::filesystem;

/// Values that colour something, of particles and matte surfaces.
std::vector<float> coloured_values(const ShownScene& shown) {
  std::vector<float> values = shown.value;
  for (const ShownSurface& surface : shown.surfaces)
    values.insert(values.end(), surface.value.begin(), surface.value.end());
  std::erase_if(values, [](float v) { return !std::isfinite(v); });
  return values;
}

/// A box around what one frame shows.
Box shown_bounds(const ShownScene& shown) {
  Box box = framing_box(shown.positions);
  for (const ShownSurface& surface : shown.surfaces) box.add(framing_box(surface.mesh.positions));
  for (const auto& fog : shown.fog)
    if (!fog->bounds().empty()) box.add(fog->bounds());
  return box;
}

bool shows_something(const ShownScene& shown) {
  return !shown.positions.empty() || !shown.surfaces.empty() || !shown.fog.empty();
}

/// The same camera and colours for all frames, from a few of them.
class ViewFit {
 public:
  explicit ViewFit(const std::string& color) { view_.legend = color.empty() || color == "v" ? "m/s" : color; }

  void add(const ShownScene& shown) {
    if (const Box box = shown_bounds(shown); !box.empty()) view_.bounds.add(box);
    std::vector<float> values = coloured_values(shown);
    if (values.empty()) return;
    // The hundredth at either end must not decide the colour of the rest.
    const auto at = [&](std::size_t percent) {
      const auto rank = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) * percent / 100);
      std::nth_element(values.begin(), rank, values.end());
      return *rank;
    };
    const float low = at(1), high = at(99);
    low_ = any_ ? std::min(low_, low) : low, high_ = any_ ? std::max(high_, high) : high;
    any_ = true;
  }

  ViewSettings settings() const {
    ViewSettings view = view_;
    view.low = view.legend == "m/s" || (low_ > 0 && low_ < 0.25f * high_) ? 0 : low_;
    view.high = high_ > view.low ? high_ : view.low + 1;
    return view;
  }

 private:
  ViewSettings view_;
  float low_ = 0, high_ = 0;
  bool any_ = false;
};

Result<ViewSettings> fit_view(const PictureSequence& sequence, const PictureChoice& choice) {
  constexpr std::size_t looked_at = 8;
  std::size_t number = 0;
  const std::size_t stride = std::max<std::size_t>(1, sequence.size() / looked_at);
  ViewFit fit(choice.color);
  for (const auto& [frame, files] : sequence) {
    const bool last = number + 1 == sequence.size();
    if (number++ % stride != 0 && !last) continue;
    const Result<ShownScene> shown = read_picture_frame(files, choice);
    if (!shown) return shown.error();
    fit.add(*shown);
  }
  return fit.settings();
}

Result<Image> draw(ShownScene shown, const PictureScene& around, int frame, PictureLook look, ViewSettings view) {
  around.add(frame, shown, view);
  view.caption = fmt::format("frame {}", frame);
  if (look == PictureLook::particles && shown.fog.empty()) return render_points(shown, shown.solids, view);
  return render_scene(shown, view);
}

std::string output_folder(const PictureOptions& options) {
  if (!options.output.empty()) return options.output;
  const fs::path first(options.sources.front());
  std::error_code ignored;
  return fs::is_directory(first, ignored) ? (first / "preview").string() : first.parent_path().string();
}

/// Half, third, … size by averaging, for the contact sheet.
Image shrunk(const Image& image, int by) {
  Image small(std::max(1, image.width() / by), std::max(1, image.height() / by));
  for (int y = 0; y < small.height(); ++y)
    for (int x = 0; x < small.width(); ++x)
      for (std::size_t c = 0; c < 3; ++c) {
        int sum = 0, count = 0;
        for (int j = y * by; j < std::min(image.height(), (y + 1) * by); ++j)
          for (int i = x * by; i < std::min(image.width(), (x + 1) * by); ++i) sum += image.at(i, j)[c], ++count;
        small.at(x, y)[c] = static_cast<std::uint8_t>(sum / std::max(1, count));
      }
  return small;
}

/// The camera that the options ask for, if any; one from a file may move.
class ChosenCamera {
 public:
  static Result<ChosenCamera> create(const CameraChoice& choice) {
    ChosenCamera camera;
    camera.choice_ = choice;
    if (choice.eye.has_value() != choice.target.has_value())
      return usage_error({}, "a camera needs both --eye and --target");
    if (choice.eye && length(*choice.eye - *choice.target) < 1e-9)
      return usage_error({}, "the camera's --eye and --target are the same place");
    if (choice.file.empty()) return camera;
    if (choice.eye) return usage_error({}, "--camera and --eye exclude each other");
    const auto colon = choice.file.rfind(':');
    const bool named =
        colon != std::string::npos && colon > choice.file.rfind('.') && choice.file.rfind('.') != std::string::npos;
    auto read = GltfCamera::read(named ? choice.file.substr(0, colon) : choice.file,
                                 named ? choice.file.substr(colon + 1) : std::string());
    if (!read) return read.error();
    camera.file_ = std::move(*read);
    return camera;
  }

  void apply(double seconds, ViewSettings& view) const {
    constexpr double degree = 3.14159265358979 / 180;
    if (choice_.direction) view.direction = {choice_.direction->first * degree, choice_.direction->second * degree};
    Camera camera;
    if (file_) {
      const CameraPose pose = file_->at(seconds);
      camera = {pose.eye, pose.eye + pose.forward, pose.field_of_view};
    } else if (choice_.eye) {
      camera.eye = *choice_.eye, camera.target = *choice_.target;
    } else {
      return;
    }
    if (choice_.field_of_view) camera.field_of_view = *choice_.field_of_view * degree;
    view.camera = camera;
  }

 private:
  CameraChoice choice_;
  std::optional<GltfCamera> file_;
};

/// Writes numbered pictures and at the end what is made of all of them.
class Album {
 public:
  Album(const PictureOptions& options, std::size_t frames)
      : options_(options), stride_((frames + most_on_sheet - 1) / most_on_sheet) {
    report_.output = output_folder(options);
  }

  Status open() {
    std::error_code error;
    if (!report_.output.empty()) fs::create_directories(report_.output, error);
    if (error) return system_error("cannot make", report_.output, error.value());
    return {};
  }

  Status add(int frame, const Image& image) {
    paths_.push_back((fs::path(report_.output) / fmt::format("preview.{}.png", frame_text(frame))).string());
    if (Status ok = write_png(image, paths_.back()); !ok) return ok;
    if (static_cast<std::size_t>(report_.pictures) % stride_ == 0)
      sheet_.push_back({fmt::format("{}", frame), shrunk(image, 3)});
    ++report_.pictures;
    return {};
  }

  Result<PictureReport> close(double fps) {
    report_.sheet = (fs::path(report_.output) / "contact_sheet.png").string();
    const int columns = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(sheet_.size()))));
    if (Status ok = write_png(contact_sheet(sheet_, columns), report_.sheet); !ok) return ok.error();
    if (options_.movie && paths_.size() > 1) {
      const std::string path = (fs::path(report_.output) / "preview.mp4").string();
      const Result<MovieReport> movie = make_movie(paths_, fps, path);
      if (!movie) return movie.error();
      if (movie->made) report_.movie = path;
      report_.remark = movie->why_not;
    }
    return report_;
  }

  int count() const { return report_.pictures; }

 private:
  static constexpr std::size_t most_on_sheet = 12;
  const PictureOptions& options_;
  std::size_t stride_;
  PictureReport report_;
  std::vector<std::string> paths_;
  std::vector<Captioned> sheet_;
};

/// The volume of that name in the first file of a frame that has it, what was simulated before what was made of it.
Result<std::shared_ptr<const VolumeField>> sliced_volume(const std::vector<PictureFile>& files, const std::string& name,
                                                         const std::set<std::string>& simulated) {
  Error failure =
      usage_error({}, "there are no volumes; a setup writes them with an output of type 'volumes' or 'surface'");
  for (const bool first : {true, false})
    for (const PictureFile& file : files) {
      if (file.kind != PictureFile::volumes || simulated.contains(file.object) != first) continue;
      auto field = VolumeField::read(file.path, name);
      if (field) return field;
      failure = field.error();
    }
  return failure;
}

Result<PictureReport> make_slices(const PictureOptions& options, const PictureSequence& sequence,
                                  const std::function<void(int, int)>& progress) {
  const PictureScene around(options.sources);
  SliceSettings slice;
  slice.axis = options.slice.axis, slice.at = options.slice.at;
  slice.width = options.width, slice.height = options.height;
  const std::size_t stride = std::max<std::size_t>(1, sequence.size() / 8);
  std::size_t number = 0;
  for (const auto& [frame, files] : sequence) {
    if (number++ % stride != 0 && number != sequence.size()) continue;
    const auto field = sliced_volume(files, options.slice.volume, around.objects());
    if (!field) return field.error();
    widen_slice(**field, slice);
  }
  Album album(options, sequence.size());
  if (Status ok = album.open(); !ok) return ok.error();
  for (const auto& [frame, files] : sequence) {
    const auto field = sliced_volume(files, options.slice.volume, around.objects());
    if (!field) return field.error();
    slice.caption = fmt::format("frame {}", frame);
    if (Status ok = album.add(frame, render_slice(**field, slice)); !ok) return ok.error();
    progress(album.count(), static_cast<int>(sequence.size()));
  }
  return album.close(around.fps());
}

PictureChoice choice_for(const PictureScene& around, const PictureSequence& sequence) {
  PictureChoice choice;
  choice.simulated = around.objects(), choice.covered = around.covered();
  std::set<std::string> folders;
  for (const auto& [frame, files] : sequence)
    for (const PictureFile& file : files)
      if (!file.object.empty() && !choice.simulated.contains(file.object)) folders.insert(file.object);
  choice.matte = around.matte(folders);
  return choice;
}

}  // namespace

Result<std::pair<int, int>> parse_size(const std::string& text) {
  std::pair<int, int> size;
  const char* const end = text.data() + text.size();
  const auto width = std::from_chars(text.data(), end, size.first);
  if (width.ec == std::errc() && width.ptr != end && *width.ptr == 'x')
    if (const auto height = std::from_chars(width.ptr + 1, end, size.second);
        height.ec == std::errc() && height.ptr == end)
      if (size.first >= 16 && size.second >= 16 && size.first <= 16384 && size.second <= 16384) return size;
  return usage_error({}, "'{}' is no size of a picture; it looks like 1280x720", text);
}

Result<std::vector<double>> parse_numbers(const std::string& text, std::size_t count, const std::string& meaning) {
  std::vector<double> numbers;
  const char *at = text.data(), *const end = at + text.size();
  while (at < end) {
    double value = 0;
    const auto read = std::from_chars(at, end, value);
    if (read.ec != std::errc() || !std::isfinite(value)) break;
    numbers.push_back(value);
    at = read.ptr;
    if (at == end || *at != ',') break;
    ++at;
  }
  if (at == end && numbers.size() == count) return numbers;
  return usage_error({}, "'{}' should be {}: {} number{} with commas between them", text, meaning, count,
                     count == 1 ? "" : "s");
}

Result<int> compare_runs(const std::vector<ComparedRun>& runs, const std::string& sheet) {
  struct Last {
    const ComparedRun* run;
    int frame;
    std::unique_ptr<PictureScene> around;
    PictureChoice choice;
    ShownScene shown;
  };
  std::vector<Last> found;
  ViewFit fit{{}};
  for (const ComparedRun& run : runs) {
    const Result<PictureSequence> sequence = find_picture_files({run.directory}, {});
    if (!sequence) continue;
    Last last{&run, sequence->rbegin()->first, std::make_unique<PictureScene>(std::vector{run.directory}), {}, {}};
    last.choice = choice_for(*last.around, *sequence);
    const Result<PictureLook> look = settled_look(*sequence, last.choice);
    if (!look) return look.error();
    last.choice.look = *look;
    Result<ShownScene> shown = read_picture_frame(sequence->rbegin()->second, last.choice);
    if (!shown) return shown.error();
    last.shown = std::move(*shown);
    fit.add(last.shown);
    found.push_back(std::move(last));
  }
  if (found.empty()) return 0;
  ViewSettings view = fit.settings();
  view.width = 640, view.height = 360;
  for (Last& last : found) last.around->fit(last.frame, last.shown, view);
  std::vector<Captioned> pictures;
  for (Last& last : found) {
    constexpr std::size_t longest = 52;  // letters that fit under a picture
    const std::string& caption = last.run->caption;
    Result<Image> image = draw(std::move(last.shown), *last.around, last.frame, last.choice.look, view);
    if (!image) return image.error();
    pictures.push_back(
        {caption.size() > longest ? caption.substr(0, longest - 3) + "..." : caption, std::move(*image)});
  }
  const int columns = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(pictures.size()))));
  if (Status ok = write_png(contact_sheet(pictures, columns), sheet); !ok) return ok.error();
  return static_cast<int>(pictures.size());
}

Result<PictureReport> make_pictures(const PictureOptions& options, const std::function<void(int, int)>& progress) {
  const Result<ChosenCamera> camera = ChosenCamera::create(options.camera);
  if (!camera) return camera.error();
  const Result<PictureSequence> sequence = find_picture_files(options.sources, options.frames);
  if (!sequence) return sequence.error();
  if (!options.slice.volume.empty()) return make_slices(options, *sequence, progress);
  PictureScene around(options.sources);
  PictureChoice choice = choice_for(around, *sequence);
  choice.look = options.look, choice.color = options.color, choice.layer = options.layer;
  const Result<PictureLook> look = settled_look(*sequence, choice);
  if (!look) return look.error();
  choice.look = *look;
  if (Status ok = check_layers(*sequence, choice); !ok) return ok.error();
  Result<ViewSettings> view = fit_view(*sequence, choice);
  if (!view) return view.error();
  view->width = options.width, view->height = options.height;

  Album album(options, sequence->size());
  if (Status ok = album.open(); !ok) return ok.error();
  bool fitted = false;
  for (const auto& [frame, files] : *sequence) {
    Result<ShownScene> shown = read_picture_frame(files, choice);
    if (!shown) return shown.error();
    if (!fitted && shows_something(*shown)) around.fit(frame, *shown, *view), fitted = true;
    camera->apply((frame - sequence->begin()->first) / around.fps(), *view);
    const Result<Image> image = draw(std::move(*shown), around, frame, choice.look, *view);
    if (!image) return image.error();
    if (Status ok = album.add(frame, *image); !ok) return ok.error();
    progress(album.count(), static_cast<int>(sequence->size()));
  }
  return album.close(around.fps());
}

struct LivePicture::State {
  PictureScene around;
  PictureChoice choice;
  std::optional<ViewSettings> view;  ///< of the first frame that shows something
};

LivePicture::LivePicture(std::string directory) : directory_(std::move(directory)) {}
LivePicture::~LivePicture() = default;

Status LivePicture::draw(int frame) {
  const Result<PictureSequence> sequence = find_picture_files({directory_}, std::pair{frame, frame});
  if (!sequence) return {};  // nothing of this frame is written
  if (!state_) {
    state_.reset(new State{PictureScene({directory_}), {}, {}});
    state_->choice = choice_for(state_->around, *sequence);
  }
  if (state_->choice.look == PictureLook::automatic) {
    const Result<PictureLook> look = settled_look(*sequence, state_->choice);
    if (!look) return look.error();
    state_->choice.look = *look;
  }
  Result<ShownScene> shown = read_picture_frame(sequence->begin()->second, state_->choice);
  if (!shown) return shown.error();
  if (!shows_something(*shown)) return {};
  ViewFit fit{{}};
  fit.add(*shown);
  if (!state_->view) {
    state_->view = fit.settings();
    state_->around.fit(frame, *shown, *state_->view);
    state_->view->width = 960, state_->view->height = 540;
  }
  // A splash may leave the first frame's box, and things get faster; the view follows but never shrinks back.
  state_->view->bounds.add(fit.settings().bounds);
  state_->view->high = std::max(state_->view->high, fit.settings().high);
  const Result<Image> image = aegir::draw(std::move(*shown), state_->around, frame, state_->choice.look, *state_->view);
  if (!image) return image.error();
  const std::string folder = directory_ + "/preview";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return system_error("cannot make", folder, error.value());
  return write_png(*image, folder + "/latest.png");
}

}  // namespace aegir
