#include "surfacing/parcels.h"

namespace aegir {
namespace {

template <std::size_t Width>
void pick(const std::byte* from, std::span<const std::uint32_t> picked, std::byte* to) {
  for (const std::uint32_t i : picked) std::memcpy(to, from + i * Width, Width), to += Width;
}

}  // namespace

void pick_items(const std::byte* from, std::size_t width, std::span<const std::uint32_t> picked, std::byte* to) {
  switch (width) {
    case 1:
      return pick<1>(from, picked, to);
    case 4:
      return pick<4>(from, picked, to);
    case 8:
      return pick<8>(from, picked, to);
    case 12:
      return pick<12>(from, picked, to);
    case 24:
      return pick<24>(from, picked, to);
    default:
      for (const std::uint32_t i : picked) std::memcpy(to, from + i * width, width), to += width;
  }
}

}  // namespace aegir
