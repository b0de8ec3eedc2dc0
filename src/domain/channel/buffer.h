// Aligned memory for channels: not initialised, huge pages asked for, kept when it shrinks.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

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

/// Memory that has been used before: pages that need not be cleared again. For work that comes back every step with
/// about the same sizes.
class BufferPool {
 public:
  /// A buffer of at least `bytes`, given back before (and perhaps grown) or new; its content is whatever it was.
  Buffer take(std::size_t bytes);
  void give(Buffer buffer);

 private:
  std::mutex mutex_;
  std::vector<Buffer> free_;
};

/// A buffer that goes back to its pool, or away where there is none.
class PooledBuffer {
 public:
  PooledBuffer() = default;
  PooledBuffer(std::size_t bytes, BufferPool* pool) : buffer_(pool ? pool->take(bytes) : Buffer(bytes)), pool_(pool) {}
  ~PooledBuffer() {
    if (pool_ && buffer_.capacity()) pool_->give(std::move(buffer_));
  }
  PooledBuffer(PooledBuffer&& o) noexcept : buffer_(std::move(o.buffer_)), pool_(o.pool_) {}
  PooledBuffer& operator=(PooledBuffer&& o) noexcept {
    return std::swap(buffer_, o.buffer_), std::swap(pool_, o.pool_), *this;
  }
  std::byte* data() { return buffer_.data(); }
  const std::byte* data() const { return buffer_.data(); }

 private:
  Buffer buffer_;
  BufferPool* pool_ = nullptr;
};

/// Copies to memory without bringing the destination into the caches; both aligned to 32 bytes, a multiple of 32 bytes.
/// Other threads see the copy only after finish_copies_around_caches() on this thread.
void copy_around_caches(void* to, const void* from, std::size_t bytes);
void finish_copies_around_caches();

}  // namespace aegir
