#include "preview_command.h"

#include <unistd.h>

#include <map>

#include <CLI/CLI.hpp>

#include "console.h"
#include "engine/run.h"

namespace aegir {
namespace {

const std::map<std::string, PictureLook> looks = {{"auto", PictureLook::automatic},
                                                  {"water", PictureLook::water},
                                                  {"matte", PictureLook::matte},
                                                  {"particles", PictureLook::particles}};

void add_camera(CLI::App* c, PreviewArguments& a) {
  c->add_option("--camera", a.options.camera.file, "glTF file with a camera, and after a colon its name")
      ->type_name("FILE[:NAME]");
  c->add_option("--eye", a.eye, "Where the camera is, in metres")->type_name("X,Y,Z");
  c->add_option("--target", a.target, "Where the camera looks, in metres")->type_name("X,Y,Z");
  c->add_option("--fov", a.field_of_view, "Vertical field of view of --eye or --camera, in degrees")
      ->check(CLI::Range(0.1, 170.0))
      ->type_name("DEGREES");
  c->add_option("--from", a.from,
                "Side from which everything is framed: azimuth from +z towards +x, and elevation, in degrees")
      ->type_name("A,E");
}

template <std::size_t Count>
Status read_numbers(const std::string& text, const char* option, const char* meaning, std::vector<double>& numbers) {
  numbers.clear();
  if (text.empty()) return {};
  auto read = parse_numbers(text, Count, meaning);
  if (!read) return Error{Failure::usage, fmt::format("{}: {}", option, read.error().message), {}};
  numbers = std::move(*read);
  return {};
}

/// Texts that mean numbers; the first that does not make sense is the user's mistake.
Status understand(PreviewArguments& a) {
  PictureOptions& o = a.options;
  if (!a.frames.empty()) {
    const auto frames = parse_frames(a.frames);
    if (!frames) return Error{Failure::usage, "--frames: " + frames.error().message, {}};
    o.frames = *frames;
  }
  const auto size = parse_size(a.size);
  if (!size) return Error{Failure::usage, "--size: " + size.error().message, {}};
  o.width = size->first, o.height = size->second;
  std::vector<double> n;
  if (Status ok = read_numbers<3>(a.eye, "--eye", "a place", n); !ok) return ok;
  if (!n.empty()) o.camera.eye = Vec3d{n[0], n[1], n[2]};
  if (Status ok = read_numbers<3>(a.target, "--target", "a place", n); !ok) return ok;
  if (!n.empty()) o.camera.target = Vec3d{n[0], n[1], n[2]};
  if (Status ok = read_numbers<2>(a.from, "--from", "azimuth and elevation", n); !ok) return ok;
  if (!n.empty()) {
    if (!(std::abs(n[1]) <= 89)) return usage_error({}, "--from: the elevation is between -89 and 89 degrees");
    o.camera.direction = std::pair{n[0], n[1]};
  }
  if (Status ok = read_numbers<1>(a.slice_at, "--at", "a place along the axis", n); !ok) return ok;
  if (!n.empty()) o.slice.at = n[0];
  o.slice.axis = a.axis[0] - 'x';
  if (a.field_of_view > 0) o.camera.field_of_view = a.field_of_view;
  o.movie = !a.no_movie;
  return {};
}

}  // namespace

void add_preview(CLI::App& app, PreviewArguments& a) {
  CLI::App* c = app.add_subcommand(
      "preview", "Draws surfaces, particles, smoke or slices: a PNG per frame, a contact sheet, a movie");
  c->add_option("SOURCE", a.options.sources, "Run directory, or files: VDB points, level sets and volumes, meshes")
      ->required();
  c->add_option("-o,--output", a.options.output, "Folder for the pictures; `preview` in the run directory if not given")
      ->type_name("DIR");
  c->add_option("--size", a.size, "Size of a picture")->type_name("WxH");
  c->add_option("--frames", a.frames, "First and last frame, both included")->type_name("A:B");
  c->add_option("--look", a.options.look,
                "water or matte surfaces, or particles; auto: water where there are surfaces, otherwise particles")
      ->transform(CLI::CheckedTransformer(looks).description(""))
      ->type_name("LOOK");
  c->add_option("--color", a.options.color, "Attribute that colours particles and matte surfaces; speed if not given")
      ->type_name("NAME");
  c->add_option("--layers", a.options.layer,
                "Colours in layers of this thickness, in metres, by the height at which particles were born (`rest`)")
      ->check(CLI::Range(1e-6, 1e6))
      ->type_name("METRES");
  add_camera(c, a);
  c->add_option("--slice", a.options.slice.volume, "Draws a plane through this volume instead")->type_name("VOLUME");
  c->add_option("--axis", a.axis, "Axis across the plane of --slice")
      ->check(CLI::IsMember({"x", "y", "z"}))
      ->type_name("x|y|z");
  c->add_option("--at", a.slice_at, "Where the plane is along that axis, in metres; the middle if not given")
      ->type_name("METRES");
  c->add_flag("--no-movie", a.no_movie, "Makes no movie; it needs ffmpeg");
  c->footer(
      "Examples:\n  aegir preview runs/sprinkler --frames 1:24 --size 640x360\n"
      "  aegir preview runs/dam_break --look matte --color v --from 40,25\n"
      "  aegir preview runs/dam_break --slice vel --axis z --at 0.5");
}

int preview_command(PreviewArguments& a) {
  if (Status ok = understand(a); !ok) return report_error(ok.error());
  const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  const Result<PictureReport> report = make_pictures(a.options, [&](int done, int all) {
    if (terminal) print(fmt::format("\r\033[Kdrawing   {} of {}", done, all));
  });
  if (terminal) print("\r\033[K");
  if (!report) return report_error(report.error());
  print(fmt::format("pictures  {} in {}\nsheet     {}\n", report->pictures,
                    report->output.empty() ? "." : report->output, report->sheet));
  if (!report->movie.empty()) print(fmt::format("movie     {}\n", report->movie));
  if (!report->remark.empty()) print(fmt::format("note      {}\n", report->remark));
  return 0;
}

}  // namespace aegir
