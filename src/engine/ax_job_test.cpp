#include "engine/ax_job.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "io/test_support.h"
#include "io/vdb.h"

namespace aegir {
namespace {

Status write_drops(const std::string& path, std::size_t count) {
  PointSet points;
  points.position.resize(count);
  auto age = points.add("age", PointAttribute::float32).as<float>();
  auto id = points.add("id", PointAttribute::int64).as<std::int64_t>();
  for (std::size_t i = 0; i < count; ++i) {
    points.position[i] = {0.01 * static_cast<double>(i), 0, 0};
    age[i] = 1, id[i] = static_cast<std::int64_t>(i);
  }
  return write_points(path, points, 0.1);
}

AxJob job_of(const TestFolder& folder, const std::string& text) {
  AxJob job;
  job.inputs = {folder / "in.$F4.vdb"}, job.output = folder / "out";
  job.work.source.text = text, job.work.source.where = {"-s", 1, 1};
  return job;
}

TEST(AxJob, RunsASequenceAndResumesIt) {
  const TestFolder folder;
  const auto comm = make_single_comm();
  for (const char* frame : {"0001", "0002", "0010"})
    ASSERT_TRUE(write_drops(folder / ("in." + std::string(frame) + ".vdb"), 100));
  AxJob job = job_of(folder, "f@age = $frame + $gain;");
  job.work.variables = {{"gain", {0.5}}};
  std::vector<int> frames;
  const auto report = run_ax_job(job, *comm, [&](const AxFile& f) { frames.push_back(f.frame); });
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(frames, (std::vector<int>{1, 2, 10}));
  EXPECT_EQ(report->made.back().outcome.points, 100);
  const auto points = read_points(folder / "out/in.0010.vdb");
  ASSERT_TRUE(points);
  EXPECT_EQ(points->find("age")->as<float>()[7], 10.5f);

  std::filesystem::remove(folder / "out/in.0002.vdb");
  job.resume = true;
  const auto again = run_ax_job(job, *comm, [](const AxFile&) {});
  ASSERT_TRUE(again);
  for (const AxFile& f : again->made) EXPECT_EQ(f.skipped, f.frame != 2);
  job.work.variables = {{"gain", {0.75}}};
  const auto other = run_ax_job(job, *comm, [](const AxFile&) {});
  ASSERT_TRUE(other);
  for (const AxFile& f : other->made) EXPECT_FALSE(f.skipped) << "another value makes another file";
}

TEST(AxJob, SaysWhereASnippetIsWrongAndWritesNothing) {
  const TestFolder folder;
  const auto comm = make_single_comm();
  ASSERT_TRUE(write_drops(folder / "in.0001.vdb", 10));
  const auto failed = run_ax_job(job_of(folder, "f@age = 1;\n  f@age = nothing(2);"), *comm, [](const AxFile&) {});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, Failure::usage);
  EXPECT_EQ(failed.error().message.rfind("-s:2:", 0), 0u) << failed.error().message;
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"in.0001.vdb"}));
}

TEST(AxJob, StopsWhenItIsTold) {
  const TestFolder folder;
  const auto comm = make_single_comm();
  ASSERT_TRUE(write_drops(folder / "in.0001.vdb", 10));
  AxJob job = job_of(folder, "f@age = 1;");
  const std::int32_t stop = 2;
  job.work.stop = &stop;
  const auto report = run_ax_job(job, *comm, [](const AxFile&) {});
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->stopped);
  EXPECT_TRUE(report->made.empty());
}

}  // namespace
}  // namespace aegir
