// Behaviors whose order in the setup matters: most are built by path, these as they are written.
//
//   class Expression final : public Behavior, public InOrder { … };
#pragma once

namespace aegir {

/// A Behavior that also derives from this makes its Actions after all others have made theirs, in the order in which
/// such Behaviors stand in the setup; their Operators plan in that order too.
class InOrder {
 public:
  virtual ~InOrder() = default;
};

}  // namespace aegir
