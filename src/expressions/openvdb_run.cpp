#include "expressions/openvdb_run.h"

#include <openvdb/openvdb.h>
#include <openvdb/points/PointDataGrid.h>
#include <openvdb_ax/ast/AST.h>
#include <openvdb_ax/ast/Parse.h>
#include <openvdb_ax/ast/Scanners.h>
#include <openvdb_ax/compiler/Compiler.h>
#include <openvdb_ax/compiler/CustomData.h>
#include <openvdb_ax/compiler/PointExecutable.h>
#include <openvdb_ax/compiler/VolumeExecutable.h>

#include <algorithm>
#include <set>

#include "expressions/jit.h"
#include "expressions/syntax.h"

namespace aegir::expression {

namespace ax = openvdb::ax;

namespace {

/// A logger that fills a list of diagnostics.
std::unique_ptr<ax::Logger> make_logger(std::vector<Diagnostic>& list) {
  const auto report = [&list](bool is_error) {
    return [&list, is_error](const std::string& text) { list.push_back(diagnostic_of(is_error, text)); };
  };
  auto logger = std::make_unique<ax::Logger>(report(true), report(false));
  logger->setNumberedOutput(false), logger->setPrintLines(false), logger->setMaxErrors(20);
  logger->setErrorPrefix(""), logger->setWarningPrefix("");
  return logger;
}

ax::CustomData::Ptr custom_data(const std::vector<Named>& variables, const std::vector<Value>& values) {
  auto data = ax::CustomData::create();
  for (const Named& variable : variables)
    for (const Value& value : values) {
      if (value.name != variable.name) continue;
      const auto& v = value.value;
      if (variable.type == ValueType::vec3f)
        data->insertData(value.name, openvdb::Metadata::Ptr(new openvdb::Vec3SMetadata({v[0], v[1], v[2]})));
      else
        data->insertData(value.name, openvdb::Metadata::Ptr(new openvdb::FloatMetadata(v[0])));
    }
  return data;
}

Status failure(const Source& source, const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& d : diagnostics)
    if (d.is_error) return Error{Failure::usage, d.message, source.place(d.line, d.column)};
  return {};
}

}  // namespace

Outline outline_of(const Source& source) {
  Outline outline;
  if (!check_limits(source.text, {}).empty()) return outline;
  std::vector<Diagnostic> ignored;
  const auto logger = make_logger(ignored);
  const ax::ast::Tree::ConstPtr tree = ax::ast::parse(source.text.c_str(), *logger);
  if (!tree) return outline;
  std::set<std::string> names;
  ax::ast::visitNodeType<ax::ast::Attribute>(*tree, [&](const ax::ast::Attribute& node) {
    names.insert(node.name());
    outline.text |= !node.inferred() && node.type() == ax::ast::tokens::STRING;
    return true;
  });
  outline.attributes.assign(names.begin(), names.end());
  ax::ast::visitNodeType<ax::ast::FunctionCall>(*tree, [&](const ax::ast::FunctionCall& call) {
    const std::string& name = call.name();
    outline.points |= name == "deletepoint" || name == "addtogroup" || name == "removefromgroup" || name == "ingroup";
    outline.voxels |= name.starts_with("getcoord") || name == "getvoxelpws";
    return true;
  });
  return outline;
}

Status run_openvdb(const Source& source, const std::vector<Named>& variables, const std::vector<Value>& values,
                   void* opaque_grids, std::vector<std::string>& remarks) {
  std::vector<Diagnostic> diagnostics = check_limits(source.text, {});
  if (Status ok = failure(source, diagnostics); !ok) return ok;
  auto& grids = *static_cast<openvdb::GridPtrVec*>(opaque_grids);
  prepare_compiler();
  const auto logger = make_logger(diagnostics);
  try {
    const auto compiler = ax::Compiler::create();
    const auto data = custom_data(variables, values);
    if (source.elements == Elements::particles) {
      const auto program = compiler->compile<ax::PointExecutable>(source.text, *logger, data);
      if (Status ok = failure(source, diagnostics); !ok) return ok;
      if (program)
        for (const auto& grid : grids)
          if (const auto points = openvdb::gridPtrCast<openvdb::points::PointDataGrid>(grid)) program->execute(*points);
    } else {
      const auto program = compiler->compile<ax::VolumeExecutable>(source.text, *logger, data);
      if (Status ok = failure(source, diagnostics); !ok) return ok;
      if (program) program->execute(grids);
    }
  } catch (const std::exception& problem) {
    return Error{Failure::usage, problem.what(), source.where};
  }
  for (const Diagnostic& d : diagnostics) remarks.push_back(d.message);
  return {};
}

}  // namespace aegir::expression
