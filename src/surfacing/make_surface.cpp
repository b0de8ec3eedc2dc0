#include "surfacing/make_surface.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "parallel/threads.h"
#include "surfacing/filters.h"
#include "surfacing/rasterize.h"
#include "surfacing/redistance.h"
#include "surfacing/spacing.h"
#include "surfacing/stamp_lists.h"
#include "surfacing/surface_shares.h"

namespace aegir {
namespace {

/// Voxels further out than this are not addressed.
constexpr double farthest_voxel = 1 << 29;

Result<std::vector<float>> radii_of(const PointSet& points, const SurfaceSettings& s, Comm* comm,
                                    SurfaceReport& report) {
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
      s.default_radius > 0 ? s.default_radius : radius_per_spacing * estimate_spacing(points.position, comm);
  std::fill(radius.begin(), radius.end(), static_cast<float>(report.guessed_radius));
  return radius;
}

/// Leaves out what is no number or nowhere.
SurfaceParticles usable(const PointSet& points, std::vector<float> radius, SurfaceReport& report) {
  SurfaceParticles p;
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

/// The median radius of at most 65536 particles, evenly picked from all in their order: part by part, as ranks have
/// them.
double median_of_some(const SurfaceParticles& p, std::span<const std::size_t> parts, Comm* comm) {
  std::vector<std::int64_t> counts(parts.size(), 0);
  for (std::size_t i = 0, part = 0; i < p.position.size(); ++i) {
    while ((p.source.empty() ? i : p.source[i]) >= parts[part]) ++part;
    ++counts[part];
  }
  const std::vector<std::int64_t> all = comm ? gather_all(*comm, counts) : counts;
  const std::size_t ranks = all.size() / parts.size(), rank = comm ? static_cast<std::size_t>(comm->rank()) : 0;
  const std::int64_t stride = std::accumulate(all.begin(), all.end(), std::int64_t{0}) / 65536 + 1;
  std::vector<float> some;
  std::int64_t before = 0;
  std::size_t i = 0;
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::int64_t count = all[r * parts.size() + part];
      if (r == rank) {
        for (std::int64_t j = (stride - before % stride) % stride; j < count; j += stride)
          some.push_back(p.radius[i + static_cast<std::size_t>(j)]);
        i += static_cast<std::size_t>(count);
      }
      before += count;
    }
  if (comm) some = gather_all(*comm, some);
  const auto middle = some.begin() + static_cast<std::ptrdiff_t>(some.size() / 2);
  std::nth_element(some.begin(), middle, some.end());
  return *middle;
}

Status check_proportions(const SurfaceParticles& p, const SurfaceSettings& s, Comm* comm, const SurfaceReport& report) {
  double most[2] = {0, 0};  // radius, and distance from the origin along an axis
  for (const float r : p.radius) most[0] = std::max(most[0], static_cast<double>(r));
  for (const Vec3d& x : p.position) most[1] = std::max({most[1], std::abs(x.x), std::abs(x.y), std::abs(x.z)});
  if (comm) comm->max(most);
  const auto largest = static_cast<float>(most[0]);
  const double far = most[1];
  const double factor = s.radius_scale * method_scale(s.method);
  if (2 * largest * factor / report.voxel > most_voxels_across)
    return io_error(
        "the largest particle has a radius of {:.4g} m, {:.0f} voxels of {:.4g} m; that is too much: make voxels "
        "larger, "
        "or correct the radii (half of them are at most {:.4g} m)",
        largest, largest / report.voxel, report.voxel, report.spacing * radius_per_spacing);
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

/// How little alone each particle of the input is.
std::vector<float> company_of(const Shapes& shapes, const SurfaceParticles& used, std::size_t particles) {
  std::vector<float> company(particles, 1.0f);
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const auto i = static_cast<std::size_t>(shapes.owner[k]);
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

namespace {

/// What ranks have counted, together.
void add_up(SurfaceReport& report, const SurfaceShares& shares) {
  Comm& comm = shares.comm();
  std::int64_t counts[] = {report.particles, report.not_finite, report.without_radius, report.shaped};
  comm.sum(counts);
  report.particles = counts[0], report.not_finite = counts[1], report.without_radius = counts[2];
  report.shaped = counts[3];
  report.most_held = comm.max(static_cast<std::int64_t>(shares.carried.size()) + shares.copied);
}

/// The whole way. Where ranks share the surface `comm` is set, and points are given up when they have been sent.
Result<ParticleSurface> make(const PointSet& points, std::span<const std::size_t> parts, const SurfaceSettings& given,
                             std::shared_ptr<BufferPool> pool, Comm* comm, const std::function<void()>& points_sent) {
  if (!pool) pool = std::make_shared<BufferPool>();
  const SurfaceSettings s = completed(given);
  if (Status ok = check_settings(s); !ok) return ok.error();
  ParticleSurface surface;
  SurfaceReport& report = surface.report;
  report.particles = static_cast<std::int64_t>(points.size());
  auto radius = radii_of(points, s, comm, report);
  if (!radius) return radius.error();
  SurfaceParticles p = usable(points, std::move(*radius), report);
  const bool any = comm ? comm->any(!p.position.empty()) : !p.position.empty();
  if (!any) {
    report.voxel = s.voxel_size > 0 ? s.voxel_size : 1;
    std::shared_ptr<SurfaceShares> nobodys;
    if (comm) {
      nobodys = std::make_shared<SurfaceShares>(*comm, SurfaceLattice(), SurfaceCut());
      nobodys->send_particles(p, points, parts);
      add_up(report, *nobodys);
    }
    surface.grid = BandGrid(report.voxel, s.band, {}, {}, false, nullptr, nobodys);
    return surface;
  }
  report.spacing = median_of_some(p, parts, comm) / radius_per_spacing;
  report.voxel = s.voxel_size > 0 ? s.voxel_size : 0.5 * report.spacing;
  if (Status ok = check_proportions(p, s, comm, report); !ok) return ok.error();
  const int cell = std::max(1, static_cast<int>(std::ceil(2 * report.spacing / report.voxel - 0.01)));
  const SurfaceLattice lattice{report.voxel, cell};
  const bool owners = wants_owners(points, s);
  std::shared_ptr<SurfaceShares> shares;
  if (comm) {
    shares = std::make_shared<SurfaceShares>(*comm, lattice, cut_surface(*comm, lattice, p.position));
    p = shares->send_particles(p, points, parts);
    points_sent();
  }
  ParticleBlocks blocks = sort_particles(p.position, p.radius, lattice);
  const NearSurface near = find_near_surface(blocks, shares.get());
  Shapes shapes = s.method == SurfaceMethod::ellipsoids
                      ? make_ellipsoids(blocks, near, s, shares.get())
                      : make_spheres(blocks, near, static_cast<float>(s.radius_scale * method_scale(s.method)));
  report.shaped = static_cast<std::int64_t>(shapes.size());
  std::vector<float> company;
  if (shapes.stretched) company = company_of(shapes, p, shares ? shares->carried.own() : points.size());
  if (shares && shapes.stretched) shares->carried.company() = std::move(company);
  BandGrid field = rasterize(blocks, near, std::move(shapes),
                             {.method = s.method,
                              .search_radius = static_cast<float>(s.search_radius),
                              .band = s.band,
                              .owners = owners,
                              .pool = pool,
                              .shares = shares});
  translate_owners(field, p.source);
  surface.grid = redistance(std::move(field), {.whole_band = s.filters->empty(), .nearly = true});
  const PointSet& carried = shares ? shares->carried.points() : points;
  const std::vector<float>& known = shares ? shares->carried.company() : company;
  for (const SurfaceFilter& filter : *s.filters) {
    Status ok = apply_filter(surface.grid, filter, carried, s.method == SurfaceMethod::ellipsoids ? &known : nullptr);
    if (!ok) return ok.error();
  }
  extend_owners(surface.grid);
  if (shares) add_up(report, *shares);
  return surface;
}

}  // namespace

Result<ParticleSurface> make_surface(const PointSet& points, const SurfaceSettings& settings,
                                     std::shared_ptr<BufferPool> pool) {
  const std::size_t end = points.size();
  return make(points, {&end, 1}, settings, std::move(pool), nullptr, [] {});
}

Result<ParticleSurface> make_shared_surface(PointSet points, std::span<const std::size_t> parts,
                                            const SurfaceSettings& settings, std::shared_ptr<BufferPool> pool,
                                            Comm& comm) {
  return make(points, parts, settings, std::move(pool), &comm, [&] { points = PointSet(); });
}

}  // namespace aegir
