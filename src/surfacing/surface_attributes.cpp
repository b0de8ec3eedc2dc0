#include "surfacing/surface_attributes.h"

#include <algorithm>
#include <cmath>

#include "parallel/threads.h"
#include "pipeline/schema/suggest.h"

namespace aegir {
namespace {

constexpr std::size_t grain = 64;

VolumeGrid empty_volume(const BandGrid& grid, std::string name, VolumeGrid::Kind kind) {
  VolumeGrid volume;
  volume.name = std::move(name);
  volume.kind = kind;
  volume.location = VolumeGrid::cell;
  volume.voxel_size = grid.voxel();
  volume.buckets = grid.keys();
  volume.values.resize(grid.size() * 512 * static_cast<std::size_t>(volume.components()));
  volume.active.resize(grid.size() * 8);
  return volume;
}

void set_active(const BandGrid& grid, std::size_t slot, VolumeGrid& volume) {
  const float* values = grid.bucket(slot);
  for (std::size_t w = 0; w < 8; ++w) {
    std::uint64_t bits = 0;
    for (std::size_t v = 0; v < 64; ++v)
      bits |= static_cast<std::uint64_t>(std::abs(values[w * 64 + v]) < grid.band()) << v;
    volume.active[slot * 8 + w] = bits;
  }
}

}  // namespace

double component_of(const PointAttribute& a, std::size_t i, int component) {
  switch (a.type) {
    case PointAttribute::float32:
      return a.as<float>()[i];
    case PointAttribute::vec3f:
      return a.as<Vec3f>()[i][component];
    case PointAttribute::int32:
      return a.as<std::int32_t>()[i];
    case PointAttribute::int64:
      return static_cast<double>(a.as<std::int64_t>()[i]);
    case PointAttribute::float64:
      return a.as<double>()[i];
  }
  return 0;
}

double magnitude_of(const PointAttribute& a, std::size_t i) {
  return a.type == PointAttribute::vec3f ? length(Vec3d(a.as<Vec3f>()[i])) : component_of(a, i, 0);
}

Error missing_attribute(const PointSet& points, const std::string& name) {
  std::vector<std::string> known;
  for (const PointAttribute& a : points.attributes) known.push_back(a.name);
  return usage_error({}, "the particles have no attribute '{}'{}", name, suggestion(name, known));
}

VolumeGrid level_set_of(const BandGrid& grid) {
  VolumeGrid volume = empty_volume(grid, "surface", VolumeGrid::level_set);
  const auto metres = static_cast<float>(grid.voxel());
  volume.background = grid.band() * metres;
  parallel_for(0, grid.size(), grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      set_active(grid, s, volume);
      for (std::size_t v = 0; v < 512; ++v) volume.values[s * 512 + v] = grid.bucket(s)[v] * metres;
    }
  });
  return volume;
}

Result<VolumeGrid> attribute_volume(const BandGrid& grid, const PointSet& points, const std::string& attribute,
                                    const std::string& name) {
  const PointAttribute* a = points.find(attribute);
  if (!a) return missing_attribute(points, attribute);
  const bool vector = a->type == PointAttribute::vec3f;
  VolumeGrid volume = empty_volume(grid, name, vector ? VolumeGrid::vector : VolumeGrid::scalar);
  if (!grid.has_owners()) return volume;
  parallel_for(0, grid.size(), grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      set_active(grid, s, volume);
      for (int c = 0; c < volume.components(); ++c) {
        const auto out = volume.plane(s, c);
        for (std::size_t v = 0; v < 512; ++v) {
          const std::int32_t owner = grid.owners(s)[v];
          const bool active = volume.active[s * 8 + v / 64] >> (v % 64) & 1;
          out[v] =
              active && owner >= 0 ? static_cast<float>(component_of(*a, static_cast<std::size_t>(owner), c)) : 0.0f;
        }
      }
    }
  });
  return volume;
}

std::vector<float> attribute_at_vertices(const SurfaceMesh& mesh, const PointAttribute& attribute, int component) {
  std::vector<float> values(mesh.positions.size(), 0.0f);
  if (mesh.owner.empty()) return values;
  parallel_for(0, values.size(), 1 << 14, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v)
      if (mesh.owner[v] >= 0)
        values[v] = static_cast<float>(component_of(attribute, static_cast<std::size_t>(mesh.owner[v]), component));
  });
  return values;
}

}  // namespace aegir
