#include "commands.h"

#include "console.h"
#include "engine/build.h"
#include "engine/describe.h"
#include "engine/explain.h"
#include "engine/info.h"
#include "engine/text.h"

namespace aegir {

int check_command(const std::string& setup, const std::vector<std::string>& sets, const Catalog& catalog, Comm& comm) {
  const CheckReport report = check(setup, sets, catalog, comm);
  report_warnings(report.messages.warnings);
  if (!report.messages.ok()) return report_errors(report.messages.errors, setup, "it cannot be run");
  print(fmt::format("ok        {}: {}, {}, {}, {}{}\n", setup, plural(report.inputs, "input"),
                    plural(report.groups, "group"), plural(report.behaviors, "behavior"),
                    plural(report.outputs, "output"),
                    report.messages.warnings.empty()
                        ? ""
                        : ", " + plural(static_cast<std::int64_t>(report.messages.warnings.size()), "warning")));
  for (const BehaviorSummary& b : report.off) print(fmt::format("off       {} ({}): {}\n", b.path, b.type, b.off));
  return 0;
}

int explain_command(const std::string& setup, const std::vector<std::string>& sets, const Catalog& catalog,
                    Comm& comm) {
  Profile profile;
  const BuiltRun built = build_run(setup, sets, catalog, {comm, profile});
  report_warnings(built.report.messages.warnings);
  if (!built.simulation) return report_errors(built.report.messages.errors, setup, "it cannot be explained");
  print(explain(*built.simulation));
  return 0;
}

int describe_command(const DescribeChoice& choice, const Catalog& catalog) {
  if (!choice.pages.empty()) {
    if (Status ok = write_pages(catalog, choice.pages); !ok) return report_error(ok.error());
    print(fmt::format("wrote     {} to {}\n",
                      plural(static_cast<std::int64_t>(reference_pages(catalog).size()), "page"), choice.pages));
    return 0;
  }
  if (!choice.check_pages.empty()) {
    const std::vector<std::string> stale = stale_pages(catalog, choice.check_pages);
    for (const std::string& line : stale) print_error(choice.check_pages + "/" + line + "\n");
    if (stale.empty()) return 0;
    return report_error(
        usage_error({}, "the reference is stale; make it again with aegir describe --pages {}", choice.check_pages));
  }
  if (choice.json || choice.schema) {
    print(choice.json ? catalog_json(catalog) : setup_schema(catalog));
    return 0;
  }
  if (choice.type.empty()) {
    print(describe_types(catalog));
    return 0;
  }
  const Result<std::string> text = describe_type(catalog, choice.type);
  if (!text) return report_error(text.error());
  print(*text);
  return 0;
}

int info_command(const std::vector<std::string>& paths, bool hash) {
  int code = 0;
  for (const std::string& path : paths) {
    const Result<std::string> text = hash ? file_hash(path) : info(path);
    if (!text) {
      code = std::max(code, report_error(text.error()));
      continue;
    }
    if (!hash && &path != &paths.front()) print("\n");
    print(hash ? *text + "  " + path + "\n" : *text);
  }
  return code;
}

}  // namespace aegir
