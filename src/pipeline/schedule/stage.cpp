#include "pipeline/schedule/stage.h"

#include <array>

namespace aegir {

std::string_view stage_name(Stage stage) {
  constexpr std::array<std::string_view, stage_count> names = {
      "ingest",       "frame_begin",    "substep_begin", "move_inputs",     "group_exit",   "group_enter",
      "emit",         "after_emission", "rebucket",      "begin_iteration", "to_grid",      "evaluate_forces",
      "after_forces", "boundaries",     "solve",         "after_solve",     "to_particles", "move",
      "collide",      "after_move",     "remove",        "audit",           "frame_end",    "output"};
  return names[static_cast<std::size_t>(stage)];
}

bool user_facing(Stage stage) {
  switch (stage) {
    case Stage::ingest:
    case Stage::frame_begin:
    case Stage::substep_begin:
    case Stage::after_emission:
    case Stage::after_forces:
    case Stage::after_solve:
    case Stage::after_move:
    case Stage::frame_end:
      return true;
    default:
      return false;
  }
}

}  // namespace aegir
