#include "surfacing/make_surface.h"

#include <algorithm>
#include <cmath>

#include "parallel/threads.h"
#include "surfacing/filters.h"
#include "surfacing/rasterize.h"
#include "surfacing/redistance.h"
#include "surfacing/spacing.h"
#include "surfacing/stamp_lists.h"

namespace aegir {
namespace {

/// Voxels further out than this are not addressed.
constexpr double farthest_voxel = 1 << 29;

/// What is used of the input.
struct Particles {
  std::vector<Vec3d> position;
  std::vector<float> radius;
  std::vector<std::uint32_t> source;  // empty: all, in order
};

Result<std::vector<float>> radii_of(const PointSet& points, const SurfaceSettings& s, SurfaceReport& report) {
  std::vector<float> radius(points.size(), static_cast<float>(s.default_radius));
  if (const PointAttribute* a = points.find("pscale")) {
    if (a->type == PointAttribute::float32)
      std::copy(a->as<float>().begin(), a->as<float>().end(), radius.begin());
    else if (a->type == PointAttribute::float64)
      std::transform(a->as<double>().begin(), a->as<double>().end(), radius.begin(),
                     [](double v) { return static_cast<float>(v); });
    else
      return io_error("the attribute 'pscale' is of type {}, but radii are numbers; give one radius for all instead",
                      PointAttribute::name_of(a->type));
    return radius;
  }
  report.guessed_radius =
      s.default_radius > 0 ? s.default_radius : radius_per_spacing * estimate_spacing(points.position);
  std::fill(radius.begin(), radius.end(), static_cast<float>(report.guessed_radius));
  return radius;
}

/// Leaves out what is no number or nowhere.
Particles usable(const PointSet& points, std::vector<float> radius, SurfaceReport& report) {
  Particles p;
  const auto good = [&](std::size_t i) {
    return is_finite(points.position[i]) && std::isfinite(radius[i]) && radius[i] > 0 && radius[i] < 1e18f;
  };
  std::size_t bad = 0;
  for (std::size_t i = 0; i < points.size(); ++i) bad += !good(i);
  if (bad == 0) {
    p.position = points.position, p.radius = std::move(radius);
    return p;
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (good(i)) {
      p.position.push_back(points.position[i]), p.radius.push_back(radius[i]);
      p.source.push_back(static_cast<std::uint32_t>(i));
    } else if (!is_finite(points.position[i]) || !std::isfinite(radius[i])) {
      ++report.not_finite;
    } else {
      ++report.without_radius;
    }
  }
  return p;
}

double median_of_some(const std::vector<float>& values) {
  std::vector<float> some;
  const std::size_t stride = values.size() / 65536 + 1;
  for (std::size_t i = 0; i < values.size(); i += stride) some.push_back(values[i]);
  const auto middle = some.begin() + static_cast<std::ptrdiff_t>(some.size() / 2);
  std::nth_element(some.begin(), middle, some.end());
  return *middle;
}

Status check_proportions(const Particles& p, const SurfaceSettings& s, const SurfaceReport& report) {
  const float largest = *std::max_element(p.radius.begin(), p.radius.end());
  const double factor = s.radius_scale * method_scale(s.method);
  if (2 * largest * factor / report.voxel > most_voxels_across)
    return io_error(
        "the largest particle has a radius of {:.4g} m, {:.0f} voxels of {:.4g} m; that is too much: make voxels "
        "larger, "
        "or correct the radii (half of them are at most {:.4g} m)",
        largest, largest / report.voxel, report.voxel, report.spacing * radius_per_spacing);
  Box box;
  for (const Vec3d& x : p.position) box.add(x);
  const double far = std::max({std::abs(box.min.x), std::abs(box.min.y), std::abs(box.min.z), std::abs(box.max.x),
                               std::abs(box.max.y), std::abs(box.max.z)});
  if (far / report.voxel > farthest_voxel)
    return io_error(
        "a particle is {:.4g} m from the origin, which is too far for voxels of {:.4g} m; make voxels larger", far,
        report.voxel);
  return {};
}

Status check_settings(const SurfaceSettings& s) {
  const auto bad = [](const char* name, double value, const char* range) {
    return usage_error({}, "{} is {:g}; it must be {}", name, value, range);
  };
  if (!(s.radius_scale > 0 && s.radius_scale < 1e6)) return bad("radius_scale", s.radius_scale, "above 0");
  if (!(s.search_radius >= 1 && s.search_radius <= 32)) return bad("search_radius", s.search_radius, "from 1 to 32");
  if (!(s.sphericity > 0 && s.sphericity <= 1)) return bad("sphericity", s.sphericity, "above 0 and at most 1");
  if (!(s.normalisation >= 0 && s.normalisation <= 1)) return bad("normalisation", s.normalisation, "from 0 to 1");
  if (!(s.droplet_size > 0 && s.droplet_size <= 4)) return bad("droplet_size", s.droplet_size, "above 0 and at most 4");
  if (!(s.smoothing >= 0 && s.smoothing <= 1)) return bad("smoothing", s.smoothing, "from 0 to 1");
  if (!(s.band >= 2 && s.band <= 8)) return bad("band", s.band, "from 2 to 8");
  if (!(s.voxel_size >= 0 && std::isfinite(s.voxel_size))) return bad("voxel_size", s.voxel_size, "0 or above");
  return {};
}

/// Owners count in the particles that were used; the caller's numbers are those of the input.
void translate_owners(BandGrid& grid, const std::vector<std::uint32_t>& source) {
  if (!grid.has_owners() || source.empty()) return;
  parallel_for(0, grid.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s)
      for (int v = 0; v < 512; ++v)
        if (std::int32_t& o = grid.owners(s)[v]; o >= 0)
          o = static_cast<std::int32_t>(source[static_cast<std::size_t>(o)]);
  });
}

/// How little alone each particle of the input is; nothing where shapes do not know.
std::vector<float> company_of(const Shapes& shapes, const ParticleBlocks& blocks, const Particles& used,
                              std::size_t particles) {
  if (shapes.company.empty()) return {};
  std::vector<float> company(particles, 1.0f);
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const std::uint32_t i = blocks.source[shapes.particle[k]];
    company[used.source.empty() ? i : used.source[i]] = shapes.company[k];
  }
  return company;
}

/// Needs owners: something is carried to the surface, or a filter's mask asks for it.
bool wants_owners(const PointSet& points, const SurfaceSettings& s) {
  if (points.find("v") || !s.attributes.empty()) return true;
  return std::any_of(s.filters->begin(), s.filters->end(), [&](const SurfaceFilter& f) {
    return !f.mask.attribute.empty() || (f.spare_droplets && s.method == SurfaceMethod::ellipsoids);
  });
}

}  // namespace

SurfaceSettings completed(SurfaceSettings s) {
  const bool averages = s.method == SurfaceMethod::zhu_bridson || s.method == SurfaceMethod::solenthaler;
  if (s.search_radius == 0) s.search_radius = averages ? 3.2 : 5;
  if (!s.filters) {
    SurfaceFilter smooth;
    smooth.kind = FilterKind::mean_curvature;
    smooth.iterations = 2;
    smooth.spare_droplets = true;
    s.filters = {smooth};
  }
  return s;
}

std::vector<std::string> SurfaceReport::remarks() const {
  std::vector<std::string> all;
  if (guessed_radius > 0)
    all.push_back(fmt::format("the particles have no radius (pscale); {:.4g} m is used for all", guessed_radius));
  if (not_finite > 0)
    all.push_back(
        fmt::format("{} of {} particles are left out: position or radius is no finite number", not_finite, particles));
  if (without_radius > 0)
    all.push_back(
        fmt::format("{} of {} particles are left out: their radius is zero or negative, or too large to be one",
                    without_radius, particles));
  if (particles == 0) all.push_back("there are no particles; the surface is empty");
  return all;
}

Result<ParticleSurface> make_surface(const PointSet& points, const SurfaceSettings& given,
                                     std::shared_ptr<BufferPool> pool) {
  if (!pool) pool = std::make_shared<BufferPool>();
  const SurfaceSettings s = completed(given);
  if (Status ok = check_settings(s); !ok) return ok.error();
  ParticleSurface surface;
  SurfaceReport& report = surface.report;
  report.particles = static_cast<std::int64_t>(points.size());
  auto radius = radii_of(points, s, report);
  if (!radius) return radius.error();
  const Particles p = usable(points, std::move(*radius), report);
  if (p.position.empty()) {
    report.voxel = s.voxel_size > 0 ? s.voxel_size : 1;
    surface.grid = BandGrid(report.voxel, s.band, {}, {}, false);
    return surface;
  }
  report.spacing = median_of_some(p.radius) / radius_per_spacing;
  report.voxel = s.voxel_size > 0 ? s.voxel_size : 0.5 * report.spacing;
  if (Status ok = check_proportions(p, s, report); !ok) return ok.error();
  const int cell = std::max(1, static_cast<int>(std::ceil(2 * report.spacing / report.voxel - 0.01)));
  const ParticleBlocks blocks = sort_particles(p.position, p.radius, {report.voxel, cell});
  const NearSurface near = find_near_surface(blocks);
  const Shapes shapes = s.method == SurfaceMethod::ellipsoids
                            ? make_ellipsoids(blocks, near, s)
                            : make_spheres(blocks, near, static_cast<float>(s.radius_scale * method_scale(s.method)));
  report.shaped = static_cast<std::int64_t>(shapes.size());
  BandGrid field = rasterize(blocks, near, shapes,
                             {.method = s.method,
                              .search_radius = static_cast<float>(s.search_radius),
                              .band = s.band,
                              .owners = wants_owners(points, s),
                              .pool = pool});
  translate_owners(field, p.source);
  surface.grid = redistance(std::move(field), {.whole_band = s.filters->empty(), .nearly = true});
  const std::vector<float> company = company_of(shapes, blocks, p, points.size());
  for (const SurfaceFilter& filter : *s.filters) {
    Status ok = apply_filter(surface.grid, filter, points, company);
    if (!ok) return ok.error();
  }
  extend_owners(surface.grid);
  return surface;
}

}  // namespace aegir
