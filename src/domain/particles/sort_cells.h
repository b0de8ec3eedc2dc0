// The canonical order inside one bucket: by cell, then by id.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/grid/bucket_key.h"

namespace aegir {

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
