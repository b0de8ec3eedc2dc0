// StateTree: everything an Object is, by name: particle systems, volumes and plain records. What a checkpoint stores
// is exactly what the tree names; an Object that keeps state elsewhere would not survive a resume.
//
//   StateTree state("water");
//   state.add("particles", particles).add("grid", volume).record("emitted", emitted);
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "domain/particles/particle_system.h"
#include "domain/volume/discrete_volume.h"

namespace aegir {

/// A plain value that survives a resume.
using Record = std::variant<std::int64_t*, double*, std::vector<double>*, std::vector<std::int64_t>*, std::string*>;

class StateTree {
 public:
  explicit StateTree(std::string name = {}) : name_(std::move(name)) {}

  StateTree& add(std::string name, ParticleSystem& particles) {
    return particles_.push_back({std::move(name), &particles}), *this;
  }
  StateTree& add(std::string name, DiscreteVolume& volume) {
    return volumes_.push_back({std::move(name), &volume}), *this;
  }
  StateTree& record(std::string name, Record record) { return records_.push_back({std::move(name), record}), *this; }
  /// A subtree, e.g. of an Action that keeps state about this Object.
  StateTree& child(std::string name) { return children_.emplace_back(std::move(name)); }

  template <class T>
  struct Named {
    std::string name;
    T value;
  };
  const std::string& name() const { return name_; }
  const std::vector<Named<ParticleSystem*>>& particles() const { return particles_; }
  const std::vector<Named<DiscreteVolume*>>& volumes() const { return volumes_; }
  const std::vector<Named<Record>>& records() const { return records_; }
  const std::deque<StateTree>& children() const { return children_; }

  /// Calls visit(path, node) for this tree and all below it, parents first.
  void walk(const std::function<void(const std::string& path, const StateTree& node)>& visit,
            const std::string& prefix = {}) const {
    const std::string path = prefix.empty() ? name_ : prefix + "/" + name_;
    visit(path, *this);
    for (const StateTree& c : children_) c.walk(visit, path);
  }

 private:
  std::string name_;
  std::vector<Named<ParticleSystem*>> particles_;
  std::vector<Named<DiscreteVolume*>> volumes_;
  std::vector<Named<Record>> records_;
  std::deque<StateTree> children_;
};

}  // namespace aegir
