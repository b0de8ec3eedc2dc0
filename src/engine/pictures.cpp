#include "engine/pictures.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>

#include "engine/catalog.h"
#include "engine/run_directory.h"
#include "engine/run_record.h"
#include "io/atomic_file.h"
#include "io/frame_path.h"
#include "io/vdb.h"
#include "phenomena/common/collider.h"
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

/// The colliders of a run, made again from the setup that it recorded; none where that cannot be read any more.
class Solids {
 public:
  explicit Solids(const std::vector<std::string>& sources) {
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
  }
  std::vector<TriangleMesh> at(int frame) const {
    std::vector<TriangleMesh> meshes;
    for (const auto& s : simulations_)
      for (const auto& o : s->objects())
        if (const auto* collider = dynamic_cast<const Collider*>(o.get()))
          if (TriangleMesh mesh = collider->mesh(s->setup().timeline.time(frame)); !mesh.triangles.empty())
            meshes.push_back(std::move(mesh));
    return meshes;
  }

 private:
  Catalog catalog_ = make_catalog();
  std::unique_ptr<Comm> comm_ = make_single_comm();
  Profile profile_;
  std::vector<std::unique_ptr<Simulation>> simulations_;
};

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
  std::vector<Captioned> pictures;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Result<Shown> shown = read_frame(files[static_cast<int>(i)]);
    if (!shown) return shown.error();
    view.caption = fmt::format("frame {}", found[i].frame);
    const Solids solids({found[i].run->directory});
    constexpr std::size_t longest = 52;  // letters that fit under a picture
    const std::string& caption = found[i].run->caption;
    pictures.push_back({caption.size() > longest ? caption.substr(0, longest - 3) + "..." : caption,
                        render_points(shown->positions, shown->speed, shown->radius, solids.at(found[i].frame), view)});
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
  const Solids solids(options.sources);
  for (const auto& [frame, files] : *sequence) {
    const Result<Shown> shown = read_frame(files);
    if (!shown) return shown.error();
    view.caption = fmt::format("frame {}", frame);
    const Image image = render_points(shown->positions, shown->speed, shown->radius, solids.at(frame), view);
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
