// Limits of the space that a liquid may fill: a box whose sides are walls or open.
#pragma once

#include <array>

#include "base/vec.h"
#include "pipeline/model/object.h"

namespace aegir {

/// What a side of the domain does to what reaches it.
enum class Limit { wall, open };

class Limits final : public Object {
 public:
  Limits(std::string path, const Box& box, const std::array<Limit, 6>& sides, double friction)
      : Object(std::move(path)), box_(box), sides_(sides), friction_(friction) {}
  bool simulated() const override { return false; }
  void plan(TaskList&) override {}

  const Box& box() const { return box_; }
  /// By side: -x, +x, -y, +y, -z, +z.
  const std::array<Limit, 6>& sides() const { return sides_; }
  /// Coulomb's coefficient of the walls.
  double friction() const { return friction_; }

 private:
  Box box_;
  std::array<Limit, 6> sides_;
  double friction_;
};

class Catalog;
void register_limits(Catalog& catalog);

}  // namespace aegir
