// The options of `aegir surface`; in a file of its own because CLI11 is slow to compile.
#include <CLI/CLI.hpp>

#include "option_words.h"
#include "surface_command.h"

namespace aegir {
namespace {

const OptionWords methods = option_words<SurfaceMethod>({{"spheres", SurfaceMethod::spheres},
                                                         {"zhu_bridson", SurfaceMethod::zhu_bridson},
                                                         {"solenthaler", SurfaceMethod::solenthaler},
                                                         {"ellipsoids", SurfaceMethod::ellipsoids}});
const OptionWords formats =
    option_words<MeshFormat>({{"none", MeshFormat::none}, {"ply", MeshFormat::ply}, {"obj", MeshFormat::obj}});
const OptionWords namings =
    option_words<VdbOptions::Naming>({{"houdini", VdbOptions::houdini}, {"blender", VdbOptions::blender}});

void add_shape(CLI::App* c, SurfaceArguments& a) {
  SurfaceSettings& s = a.job.settings;
  c->add_option("--method", s.method, "spheres, zhu_bridson, solenthaler or ellipsoids (default)")
      ->transform(word(methods))
      ->type_name("METHOD");
  c->add_option("--voxel-size", a.voxel, "Of the level set; half of the particle spacing if not given")
      ->type_name("LENGTH");
  c->add_option("--radius-scale", s.radius_scale, "Factor on all radii; 1 puts flat surfaces where they are");
  c->add_option("--radius", a.radius, "Of particles without pscale; from their spacing if not given")
      ->type_name("LENGTH");
  c->add_option("--search-radius", s.search_radius,
                "How far a particle looks for neighbours, in radii; 0: the method's own");
  c->add_option("--sphericity", s.sphericity, "Ellipsoids: smallest stretch over largest (k_r)");
  c->add_option("--normalisation", a.normalisation,
                "Ellipsoids: local, global, or a number between 0 and 1 for a blend")
      ->type_name("MODE");
  c->add_option("--smoothing", s.smoothing, "Ellipsoids: how far centres move to the mean of their neighbours, 0 to 1");
  c->add_option("--droplet-size", s.droplet_size, "Ellipsoids: radius of a particle alone over its pscale (k_n)");
  c->add_option("--droplet-neighbours", a.droplet_neighbours,
                "Ellipsoids: up to LOW neighbours a particle is alone, from HIGH on it is not")
      ->type_name("LOW:HIGH");
  c->add_option("--band", s.band, "Half width of the level set in voxels");
  c->add_option(
       "--filter", a.filters,
       "Filter of the level set, several in order: mean, gaussian, median, mean_curvature, dilate, erode, or none; "
       "with width=, iterations=, distance=, never_raise, attribute= or volume=")
      ->allow_extra_args(false)
      ->type_name("NAME[:KEY=VALUE,…]");
}

}  // namespace

void add_surface(CLI::App& app, SurfaceArguments& a) {
  CLI::App* c = app.add_subcommand("surface", "Makes level sets and meshes of particles");
  c->add_option("POINTS", a.job.inputs, "OpenVDB points or PLY files, or patterns: water.points.$F4.vdb")->required();
  c->add_option("-o,--output", a.job.output, "Folder for the surfaces")->required()->type_name("DIR");
  c->add_option("--name", a.job.name, "Of the files: NAME.volumes.FRAME.vdb, NAME.mesh.FRAME.ply");
  add_shape(c, a);
  c->add_option("--attributes", a.attributes, "Carried to the surface besides v")->delimiter(',')->type_name("NAME,…");
  c->add_option("--mesh", a.job.files.mesh, "none, ply or obj")->transform(word(formats))->type_name("FORMAT");
  c->add_option("--adaptivity", a.job.files.adaptivity,
                "Of the mesh: 0 is even and closed, up to 1 grows polygons on flats");
  c->add_flag("--no-volumes", a.no_volumes, "Writes no level set");
  c->add_flag("--half", a.job.files.vdb.half, "Numbers of the level set with 16 bits");
  c->add_option("--naming", a.job.files.vdb.naming, "Of volumes: houdini (surface, vel) or blender (phi, velocity)")
      ->transform(word(namings))
      ->type_name("NAMES");
  c->add_option("--frames", a.frames, "First and last frame, both included")->type_name("A:B");
  c->add_option("--shutter", a.shutter, "Times in frames after each frame: 0,0.25,0.5 or OPEN:CLOSE:COUNT")
      ->type_name("TIMES");
  c->add_option("--fps", a.job.fps, "Frames per second, for sub-frames");
  c->add_option("--threads", a.threads, "Threads; all CPUs of the process if not given")->check(CLI::Range(1, 4096));
  c->add_option("--progress", a.style, "auto, bar, plain, alf, openjd or json")
      ->transform(word(progress_styles))
      ->type_name("STYLE");
  c->footer(
      "Files of the same frame are surfaced together. mpirun -n K spreads frames over ranks.\n"
      "Exit codes: 0 done, 2 usage, 4 input/output, 5 memory.\n\n"
      "Examples:\n  aegir surface runs/dam_break/water/water.points.*.vdb -o skin --mesh ply\n"
      "  aegir surface 'water.$F4.vdb' 'spray.$F4.vdb' -o skin --shutter 0:0.5:3 --filter gaussian:width=2");
}

}  // namespace aegir
