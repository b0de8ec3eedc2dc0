#include "preview/report_page.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "preview/image.h"

namespace aegir {
namespace {

using nlohmann::json;

/// The numbers that a chart carries for its script.
json data_of(const std::string& html) {
  const std::string open = "<script type=\"application/json\">";
  const std::size_t begin = html.find(open) + open.size();
  return json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++found;
  return found;
}

Chart line_chart(std::vector<double> y) {
  Chart chart{.id = "c", .title = "C", .unit = "J"};
  std::vector<double> x;
  for (std::size_t i = 0; i < y.size(); ++i) x.push_back(static_cast<double>(i) + 1);
  chart.series.push_back({"one", x, std::move(y)});
  return chart;
}

TEST(ReportChart, CarriesTheValuesThatItDraws) {
  const json data = data_of(chart_html(line_chart({1000, 2500, 4000})));
  EXPECT_EQ(data["series"][0]["y"], json({1000, 2500, 4000}));
  EXPECT_EQ(data["series"][0]["x"], json({1, 2, 3}));
  EXPECT_EQ(data["unit"], "kJ");
  EXPECT_EQ(data["divisor"], 1000);
}

TEST(ReportChart, ValuesThatAreNotFiniteAreGaps) {
  const double nan = std::nan("");
  const std::string html = chart_html(line_chart({1, 2, nan, 3, nan, 5, 6, std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(data_of(html)["series"][0]["y"][2], nullptr);
  const std::size_t path = html.find("class=\"line s0\" d=\"");
  ASSERT_NE(path, std::string::npos);
  const std::string d = html.substr(path, html.find("/>", path) - path);
  EXPECT_EQ(count(d, "M"), 3u);
  EXPECT_EQ(count(d, "h0"), 1u) << "the point between two gaps";
  EXPECT_EQ(count(html, "nan"), 0u);
  EXPECT_EQ(count(html, "inf"), 0u);
}

TEST(ReportChart, DegenerateValuesHaveAnAxis) {
  const double nan = std::nan("");
  for (const std::vector<double>& y :
       {std::vector<double>{0, 0}, {7}, {-3, -3}, {nan, nan}, {1e300, -1e300}, {1.7e308, -1.7e308}, {5e-324, 0}}) {
    const json data = data_of(chart_html(line_chart(y)));
    EXPECT_LT(data["y"][0], data["y"][1]);
    EXPECT_LT(data["x"][0], data["x"][1]);
  }
}

TEST(ReportChart, RoundOffIsNoMountainRange) {
  Chart chart = line_chart({600, 600 + 1e-10, 600});
  chart.least_share = 0.02;
  const json data = data_of(chart_html(chart));
  EXPECT_GE(data["y"][1].get<double>() - data["y"][0].get<double>(), 12);
}

TEST(ReportChart, LongRunsStaySmall) {
  std::vector<double> y;
  for (int i = 0; i < 200000; ++i) y.push_back(std::sin(0.01 * i));
  y[123456] = 9;
  const std::string html = chart_html(line_chart(y));
  EXPECT_LT(html.size(), 80000u);
  const json values = data_of(html)["series"][0]["y"];
  EXPECT_EQ(std::count(values.begin(), values.end(), json(9)), 1);
}

TEST(ReportChart, BarsAddUpAndKeepTheirSum) {
  Chart chart{.id = "t", .title = "T", .unit = "s", .kind = Chart::Kind::bars};
  constexpr int tasks = 14, frames = 5000;
  double sum = 0;
  for (int t = 0; t < tasks; ++t) {
    ChartSeries s{"task " + std::to_string(t), {}, {}};
    for (int f = 0; f < frames; ++f) {
      s.x.push_back(f);
      s.y.push_back(t + 1);
      sum += t + 1;
    }
    chart.series.push_back(std::move(s));
  }
  const std::string html = chart_html(chart);
  const json data = data_of(html);
  ASSERT_EQ(data["series"].size(), 10u);
  EXPECT_EQ(data["series"][0]["name"], "task 13") << "the largest is at the bottom";
  EXPECT_EQ(data["series"][9]["name"], "5 others");
  double drawn = 0;
  for (const json& s : data["series"])
    for (const json& y : s["y"]) drawn += y.get<double>();
  const double per_bar = std::ceil(frames / 283.0);  // 566 pixels, two for each bar
  EXPECT_NEAR(drawn * per_bar, sum, 0.01 * sum);
  EXPECT_NE(html.find("mean of"), std::string::npos);
  EXPECT_LT(html.size(), 200000u);
}

TEST(ReportChart, NamesCannotBreakOut) {
  Chart chart = line_chart({1, 2});
  chart.series[0].name = "</script><script>alert('x')</script>";
  chart.title = "<b>\"&";
  const std::string html = chart_html(chart);
  EXPECT_EQ(count(html, "<script>"), 0u);
  EXPECT_EQ(count(html, "</script>"), 1u);
  EXPECT_EQ(data_of(html)["series"][0]["name"], chart.series[0].name);
  EXPECT_NE(html.find("&lt;b&gt;&quot;&amp;"), std::string::npos);
}

TEST(ReportPictures, Base64) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64(std::string_view("\xff\x00\xfe\x80", 4)), "/wD+gA==");
}

TEST(ReportPictures, EvenlyChosenWithinTheBudget) {
  const std::filesystem::path folder = ::testing::TempDir() + "report_pictures";
  std::filesystem::create_directories(folder);
  const Image image(8, 8, {200, 10, 10});
  for (int f = -5; f < 45; ++f) ASSERT_TRUE(write_png(image, (folder / fmt::format("preview.{:04d}.png", f)).string()));
  ASSERT_TRUE(write_png(image, (folder / "contact_sheet.png").string()));
  std::ofstream(folder / "preview.0100.png") << "no picture";
  std::ofstream(folder / "notes.png") << "no frame";
  const auto bytes = std::filesystem::file_size(folder / "contact_sheet.png");
  const FoundPictures few = find_pictures(folder.string(), {.bytes = 1 << 20, .frames = 10});
  EXPECT_EQ(few.sheets.size(), 1u);
  EXPECT_EQ(few.frames_there, 51u);
  EXPECT_EQ(few.skipped, 1u);
  ASSERT_EQ(few.frames.size(), 9u);
  EXPECT_EQ(few.frames.front().caption, "frame -5");
  EXPECT_TRUE(few.frames.front().data.starts_with("data:image/png;base64,iVBORw0KGgo"));
  EXPECT_LE(find_pictures(folder.string(), {.bytes = 4 * bytes, .frames = 10}).frames.size(), 3u);
  EXPECT_TRUE(find_pictures((folder / "nowhere").string(), {.bytes = 1 << 20, .frames = 9}).frames.empty());
  std::filesystem::remove_all(folder);
}

TEST(ReportPage, EverythingIsEscaped) {
  const std::string evil = "<img src=x onerror=alert(1)>\"'";
  ReportPage page;
  page.title = page.subtitle = page.state = page.picture_hint = page.setup_title = page.setup_text = page.footer = evil;
  page.tiles = {{evil, evil, evil}};
  page.notices = {{ReportNotice::Kind::error, evil, evil}};
  page.tables = {
      {.id = evil, .title = evil, .note = evil, .header = {evil}, .alignment = "c", .rows = {{evil}, {"=0.25"}}}};
  const std::string html = report_html(page);
  EXPECT_EQ(count(html, "<img"), 0u);
  EXPECT_NE(html.find("25.0 %"), std::string::npos);
  EXPECT_EQ(html, report_html(page));
}

TEST(ReportPage, AsksForNothingFromOutside) {
  const std::string html = report_html({});
  EXPECT_EQ(count(html, "src=\"http"), 0u);
  EXPECT_EQ(count(html, "@import"), 0u);
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
}

TEST(ReportPlots, ChartsWithoutValuesAreLeftOut) {
  EXPECT_TRUE(run_charts({}, {}).empty());
  RunStatistics stats;
  stats.time = {0, 0.5};
  stats.dt = {0, 0.5};
  stats.memory = {10, 20};
  stats.frame = {1001, 1013};
  stats.frames = {{1001, 0, {}}, {1013, 1, {}}};
  const std::vector<ChartGroup> groups = run_charts(stats, {.first = 1001, .rate = 24});
  ASSERT_EQ(groups.size(), 1u);
  std::string ids;
  for (const Chart& c : groups[0].charts) ids += c.id + " ";
  EXPECT_EQ(ids, "substeps time_step memory ");
  EXPECT_EQ(groups[0].charts[2].series[0].x, (std::vector<double>{1001, 1013}));
}

}  // namespace
}  // namespace aegir
