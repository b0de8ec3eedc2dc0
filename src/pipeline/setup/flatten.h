// A canonical document as lines of path and value, for hashes and differences. Internal to the setup room.
//
//   content_hash(setup.document)   // "3f9a1c…"
#pragma once

#include <map>
#include <string>

#include "pipeline/schema/value.h"

namespace aegir {

/// "setup/rain/emitter.rate" → "1000"; a node itself stands as "setup/rain/emitter" → its type. Notes are left out.
std::map<std::string, std::string> flatten(const Value& document);

/// 16 hex digits over the flattened document.
std::string content_hash(const Value& document);

}  // namespace aegir
