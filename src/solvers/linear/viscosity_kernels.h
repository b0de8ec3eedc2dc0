// What the viscosity solver does inside one bucket. Vectors of faces hold 3 × 512 values per bucket, axis by axis.
//
// Strain samples are named by their lower corner c: `normal` along axis a is the strain of the cell below face c along
// a, in units of a velocity difference,
//
//   s_a(c) = u_a(c) - u_a(c - a)
//
// and the edge through the corner c along axis e, between the other axes a < b, has the strain
//
//   g_e(c) = first_e(c) (u_a(c) - u_a(c - b)) + second_e(c) (u_b(c) - u_b(c - a))
//
// The system is A u = mass u + sum of normal_a(c) s_a(c) ∂s_a(c)/∂u + sum of g_e(c) ∂g_e(c)/∂u over faces that are
// unknown. A bucket without coefficients of its own is uniform: mass 1, normal 2 k, first = second = sqrt(k).
#pragma once

#include <cstdint>

#include "domain/volume/tile.h"

namespace aegir {

inline constexpr int face_values = 3 * bucket_cells;

/// No eigenvalue of A over its diagonal is larger than this. (24 k over 8 k where all samples are whole.)
inline constexpr float viscosity_spectrum = 3.1f;

/// Coefficients of a bucket that is not uniform: samples with corners 0 … 8 along each axis, faces 0 … 7.
struct ViscosityBucket {
  static constexpr int side = bucket_size + 1, pitch = side * side * side + 7;
  static constexpr int at(int i, int j, int k) { return (i * side + j) * side + k; }
  float normal[3][pitch];
  float first[3][pitch], second[3][pitch];
  float mass[face_values];
  float inverse[face_values];             ///< of the diagonal or a little less; 0 where the face is no unknown
  std::uint64_t fixed[face_values / 64];  ///< bits of the faces that have the velocity of a solid
  bool is_fixed(int face) const { return (fixed[face >> 6] >> (face & 63)) & 1; }
};

/// What is in one bucket: coefficients, or null and the stiffness k = dt mu / (rho h²) of all its samples.
struct ViscosityOperator {
  const ViscosityBucket* bucket = nullptr;
  float stiffness = 0;
  float inverse() const { return 1 / (1 + 8 * stiffness); }
};

/// Velocities of one bucket and the faces around it that its samples touch.
template <class T>
struct VelocityTile {
  PaddedTile<T, 1> axis[3];
};

/// Fills a tile from vectors of faces; zero where there is no bucket.
template <class T>
void load_velocity(VelocityTile<T>& tile, const Topology& topology, int bucket, const T* values);

/// out = A p over the bucket, 0 where there is no unknown; returns p · A p.
/// In cache: bytes per cell 12 in, 12 out, and 76 of coefficients where it is not uniform. Flops per cell: 70.
double viscosity_product(const VelocityTile<float>& p, const ViscosityOperator& a, float* out);

/// out = mass (start - x) - K x, the residual in double, rounded; returns the sum of its squares before that. `start`
/// holds three planes of 512 values.
double viscosity_residual(const VelocityTile<double>& x, const float* const (&start)[3], const ViscosityOperator& a,
                          float* out);

/// out = z + omega (r - A z) / diagonal; returns r · out. Bytes and flops as viscosity_product(), and 12 bytes of r.
double viscosity_relax(const VelocityTile<float>& z, const ViscosityOperator& a, const float* r, float omega,
                       float* out);

/// out = weight (r - A z) in a bucket with coefficients, whose weights are 0 where there is no unknown; r - A z
/// elsewhere.
void viscosity_defect(const VelocityTile<float>& z, const ViscosityOperator& a, const float* r, const float* weight,
                      float* out);

/// r -= alpha q, d += alpha p, z = omega r / diagonal; returns the sums of r z and of r². Bytes per cell: 120.
struct ResidualSums {
  double weighted, plain;
};
ResidualSums viscosity_advance(float* r, float* d, float* z, const float* p, const float* q, float alpha, float omega,
                               const ViscosityOperator& a);

/// z = omega r / diagonal.
void viscosity_scale(float* z, const float* r, float omega, const ViscosityOperator& a);

/// p = z + beta p. Bytes per cell: 48.
void viscosity_direction(float* p, const float* z, float beta);

}  // namespace aegir
