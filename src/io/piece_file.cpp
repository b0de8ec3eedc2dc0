#include "io/piece_file.h"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <set>
#include <utility>

#include <hdf5.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "io/atomic_file.h"
#include "io/piece_driver.h"

namespace aegir {

namespace {

constexpr std::size_t chunk_bytes = 1 << 20;
constexpr int damaged_text_limit = 1 << 30;

/// HDF5 keeps global state; one thread at a time is inside it.
std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// Holds the mutex and keeps HDF5 from printing its error stack.
class Library {
 public:
  Library() : lock_(library_mutex()) { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

 private:
  std::lock_guard<std::mutex> lock_;
};

/// An HDF5 identifier that closes itself.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close closer) : id_(id), close_(closer) {}
  Handle(Handle&& o) noexcept : id_(std::exchange(o.id_, -1)), close_(o.close_) {}
  Handle& operator=(Handle&& o) noexcept {
    std::swap(id_, o.id_), std::swap(close_, o.close_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }
  /// Closes now and says whether that worked.
  bool close() { return id_ < 0 || close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

hid_t memory_type(PieceType type) {
  switch (type) {
    case PieceType::f32:
      return H5T_NATIVE_FLOAT;
    case PieceType::f64:
      return H5T_NATIVE_DOUBLE;
    case PieceType::i32:
      return H5T_NATIVE_INT32;
    case PieceType::i64:
      return H5T_NATIVE_INT64;
    case PieceType::u8:
      return H5T_NATIVE_UINT8;
    case PieceType::u64:
      return H5T_NATIVE_UINT64;
  }
  AEGIR_ASSERT(false, "unknown piece type");
  return -1;
}

Error damaged(const std::string& path, const std::string& what) {
  return io_error("checkpoint {} is damaged: {}; resume from an older one", path, what);
}

bool is_file(const std::string& path, int& error_number) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return error_number = errno, false;
  if (!S_ISREG(status.st_mode)) return error_number = EISDIR, false;
  return true;
}

}  // namespace

std::size_t piece_type_size(PieceType type) {
  switch (type) {
    case PieceType::f32:
    case PieceType::i32:
      return 4;
    case PieceType::f64:
    case PieceType::i64:
    case PieceType::u64:
      return 8;
    case PieceType::u8:
      return 1;
  }
  AEGIR_ASSERT(false, "unknown piece type");
  return 0;
}

struct PieceWriter::Impl {
  std::string path;
  PieceOptions options;
  std::set<std::string> names;
  int failure = 0;
  Handle file;
  Status status;
  bool closed = false;

  /// Remembers the first failure.
  Status fail(const std::string& what) {
    if (status) {
      if (failure != 0)
        status = system_error("cannot write", path, failure);
      else
        status = io_error("cannot write {}: {}", path, what);
    }
    return status;
  }
};

PieceWriter::PieceWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PieceWriter::PieceWriter(PieceWriter&&) noexcept = default;
PieceWriter& PieceWriter::operator=(PieceWriter&& o) noexcept {
  std::swap(impl_, o.impl_);
  return *this;
}
PieceWriter::~PieceWriter() {
  if (impl_ && impl_->file) {
    const Library library;
    impl_->file.close();
  }
}

Result<PieceWriter> PieceWriter::create(const std::string& path, const PieceOptions& options) {
  const Library library;
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->options = options;
  const Handle access(piece_driver_access(&impl->failure), H5Pclose);
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  // The latest format has a checksum in every piece of metadata.
  if (!access || !creation || H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST) < 0 ||
      H5Pset_obj_track_times(creation.get(), false) < 0)
    return Result<PieceWriter>(impl->fail("HDF5 is not available").error());
  impl->file = Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose);
  if (!impl->file) return Result<PieceWriter>(impl->fail("HDF5 cannot create it").error());
  return PieceWriter(std::move(impl));
}

namespace {

/// Makes the groups that a name goes through, without the times that HDF5 would note in those it makes itself.
bool make_groups(hid_t file, const std::string& name) {
  const Handle creation(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  if (!creation || H5Pset_obj_track_times(creation.get(), false) < 0) return false;
  for (std::size_t end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1)) {
    const std::string group = name.substr(0, end);
    const htri_t there = H5Lexists(file, group.c_str(), H5P_DEFAULT);
    if (there > 0) continue;
    if (there < 0 || !Handle(H5Gcreate2(file, group.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), H5Gclose))
      return false;
  }
  return true;
}

}  // namespace

Status PieceWriter::array(const std::string& name, const void* data, PieceType type, std::size_t rows,
                          std::size_t columns) {
  AEGIR_ASSERT(impl_ && !impl_->closed, "a piece is written after it was closed");
  AEGIR_ASSERT(columns > 0, "array '" + name + "' has no columns");
  AEGIR_ASSERT(!name.empty() && name.front() != '/' && name.back() != '/' && name.find("//") == std::string::npos,
               "'" + name + "' cannot name an array");
  AEGIR_ASSERT(impl_->names.insert(name).second, "array '" + name + "' twice");
  if (!impl_->status) return impl_->status;
  const Library library;
  const std::size_t row_bytes = columns * piece_type_size(type);
  const hsize_t dims[2] = {rows, columns};
  const hsize_t chunk[2] = {std::max<std::size_t>(1, std::min(rows, std::max<std::size_t>(1, chunk_bytes / row_bytes))),
                            columns};
  const Handle space(H5Screate_simple(2, dims, nullptr), H5Sclose);
  const Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  if (!space || !layout || H5Pset_obj_track_times(layout.get(), false) < 0 || H5Pset_chunk(layout.get(), 2, chunk) < 0 ||
      (impl_->options.compress && (H5Pset_shuffle(layout.get()) < 0 || H5Pset_deflate(layout.get(), 3) < 0)) ||
      H5Pset_fletcher32(layout.get()) < 0 || H5Pset_fill_time(layout.get(), H5D_FILL_TIME_NEVER) < 0)
    return impl_->fail("HDF5 cannot store an array of this shape");
  if (!make_groups(impl_->file.get(), name)) return impl_->fail("HDF5 cannot create the groups of '" + name + "'");
  Handle set(H5Dcreate2(impl_->file.get(), name.c_str(), memory_type(type), space.get(), H5P_DEFAULT, layout.get(),
                        H5P_DEFAULT),
             H5Dclose);
  if (!set) return impl_->fail("HDF5 cannot create array '" + name + "'");
  if (rows > 0 && H5Dwrite(set.get(), memory_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
    return impl_->fail("HDF5 cannot write array '" + name + "'");
  if (!set.close() || impl_->failure != 0) return impl_->fail("HDF5 cannot close array '" + name + "'");
  return {};
}

Status PieceWriter::text(const std::string& name, const std::string& value) {
  return array(name, value.data(), PieceType::u8, value.size(), 1);
}

Status PieceWriter::close() {
  AEGIR_ASSERT(impl_ != nullptr, "a piece is closed that was moved away");
  if (impl_->closed) return impl_->status;
  impl_->closed = true;
  const Library library;
  const bool closed = impl_->file.close();
  if (!closed || impl_->failure != 0) return impl_->fail("HDF5 cannot close the file");
  return impl_->status;
}

struct PieceReader::Impl {
  std::string path;
  Handle file;

  Handle open_array(const std::string& name) const {
    // Checking each part first keeps HDF5 from failing on a missing group in the middle of the name.
    for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1))
      if (H5Lexists(file.get(), name.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) return {};
    if (name.empty() || H5Lexists(file.get(), name.c_str(), H5P_DEFAULT) <= 0) return {};
    return Handle(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
  }
  Result<ArrayInfo> describe(const Handle& set, const std::string& name) const;
};

PieceReader::PieceReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PieceReader::PieceReader(PieceReader&&) noexcept = default;
PieceReader& PieceReader::operator=(PieceReader&& o) noexcept {
  std::swap(impl_, o.impl_);
  return *this;
}
PieceReader::~PieceReader() {
  if (impl_) {
    const Library library;
    impl_->file.close();
  }
}

Result<PieceReader> PieceReader::open(const std::string& path) {
  int error_number = 0;
  if (!is_file(path, error_number)) return system_error("cannot read", path, error_number);
  const Library library;
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (!access || H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG) < 0)
    return damaged(path, "HDF5 is not available");
  impl->file = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (!impl->file) return damaged(path, "it is cut short or not an HDF5 file");
  return PieceReader(std::move(impl));
}

Result<std::vector<std::string>> PieceReader::list(const std::string& group) const {
  const Library library;
  const std::string where = group.empty() ? "/" : group;
  const Handle opened(H5Gopen2(impl_->file.get(), where.c_str(), H5P_DEFAULT), H5Gclose);
  if (!opened) return damaged(impl_->path, "there is no group '" + where + "'");
  std::vector<std::string> names;
  const auto visit = [](hid_t at, const char* name, const H5L_info_t*, void* out) -> herr_t {
    H5O_info_t info;
    if (H5Oget_info_by_name2(at, name, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) return -1;
    static_cast<std::vector<std::string>*>(out)->push_back(std::string(name) +
                                                           (info.type == H5O_TYPE_GROUP ? "/" : ""));
    return 0;
  };
  hsize_t position = 0;
  if (H5Literate(opened.get(), H5_INDEX_NAME, H5_ITER_NATIVE, &position, visit, &names) < 0)
    return damaged(impl_->path, "group '" + where + "' cannot be listed");
  std::sort(names.begin(), names.end());
  return names;
}

bool PieceReader::has(const std::string& name) const {
  const Library library;
  for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1))
    if (H5Lexists(impl_->file.get(), name.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) return false;
  return !name.empty() && H5Lexists(impl_->file.get(), name.c_str(), H5P_DEFAULT) > 0;
}

Result<ArrayInfo> PieceReader::Impl::describe(const Handle& set, const std::string& name) const {
  if (!set) return damaged(path, "array '" + name + "' is missing");
  const Handle space(H5Dget_space(set.get()), H5Sclose);
  const Handle type(H5Dget_type(set.get()), H5Tclose);
  hsize_t dims[2] = {0, 0};
  if (!space || !type || H5Sget_simple_extent_ndims(space.get()) != 2 ||
      H5Sget_simple_extent_dims(space.get(), dims, nullptr) != 2 || dims[1] == 0)
    return damaged(path, "array '" + name + "' has no shape");
  for (const PieceType t :
       {PieceType::f32, PieceType::f64, PieceType::i32, PieceType::i64, PieceType::u8, PieceType::u64})
    if (H5Tequal(type.get(), memory_type(t)) > 0) return ArrayInfo{t, dims[0], dims[1]};
  return damaged(path, "array '" + name + "' is of an unknown type");
}

Result<ArrayInfo> PieceReader::info(const std::string& name) const {
  const Library library;
  return impl_->describe(impl_->open_array(name), name);
}

Status PieceReader::read(const std::string& name, std::size_t begin_row, std::size_t rows, void* data) const {
  const Library library;
  const Handle set = impl_->open_array(name);
  const auto info = impl_->describe(set, name);
  if (!info) return info.error();
  if (begin_row > info->rows || rows > info->rows - begin_row)
    return damaged(impl_->path, fmt::format("array '{}' has {} rows, rows {} to {} are wanted", name, info->rows,
                                            begin_row, begin_row + rows));
  if (rows == 0) return {};
  const hsize_t start[2] = {begin_row, 0}, count[2] = {rows, info->columns};
  const Handle in_file(H5Dget_space(set.get()), H5Sclose);
  const Handle in_memory(H5Screate_simple(2, count, nullptr), H5Sclose);
  if (!in_file || !in_memory ||
      H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start, nullptr, count, nullptr) < 0 ||
      H5Dread(set.get(), memory_type(info->type), in_memory.get(), in_file.get(), H5P_DEFAULT, data) < 0)
    return damaged(impl_->path, "array '" + name + "' cannot be read");
  return {};
}

Result<std::string> PieceReader::text(const std::string& name) const {
  const auto shape = info(name);
  if (!shape) return shape.error();
  if (shape->type != PieceType::u8 || shape->columns != 1 || shape->rows > damaged_text_limit)
    return damaged(impl_->path, "'" + name + "' is not a text");
  std::string value(shape->rows, '\0');
  if (Status s = read(name, 0, shape->rows, value.data()); !s) return s.error();
  return value;
}

}  // namespace aegir
