// What multigrid does inside one bucket: relax, residual, restrict, prolong. All work on values that lie in the first
// cache: a padded tile of the unknowns and 512 values of the right-hand side.
//
// Relaxation is Gauss–Seidel by rows along z: rows with even i + j first, then the odd ones, each row at once from its
// own old values and its neighbours' new ones; several sweeps while the bucket is in cache, the neighbours' values
// standing still. Between buckets it is Gauss–Seidel again, even buckets before odd ones. Reversed, it is its own
// adjoint, so the cycle is symmetric.
#pragma once

#include <cstdint>

#include "domain/volume/tile.h"
#include "solvers/linear/network.h"

namespace aegir {

using UnknownTile = PaddedTile<float, 1>;

/// Sides of a bucket, as bits: 1 << (2 * axis + upper).
using Sides = std::uint8_t;

/// One bucket of a level: `network` is null where all links are `unit` and there is no sink, but for whole sides that
/// are closed.
struct BucketOperator {
  const NetworkBucket* network = nullptr;
  float unit = 1;
  Sides closed = 0;
};

/// `sweeps` relaxations of u. Bytes: all in cache. Flops per cell and sweep: 8 uniform, 20 otherwise.
void relax(UnknownTile& u, const float* rhs, const BucketOperator& a, int sweeps, bool reverse);

/// relax() that stays at or above `least`.
void relax_projected(UnknownTile& u, const float* rhs, const BucketOperator& a, const float* least, int sweeps,
                     bool reverse = false);

/// residual = rhs - A u over the bucket.
void residual(const UnknownTile& u, const float* rhs, const BucketOperator& a, float* out);

/// The bucket's share of p · A p: links to its cells from below, and their sinks. Squares in single precision, the sum
/// in double.
double energy(const UnknownTile& p, const BucketOperator& a);

/// r -= alpha A p, all in double but p; returns the sum of r².
double subtract_product(const UnknownTile& p, const BucketOperator& a, double alpha, double* r);

/// out = rhs - A x in double; returns the sum of out².
double true_residual(const PaddedTile<double, 1>& x, const float* rhs, const BucketOperator& a, double* out);

/// The adjoint of prolong(): 512 fine values to 5×5×5 coarse ones. `weights` null: trilinear.
void restrict_bucket(const float* fine, const TransferWeights* weights, float* coarse);

/// 5×5×5 coarse values to 512 fine ones.
void prolong_bucket(const float* coarse, const TransferWeights* weights, float* fine);

/// Values along the six faces, from the buckets next to this one; 0 where there is none.
void load_faces(UnknownTile& tile, const Topology& topology, int bucket, const float* plane);

/// Repeats a bucket's outermost values beyond its closed sides, so that nothing flows there. To be called when its own
/// values and its faces are loaded; relax() keeps it up.
template <class T>
void mirror(PaddedTile<T, 1>& tile, Sides closed);

/// A bucket's own 512 values into its tile and back.
void load_own(UnknownTile& tile, const float* values);
void store_own(const UnknownTile& tile, float* values);

/// All of these: own values, faces, closed sides.
void load_bucket(UnknownTile& tile, const Topology& topology, int bucket, const float* plane, const BucketOperator& a);

}  // namespace aegir
