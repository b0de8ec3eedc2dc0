#include "io/piece_driver.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>

namespace aegir {

namespace {

/// An open file; HDF5 sees only `base`.
struct DriverFile {
  H5FD_t base;
  int descriptor;
  haddr_t end_of_allocation, end_of_file;
  int* failure;
};

struct DriverSettings {
  int* failure;
};

DriverFile* of(H5FD_t* file) { return reinterpret_cast<DriverFile*>(file); }
const DriverFile* of(const H5FD_t* file) { return reinterpret_cast<const DriverFile*>(file); }

void note(DriverFile* file, int error_number) {
  if (*file->failure == 0) *file->failure = error_number;
}

void* copy_settings(const void* settings) {
  return new (std::nothrow) DriverSettings(*static_cast<const DriverSettings*>(settings));
}
herr_t free_settings(void* settings) {
  delete static_cast<DriverSettings*>(settings);
  return 0;
}

H5FD_t* open_file(const char* name, unsigned flags, hid_t access, haddr_t) {
  const auto* settings = static_cast<const DriverSettings*>(H5Pget_driver_info(access));
  if (!settings || !(flags & H5F_ACC_TRUNC)) return nullptr;
  const int descriptor = ::open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    *settings->failure = errno;
    return nullptr;
  }
  auto* file = new (std::nothrow) DriverFile{};
  if (!file) {
    ::close(descriptor);
    return nullptr;
  }
  file->descriptor = descriptor;
  file->failure = settings->failure;
  return &file->base;
}

herr_t close_file(H5FD_t* base) {
  DriverFile* file = of(base);
  if (::fsync(file->descriptor) != 0) note(file, errno);
  if (::close(file->descriptor) != 0) note(file, errno);
  delete file;
  return 0;
}

int compare(const H5FD_t* a, const H5FD_t* b) { return a < b ? -1 : a > b ? 1 : 0; }

herr_t query(const H5FD_t*, unsigned long* flags) {
  if (flags) *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t get_eoa(const H5FD_t* file, H5FD_mem_t) { return of(file)->end_of_allocation; }
herr_t set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  of(file)->end_of_allocation = address;
  return 0;
}
haddr_t get_eof(const H5FD_t* file, H5FD_mem_t) { return of(file)->end_of_file; }

herr_t read(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* buffer) {
  DriverFile* file = of(base);
  auto* at = static_cast<char*>(buffer);
  while (size > 0) {
    const ssize_t n = ::pread(file->descriptor, at, size, static_cast<off_t>(address));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) note(file, errno);
    if (n <= 0) {
      std::memset(at, 0, size);
      return 0;
    }
    at += n, size -= static_cast<size_t>(n), address += static_cast<haddr_t>(n);
  }
  return 0;
}

herr_t write(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t address, size_t size, const void* buffer) {
  DriverFile* file = of(base);
  const auto* at = static_cast<const char*>(buffer);
  file->end_of_file = std::max(file->end_of_file, address + size);
  while (size > 0 && *file->failure == 0) {
    const ssize_t n = ::pwrite(file->descriptor, at, size, static_cast<off_t>(address));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      note(file, n < 0 ? errno : EIO);
      break;
    }
    at += n, size -= static_cast<size_t>(n), address += static_cast<haddr_t>(n);
  }
  return 0;
}

herr_t truncate(H5FD_t* base, hid_t, hbool_t) {
  DriverFile* file = of(base);
  if (file->end_of_file == file->end_of_allocation) return 0;
  if (::ftruncate(file->descriptor, static_cast<off_t>(file->end_of_allocation)) != 0) note(file, errno);
  file->end_of_file = file->end_of_allocation;
  return 0;
}

const H5FD_class_t& driver_class() {
  static const H5FD_class_t driver = [] {
    H5FD_class_t d{};
    d.name = "aegir";
    d.maxaddr = (haddr_t{1} << 62) - 1;
    d.fc_degree = H5F_CLOSE_STRONG;
    d.fapl_size = sizeof(DriverSettings);
    d.fapl_copy = copy_settings;
    d.fapl_free = free_settings;
    d.open = open_file;
    d.close = close_file;
    d.cmp = compare;
    d.query = query;
    d.get_eoa = get_eoa;
    d.set_eoa = set_eoa;
    d.get_eof = get_eof;
    d.read = read;
    d.write = write;
    d.truncate = truncate;
    for (auto& kind : d.fl_map) kind = H5FD_MEM_DEFAULT;
    return d;
  }();
  return driver;
}

}  // namespace

std::int64_t piece_driver_access(int* failure) {
  static const hid_t driver = H5FDregister(&driver_class());
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  const DriverSettings settings{failure};
  if (driver < 0 || access < 0 || H5Pset_driver(access, driver, &settings) < 0) return -1;
  return access;
}

}  // namespace aegir
