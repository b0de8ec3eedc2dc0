// The liquids that a source or a sink is for, and where it acts.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "phenomena/common/hybrid_object.h"
#include "phenomena/common/inputs.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/catalog.h"

namespace aegir {

/// The Hybrid Objects that a Behavior's `into` or `from` names; all in the group if it names none.
inline Result<std::vector<HybridObject*>> hybrids_named(Builder& build, const ObjectList& list) {
  std::vector<HybridObject*> found;
  for (Object* o : build.objects())
    if (auto* h = dynamic_cast<HybridObject*>(o);
        h && (list.empty() ||
              std::any_of(list.names.begin(), list.names.end(), [&](const std::string& n) { return h->named(n); })))
      found.push_back(h);
  for (const std::string& name : list.names)
    if (std::none_of(found.begin(), found.end(), [&](HybridObject* h) { return h->named(name); }))
      return usage_error(list.where, "there is no liquid '{}' in this group", name);
  return found;
}

/// Calls make(object, its settings, motion) for every liquid that a source or sink is for.
template <class Settings, class Make>
Status for_each_target(Builder& build, const Scoped<Settings>& settings, const ObjectList& list, Make&& make) {
  const auto targets = hybrids_named(build, list);
  if (!targets) return targets.error();
  if (targets->empty()) return build.switch_off("no liquid in its group"), Status();
  for (HybridObject* object : *targets) {
    const Settings& s = settings.of(object->path());
    const Result<Motion> motion = keyed_motion(s.translate, s.rotate, build.timeline());
    if (!motion) return motion.error();
    if (Status ok = make(*object, s, *motion); !ok) return ok;
  }
  return {};
}

}  // namespace aegir
