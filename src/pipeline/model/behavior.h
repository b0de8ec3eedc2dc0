// Behavior: what the user adds to a setup. It makes Objects and Actions; they do the work.
//
//   class Gravity : public Behavior {
//     Status create_actions(Builder& build) override {
//       for (Object* object : build.objects())
//         if (auto* target = dynamic_cast<ForceTarget*>(object)) target->add_force(…);
//       return {};
//     }
//   };
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace aegir {

class Object;
class Operator;
struct Exec;
struct Timeline;
struct Scene;
struct InputSettings;

/// What a Behavior sees and adds to while the simulation is built.
class Builder {
 public:
  virtual ~Builder() = default;

  /// Path and place of the Behavior that is being built.
  virtual const std::string& path() const = 0;
  virtual const Location& where() const = 0;
  /// Objects of the Behavior's group and below, in order of their paths.
  virtual std::vector<Object*> objects() const = 0;
  /// Objects whose scope covers the given Object: it lies in their group or below (colliders of a liquid).
  virtual std::vector<Object*> objects_acting_on(const Object& object) const = 0;
  /// Objects of the whole setup, in order of their paths: for those who only look.
  virtual std::vector<Object*> all_objects() const = 0;
  virtual void add(std::unique_ptr<Object> object) = 0;
  virtual void add(std::unique_ptr<Operator> action) = 0;
  /// Says that the Behavior has nothing to do, and why; it then takes no part.
  virtual void switch_off(std::string why) = 0;
  virtual void warn(std::string text) = 0;

  virtual Exec& exec() = 0;
  virtual const Timeline& timeline() const = 0;
  virtual const Scene& scene() const = 0;
  virtual const std::map<std::string, InputSettings>& inputs() const = 0;
};

class Behavior {
 public:
  virtual ~Behavior() = default;
  /// First round: Objects.
  virtual Status create_objects(Builder&) { return {}; }
  /// Second round, when all Objects exist: Actions on the Objects in scope.
  virtual Status create_actions(Builder&) { return {}; }
};

}  // namespace aegir
