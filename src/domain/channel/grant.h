// A task runs under a grant: the channels it declared. Touching another one stops, naming task and channel.
//
//   Grant grant{"divergence", {{"water", "u", AccessMode::read, 1}, {"water", "divergence", AccessMode::write}}};
//   GrantScope scope(grant);
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aegir {

enum class AccessMode { read, write, add };
std::string_view access_name(AccessMode mode);

/// One declared access: whose channel, how, and how many cells beyond the bucket are read or added to.
struct ChannelAccess {
  std::string owner;    ///< the Object
  std::string channel;  ///< "*" for all of its channels
  AccessMode mode = AccessMode::read;
  int halo = 0;
};

struct Grant {
  std::string task;
  std::vector<ChannelAccess> accesses;
};

/// Makes a grant the one that accesses on this thread are held to.
class GrantScope {
 public:
  explicit GrantScope(const Grant& grant);
  ~GrantScope();
  GrantScope(const GrantScope&) = delete;
  GrantScope& operator=(const GrantScope&) = delete;

 private:
  const Grant* before_;
};

/// Stops unless the current grant, if there is one, covers this access. Write permits reading the same bucket.
void require_access(std::string_view owner, std::string_view channel, AccessMode mode, int halo);

}  // namespace aegir
