// The front of the compiler: a snippet is parsed by AX, and what it reads, writes and calls is listed. Internal to this
// room; no header of AX here.
#pragma once

#include <memory>
#include <vector>

#include "expressions/program.h"

namespace aegir::expression {

/// A parsed snippet. Its diagnostics grow while the generator walks the tree.
struct Syntax {
  std::vector<Diagnostic> diagnostics;
  std::shared_ptr<void> logger;      ///< openvdb::ax::Logger that writes to diagnostics
  std::shared_ptr<const void> tree;  ///< openvdb::ax::ast::Tree

  Elements elements = Elements::particles;
  std::vector<Attribute> attributes;  ///< ordered by name, planes numbered
  int plane_count = 0;
  std::string identity = "id";  ///< CompileOptions::identity
  Uses uses;
  bool only_moves = false;  ///< P appears only in `@P += …` and `@P -= …`: its value itself is not needed
  std::vector<SampleSource> samples;
  std::vector<Named> neighbour_channels;
  std::vector<Named> variables;

  bool failed() const;
  int attribute(std::string_view name) const;  ///< its number, or -1
  int variable(std::string_view name) const;
  int sample(std::string_view object, std::string_view channel) const;
  int neighbour_channel(std::string_view name) const;
};

/// A message of AX, which ends with " line:column", as a Diagnostic.
Diagnostic diagnostic_of(bool is_error, std::string text);

/// Parses and analyses; the answer has errors where something is wrong.
std::unique_ptr<Syntax> analyse(const Source& source, const CompileOptions& options);

/// What distance("object") samples.
inline constexpr const char* distance_channel = "surface_distance";

/// Whether a call of this function is translated by Aegir and not by AX; its literal arguments are then names.
bool is_own_function(std::string_view name, std::size_t arguments);

}  // namespace aegir::expression
