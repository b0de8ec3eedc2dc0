// The catalog for people and programs: types, parameters, JSON Schema, reference pages.
//
//   describe_types(catalog);             // every type with its sentence
//   describe_type(catalog, "gravity");   // one type with its parameters
//   write_pages(catalog, "docs/reference");
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "pipeline/schema/catalog.h"

namespace aegir {

/// Every type by category, with one sentence each, and those that are not there yet.
std::string describe_types(const Catalog& catalog);

/// One type (or "timeline", "scene", "inputs") with its parameters; a usage error with a suggestion for another name.
Result<std::string> describe_type(const Catalog& catalog, const std::string& name);

/// The catalog as JSON, for forms.
std::string catalog_json(const Catalog& catalog);

/// JSON Schema of a setup file, for editors.
std::string setup_schema(const Catalog& catalog);

/// One page of the reference: a file name from the reference folder and its Markdown.
struct ReferencePage {
  std::string file;
  std::string text;
};

/// All pages, with an index.
std::vector<ReferencePage> reference_pages(const Catalog& catalog);

/// Writes all pages into a folder and removes other .md files there that an earlier version generated.
Status write_pages(const Catalog& catalog, const std::string& folder);

/// What is different in a folder, one line each; empty when its pages are those of the catalog.
std::vector<std::string> stale_pages(const Catalog& catalog, const std::string& folder);

}  // namespace aegir
