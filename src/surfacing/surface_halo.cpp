#include "surfacing/surface_halo.h"

#include <cstring>

namespace aegir {

void SurfaceHalo::update(void* items, std::size_t size) const {
  auto* data = static_cast<std::byte*>(items);
  std::vector<Bytes> packed(peers_.size());
  std::vector<Transfer> sends, receives;
  for (std::size_t p = 0; p < peers_.size(); ++p) {
    packed[p].resize(peers_[p].send.size() * size);
    std::byte* to = packed[p].data();
    for (const std::uint32_t item : peers_[p].send) std::memcpy(to, data + item * size, size), to += size;
    if (!packed[p].empty()) sends.push_back({peers_[p].rank, packed[p].data(), packed[p].size()});
    if (peers_[p].count) receives.push_back({peers_[p].rank, data + peers_[p].first * size, peers_[p].count * size});
  }
  comm_->exchange(sends, receives);
}

}  // namespace aegir
