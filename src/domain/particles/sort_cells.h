// The canonical order inside one bucket: by cell, then by id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "domain/grid/bucket_key.h"

namespace aegir {

/// What a particle of a bucket has for a code: the offset of the cell it lies in, or that it left or is to be removed.
inline constexpr std::uint16_t code_left = 0xffff, code_removed = 0xfffe;

/// Writes the codes of one bucket's particles from their positions in cells and their ids; returns how many stay.
std::size_t classify_run(const float* x, const float* y, const float* z, const std::int64_t* id, std::size_t count,
                         std::uint16_t* code);

/// True when cells, and ids inside a cell, ascend already.
bool in_order(const std::uint16_t* code, const std::int64_t* id, std::size_t count);

/// A particle on its way into a bucket: where it is stored and the cell it belongs to.
struct Arrival {
  std::uint32_t index;
  std::uint32_t cell;
};

/// Sorts the particles of one bucket; keeps its scratch from bucket to bucket.
class CellSorter {
 public:
  std::vector<Arrival> arrivals;  ///< those that come from elsewhere; the caller fills it

  /// Sorts `arrivals` and those of [start, start + count) whose code is a cell. Writes for each place of the new order
  /// the index of the particle that goes there, and its id; `id` is the whole plane.
  void sort(const std::uint16_t* code, std::uint32_t start, std::size_t count, const std::int64_t* id,
            std::uint32_t* out, std::int64_t* out_id);

 private:
  std::vector<std::uint32_t> index_;
  std::vector<std::int64_t> id_;
};

}  // namespace aegir
