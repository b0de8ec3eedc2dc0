// How much of a face is open, from the distances at its four corners.
//
//   float area = open_area(d[0][0], d[1][0], d[0][1], d[1][1]);   // 0: closed, 1: open
#pragma once

#include <algorithm>

namespace aegir {

/// Open share of the unit square whose corners (0,0), (1,0), (0,1), (1,1) lie at these distances from a solid, negative
/// inside: marching squares with linear interpolation along the edges [Ng, Min, Gibou 2009], exact for planes. A square
/// that nowhere leaves the solid is closed, also where it lies in the solid's surface; one that only touches a solid is
/// open. Mirroring or transposing the square gives the same bits.
inline double open_area(double d00, double d10, double d01, double d11) {
  if (std::max(std::max(d00, d10), std::max(d01, d11)) <= 0) return 0;
  if (std::min(std::min(d00, d10), std::min(d01, d11)) >= 0) return 1;
  // Share of the edge from a corner a to a corner b of the other sign (or zero) that has the sign of a.
  const auto share = [](double a, double b) { return a / (a - b); };
  // The triangle cut off at a corner that lies alone on its side; its two neighbours are p and q.
  const auto corner = [&](double a, double p, double q) { return 0.5 * share(a, p) * share(a, q); };
  const int inside = (d00 < 0 ? 1 : 0) | (d10 < 0 ? 2 : 0) | (d01 < 0 ? 4 : 0) | (d11 < 0 ? 8 : 0);
  switch (inside) {
    case 1:
      return 1 - corner(d00, d10, d01);
    case 2:
      return 1 - corner(d10, d00, d11);
    case 4:
      return 1 - corner(d01, d11, d00);
    case 8:
      return 1 - corner(d11, d01, d10);
    case 14:
      return corner(d00, d10, d01);
    case 13:
      return corner(d10, d00, d11);
    case 11:
      return corner(d01, d11, d00);
    case 7:
      return corner(d11, d01, d10);
    case 3:
      return 1 - 0.5 * (share(d00, d01) + share(d10, d11));
    case 12:
      return 1 - 0.5 * (share(d01, d00) + share(d11, d10));
    case 5:
      return 1 - 0.5 * (share(d00, d10) + share(d01, d11));
    case 10:
      return 1 - 0.5 * (share(d10, d00) + share(d11, d01));
    default:
      break;
  }
  // Two opposite corners are inside: the mean of all four says whether they are joined across the middle.
  const bool first = inside == 9;
  const double open = (d00 + d11) + (d10 + d01);
  if (open >= 0)
    return first ? 1 - (corner(d00, d10, d01) + corner(d11, d01, d10))
                 : 1 - (corner(d10, d00, d11) + corner(d01, d11, d00));
  return first ? corner(d10, d00, d11) + corner(d01, d11, d00) : corner(d00, d10, d01) + corner(d11, d01, d10);
}

}  // namespace aegir
