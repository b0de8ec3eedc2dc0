// `aegir ax` on a file of ten million points, with OpenVDB AX's own executable as the peer.
#include <unistd.h>

#include <filesystem>
#include <random>

#include <fmt/format.h>

#include "benchmarks/harness.h"
#include "engine/ax_job.h"
#include "io/vdb.h"

namespace aegir::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t point_count = 10'000'000;

/// 8 points per voxel with velocity, age and id: 32 bytes each beside the position.
Status make_file(const std::string& path) {
  PointSet points;
  points.position.resize(point_count);
  auto v = points.add("v", PointAttribute::vec3f).as<Vec3f>();
  auto age = points.add("age", PointAttribute::float32).as<float>();
  auto id = points.add("id", PointAttribute::int64).as<std::int64_t>();
  std::mt19937_64 draw(1);
  std::uniform_real_distribution<double> unit(0, 1);
  constexpr int side = 108;  // voxels, 8 points in each
  for (std::size_t i = 0; i < point_count; ++i) {
    const auto cell = static_cast<int>(i / 8);
    points.position[i] =
        Vec3d(cell / (side * side) + unit(draw), cell / side % side + unit(draw), cell % side + unit(draw)) * 0.01;
    v[i] = Vec3f(static_cast<float>(unit(draw) - 0.5), static_cast<float>(unit(draw) - 0.5),
                 static_cast<float>(unit(draw) - 0.5));
    age[i] = static_cast<float>(unit(draw));
    id[i] = static_cast<std::int64_t>(i);
  }
  return write_points(path, points, 0.01);
}

AxFile run(Bench& bench, const std::string& input, const std::string& output, const char* text, AxEngine engine) {
  AxJob job;
  job.inputs = {input}, job.output = output;
  job.work.source.text = text, job.work.source.where = {"-s", 1, 1};
  job.work.engine = engine;
  AxFile result;
  const auto report = run_ax_job(job, bench.exec.comm, [&](const AxFile& f) { result = f; });
  AEGIR_ASSERT(report, report ? "" : report.error().message);
  return result;
}

void tool_benchmark(Bench& bench) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("aegir_bench_{}", ::getpid());
  fs::create_directories(folder);
  const std::string input = (folder / "in.vdb").string(), output = (folder / "out.vdb").string();
  AEGIR_ASSERT(make_file(input), "the benchmark's points are written");
  struct Case {
    const char *name, *text;
  };
  const Case cases[] = {{"ax.tool.values", "f@age += $dt; v@v *= 0.99f;"},
                        {"ax.tool.move", "v@v += {0.0f, -9.81f, 0.0f} * $dt; v@P += v@v * $dt;"},
                        {"ax.tool.delete", "if (f@age > 0.5f) deletepoint();"}};
  for (const Case& c : cases) {
    const AxFile ours = run(bench, input, output, c.text, AxEngine::aegir);
    const AxFile theirs = run(bench, input, output, c.text, AxEngine::openvdb);
    const auto n = static_cast<double>(point_count);
    bench.rate(std::string(c.name) + ".run", n / ours.run, "points/s", "OpenVDB AX", n / theirs.run);
    bench.cost(std::string(c.name) + ".read", ours.read, "s", "with OpenVDB AX", theirs.read);
    bench.cost(std::string(c.name) + ".write", ours.write, "s", "with OpenVDB AX", theirs.write);
  }
  bench.note(fmt::format("ax.tool: {} points, {} of file; both are read and written by the same code, once each",
                         point_count, fs::file_size(input)));
  fs::remove_all(folder);
}

}  // namespace

void register_ax_tool(Registry& registry) { registry.add("ax.tool", tool_benchmark); }

}  // namespace aegir::bench
