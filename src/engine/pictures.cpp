#include "engine/pictures.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "engine/catalog.h"
#include "engine/run_directory.h"
#include "engine/run_record.h"
#include "io/atomic_file.h"
#include "io/frame_path.h"
#include "io/vdb.h"
#include "phenomena/common/collider.h"
#include "phenomena/common/hybrid_object.h"
#include "phenomena/common/limits.h"
#include "pipeline/schedule/simulation.h"
#include "preview/image.h"
#include "preview/points.h"

namespace aegir {
namespace {

namespace fs = std::filesystem;

/// Everything that one picture shows.
struct Shown {
  std::vector<Vec3d> positions;
  std::vector<float> speed, radius;
};

/// What stands around the particles of a run.
struct Surroundings {
  std::vector<TriangleMesh> solids, glass;
};

/// Colliders and domain of a run, made again from the setup that it recorded; none where that cannot be read any more.
class RunScene {
 public:
  explicit RunScene(const std::vector<std::string>& sources) {
    for (const std::string& source : sources) {
      const auto record = RunRecord::load(source + "/run.json");
      if (!record) continue;
      // Paths in the recorded text start at the setup file, whose name starts where the program was started.
      fs::path file(record->setup_file);
      if (file.is_relative() && !record->sessions.empty()) file = fs::path(record->sessions.front().folder) / file;
      Messages messages;
      auto setup = parse_setup(record->setup_text, file.string(), {}, catalog_, messages);
      if (!setup) continue;
      auto simulation = Simulation::create(std::move(*setup), Exec{*comm_, profile_}, messages);
      if (simulation) simulations_.push_back(std::move(*simulation));
    }
    for_each<HybridObject>([&](const HybridObject&, double) { liquid_ = true; }, 0);
  }

  /// Frames a liquid together with the domain and the colliders around it, unless they are far larger, and remembers
  /// which colliders are vessels: those that most of the liquid is in. `shown` is what the first frame shows.
  void fit(int frame, const Shown& shown, ViewSettings& view) {
    if (!liquid_) return;
    const Box liquid = view.bounds;
    const auto small = [&](const Box& box) { return length(box.size()) < 3 * length(liquid.size()); };
    for_each<Limits>(
        [&](const Limits& limits, double) {
          Box box = limits.box();
          if (!small(box)) return;
          const bool closed = limits.sides()[3] == Limit::wall;
          if (!closed) box.max.y = std::clamp(liquid.max.y, box.min.y, box.max.y);
          view.outline = box;
          if (limits.sides()[0] == Limit::wall)
            view.bounds.add(
                Box{box.min, {box.max.x, std::max(box.min.y, std::min(box.max.y, liquid.max.y)), box.max.z}});
        },
        frame);
    for_each<Collider>(
        [&](const Collider& collider, double time) {
          const TriangleMesh mesh = collider.mesh(time);
          if (mesh.triangles.empty()) return;
          const Box box = mesh.bounds();
          if (small(box)) view.bounds.add(box);
          const auto inside = std::count_if(shown.positions.begin(), shown.positions.end(),
                                            [&](const Vec3d& x) { return box.contains(x); });
          if (2 * static_cast<std::size_t>(inside) > shown.positions.size()) vessels_.insert(&collider);
        },
        frame);
  }

  Surroundings at(int frame) const {
    Surroundings all;
    for_each<Collider>(
        [&](const Collider& collider, double time) {
          if (TriangleMesh mesh = collider.mesh(time); !mesh.triangles.empty())
            (vessels_.contains(&collider) ? all.glass : all.solids).push_back(std::move(mesh));
        },
        frame);
    return all;
  }

 private:
  /// Calls f(object, seconds) for every Object of a kind.
  template <class Kind, class F>
  void for_each(const F& f, int frame) const {
    for (const auto& s : simulations_)
      for (const auto& o : s->objects())
        if (const auto* object = dynamic_cast<const Kind*>(o.get())) f(*object, s->setup().timeline.time(frame));
  }

  Catalog catalog_ = make_catalog();
  std::unique_ptr<Comm> comm_ = make_single_comm();
  Profile profile_;
  std::vector<std::unique_ptr<Simulation>> simulations_;
  std::set<const Collider*> vessels_;
  bool liquid_ = false;
};

Image draw(const Shown& shown, const RunScene& scene, int frame, ViewSettings view) {
  Surroundings around = scene.at(frame);
  view.caption = fmt::format("frame {}", frame);
  view.glass = std::move(around.glass);
  return render_points(shown.positions, shown.speed, shown.radius, around.solids, view);
}

using Sequence = std::map<int, std::vector<std::string>>;  // frame → files

/// The number before the extension of a cache's name, e.g. 1001 of "water.points.1001.vdb"; files without one count up.
int frame_of_file(const std::string& path, int otherwise) {
  const std::string stem = fs::path(path).stem().string();
  const auto dot = stem.rfind('.');
  const std::string_view digits = std::string_view(stem).substr(dot == std::string::npos ? 0 : dot + 1);
  int frame = otherwise;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), frame);
  return error == std::errc() && end == digits.data() + digits.size() ? frame : otherwise;
}

Result<Sequence> find_files(const PictureOptions& options) {
  Sequence sequence;
  const auto add = [&](int frame, std::string path) {
    if (!options.frames || (frame >= options.frames->first && frame <= options.frames->second))
      sequence[frame].push_back(std::move(path));
  };
  int counter = 1;
  for (const std::string& source : options.sources) {
    std::error_code ignored;
    if (!fs::exists(source, ignored)) return usage_error({}, "{} does not exist", source);
    if (!fs::is_directory(source, ignored)) {
      add(frame_of_file(source, counter++), source);
      continue;
    }
    for (const FrameFile& file : RunDirectory(source).frames())
      if (file.kind == "points") add(file.frame, (fs::path(source) / file.path).string());
  }
  if (sequence.empty())
    return usage_error(
        {}, "there are no point caches in {}{}", options.sources.empty() ? "''" : options.sources.front(),
        options.frames ? fmt::format(" between frames {} and {}", options.frames->first, options.frames->second) : "");
  return sequence;
}

Result<Shown> read_frame(const std::vector<std::string>& files) {
  Shown shown;
  for (const std::string& path : files) {
    const Result<PointSet> points = read_points(path);
    if (!points) return points.error();
    const std::size_t before = shown.positions.size();
    shown.positions.insert(shown.positions.end(), points->position.begin(), points->position.end());
    shown.speed.resize(shown.positions.size(), 0.0f);
    shown.radius.resize(shown.positions.size(), 0.005f);
    if (const PointAttribute* v = points->find("v"); v && v->type == PointAttribute::vec3f)
      for (std::size_t i = 0; const Vec3f& velocity : v->as<Vec3f>())
        shown.speed[before + i++] =
            std::sqrt(velocity.x * velocity.x + velocity.y * velocity.y + velocity.z * velocity.z);
    if (const PointAttribute* r = points->find("pscale"); r && r->type == PointAttribute::float32)
      for (std::size_t i = 0; const float radius : r->as<float>()) shown.radius[before + i++] = radius;
  }
  return shown;
}

/// The same camera and colours for all frames, from a few of them.
Status fit_view(const Sequence& sequence, ViewSettings& view) {
  constexpr std::size_t looked_at = 8;
  std::size_t number = 0, stride = std::max<std::size_t>(1, sequence.size() / looked_at);
  float fastest = 0;
  for (const auto& [frame, files] : sequence) {
    const bool last = number + 1 == sequence.size();
    if (number++ % stride != 0 && !last) continue;
    Result<Shown> shown = read_frame(files);
    if (!shown) return shown.error();
    if (shown->positions.empty()) continue;
    const Box box = framing_box(shown->positions);
    view.bounds.add(box);
    // The fastest hundredth must not decide the colour of the rest.
    const auto rank = shown->speed.begin() + static_cast<std::ptrdiff_t>((shown->speed.size() - 1) * 99 / 100);
    std::nth_element(shown->speed.begin(), rank, shown->speed.end());
    if (std::isfinite(*rank)) fastest = std::max(fastest, *rank);
  }
  view.low = 0;
  view.high = fastest > 0 ? fastest : 1;
  return {};
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

Result<int> compare_runs(const std::vector<ComparedRun>& runs, const std::string& sheet) {
  struct Last {
    const ComparedRun* run;
    int frame;
  };
  std::vector<Last> found;
  Sequence files;  // by place in the list
  for (const ComparedRun& run : runs) {
    PictureOptions whole_run;
    whole_run.sources = {run.directory};
    const Result<Sequence> sequence = find_files(whole_run);
    if (!sequence) continue;
    files[static_cast<int>(found.size())] = sequence->rbegin()->second;
    found.push_back({&run, sequence->rbegin()->first});
  }
  if (found.empty()) return 0;
  ViewSettings view;
  view.width = 640;
  view.height = 360;
  if (Status ok = fit_view(files, view); !ok) return ok.error();
  std::vector<std::unique_ptr<RunScene>> scenes;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Result<Shown> shown = read_frame(files[static_cast<int>(i)]);
    if (!shown) return shown.error();
    scenes.push_back(std::make_unique<RunScene>(std::vector{found[i].run->directory}));
    scenes.back()->fit(found[i].frame, *shown, view);
  }
  std::vector<Captioned> pictures;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Result<Shown> shown = read_frame(files[static_cast<int>(i)]);
    if (!shown) return shown.error();
    constexpr std::size_t longest = 52;  // letters that fit under a picture
    const std::string& caption = found[i].run->caption;
    pictures.push_back({caption.size() > longest ? caption.substr(0, longest - 3) + "..." : caption,
                        draw(*shown, *scenes[i], found[i].frame, view)});
  }
  const int columns = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(pictures.size()))));
  if (Status ok = write_png(contact_sheet(pictures, columns), sheet); !ok) return ok.error();
  return static_cast<int>(pictures.size());
}

Result<PictureReport> make_pictures(const PictureOptions& options, const std::function<void(int, int)>& progress) {
  const Result<Sequence> sequence = find_files(options);
  if (!sequence) return sequence.error();
  PictureReport report{output_folder(options), 0, {}};
  ViewSettings view;
  view.width = options.width;
  view.height = options.height;
  if (Status ok = fit_view(*sequence, view); !ok) return ok.error();
  std::error_code error;
  if (!report.output.empty()) fs::create_directories(report.output, error);
  if (error) return system_error("cannot make", report.output, error.value());

  constexpr std::size_t most_on_sheet = 12;
  const std::size_t stride = (sequence->size() + most_on_sheet - 1) / most_on_sheet;
  std::vector<Captioned> sheet;
  RunScene scene(options.sources);
  bool fitted = false;
  for (const auto& [frame, files] : *sequence) {
    const Result<Shown> shown = read_frame(files);
    if (!shown) return shown.error();
    if (!fitted && !shown->positions.empty()) scene.fit(frame, *shown, view), fitted = true;
    const Image image = draw(*shown, scene, frame, view);
    const std::string path = (fs::path(report.output) / fmt::format("preview.{}.png", frame_text(frame))).string();
    if (Status ok = write_png(image, path); !ok) return ok.error();
    if (static_cast<std::size_t>(report.pictures) % stride == 0)
      sheet.push_back({fmt::format("{}", frame), shrunk(image, 3)});
    progress(++report.pictures, static_cast<int>(sequence->size()));
  }
  report.sheet = (fs::path(report.output) / "contact_sheet.png").string();
  const int columns = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(sheet.size()))));
  if (Status ok = write_png(contact_sheet(sheet, columns), report.sheet); !ok) return ok.error();
  return report;
}

}  // namespace aegir
