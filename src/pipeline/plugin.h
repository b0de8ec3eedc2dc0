// What makes a shared library a plugin: one line that names the function which registers its Behaviors.
//
//   // vortex.cpp, compiled to libvortex.so
//   #include "pipeline/plugin.h"
//   …                                                    // class Vortex : public Behavior { … }
//   void register_vortex(aegir::Catalog& catalog) { catalog.add<Vortex>(); }
//   AEGIR_PLUGIN("vortex", "1.0", register_vortex)
//
//   aegir run storm.yaml --plugin libvortex.so
//
// A plugin is C++ like Aegir's own rooms: it includes the headers of src/, has the compile options of the target
// aegir_flags, links nothing of Aegir, and finds its functions in the program that loads it. It fits the build whose
// headers it was compiled with; PluginInfo says which that was.
#pragma once

#include <cstddef>
#include <cstdint>

#include "domain/exec.h"
#include "domain/particles/particle_system.h"
#include "domain/volume/discrete_volume.h"
#include "pipeline/model/action.h"
#include "pipeline/model/behavior.h"
#include "pipeline/model/object.h"
#include "pipeline/schedule/task.h"
#include "pipeline/schema/catalog.h"

namespace aegir {

/// What a plugin says of itself. The first three members never change; others only with the interface's number.
struct PluginInfo {
  std::int32_t interface_number;
  std::uint32_t layout;  ///< of the types that both sides see
  const char* compiler;
  const char* name;
  const char* version;
  void (*register_types)(Catalog&);
};

/// Counts changes that a compiler does not see: of meaning, of the order of calls.
inline constexpr std::int32_t plugin_interface = 1;

/// A number that changes with the size of the types that a plugin shares with the program.
constexpr std::uint32_t plugin_layout() {
#ifdef AEGIR_CHECKED
  std::uint32_t hash = 1;
#else
  std::uint32_t hash = 2;
#endif
  for (const std::size_t size :
       {sizeof(Catalog), sizeof(TypeEntry), sizeof(FieldDescription), sizeof(Value), sizeof(ForceBlock), sizeof(Action),
        sizeof(Object), sizeof(Task), sizeof(StepContext), sizeof(Exec), sizeof(ParticleSystem), sizeof(DiscreteVolume),
        sizeof(Topology), sizeof(Error)})
    hash = (hash ^ static_cast<std::uint32_t>(size)) * 16777619u;
  return hash;
}

/// The name of the function by which a plugin is known.
inline constexpr const char* plugin_entry = "aegir_plugin";

}  // namespace aegir

/// Stands once in a plugin, outside of every namespace: its name, its version, and a function that takes a Catalog&.
#define AEGIR_PLUGIN(plugin_name, plugin_version, register_function)                                               \
  extern "C" __attribute__((visibility("default"))) const aegir::PluginInfo* aegir_plugin() {                      \
    static const aegir::PluginInfo info{aegir::plugin_interface, aegir::plugin_layout(), __VERSION__, plugin_name, \
                                        plugin_version,          register_function};                               \
    return &info;                                                                                                  \
  }
