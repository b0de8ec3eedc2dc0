// The file driver below HDF5 when it writes: it remembers the first failed write and pretends that all went well, since
// HDF5 cannot close a file whose last flush failed. The writer asks for the failure when the file is closed.
//
//   int failure = 0;
//   hid_t access = piece_driver_access(&failure);   // an H5P_FILE_ACCESS list; failure is an errno after closing
#pragma once

#include <cstdint>

namespace aegir {

/// A file access property list with this driver, or a negative number; `failure` must outlive the file.
std::int64_t piece_driver_access(int* failure);

}  // namespace aegir
