// A checksum inside our VDB files. OpenVDB trusts what it reads and can end the process on a flipped bit; a sealed file
// is checked before OpenVDB sees it. The seal is an ordinary text in the file's metadata, so every program reads on.
//
//   metadata[seal_key] = empty_seal();   … write the file …   Status s = seal_vdb(path);
//   Status sound = check_seal(path);
#pragma once

#include <string>

#include "base/result.h"

namespace aegir {

/// Name of the metadata that holds the seal.
inline constexpr const char* seal_key = "aegir_checksum";

/// What the metadata holds until seal_vdb fills it in.
std::string empty_seal();

/// Computes the checksum of a finished file and stores it in place.
Status seal_vdb(const std::string& path);

/// An error when a sealed file is not as it was written; files without a seal pass.
Status check_seal(const std::string& path);

}  // namespace aegir
