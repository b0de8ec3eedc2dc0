// Limits of the space that a liquid may fill: a box whose sides are walls or open. Particles bounce off the walls.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/vec.h"
#include "phenomena/common/collider.h"
#include "pipeline/model/object.h"

namespace aegir {

/// What a side of the domain does to what reaches it.
enum class Limit { wall, open };

class Limits final : public Object {
 public:
  Limits(std::string path, const Box& box, const std::array<Limit, 6>& sides, double friction)
      : Object(std::move(path)), box_(box), sides_(sides), friction_(friction) {}
  bool simulated() const override { return false; }
  void plan(TaskList& tasks) override;

  const Box& box() const { return box_; }
  /// By side: -x, +x, -y, +y, -z, +z.
  const std::array<Limit, 6>& sides() const { return sides_; }
  /// Coulomb's coefficient of the walls.
  double friction() const { return friction_; }
  /// The sides that are walls, as half spaces for what is no liquid; they are there from the first call on.
  const std::vector<std::unique_ptr<Collider>>& walls();

 private:
  Box box_;
  std::array<Limit, 6> sides_;
  double friction_;
  std::vector<std::unique_ptr<Collider>> walls_;
};

class Catalog;
void register_limits(Catalog& catalog);

}  // namespace aegir
