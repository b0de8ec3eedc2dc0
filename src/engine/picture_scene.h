// What stands around the caches of a run in its pictures: colliders, vessels, the domain; made again from the setup
// that the run recorded.
//
//   PictureScene around({"runs/rain"});
//   around.fit(frame, shown, view);                 // bounds and outline
//   around.add(frame, shown, view);                 // solids and glass of a frame
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/picture_files.h"
#include "preview/points.h"

namespace aegir {

class Simulation;

/// Objects of a run whose material is matte, and surfaces of it that cover such Objects only.
std::set<std::string> matte_things(const Simulation& simulation);

class PictureScene {
 public:
  /// Sources that are no run directories, and runs whose setup cannot be read any more, have nothing around them.
  explicit PictureScene(const std::vector<std::string>& sources);
  ~PictureScene();

  /// Objects of the runs.
  std::set<std::string> objects() const;
  /// Objects that a surface of the run covers; where no Behavior makes one, the liquids.
  std::set<std::string> covered() const;
  /// Matte things of the runs. Where all liquids are matte, so is every surface that was made afterwards in one of the
  /// folders given.
  std::set<std::string> matte(const std::set<std::string>& folders) const;
  /// Frames per second of the first run; 24 without one.
  double fps() const;

  /// Frames a liquid together with the domain and the colliders around it, unless they are far larger, and remembers
  /// which colliders are vessels: those that most of the liquid is in. `shown` is what the first frame shows.
  void fit(int frame, const ShownScene& shown, ViewSettings& view);
  /// Colliders where they are in a frame: solids, and vessels as glass.
  void add(int frame, ShownScene& shown, ViewSettings& view) const;

 private:
  struct Runs;
  std::unique_ptr<Runs> runs_;
};

}  // namespace aegir
