#include "surfacing/object_points.h"

#include "pipeline/model/object.h"
#include "pipeline/model/particle_points.h"
#include "surfacing/points_file.h"

namespace aegir {

PointSet gather_points(const std::vector<Object*>& objects, const std::vector<std::string>& channels, Comm& comm) {
  PointSet all;
  for (Object* object : objects) {
    PointSet part = gather_points(*object->particles(), channels, comm);
    if (object == objects.front())
      all = std::move(part);
    else
      append_points(all, part);
  }
  return all;
}

}  // namespace aegir
