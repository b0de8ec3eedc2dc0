#include "pipeline/model/particle_points.h"

#include <cstring>

#include "domain/for_each_bucket.h"

namespace aegir {
namespace {

PointAttribute::Type attribute_type(const ChannelInfo& c) {
  if (c.components == 3) return PointAttribute::vec3f;
  switch (c.scalar) {
    case Scalar::f32:
      return PointAttribute::float32;
    case Scalar::f64:
      return PointAttribute::float64;
    case Scalar::i32:
      return PointAttribute::int32;
    case Scalar::i64:
      return PointAttribute::int64;
  }
  return PointAttribute::float32;
}

/// This rank's particles.
PointSet local_points(const ParticleSystem& particles, const std::vector<std::string>& channels) {
  PointSet points;
  points.position.resize(particles.size());
  const auto position = particles.read(particle::position);
  for (int b = 0; b < particles.topology().local_count(); ++b) {
    const auto p = position(b);
    for (std::size_t i = 0; i < p.count; ++i) points.position[particles.first(b) + i] = particles.world(b, p[i]);
  }
  for (const std::string& name : channels) {
    if (!particles.has(name)) continue;
    const ParticleStore& store = particles.store(name);
    PointAttribute& a = points.add(name, attribute_type(store.info));
    const std::size_t width = scalar_size(store.info.scalar), stride = PointAttribute::size_of(a.type);
    for (std::size_t p = 0; p < store.planes.size(); ++p)
      for (std::size_t i = 0; i < points.size(); ++i)
        std::memcpy(a.data.data() + i * stride + p * width, store.planes[p].data() + i * width, width);
  }
  return points;
}

/// All ranks' values one after the other on rank 0.
template <class T>
void gather(std::vector<T>& values, Comm& comm) {
  Bytes packed(values.size() * sizeof(T));
  if (!packed.empty()) std::memcpy(packed.data(), values.data(), packed.size());
  values.clear();
  for (const Bytes& part : comm.gather(std::move(packed))) {
    const std::size_t before = values.size();
    values.resize(before + part.size() / sizeof(T));
    if (!part.empty()) std::memcpy(values.data() + before, part.data(), part.size());
  }
}

}  // namespace

PointSet gather_points(const ParticleSystem& particles, const std::vector<std::string>& channels, Comm& comm) {
  PointSet points = local_points(particles, channels);
  if (comm.size() == 1) return points;
  gather(points.position, comm);
  for (PointAttribute& a : points.attributes) gather(a.data, comm);
  return points;
}

}  // namespace aegir
