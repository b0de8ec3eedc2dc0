// Giving a force to every Object in scope that takes forces, under its mask.
//
//   Status create_actions(Builder& build) override {
//     return give_force(build, settings_, [&](Object&, const Settings& s) {
//       return make_force<GravityForce>(build.path(), s.acceleration);
//     });
//   }
#pragma once

#include <memory>
#include <utility>

#include "phenomena/common/mask.h"
#include "pipeline/model/action.h"
#include "pipeline/model/behavior.h"
#include "pipeline/model/object.h"
#include "pipeline/schema/catalog.h"

namespace aegir {

/// A force, or why there is none.
using MadeForce = Result<std::unique_ptr<Force>>;
template <class F, class... Arguments>
MadeForce make_force(Arguments&&... arguments) {
  return std::unique_ptr<Force>(std::make_unique<F>(std::forward<Arguments>(arguments)...));
}

/// Gives what make(object, settings of the object) returns to each target, or switches the Behavior off. S inherits
/// MaskSettings; `file_of(settings)` is where a mask without a file of its own is looked for.
template <class S, class Make, class FileOf>
Status give_force(Builder& build, const Scoped<S>& settings, Make&& make, FileOf&& file_of) {
  int given = 0;
  for (Object* o : build.objects()) {
    auto* target = dynamic_cast<ForceTarget*>(o);
    if (!target) continue;
    const S& s = settings.of(o->path());
    MadeForce force = make(*o, s);
    if (!force) return force.error();
    Result<Mask> mask = Mask::create(build, s, *o, file_of(s));
    if (!mask) return mask.error();
    target->add_force(masked(std::move(*force), std::move(*mask))), ++given;
  }
  if (!given) build.switch_off("no Object in its group takes forces");
  return {};
}
template <class S, class Make>
Status give_force(Builder& build, const Scoped<S>& settings, Make&& make) {
  return give_force(build, settings, std::forward<Make>(make), [](const S&) { return FilePath{}; });
}

}  // namespace aegir
