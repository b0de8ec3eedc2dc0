// A bug in Aegir (never a user's mistake) stops here, naming itself.
#pragma once

#include <stdexcept>
#include <string_view>

namespace aegir {

struct BugFound : std::logic_error {
  using std::logic_error::logic_error;
};

/// Throws BugFound with the text and the place; tests can catch it, the program reports it and ends.
[[noreturn]] void bug(std::string_view what, const char* file, int line);

}  // namespace aegir

/// Always on; for conditions whose cost does not show.
#define AEGIR_ASSERT(condition, what) ((condition) ? void() : ::aegir::bug((what), __FILE__, __LINE__))

/// Inside kernels; on in checked builds only.
#ifdef AEGIR_CHECKED
#define AEGIR_CHECK(condition, what) AEGIR_ASSERT(condition, what)
#else
#define AEGIR_CHECK(condition, what) void()
#endif
