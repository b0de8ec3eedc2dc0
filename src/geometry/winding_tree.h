// Generalised winding number of a soup of triangles: near triangles exactly, far clusters by their moments.
//
//   WindingTree tree(positions, triangles, chosen);
//   bool inside = std::abs(tree.winding(x)) > 0.5;
#pragma once

#include <vector>

#include "base/vec.h"

namespace aegir {

/// Binary tree by halving along the longest side; winding numbers after Barill et al. 2018, "Fast winding numbers for
/// soups and clouds".
class WindingTree {
 public:
  WindingTree() = default;
  /// Takes the chosen triangles (by number) and copies what it needs.
  WindingTree(const std::vector<Vec3d>& positions, const std::vector<Vec3i>& triangles, const std::vector<int>& chosen);

  /// 1 inside a closed outward surface, 0 outside, in between near openings. Far clusters are wrong by
  /// less than 0.01 in total.
  double winding(const Vec3d& x) const;
  bool empty() const { return nodes_.empty(); }

 private:
  struct Corners {
    Vec3d a, b, c;
    int number;
  };
  struct Node {
    Vec3d center;       // area-weighted
    Vec3d area_vector;  // sum of normal times area: the dipole
    Mat3d moment;       // sum of offset times (normal times area)
    Vec3d trace;  // second moments C_ijk = sum of (normal times area)_i offset_j offset_k, contracted: 2 C_iik + C_kii
    double cubic[10]{};  // the coefficients of C_ijk r_i r_j r_k as a polynomial in r
    double radius2 = 0;  // of the ball around center that holds every corner
    int begin = 0, end = 0;
    int right = 0;  // the left child follows its parent; 0 marks a leaf
  };

  int build(int begin, int end);
  void summarise(Node& node) const;
  static void add_second_moments(Node& node, const Corners& corners);
  double far_field(const Node& node, const Vec3d& offset, double distance2) const;

  std::vector<Corners> triangles_;
  std::vector<Node> nodes_;
};

}  // namespace aegir
