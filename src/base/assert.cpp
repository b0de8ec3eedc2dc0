#include "base/assert.h"

#include <fmt/format.h>

namespace aegir {

void bug(std::string_view what, const char* file, int line) {
  throw BugFound(fmt::format("{} ({}:{})", what, file, line));
}

}  // namespace aegir
