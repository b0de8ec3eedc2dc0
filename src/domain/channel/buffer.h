// Aligned memory for channels: not initialised, huge pages asked for, kept when it shrinks.
#pragma once

#include <cstddef>
#include <utility>

namespace aegir {

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes) { reserve(bytes, 0); }
  ~Buffer();
  Buffer(Buffer&& o) noexcept : data_(std::exchange(o.data_, nullptr)), capacity_(std::exchange(o.capacity_, 0)) {}
  Buffer& operator=(Buffer&& o) noexcept { return std::swap(data_, o.data_), std::swap(capacity_, o.capacity_), *this; }

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t capacity() const { return capacity_; }

  /// Room for at least `bytes`; the first `keep` bytes survive.
  void reserve(std::size_t bytes, std::size_t keep);

 private:
  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0;
};

/// Copies to memory without bringing the destination into the caches; both aligned to 32 bytes, a multiple of 32 bytes.
/// Other threads see the copy only after finish_copies_around_caches() on this thread.
void copy_around_caches(void* to, const void* from, std::size_t bytes);
void finish_copies_around_caches();

}  // namespace aegir
