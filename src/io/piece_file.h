// Arrays and texts by name in one HDF5 file; a checkpoint has one such piece per rank.
//
//   Result<PieceWriter> writer = PieceWriter::create(temporary);
//   Status s = writer->array("water/P", positions.data(), PieceType::f64, count, 3);
//   s = writer->text("setup", yaml);
//   s = writer->close();                                 // flushed to the disk; only now the file counts
//
//   Result<PieceReader> reader = PieceReader::open(path);
//   Result<ArrayInfo> info = reader->info("water/P");
//   Status r = reader->read("water/P", 100, 50, buffer);  // rows 100..149
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace aegir {

enum class PieceType { f32, f64, i32, i64, u8, u64 };

/// Bytes of one number.
std::size_t piece_type_size(PieceType type);

/// Shape of a stored array.
struct ArrayInfo {
  PieceType type = PieceType::f32;
  std::size_t rows = 0;
  std::size_t columns = 1;
  /// Bytes of all rows.
  std::size_t bytes() const { return rows * columns * piece_type_size(type); }
};

/// How arrays are stored.
struct PieceOptions {
  bool compress = false;  ///< shuffle and deflate; checksums are always on
};

/// Writes a new piece. The first failure sticks: every later call and close() return it.
class PieceWriter {
 public:
  /// Creates or replaces the file.
  static Result<PieceWriter> create(const std::string& path, const PieceOptions& options = {});
  PieceWriter(PieceWriter&&) noexcept;
  PieceWriter& operator=(PieceWriter&&) noexcept;
  ~PieceWriter();

  /// Stores rows × columns numbers; '/' in the name makes groups, and a name is used once.
  Status array(const std::string& name, const void* data, PieceType type, std::size_t rows, std::size_t columns = 1);
  /// Stores a text of any bytes.
  Status text(const std::string& name, const std::string& value);
  /// Flushes, syncs and closes; without it the file does not count as written.
  Status close();

 private:
  struct Impl;
  explicit PieceWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Reads a piece; whatever is wrong with the file is an io error, "checkpoint … is damaged".
class PieceReader {
 public:
  static Result<PieceReader> open(const std::string& path);
  PieceReader(PieceReader&&) noexcept;
  PieceReader& operator=(PieceReader&&) noexcept;
  ~PieceReader();

  /// Names of the direct children of a group, sorted; "" is the top. Groups end with '/'.
  Result<std::vector<std::string>> list(const std::string& group = "") const;
  /// Whether an array, a text or a group of that name exists.
  bool has(const std::string& name) const;
  /// Shape of an array.
  Result<ArrayInfo> info(const std::string& name) const;
  /// Reads rows [begin_row, begin_row + rows) into `data`, which has room for them.
  Status read(const std::string& name, std::size_t begin_row, std::size_t rows, void* data) const;
  /// Reads a text.
  Result<std::string> text(const std::string& name) const;

 private:
  struct Impl;
  explicit PieceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace aegir
