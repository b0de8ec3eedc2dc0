#include "surfacing/shapes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "parallel/threads.h"
#include "surfacing/eigen.h"
#include "surfacing/neighbour_copies.h"
#include "surfacing/neighbour_moments.h"

namespace aegir {
namespace {

/// A particle so large, in voxels, that it may look out from the depth: it is stamped wherever it is.
float large_radius(const SurfaceLattice& lattice, float scale) {
  return static_cast<float>(lattice.cell_voxels) / scale;
}

/// Lists what is stamped, block by block.
Shapes list_shapes(const ParticleBlocks& blocks, const NearSurface& near, float scale) {
  Shapes shapes;
  const std::size_t n = blocks.blocks();
  const float large = large_radius(blocks.lattice, scale);
  const auto each = [&](std::size_t b, const auto& f) {
    for (std::size_t c = 0; c < 64; ++c)
      for (std::uint32_t i = blocks.cell_first[b * 65 + c]; i < blocks.cell_first[b * 65 + c + 1]; ++i)
        if ((near.stamped[b] >> c & 1) || blocks.radius[i] > large) f(i, c);
  };
  shapes.first.assign(n + 1, 0);
  parallel_for(0, n, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) each(b, [&](std::uint32_t, std::size_t) { ++shapes.first[b + 1]; });
  });
  for (std::size_t b = 0; b < n; ++b) shapes.first[b + 1] += shapes.first[b];
  shapes.key.assign(blocks.key.begin(), blocks.key.begin() + static_cast<std::ptrdiff_t>(n));
  shapes.particle.resize(shapes.first[n]), shapes.owner.resize(shapes.first[n]), shapes.filler.resize(shapes.first[n]);
  for (auto* v : {&shapes.x, &shapes.y, &shapes.z, &shapes.radius, &shapes.given}) v->resize(shapes.size());
  parallel_for(0, n, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      std::uint32_t at = shapes.first[b];
      each(b, [&](std::uint32_t i, std::size_t c) {
        shapes.particle[at] = i;
        shapes.owner[at] = static_cast<std::int32_t>(blocks.source[i]), shapes.given[at] = blocks.radius[i];
        shapes.filler[at] = (near.interior[b] >> c & 1) && blocks.radius[i] <= large;
        shapes.x[at] = blocks.x[i], shapes.y[at] = blocks.y[i], shapes.z[at] = blocks.z[i];
        shapes.radius[at++] = blocks.radius[i] * scale;
      });
    }
  });
  return shapes;
}

/// What the neighbours of up to eight particles say about their shapes.
struct Lot {
  alignas(32) float sum[NeighbourMoments::count][8];
  std::uint32_t shape[8];
  int size = 0;
};

struct Stretched {
  alignas(32) float value[3][8], axis[3][3][8];
};

class EllipsoidMaker {
 public:
  EllipsoidMaker(const ParticleBlocks& blocks, const SurfaceSettings& settings, Shapes& shapes, Comm* comm)
      : blocks_(blocks), s_(settings), shapes_(shapes), comm_(comm), local_scale_(shapes.size(), 0.0f) {
    shapes_.stretched = true;
    for (auto& v : shapes_.m) v.resize(shapes_.size());
    for (auto& v : shapes_.extent) v.resize(shapes_.size());
    shapes_.company.resize(shapes_.size());
    double range[2] = {-1e30, -1e30};  // largest, and the smallest below zero
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      range[0] = std::max(range[0], static_cast<double>(blocks.radius[i]));
      range[1] = std::max(range[1], -static_cast<double>(blocks.radius[i]));
    }
    if (comm_) comm_->max(range);
    sized_ = range[0] != -range[1];
  }

  void run() {
    parallel_for(0, blocks_.blocks(), 2, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) block(b);
    });
    if (s_.normalisation > 0) normalise_together();
  }

 private:
  void block(std::size_t b) {
    if (shapes_.first[b] == shapes_.first[b + 1]) return;
    NeighbourMoments moments(blocks_, b, sized_);
    Lot lot;
    for (std::uint32_t k = shapes_.first[b]; k < shapes_.first[b + 1]; ++k) {
      const std::uint32_t p = shapes_.particle[k];
      if (shapes_.filler[k]) {
        sphere(k, 1, 1);
        continue;
      }
      const auto sums = moments.around(p, static_cast<float>(s_.search_radius) * blocks_.radius[p]);
      for (std::size_t i = 0; i < sums.size(); ++i) lot.sum[i][lot.size] = sums[i];
      lot.shape[lot.size++] = k;
      if (lot.size == 8) finish(lot);
    }
    if (lot.size > 0) finish(lot);
  }

  /// A sphere of `size` radii; its φ is a distance.
  void sphere(std::uint32_t k, float size, float company) {
    for (std::size_t i = 0; i < 6; ++i) shapes_.m[i][k] = i == 0 || i == 3 || i == 5 ? 1.0f : 0.0f;
    shapes_.radius[k] *= size;
    for (auto& e : shapes_.extent) e[k] = shapes_.radius[k];
    shapes_.company[k] = company;
  }

  void finish(Lot& lot) {
    for (int l = lot.size; l < 8; ++l)
      for (auto& s : lot.sum) s[l] = s[0];
    const Stretched e = decompose(lot);
    for (int l = 0; l < lot.size; ++l) shape(lot, e, l);
    lot.size = 0;
  }

  static Stretched decompose(const Lot& lot) {
    using lanes::Line;
    const auto at = [&](int i) { return load_row(lot.sum[i]); };
    const Line per = lanes::spread(1) / at(NeighbourMoments::w);
    const Line x = at(NeighbourMoments::x) * per, y = at(NeighbourMoments::y) * per, z = at(NeighbourMoments::z) * per;
    const EigenRows rows =
        eigen_decomposition({at(NeighbourMoments::xx) * per - x * x, at(NeighbourMoments::xy) * per - x * y,
                             at(NeighbourMoments::xz) * per - x * z, at(NeighbourMoments::yy) * per - y * y,
                             at(NeighbourMoments::yz) * per - y * z, at(NeighbourMoments::zz) * per - z * z});
    Stretched e;
    for (int i = 0; i < 3; ++i) {
      store_row(e.value[i], rows.value[i]);
      for (int c = 0; c < 3; ++c) store_row(e.axis[i][c], rows.axis[i][c]);
    }
    return e;
  }

  /// 0 for a particle alone, 1 for one in company, smooth between.
  float company(float neighbours) const {
    const double range = std::max(1e-6, s_.droplet_high - s_.droplet_low);
    const auto t = static_cast<float>(std::clamp((neighbours - s_.droplet_low) / range, 0.0, 1.0));
    return t * t * (3 - 2 * t);
  }

  void shape(const Lot& lot, const Stretched& e, int l) {
    const std::uint32_t k = lot.shape[l];
    const float total = lot.sum[NeighbourMoments::w][l], together = company(2 * (total - 1));
    const float largest = e.value[0][l];
    const auto alone = static_cast<float>(s_.droplet_size / method_scale(SurfaceMethod::ellipsoids));
    // Neighbours in one place have no shape: Jones's "otherwise", which has no length of its own.
    if (!(together > 0) || !(largest > 1e-12f)) return sphere(k, alone, 0);
    const float least = static_cast<float>(s_.sphericity) * largest;
    float stretch[3] = {largest, std::max(e.value[1][l], least), std::max(e.value[2][l], least)};
    const float volume = stretch[0] * stretch[1] * stretch[2], scale = 1 / std::cbrt(volume);
    local_scale_[k] = scale;
    for (float& s : stretch) {
      s *= scale;
      if (together < 1) s = std::exp(together * std::log(s) + (1 - together) * std::log(alone));
    }
    place(k, stretch, e, l);
    shapes_.company[k] = together;
    // The less company, the more φ is a distance: f ‖G d‖ - f r has the same zero level.
    if (together < 1) {
      const float f = std::pow(alone, 1 - together);
      for (auto& m : shapes_.m) m[k] *= f * f;
      shapes_.radius[k] *= f;
    }
    const float move = static_cast<float>(s_.smoothing) * together / total;
    shapes_.x[k] += move * lot.sum[NeighbourMoments::x][l];
    shapes_.y[k] += move * lot.sum[NeighbourMoments::y][l];
    shapes_.z[k] += move * lot.sum[NeighbourMoments::z][l];
  }

  /// M = Q Σ̂⁻² Qᵀ, and the box: the half size along an axis is r √(Ĉ²)_aa.
  void place(std::uint32_t k, const float (&stretch)[3], const Stretched& e, int l) {
    constexpr int row[6] = {0, 0, 0, 1, 1, 2}, column[6] = {0, 1, 2, 1, 2, 2};
    for (int c = 0; c < 6; ++c) {
      float sum = 0;
      for (int i = 0; i < 3; ++i) sum += e.axis[i][row[c]][l] * e.axis[i][column[c]][l] / (stretch[i] * stretch[i]);
      shapes_.m[c][k] = sum;
    }
    for (int a = 0; a < 3; ++a) {
      float sum = 0;
      for (int i = 0; i < 3; ++i) sum += e.axis[i][a][l] * e.axis[i][a][l] * stretch[i] * stretch[i];
      shapes_.extent[a][k] = shapes_.radius[k] * std::sqrt(sum);
    }
  }

  /// Global: the mean of det C over all particles in company gives one k_s; the setting blends the two logarithms.
  void normalise_together() {
    ExactSum volumes;
    std::int64_t count = 0;
    for (const float k : local_scale_)
      if (k > 0) volumes.add(std::pow(static_cast<double>(k), -3)), ++count;
    const double volume = comm_ ? comm_->sum(volumes) : volumes.value();
    if (comm_) count = comm_->sum(count);
    if (count == 0) return;
    const double common = std::pow(volume / static_cast<double>(count), -1.0 / 3);
    parallel_for(0, shapes_.size(), 4096, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        if (!(local_scale_[k] > 0)) continue;
        const auto f = static_cast<float>(std::pow(common / local_scale_[k], s_.normalisation * shapes_.company[k]));
        for (auto& v : shapes_.m) v[k] /= f * f;
        for (auto& v : shapes_.extent) v[k] *= f;
      }
    });
  }

  const ParticleBlocks& blocks_;
  const SurfaceSettings& s_;
  Shapes& shapes_;
  Comm* comm_;                      // of the ranks that share the surface
  bool sized_ = false;              // radii differ
  std::vector<float> local_scale_;  // k_s of what is shaped by its neighbours, 0 for the rest
};

}  // namespace

Shapes make_spheres(const ParticleBlocks& blocks, const NearSurface& near, float scale) {
  return list_shapes(blocks, near, scale);
}

Shapes make_ellipsoids(ParticleBlocks& blocks, const NearSurface& near, const SurfaceSettings& settings,
                       SurfaceShares* shares) {
  const auto scale = static_cast<float>(settings.radius_scale * method_scale(SurfaceMethod::ellipsoids));
  if (shares)
    copy_neighbours(blocks, near, static_cast<float>(settings.search_radius), large_radius(blocks.lattice, scale),
                    *shares);
  Shapes shapes = list_shapes(blocks, near, scale);
  EllipsoidMaker(blocks, settings, shapes, shares ? &shares->comm() : nullptr).run();
  return shapes;
}

}  // namespace aegir
