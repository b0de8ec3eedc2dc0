#include "preview/report_page.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace aegir {
namespace {

const char* name_of(ReportPage::Mood mood) {
  switch (mood) {
    case ReportPage::Mood::good:
      return "good";
    case ReportPage::Mood::bad:
      return "bad";
    case ReportPage::Mood::neutral:
      break;
  }
  return "neutral";
}

std::string head_html(const ReportPage& page) {
  // The policy lets the browser itself refuse whatever would come from outside.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{} · {} · Aegir</title>\n<style>\n{}</style>\n</head>\n",
      html_escaped(page.title), html_escaped(page.state), report_style());
}

std::string top_html(const ReportPage& page) {
  std::string html = fmt::format(
      "<header><div class=\"name\"><svg class=\"sign\" viewBox=\"0 0 32 32\" aria-hidden=\"true\"><path d=\"M2 20c4 0 "
      "5-9 11-9 5 0 5 5 2 6 4 3 9 3 15-1v8H2z\"/><path d=\"M2 27h28\"/></svg>"
      "<h1>{}</h1><span class=\"state {}\">{}</span></div><p class=\"sub\">{}</p></header>\n",
      html_escaped(page.title), name_of(page.mood), html_escaped(page.state), html_escaped(page.subtitle));
  if (page.tiles.empty()) return html;
  html += "<section class=\"tiles\">";
  for (const ReportTile& t : page.tiles)
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd><small>{}</small></div>", html_escaped(t.label),
                        html_escaped(t.value), html_escaped(t.detail));
  return html + "</section>\n";
}

std::string notices_html(const std::vector<ReportNotice>& notices) {
  if (notices.empty()) return {};
  constexpr std::size_t open = 12;  // a longer list is folded
  std::string first, more;
  for (std::size_t i = 0; i < notices.size(); ++i) {
    const ReportNotice& n = notices[i];
    const char* kind = n.kind == ReportNotice::Kind::error     ? "error"
                       : n.kind == ReportNotice::Kind::warning ? "warning"
                                                               : "hint";
    (i < open ? first : more) +=
        fmt::format("<li class=\"{}\"><b>{}</b>{}<span>{}</span></li>", kind, kind,
                    n.where.empty() ? "" : "<i>" + html_escaped(n.where) + "</i>", html_escaped(n.text));
  }
  std::string html = "<section id=\"notices\"><ul class=\"notices\">" + first + "</ul>";
  if (!more.empty())
    html += fmt::format("<details><summary>{} more</summary><ul class=\"notices\">{}</ul></details>",
                        notices.size() - open, more);
  return html + "</section>\n";
}

std::string pictures_html(const FoundPictures& pictures, const std::string& hint) {
  std::string html = "<section id=\"pictures\"><h2>Pictures</h2>";
  if (pictures.frames.empty() && pictures.sheets.empty())
    return html + "<p class=\"note\">" + html_escaped(hint) + "</p></section>\n";
  html += "<div class=\"pictures\">";
  if (!pictures.frames.empty()) {
    const std::size_t count = pictures.frames.size();
    html += "<figure class=\"flip\"><div class=\"stack\">";
    for (std::size_t i = 0; i < count; ++i)
      html += fmt::format("<img alt=\"{0}\" title=\"{0}\"{1} src=\"{2}\">", html_escaped(pictures.frames[i].caption),
                          i + 1 == count ? "" : " hidden", pictures.frames[i].data);
    html += fmt::format("</div><figcaption><output>{}</output>", html_escaped(pictures.frames.back().caption));
    if (count > 1)
      html +=
          fmt::format("<input type=\"range\" min=\"0\" max=\"{0}\" value=\"{0}\" aria-label=\"picture\">", count - 1);
    if (count < pictures.frames_there)
      html += fmt::format("<small>{} of {} pictures</small>", count, pictures.frames_there);
    html += "</figcaption></figure>";
  }
  for (const PagePicture& sheet : pictures.sheets)
    html += fmt::format(
        "<figure class=\"sheet\"><img alt=\"{0}\" src=\"{1}\"><figcaption>contact sheet</figcaption></figure>",
        html_escaped(sheet.caption), sheet.data);
  html += "</div>";
  if (pictures.skipped > 0)
    html += fmt::format("<p class=\"note\">{} left out: no PNG, not readable, or too large for this page.</p>",
                        pictures.skipped == 1 ? "One file is" : fmt::format("{} files are", pictures.skipped));
  return html + "</section>\n";
}

std::string cell_html(const std::string& cell, char alignment) {
  double share = 0;
  if (cell.size() > 1 && cell[0] == '=') {
    const auto [end, error] = std::from_chars(cell.data() + 1, cell.data() + cell.size(), share);
    if (error == std::errc() && end == cell.data() + cell.size())
      return fmt::format("<td class=\"share\"><span><i style=\"width:{:.2f}%\"></i></span><b>{:.1f} %</b></td>",
                         100 * std::clamp(share, 0.0, 1.0), 100 * share);
  }
  if (alignment == 'c') return "<td><code>" + html_escaped(cell) + "</code></td>";
  const char* const style = alignment == 'r' ? " class=\"r\"" : alignment == 'n' ? " class=\"n\"" : "";
  return fmt::format("<td{}>{}</td>", style, html_escaped(cell));
}

std::string table_html(const ReportTable& table) {
  const auto alignment = [&](std::size_t column) {
    return column < table.alignment.size() ? table.alignment[column] : 'l';
  };
  std::string html = fmt::format("<section id=\"{}\"><h2>{}</h2>", html_escaped(table.id), html_escaped(table.title));
  if (!table.note.empty()) html += "<p class=\"note\">" + html_escaped(table.note) + "</p>";
  html += "<div class=\"scroll\"><table><thead><tr>";
  for (std::size_t c = 0; c < table.header.size(); ++c)
    html += fmt::format("<th{}>{}</th>", alignment(c) == 'r' ? " class=\"r\"" : "", html_escaped(table.header[c]));
  html += "</tr></thead><tbody>";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) html += cell_html(row[c], alignment(c));
    html += "</tr>\n";
  }
  return html + "</tbody></table></div></section>\n";
}

/// YAML with its keys and comments set apart; a line is looked at by itself.
std::string setup_html(const std::string& text) {
  std::string html;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const std::size_t word = std::min(line.find_first_not_of(" -"), line.size());
    const std::size_t colon = line.find(':', word);
    const bool key = colon != std::string::npos && line.find_first_of(" \"'{[#", word) > colon;
    if (word < line.size() && line[word] == '#')
      html += "<i>" + html_escaped(line) + "</i>";
    else if (key)
      html += html_escaped(line.substr(0, word)) + "<b>" + html_escaped(line.substr(word, colon - word)) + "</b>" +
              html_escaped(line.substr(colon));
    else
      html += html_escaped(line);
    html += '\n';
    at = end + 1;
  }
  return html;
}

}  // namespace

std::string report_html(const ReportPage& page) {
  std::string html = head_html(page) + "<body>\n<main>\n" + top_html(page) + notices_html(page.notices) +
                     pictures_html(page.pictures, page.picture_hint);
  for (const ChartGroup& group : page.groups) {
    html += "<section class=\"group\"><h2>" + html_escaped(group.title) + "</h2><div class=\"charts\">\n";
    for (const Chart& chart : group.charts) html += chart_html(chart);
    html += "</div></section>\n";
  }
  for (const ReportTable& table : page.tables) html += table_html(table);
  if (!page.setup_text.empty())
    html += fmt::format("<section id=\"setup\"><h2>Setup</h2><p class=\"note\">{}</p><pre>{}</pre></section>\n",
                        html_escaped(page.setup_title), setup_html(page.setup_text));
  html += "<footer>" + html_escaped(page.footer) + "</footer>\n</main>\n<script>\n";
  return html + std::string(report_script()) + "</script>\n</body>\n</html>\n";
}

}  // namespace aegir
