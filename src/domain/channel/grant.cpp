#include "domain/channel/grant.h"

#include <fmt/format.h>

#include "base/assert.h"

namespace aegir {
namespace {
thread_local const Grant* current = nullptr;
}

std::string_view access_name(AccessMode mode) {
  return mode == AccessMode::read ? "read" : mode == AccessMode::write ? "write" : "add";
}

GrantScope::GrantScope(const Grant& grant) : before_(current) { current = &grant; }
GrantScope::~GrantScope() { current = before_; }

void require_access(std::string_view owner, std::string_view channel, AccessMode mode, int halo) {
  if (!current) return;
  for (const ChannelAccess& a : current->accesses) {
    if (a.owner != owner || (a.channel != "*" && a.channel != channel)) continue;
    if (a.mode == mode && a.halo >= halo) return;
    if (a.mode == AccessMode::write && mode == AccessMode::read && halo == 0) return;
  }
  bug(fmt::format("task '{}' has not declared: {} channel '{}' of '{}' with halo {}", current->task, access_name(mode),
                  channel, owner, halo),
      __FILE__, __LINE__);
}

}  // namespace aegir
