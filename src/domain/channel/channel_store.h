// The memory of one channel: a plane per component, each contiguous over all elements, ghosts last.
#pragma once

#include <vector>

#include "domain/channel/buffer.h"
#include "domain/channel/channel.h"

namespace aegir {

inline constexpr int whole_buckets = 8;  ///< ghosts that are valid altogether

struct ChannelStore {
  ChannelInfo info;
  std::vector<Buffer> planes;
  /// How far from local buckets the ghosts hold what their owners hold, in cells.
  int valid_ghosts = 0;

  template <class T>
  T* plane(int p) {
    return reinterpret_cast<T*>(planes[static_cast<std::size_t>(p)].data());
  }
  template <class T>
  const T* plane(int p) const {
    return reinterpret_cast<const T*>(planes[static_cast<std::size_t>(p)].data());
  }
};

}  // namespace aegir
