// Coarsening of a network, bucket by bucket.
//
// Along one axis after the other every second cell is kept. A cell in between is eliminated as if it only had its two
// neighbours along that axis and the sink along it: u = own u_below + next u_above, own = w_below / (w_below + w_above
// + s), which turns two links into one in series, exactly as in one dimension. A link across the axis between two
// eliminated cells is shared out to the links between the kept ones. So cells on two sides of a wall are never merged,
// however thin the wall: what is not connected stays unconnected. Where the cell to be kept does not exist, the one in
// between takes its place.
//
// This is the semicoarsening of black-box multigrid [Dendy 1982; Ashby and Falgout 1996], three times without smoothing
// in between, and with the product lumped back to seven points. In a uniform network the links become those of the
// rediscretised operator (twice as strong per level), and interpolation is trilinear.
#pragma once

#include <algorithm>

#include "solvers/linear/network.h"

namespace aegir {

/// Coarsens the network of one bucket. Each coarse link is computed once, by the bucket that holds its upper cell, so
/// the coarse network is symmetric whatever the outermost cells of the tile lack. Interpolation
/// across the bucket's upper sides may take a coarse cell for absent that hangs on nothing but a link from beyond the
/// tile: that costs iterations.
void coarsen(const NetworkTile& tile, NetworkBlock& block, TransferWeights& weights);

/// What relaxation divides by, for one cell or several at once: rows along z are relaxed at once from their old values,
/// so 2 D must exceed D plus the links inside the row.
template <class T>
inline T damped_diagonal(const T& diagonal, const T& along_z) {
  const T least = (diagonal + along_z) * 0.6f;
  return diagonal < least ? least : diagonal;
}

/// Sets what relaxation needs to know of a cell, from the sum of its weights and its links along z.
inline void set_relaxation(NetworkBucket& n, int cell, float diagonal, float along_z) {
  const bool unknown = diagonal > least_diagonal;
  const float damped = damped_diagonal(diagonal, along_z);
  n.relax[cell] = unknown ? 1 / damped : 0.0f;
  n.keep[cell] = unknown ? (damped - diagonal) / damped : 0.0f;
}

/// The coefficients of the bucket itself, for the smoother. True when there is any unknown.
bool extract(const NetworkTile& tile, NetworkBucket& bucket);

}  // namespace aegir
