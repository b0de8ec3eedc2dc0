#include "surfacing/object_points.h"

#include "parallel/comm.h"
#include "pipeline/model/object.h"
#include "pipeline/model/particle_points.h"
#include "surfacing/points_file.h"

namespace aegir {

ObjectPoints points_of(const std::vector<Object*>& objects, const std::vector<std::string>& channels) {
  ObjectPoints all;
  const auto alone = make_single_comm();
  for (Object* object : objects) {
    PointSet part = gather_points(*object->particles(), channels, *alone);
    if (object == objects.front())
      all.points = std::move(part);
    else
      append_points(all.points, part);
    all.ends.push_back(all.points.size());
  }
  return all;
}

}  // namespace aegir
