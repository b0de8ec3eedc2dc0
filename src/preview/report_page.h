// The report of a run as one HTML page that needs nothing from outside.
//
//   ReportPage page{.title = "rain", .state = "finished", .mood = ReportPage::Mood::good};
//   page.groups = run_charts(stats, axis);
//   Status written = write_text_atomically("runs/rain/report.html", report_html(page));
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "preview/report_pictures.h"
#include "preview/report_plots.h"

namespace aegir {

/// A figure that stands out at the top of the page.
struct ReportTile {
  std::string label, value, detail;
};

/// Something the reader has to know: a failure, a warning, data that is missing.
struct ReportNotice {
  enum class Kind { error, warning, hint };
  Kind kind = Kind::warning;
  std::string where;  ///< "frame 12"; may be empty
  std::string text;
};

/// Rows of text. A cell that starts with '=' and a number from 0 to 1 ("=0.25") is drawn as a bar of that length.
struct ReportTable {
  std::string id, title, note;
  std::vector<std::string> header;
  std::string alignment;  ///< one letter per column: 'l' text, 'n' text on one line, 'r' numbers, 'c' code
  std::vector<std::vector<std::string>> rows;
};

/// Everything that stands on the page, as text that is not yet HTML.
struct ReportPage {
  enum class Mood { good, neutral, bad };

  std::string title, subtitle;
  std::string state;  ///< one or two words: "finished"
  Mood mood = Mood::neutral;
  std::vector<ReportTile> tiles;
  std::vector<ReportNotice> notices;
  FoundPictures pictures;
  std::string picture_hint;  ///< shown where there are no pictures
  std::vector<ChartGroup> groups;
  std::vector<ReportTable> tables;
  std::string setup_title, setup_text;
  std::string footer;
};

/// The page as HTML; the same page gives the same bytes.
std::string report_html(const ReportPage& page);

/// The style sheet of the page, light and dark.
std::string_view report_style();
/// What makes the page answer: values under the pointer, the slider of pictures.
std::string_view report_script();

}  // namespace aegir
