#include "surfacing/subframe.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

namespace aegir {
namespace {

constexpr std::size_t absent = static_cast<std::size_t>(-1);

Result<std::vector<std::int64_t>> ids_of(const PointSet& points) {
  const PointAttribute* a = points.find("id");
  if (!a && points.size() > 0)
    return usage_error({}, "the particles have no 'id', which sub-frames need to find a particle in the next frame");
  std::vector<std::int64_t> ids(points.size());
  if (!a) return ids;
  if (a->type == PointAttribute::int64)
    std::copy(a->as<std::int64_t>().begin(), a->as<std::int64_t>().end(), ids.begin());
  else if (a->type == PointAttribute::int32)
    std::copy(a->as<std::int32_t>().begin(), a->as<std::int32_t>().end(), ids.begin());
  else
    return usage_error({}, "the attribute 'id' is of type {}; it must be a whole number",
                       PointAttribute::name_of(a->type));
  return ids;
}

/// Place of every id, looked up only, never walked through.
Result<std::unordered_map<std::int64_t, std::size_t>> index_of(const std::vector<std::int64_t>& ids) {
  std::unordered_map<std::int64_t, std::size_t> index;
  index.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (!index.emplace(ids[i], i).second)
      return usage_error({}, "two particles have the id {}; sub-frames need ids that are there once", ids[i]);
  return index;
}

std::span<const Vec3f> velocities(const PointSet& points) {
  const PointAttribute* v = points.find("v");
  return v && v->type == PointAttribute::vec3f ? v->as<Vec3f>() : std::span<const Vec3f>();
}

std::span<const float> radii(const PointSet& points) {
  const PointAttribute* r = points.find("pscale");
  return r && r->type == PointAttribute::float32 ? r->as<float>() : std::span<const float>();
}

/// A particle's places in the two frames.
struct Pair {
  std::size_t first, second;
};

class Blend {
 public:
  Blend(const PointSet& first, const PointSet& second, const SubframeTime& time)
      : first_(first),
        second_(second),
        s_(time.share),
        t_(time.seconds),
        v0_(velocities(first)),
        v1_(velocities(second)) {}

  PointSet run(const std::vector<Pair>& pairs) const {
    PointSet out;
    out.position.resize(pairs.size());
    copy_attributes(pairs, out);
    PointAttribute *v = out.find("v"), *r = out.find("pscale");
    const bool moves = v && v->type == PointAttribute::vec3f, sized = r && r->type == PointAttribute::float32;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      Vec3d velocity;
      out.position[i] = place(pairs[i], velocity);
      if (moves) v->as<Vec3f>()[i] = Vec3f(velocity);
      if (sized) r->as<float>()[i] = static_cast<float>(radius(pairs[i]));
    }
    return out;
  }

 private:
  /// Position and its derivative.
  Vec3d place(const Pair& p, Vec3d& velocity) const {
    const auto at = [](std::span<const Vec3f> v, std::size_t i) { return v.empty() ? Vec3d{} : Vec3d(v[i]); };
    if (p.second == absent) {
      velocity = at(v0_, p.first);
      return first_.position[p.first] + velocity * (s_ * t_);
    }
    if (p.first == absent) {
      velocity = at(v1_, p.second);
      return second_.position[p.second] - velocity * ((1 - s_) * t_);
    }
    const Vec3d x0 = first_.position[p.first], x1 = second_.position[p.second];
    if (v0_.empty() || v1_.empty()) {
      velocity = t_ > 0 ? (x1 - x0) / t_ : Vec3d{};
      return x0 + (x1 - x0) * s_;
    }
    const Vec3d a = Vec3d(v0_[p.first]) * t_, b = Vec3d(v1_[p.second]) * t_;
    const double s = s_, s2 = s * s, s3 = s2 * s;
    const Vec3d slope = (x1 - x0) * (6 * s - 6 * s2) + a * (3 * s2 - 4 * s + 1) + b * (3 * s2 - 2 * s);
    velocity = t_ > 0 ? slope / t_ : Vec3d(v0_[p.first]);
    return x0 + (x1 - x0) * (3 * s2 - 2 * s3) + a * (s3 - 2 * s2 + s) + b * (s3 - s2);
  }

  double radius(const Pair& p) const {
    const auto r0 = radii(first_), r1 = radii(second_);
    const double a = p.first == absent || r0.empty() ? 0 : r0[p.first],
                 b = p.second == absent || r1.empty() ? 0 : r1[p.second];
    return a + (b - a) * s_;
  }

  void copy_attributes(const std::vector<Pair>& pairs, PointSet& out) const {
    const bool early = s_ < 0.5;
    for (const PointAttribute& a : (first_.size() > 0 ? first_ : second_).attributes) {
      const PointAttribute* from[2] = {first_.find(a.name), second_.find(a.name)};
      PointAttribute& to = out.add(a.name, a.type);
      const std::size_t size = PointAttribute::size_of(a.type);
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const bool second = pairs[i].first == absent || (pairs[i].second != absent && !early);
        const PointAttribute* source = from[second];
        if (!source || source->type != a.type) continue;
        std::memcpy(to.data.data() + i * size, source->data.data() + (second ? pairs[i].second : pairs[i].first) * size,
                    size);
      }
    }
  }

  const PointSet &first_, &second_;
  double s_, t_;
  std::span<const Vec3f> v0_, v1_;
};

}  // namespace

Result<PointSet> between_frames(const PointSet& first, const PointSet& second, const SubframeTime& time) {
  const auto ids0 = ids_of(first), ids1 = ids_of(second);
  if (!ids0) return ids0.error();
  if (!ids1) return ids1.error();
  const auto index0 = index_of(*ids0), index1 = index_of(*ids1);
  if (!index0) return index0.error();
  if (!index1) return index1.error();
  std::vector<Pair> pairs;
  pairs.reserve(std::max(first.size(), second.size()));
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto found = index1->find((*ids0)[i]);
    pairs.push_back({i, found == index1->end() ? absent : found->second});
  }
  for (std::size_t i = 0; i < second.size(); ++i)
    if (!index0->contains((*ids1)[i])) pairs.push_back({absent, i});
  return Blend(first, second, time).run(pairs);
}

PointSet carried_on(PointSet points, double seconds) {
  const auto v = velocities(points);
  for (std::size_t i = 0; i < v.size(); ++i) points.position[i] += Vec3d(v[i]) * seconds;
  return points;
}

}  // namespace aegir
