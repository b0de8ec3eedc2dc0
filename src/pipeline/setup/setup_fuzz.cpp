// libFuzzer target over the setup parser. A first line `#set NAME=VALUE` becomes a --set; every include reads the same
// text again. A setup that is accepted must be written back and read again as the same.
//
//   aegir_setup_fuzz -dict=src/pipeline/setup/setup_fuzz.dict -max_len=4096 CORPUS
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "pipeline/setup/fake_catalog.h"
#include "pipeline/setup/setup.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aegir;
  static const Catalog catalog = fake::fake_catalog();
  std::string_view text(reinterpret_cast<const char*>(data), size);
  SetupOptions options;
  while (text.starts_with("#set ") && options.sets.size() < 4) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    options.sets.emplace_back(text.substr(5, end - 5));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  const std::string whole(text);
  const ReadFile read_file = [&](const std::string& path) -> Result<std::string> {
    if (path.size() > 40) return usage_error({}, "there is no such file");
    return whole;
  };
  Messages messages;
  const Result<Setup> setup = parse_setup(whole, "fuzz.yaml", options, catalog, messages, read_file);
  AEGIR_ASSERT(static_cast<bool>(setup) == messages.ok(), "a refused setup has an error, an accepted one has none");
  for (const Error& error : messages.errors)
    AEGIR_ASSERT(
        !error.where.file.empty() && !error.message.empty() && (error.where.line > 0 || error.where.file == "--set"),
        "an error without a place: " + error.text());
  if (!setup) return 0;
  const std::string written = write_setup(*setup);
  Messages again;
  const Result<Setup> copy = parse_setup(written, "fuzz.yaml", {}, catalog, again);
  AEGIR_ASSERT(static_cast<bool>(copy),
               "what was written cannot be read: " + (again.ok() ? "" : again.errors[0].text()) + "\n" + written);
  AEGIR_ASSERT(copy->hash == setup->hash, "what was written means something else:\n" + written);
  AEGIR_ASSERT(diff_setups(setup->document, copy->document).empty(), "what was written differs:\n" + written);
  return 0;
}
