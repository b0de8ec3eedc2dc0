#include "domain/channel/buffer.h"

#include <immintrin.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace aegir {
namespace {
constexpr std::size_t huge_page = std::size_t{2} << 20;
}

Buffer::~Buffer() { std::free(data_); }

void Buffer::reserve(std::size_t bytes, std::size_t keep) {
  if (bytes <= capacity_) return;
  const std::size_t grown = keep ? bytes + bytes / 8 : bytes;  // growing by parts: leave room
  const std::size_t alignment = grown >= 2 * huge_page ? huge_page : 64;
  const std::size_t size =
      (grown + 64 + alignment - 1) / alignment * alignment;  // one vector beyond the end may be read
  auto* fresh = static_cast<std::byte*>(std::aligned_alloc(alignment, size));
  if (!fresh) throw std::bad_alloc();
  if (alignment == huge_page) madvise(fresh, size, MADV_HUGEPAGE);
  if (keep) std::memcpy(fresh, data_, keep);
  std::free(data_);
  data_ = fresh;
  capacity_ = size - 64;
}

void copy_around_caches(void* to, const void* from, std::size_t bytes) {
  auto* out = static_cast<__m256i*>(to);
  const auto* in = static_cast<const __m256i*>(from);
  for (std::size_t i = 0; i < bytes / sizeof(__m256i); ++i) _mm256_stream_si256(out + i, _mm256_load_si256(in + i));
}

void finish_copies_around_caches() { _mm_sfence(); }

Buffer BufferPool::take(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  std::size_t best = free_.size();
  for (std::size_t i = 0; i < free_.size(); ++i)
    if (free_[i].capacity() >= bytes && free_[i].capacity() / 4 <= bytes + (1 << 16) &&
        (best == free_.size() || free_[i].capacity() < free_[best].capacity()))
      best = i;
  if (best == free_.size()) return Buffer(bytes);
  Buffer found = std::move(free_[best]);
  free_[best] = std::move(free_.back());
  free_.pop_back();
  return found;
}

void BufferPool::give(Buffer buffer) {
  std::lock_guard lock(mutex_);
  free_.push_back(std::move(buffer));
}

}  // namespace aegir
