#include "engine/picture_scene.h"

#include <algorithm>

#include "engine/catalog.h"
#include "engine/reopen.h"
#include "phenomena/common/collider.h"
#include "phenomena/common/hybrid_object.h"
#include "phenomena/common/limits.h"
#include "pipeline/schedule/simulation.h"

namespace aegir {

struct PictureScene::Runs {
  Catalog catalog = make_catalog();
  std::unique_ptr<Comm> comm = make_single_comm();
  Profile profile;
  std::vector<std::unique_ptr<Simulation>> simulations;
  std::set<const Collider*> vessels;
  bool liquid = false;

  /// Calls f(object, seconds) for every Object of a kind.
  template <class Kind, class F>
  void for_each(const F& f, int frame = 0) const {
    for (const auto& s : simulations)
      for (const auto& o : s->objects())
        if (const auto* object = dynamic_cast<const Kind*>(o.get())) f(*object, s->setup().timeline.time(frame));
  }
};

std::set<std::string> matte_things(const Simulation& simulation) {
  std::set<std::string> paths;
  for (const auto& object : simulation.objects())
    if (const auto* hybrid = dynamic_cast<const HybridObject*>(object.get()))
      if (hybrid->appearance == Appearance::matte) paths.insert(hybrid->path());
  const std::set<std::string> objects = paths;
  for (const Task& task : simulation.plan().tasks())
    if (task.stage == Stage::output && task.name == "surface" && !task.accesses.empty() &&
        std::ranges::all_of(task.accesses, [&](const ChannelAccess& a) { return objects.contains(a.owner); }))
      paths.insert(task.behavior);
  return paths;
}

PictureScene::PictureScene(const std::vector<std::string>& sources) : runs_(std::make_unique<Runs>()) {
  for (const std::string& source : sources)
    if (const auto record = RunRecord::load(source + "/run.json"))
      if (auto simulation = reopen(*record, runs_->catalog, Exec{*runs_->comm, runs_->profile}))
        runs_->simulations.push_back(std::move(simulation));
  runs_->for_each<HybridObject>([&](const HybridObject&, double) { runs_->liquid = true; });
}

PictureScene::~PictureScene() = default;

std::set<std::string> PictureScene::objects() const {
  std::set<std::string> paths;
  for (const auto& s : runs_->simulations)
    for (const auto& o : s->objects()) paths.insert(o->path());
  return paths;
}

std::set<std::string> PictureScene::covered() const {
  std::set<std::string> paths;
  for (const auto& s : runs_->simulations)
    for (const Task& task : s->plan().tasks())
      if (task.stage == Stage::output && task.name == "surface")
        for (const ChannelAccess& access : task.accesses) paths.insert(access.owner);
  if (!paths.empty()) return paths;
  // Made afterwards: of the liquids, or where there are none, of sand.
  for (const Appearance look : {Appearance::water, Appearance::matte})
    if (paths.empty())
      runs_->for_each<HybridObject>([&](const HybridObject& o, double) {
        if (o.appearance == look) paths.insert(o.path());
      });
  return paths;
}

std::set<std::string> PictureScene::matte(const std::set<std::string>& folders) const {
  std::set<std::string> paths;
  bool all = true;
  for (const auto& s : runs_->simulations) paths.merge(matte_things(*s));
  runs_->for_each<HybridObject>([&](const HybridObject& o, double) { all = all && paths.contains(o.path()); });
  if (all && !paths.empty()) paths.insert(folders.begin(), folders.end());
  return paths;
}

double PictureScene::fps() const {
  return runs_->simulations.empty() ? 24 : runs_->simulations.front()->setup().timeline.fps;
}

void PictureScene::fit(int frame, const ShownScene& shown, ViewSettings& view) {
  if (!runs_->liquid) return;
  const Box liquid = view.bounds;
  const auto small = [&](const Box& box) { return length(box.size()) < 3 * length(liquid.size()); };
  runs_->for_each<Limits>(
      [&](const Limits& limits, double) {
        Box box = limits.box();
        if (!small(box)) return;
        const bool closed = limits.sides()[3] == Limit::wall;
        if (!closed) box.max.y = std::clamp(liquid.max.y, box.min.y, box.max.y);
        view.outline = box;
        if (limits.sides()[2] == Limit::wall) {  // what has fallen through is under the floor
          view.ground = box.min.y;
          view.bounds.min.y = std::max(view.bounds.min.y, box.min.y);
        }
        if (limits.sides()[0] == Limit::wall)
          view.bounds.add(Box{box.min, {box.max.x, std::max(box.min.y, std::min(box.max.y, liquid.max.y)), box.max.z}});
      },
      frame);
  const auto share_inside = [&](const Box& box) {
    std::size_t inside = 0, all = shown.positions.size();
    for (const Vec3d& x : shown.positions) inside += box.contains(x);
    for (const ShownSurface& surface : shown.surfaces) {
      all += surface.mesh.positions.size();
      for (const Vec3d& x : surface.mesh.positions) inside += box.contains(x);
    }
    return all > 0 ? static_cast<double>(inside) / static_cast<double>(all) : 0;
  };
  runs_->for_each<Collider>(
      [&](const Collider& collider, double time) {
        const TriangleMesh mesh = collider.mesh(time);
        if (mesh.triangles.empty()) return;
        const Box box = mesh.bounds();
        if (small(box)) view.bounds.add(box);
        if (share_inside(box) > 0.5) runs_->vessels.insert(&collider);
      },
      frame);
}

void PictureScene::add(int frame, ShownScene& shown, ViewSettings& view) const {
  view.glass.clear();
  runs_->for_each<Collider>(
      [&](const Collider& collider, double time) {
        if (TriangleMesh mesh = collider.mesh(time); !mesh.triangles.empty())
          (runs_->vessels.contains(&collider) ? view.glass : shown.solids).push_back(std::move(mesh));
      },
      frame);
}

}  // namespace aegir
