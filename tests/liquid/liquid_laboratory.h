// A liquid from a few lines of YAML, and what tests measure of it.
#pragma once

#include <cmath>
#include <vector>

#include "domain/for_each_bucket.h"
#include "laws/laboratory.h"
#include "phenomena/common/hybrid_object.h"
#include "phenomena/liquid/register.h"

namespace aegir::test {

/// Greatest and root mean square of |u| over the grid's faces beside liquid.
struct GridSpeed {
  double max = 0, rms = 0;
};

class LiquidLaboratory : public Laboratory {
 public:
  LiquidLaboratory(const std::string& timeline, const std::string& nodes, const std::string& head = "")
      : Laboratory(timeline, nodes, head, register_liquid) {}

  HybridObject& water(const std::string& path = "water") {
    return dynamic_cast<HybridObject&>(*simulation().find(path));
  }

  /// Calls fn(bucket, cell index, cell centre) for every liquid cell.
  template <class Fn>
  void for_each_liquid_cell(Fn&& fn) {
    DiscreteVolume& grid = water().grid();
    const float* distance = grid.store(grid::surface_distance.name).plane<float>(0);
    for (int b = 0; b < grid.topology().local_count(); ++b)
      for (int c = 0; c < bucket_cells; ++c)
        if (distance[b * bucket_cells + c] < 0) {
          const Vec3d centre(c >> 6, c >> 3 & 7, c & 7);
          fn(b, c, grid.topology().origin(b) + (centre + Vec3d(0.5)) * grid.topology().spacing());
        }
  }

  /// Over the lower faces of liquid cells that are open.
  GridSpeed speed() {
    return speed([](const Vec3d&) { return true; });
  }
  /// Of those cells whose centre `where` accepts.
  template <class Where>
  GridSpeed speed(Where&& where) {
    const GridStore &u = water().grid().store("vel"), &area = water().grid().store("open_area");
    GridSpeed s;
    double sum = 0, count = 0;
    for_each_liquid_cell([&](int b, int c, const Vec3d& x) {
      for (int a = 0; a < 3 && where(x); ++a) {
        const auto at = static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(c);
        if (area.plane<float>(a)[at] <= 0) continue;
        const double v = std::abs(u.plane<float>(a)[at]);
        s.max = std::max(s.max, v), sum += v * v, count += 1;
      }
    });
    s.rms = count > 0 ? std::sqrt(sum / count) : 0;
    return s;
  }

  /// Pressure of the cell that holds a point, Pa; 0 outside the liquid.
  double pressure(const Vec3d& x) {
    DiscreteVolume& grid = water().grid();
    const BucketPosition at = locate(x, grid.topology().spacing());
    const int b = grid.topology().find(at.key);
    if (b < 0) return 0;
    const int cell = cell_offset(static_cast<int>(at.cell.x), static_cast<int>(at.cell.y), static_cast<int>(at.cell.z));
    return grid.store("pressure").plane<double>(0)[b * bucket_cells + cell] * water().pressure_scale();
  }

  /// Whether a place is outside all solids, as its cell's lower corner tells.
  bool open(const Vec3d& x) { return value("solid_distance", x, 1000) > 0; }

  /// Distance of a cell's centre to the surface, in cells.
  double distance(const Vec3d& x) { return value("surface_distance", x, 4); }

  /// A float channel of the cell that holds a point.
  double value(const char* channel, const Vec3d& x, double outside) {
    DiscreteVolume& grid = water().grid();
    const BucketPosition at = locate(x, grid.topology().spacing());
    const int b = grid.topology().find(at.key);
    if (b < 0) return outside;
    const int cell = cell_offset(static_cast<int>(at.cell.x), static_cast<int>(at.cell.y), static_cast<int>(at.cell.z));
    return grid.store(channel).plane<float>(0)[b * bucket_cells + cell];
  }

  /// Height of the surface over (x, z): the highest crossing of zero between cell centres at or below `top`.
  double level(double x, double z, double bottom, double top) {
    const double dx = water().spacing();
    double above = distance({x, top, z});
    for (double y = top - dx; y > bottom - dx; y -= dx) {
      const double below = distance({x, y, z});
      const double centre = (std::floor(y / dx) + 0.5) * dx;
      if (below < 0 && above >= 0) return centre + dx * below / (below - above);
      above = below;
    }
    return bottom;
  }
};

}  // namespace aegir::test
