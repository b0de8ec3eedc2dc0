#include "domain/channel/buffer.h"

#include <immintrin.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace aegir {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t beyond = 64;  // one vector after the end may be read

// A sanitizer knows what was allocated, not what was mapped.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t mapped_from = ~std::size_t{0};
#else
constexpr std::size_t mapped_from = 2 * huge_page;
#endif

std::size_t rounded(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Addresses for `size` bytes that begin with a huge page; nothing is there yet.
std::byte* reserve_addresses(std::size_t size) {
  void* found = mmap(nullptr, size + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) throw std::bad_alloc();
  auto* begin = static_cast<std::byte*>(found);
  const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(begin) % huge_page) % huge_page;
  if (before) munmap(begin, before);
  if (before < huge_page) munmap(begin + before + size, huge_page - before);
  return begin + before;
}

/// Pages for `size` bytes. Those of an old mapping move along, so that they need not be cleared again; it is gone.
std::byte* map_pages(std::byte* old, std::size_t old_size, std::size_t size) {
  void* got = old ? mremap(old, old_size, size, 0) : MAP_FAILED;  // in place
  if (got == MAP_FAILED) {
    std::byte* place = reserve_addresses(size);
    got = old ? mremap(old, old_size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place)
              : mmap(place, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (got == MAP_FAILED) munmap(place, size), throw std::bad_alloc();
  }
  madvise(got, size, MADV_HUGEPAGE);
  return static_cast<std::byte*>(got);
}

}  // namespace

Buffer::~Buffer() {
  if (capacity_ + beyond >= mapped_from)
    munmap(data_, capacity_ + beyond);
  else
    std::free(data_);
}

void Buffer::reserve(std::size_t bytes, std::size_t keep) {
  if (bytes <= capacity_) return;
  const std::size_t grown = (keep ? bytes + bytes / 8 : bytes) + beyond;  // growing by parts: leave room
  const std::size_t size = rounded(grown, grown >= mapped_from ? huge_page : beyond);
  if (size >= mapped_from && capacity_ + beyond >= mapped_from) {
    data_ = map_pages(data_, capacity_ + beyond, size);
  } else {
    auto* fresh =
        size >= mapped_from ? map_pages(nullptr, 0, size) : static_cast<std::byte*>(std::aligned_alloc(beyond, size));
    if (!fresh) throw std::bad_alloc();
    if (keep) std::memcpy(fresh, data_, keep);
    std::free(data_);
    data_ = fresh;
  }
  capacity_ = size - beyond;
}

void copy_around_caches(void* to, const void* from, std::size_t bytes) {
  auto* out = static_cast<__m256i*>(to);
  const auto* in = static_cast<const __m256i*>(from);
  for (std::size_t i = 0; i < bytes / sizeof(__m256i); ++i) _mm256_stream_si256(out + i, _mm256_load_si256(in + i));
}

void finish_copies_around_caches() { _mm_sfence(); }

Buffer BufferPool::take(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  // The smallest that has room and not far too much; else the largest of those without, which grows.
  const auto fits = [&](const Buffer& b) { return b.capacity() >= bytes; };
  std::size_t best = free_.size();
  for (std::size_t i = 0; i < free_.size(); ++i) {
    if (fits(free_[i]) && free_[i].capacity() / 4 > bytes + (1 << 16)) continue;
    if (best == free_.size() ||
        (fits(free_[i]) != fits(free_[best]) ? fits(free_[i])
                                             : (free_[i].capacity() < free_[best].capacity()) == fits(free_[i])))
      best = i;
  }
  if (best == free_.size()) return Buffer(bytes);
  Buffer found = std::move(free_[best]);
  free_[best] = std::move(free_.back());
  free_.pop_back();
  found.reserve(bytes, 0);
  return found;
}

void BufferPool::give(Buffer buffer) {
  std::lock_guard lock(mutex_);
  free_.push_back(std::move(buffer));
}

}  // namespace aegir
