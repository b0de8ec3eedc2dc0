#include "engine/export.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/catalog.h"
#include "engine/picture_scene.h"
#include "engine/reopen.h"
#include "engine/run_directory.h"
#include "io/atomic_file.h"
#include "io/mesh.h"
#include "io/vdb.h"
#include "phenomena/common/collider.h"

namespace aegir {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::string leaf(const std::string& object) { return object.substr(object.rfind('/') + 1); }

bool newer(const std::string& file, const fs::path& than) {
  std::error_code missing;
  const auto ours = fs::last_write_time(file, missing);
  return !missing && ours >= fs::last_write_time(than, missing) && !missing;
}

/// Points as the vertices of a mesh without triangles: `radius` is pscale, `red green blue` are Cd. PLY has no 64-bit
/// integers, so ids stay behind.
Status write_points_ply(const std::string& path, const PointSet& points) {
  TriangleMesh mesh;
  mesh.positions = points.position;
  std::vector<Vec3f> velocity;
  for (const PointAttribute& a : points.attributes) {
    if (a.type == PointAttribute::float32) {
      const auto values = a.as<float>();
      mesh.scalars[a.name == "pscale" ? "radius" : a.name].assign(values.begin(), values.end());
    } else if (a.type == PointAttribute::vec3f && a.name == "v") {
      velocity.assign(a.as<Vec3f>().begin(), a.as<Vec3f>().end());
    } else if (a.type == PointAttribute::vec3f) {
      static constexpr const char* colour[] = {"red", "green", "blue"};
      static constexpr const char* axis[] = {"_x", "_y", "_z"};
      for (int c = 0; c < 3; ++c) {
        std::vector<float>& to = mesh.scalars[a.name == "Cd" ? colour[c] : a.name + axis[c]];
        for (const Vec3f& v : a.as<Vec3f>()) to.push_back(v[c]);
      }
    }
  }
  return write_ply(path, mesh, velocity);
}

class Export {
 public:
  explicit Export(const ExportOptions& options) : options_(options), directory_(options.run) {
    report_.output = options.output.empty() ? options.run + "/export" : options.output;
  }

  Result<ExportReport> run(const std::function<void(int, int)>& progress) {
    auto record = RunRecord::load(directory_.run_file());
    if (!record) return usage_error({}, "{} is no run directory: it has no run.json that can be read", options_.run);
    record_ = std::move(*record);
    find_files();
    if (frames_.empty())
      return usage_error(
          {}, "there are no frames in {}{}", options_.run,
          options_.frames ? fmt::format(" between {} and {}", options_.frames->first, options_.frames->second) : "");
    std::error_code failed;
    fs::create_directories(report_.output, failed);
    if (failed) return system_error("make the folder", report_.output, failed.value());
    simulation_ = reopen(record_, catalog_, Exec{*comm_, profile_});  // for its colliders
    int done = 0;
    for (const auto& [frame, files] : frames_) {
      if (Status ok = write_frame(frame, files); !ok) return ok.error();
      progress(++done, static_cast<int>(frames_.size()));
    }
    report_.frames = done;
    if (Status ok = write_text_atomically(report_.output + "/scene.json", scene().dump(1) + "\n"); !ok)
      return ok.error();
    return report_;
  }

 private:
  void find_files() {
    for (const FrameFile& file : directory_.frames()) {
      names_[file.kind].insert(file.object);
      first_ = std::min(first_, file.frame), last_ = std::max(last_, file.frame);
      if (!options_.frames || (file.frame >= options_.frames->first && file.frame <= options_.frames->second))
        frames_[file.frame].push_back(file);
    }
  }

  std::string target(const std::string& object, const char* kind, int frame) const {
    return fmt::format("{}/{}.{}.{:04}.ply", report_.output, leaf(object), kind, frame);
  }

  Status write_frame(int frame, const std::vector<FrameFile>& files) {
    for (const FrameFile& file : files) {
      const std::string to = target(file.object, "points", frame);
      const fs::path from = fs::path(options_.run) / file.path;
      if (file.kind != "points" || newer(to, from)) continue;
      const Result<PointSet> points = read_points(from.string());
      if (!points) return points.error();
      if (Status ok = write_points_ply(to, *points); !ok) return ok;
      ++report_.files;
    }
    if (!simulation_) return {};
    for (const auto& object : simulation_->objects()) {
      const auto* collider = dynamic_cast<const Collider*>(object.get());
      if (!collider) continue;
      const std::string to = target(collider->path(), "collider", frame);
      if (newer(to, directory_.run_file())) {
        colliders_.insert(collider->path());
        continue;
      }
      const TriangleMesh mesh = collider->mesh(simulation_->setup().timeline.time(frame));
      if (mesh.triangles.empty()) continue;
      if (Status ok = write_ply(to, mesh); !ok) return ok;
      colliders_.insert(collider->path()), ++report_.files;
    }
    return {};
  }

  ordered_json scene() const {
    const std::set<std::string> matte = simulation_ ? matte_things(*simulation_) : std::set<std::string>();
    const auto listed = [&](const char* kind) {
      ordered_json list = ordered_json::array();
      if (const auto found = names_.find(kind); found != names_.end())
        for (const std::string& object : found->second) {
          list.push_back({{"name", leaf(object)}, {"folder", fs::absolute(options_.run + "/" + object).string()}});
          if (matte.contains(object)) list.back()["look"] = "matte";
        }
      return list;
    };
    ordered_json colliders = ordered_json::array();
    for (const std::string& object : colliders_) colliders.push_back({{"name", leaf(object)}});
    return {{"aegir_scene", 1},
            {"run", fs::absolute(options_.run).string()},
            {"fps", record_.fps},
            {"frames", {first_, last_}},
            {"up", "y"},
            {"points", listed("points")},
            {"meshes", listed("mesh")},
            {"volumes", listed("volumes")},
            {"colliders", std::move(colliders)}};
  }

  const ExportOptions& options_;
  RunDirectory directory_;
  RunRecord record_;
  ExportReport report_;
  std::map<int, std::vector<FrameFile>> frames_;
  std::map<std::string, std::set<std::string>> names_;  // kind → objects
  std::set<std::string> colliders_;
  int first_ = 1 << 30, last_ = -(1 << 30);
  Catalog catalog_ = make_catalog();
  std::unique_ptr<Comm> comm_ = make_single_comm();
  Profile profile_;
  std::unique_ptr<Simulation> simulation_;
};

}  // namespace

Result<ExportReport> export_run(const ExportOptions& options, const std::function<void(int, int)>& progress) {
  return Export(options).run(progress);
}

}  // namespace aegir
