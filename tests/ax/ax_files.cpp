// VDB files for the tests of `aegir ax`, made and read with OpenVDB alone.
//
//   ax_files points OUT.vdb COUNT      two grids of points: every codec and type, groups, text, lists, any transform
//   ax_files drops OUT.vdb COUNT SEED  one plain grid of points
//   ax_files volumes OUT.vdb           volumes of every type, tiles, two transforms, one of them stretched
//   ax_files mixed OUT.vdb             a grid of points and a volume
//   ax_files dump FILE.vdb             everything in a file as JSON; points in the order of their ids
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>

#include <openvdb/openvdb.h>
#include <openvdb/points/PointAttribute.h>
#include <openvdb/points/PointConversion.h>
#include <openvdb/points/PointGroup.h>

#include <nlohmann/json.hpp>

namespace {

namespace pts = openvdb::points;
using nlohmann::json;
using openvdb::Vec3f;
using Tree = pts::PointDataTree;

template <class T, class Codec, class F>
void add(Tree& tree, const char* name, F&& value) {
  pts::appendAttribute<T, Codec>(tree, name);
  for (auto leaf = tree.beginLeaf(); leaf; ++leaf) {
    pts::AttributeWriteHandle<T, Codec> handle(leaf->attributeArray(name));
    const pts::AttributeHandle<std::int64_t> id(leaf->constAttributeArray("id"));
    for (openvdb::Index i = 0; i < handle.size(); ++i) handle.set(i, value(id.get(i)));
  }
}

double hashed(std::int64_t id, int what) {
  std::mt19937_64 draw(static_cast<std::uint64_t>(id) * 977 + static_cast<std::uint64_t>(what));
  return std::uniform_real_distribution<double>(-1, 1)(draw);
}
Vec3f vector(std::int64_t id, int what) {
  return {static_cast<float>(hashed(id, what)), static_cast<float>(hashed(id, what + 1)),
          static_cast<float>(hashed(id, what + 2))};
}

template <class Codec>
pts::PointDataGrid::Ptr scatter(const char* name, int count, std::uint64_t seed,
                                openvdb::math::Transform::Ptr transform) {
  std::mt19937_64 draw(seed);
  std::uniform_real_distribution<double> place(-1.5, 1.5);
  std::vector<openvdb::Vec3R> positions(static_cast<std::size_t>(count));
  for (auto& p : positions) p = {place(draw), place(draw), place(draw)};
  auto grid = pts::createPointDataGrid<Codec, pts::PointDataGrid>(positions, *transform);
  grid->setName(name);
  pts::appendAttribute<std::int64_t>(grid->tree(), "id");
  std::int64_t next = 0;
  for (auto leaf = grid->tree().beginLeaf(); leaf; ++leaf) {
    pts::AttributeWriteHandle<std::int64_t> handle(leaf->attributeArray("id"));
    for (openvdb::Index i = 0; i < handle.size(); ++i) handle.set(i, 1000 + next++);
  }
  return grid;
}

void every_type(Tree& t) {
  using openvdb::math::Mat3;
  using openvdb::math::Quat;
  add<Vec3f, pts::NullCodec>(t, "v", [](auto i) { return vector(i, 0); });
  add<Vec3f, pts::TruncateCodec>(t, "halved", [](auto i) { return vector(i, 3); });
  add<Vec3f, pts::UnitVecCodec>(t, "N", [](auto i) { return vector(i, 6).unit(); });
  add<Vec3f, pts::FixedPointCodec<true, pts::UnitRange>>(t, "Cd",
                                                         [](auto i) { return vector(i, 9) * 0.5f + Vec3f(0.5f); });
  add<Vec3f, pts::FixedPointCodec<false, pts::UnitRange>>(t, "Ce",
                                                          [](auto i) { return vector(i, 12) * 0.5f + Vec3f(0.5f); });
  add<float, pts::NullCodec>(t, "age", [](auto i) { return static_cast<float>(2 + hashed(i, 15)); });
  add<float, pts::TruncateCodec>(t, "brief", [](auto i) { return static_cast<float>(hashed(i, 16)); });
  add<double, pts::NullCodec>(t, "d", [](auto i) { return hashed(i, 17); });
  add<std::int32_t, pts::NullCodec>(t, "n", [](auto i) { return static_cast<std::int32_t>(i % 7 - 3); });
  add<std::int16_t, pts::NullCodec>(t, "s", [](auto i) { return static_cast<std::int16_t>(i % 100); });
  add<bool, pts::NullCodec>(t, "b", [](auto i) { return i % 3 == 0; });
  add<openvdb::Vec3d, pts::NullCodec>(t, "vd", [](auto i) { return openvdb::Vec3d(vector(i, 20)); });
  add<openvdb::Vec3i, pts::NullCodec>(t, "vi", [](auto i) { return openvdb::Vec3i(static_cast<int>(i % 5), 2, -3); });
  add<Mat3<float>, pts::NullCodec>(t, "m", [](auto i) { return Mat3<float>::identity() * static_cast<float>(i % 9); });
  add<Quat<float>, pts::NullCodec>(t, "orient", [](auto i) { return Quat<float>(vector(i, 23).unit(), 0.5f); });
  pts::appendAttribute(t, "weights", pts::TypedAttributeArray<float>::attributeType(), /*stride=*/3);
  for (auto leaf = t.beginLeaf(); leaf; ++leaf) {
    pts::AttributeWriteHandle<float> handle(leaf->attributeArray("weights"));
    const pts::AttributeHandle<std::int64_t> id(leaf->constAttributeArray("id"));
    for (openvdb::Index i = 0; i < handle.size(); ++i)
      for (openvdb::Index k = 0; k < 3; ++k)
        handle.set(i, k, static_cast<float>(hashed(id.get(i), 30 + static_cast<int>(k))));
  }
  pts::appendAttribute(t, "label", pts::StringAttributeArray::attributeType());
  openvdb::MetaMap& metadata = pts::makeDescriptorUnique(t)->getMetadata();
  pts::StringMetaInserter inserter(metadata);
  for (const char* text : {"red", "green", "blue"}) inserter.insert(text);
  for (auto leaf = t.beginLeaf(); leaf; ++leaf) {
    pts::StringAttributeWriteHandle handle(leaf->attributeArray("label"), metadata);
    const pts::AttributeHandle<std::int64_t> id(leaf->constAttributeArray("id"));
    for (openvdb::Index i = 0; i < id.size(); ++i)
      handle.set(i, id.get(i) % 2 ? "red" : id.get(i) % 3 ? "green" : "blue");
  }
  for (const char* group : {"wet", "dry"}) {
    pts::appendGroup(t, group);
    for (auto leaf = t.beginLeaf(); leaf; ++leaf) {
      auto handle = leaf->groupWriteHandle(group);
      const pts::AttributeHandle<std::int64_t> id(leaf->constAttributeArray("id"));
      for (openvdb::Index i = 0; i < id.size(); ++i) handle.set(i, (id.get(i) % 4 == 0) == (group[0] == 'w'));
    }
  }
}

void write(const std::string& path, const openvdb::GridPtrVec& grids) {
  openvdb::MetaMap metadata;
  metadata.insertMeta("shot", openvdb::StringMetadata("sq10"));
  metadata.insertMeta("scale", openvdb::FloatMetadata(2.5f));
  openvdb::io::File file(path);
  file.write(grids, metadata);
}

void make_points(const std::string& path, int count) {
  auto turned = openvdb::math::Transform::createLinearTransform(0.1);
  turned->postRotate(0.3, openvdb::math::Y_AXIS);
  turned->postScale({1, 1.5, 1});
  turned->postTranslate({0.21, -0.4, 3});
  auto all = scatter<pts::FixedPointCodec<false, pts::PositionRange>>("all", count, 1, turned);
  every_type(all->tree());
  all->insertMeta("author", openvdb::StringMetadata("a test"));
  auto plain = scatter<pts::NullCodec>("plain", count / 2, 2, openvdb::math::Transform::createLinearTransform(0.07));
  add<float, pts::NullCodec>(plain->tree(), "age", [](auto i) { return static_cast<float>(2 + hashed(i, 15)); });
  add<Vec3f, pts::NullCodec>(plain->tree(), "v", [](auto i) { return vector(i, 0); });
  write(path, {all, plain});
}

pts::PointDataGrid::Ptr drops(int count, std::uint64_t seed) {
  // Eight points per voxel where there are many.
  const double voxel = std::min(0.1, 3 / std::cbrt(count / 8.0));
  auto grid = scatter<pts::NullCodec>("points", count, seed, openvdb::math::Transform::createLinearTransform(voxel));
  add<Vec3f, pts::NullCodec>(grid->tree(), "v", [](auto i) { return vector(i, 0); });
  add<float, pts::NullCodec>(grid->tree(), "age", [](auto i) { return static_cast<float>(2 + hashed(i, 15)); });
  return grid;
}

template <class Grid, class F>
typename Grid::Ptr ball(const char* name, double size, F&& value) {
  auto grid = Grid::create();
  auto accessor = grid->getAccessor();
  for (int i = -12; i <= 12; ++i)
    for (int j = -12; j <= 12; ++j)
      for (int k = -12; k <= 12; ++k)
        if (i * i + j * j + k * k <= 144) accessor.setValue({i, j, k}, value(i, j, k));
  grid->setTransform(openvdb::math::Transform::createLinearTransform(size));
  grid->setName(name);
  return grid;
}

void make_volumes(const std::string& path) {
  auto density = ball<openvdb::FloatGrid>("density", 0.1,
                                          [](int i, int j, int k) { return 0.1f * static_cast<float>(i + 2 * j - k); });
  density->fill({{40, 0, 0}, {71, 31, 31}}, 0.75f);  // becomes tiles
  density->setGridClass(openvdb::GRID_FOG_VOLUME);
  density->insertMeta("author", openvdb::StringMetadata("a test"));
  auto vel = ball<openvdb::Vec3SGrid>("vel", 0.1, [](int i, int j, int k) {
    return Vec3f(static_cast<float>(i), static_cast<float>(j) * 0.5f, static_cast<float>(k));
  });
  vel->setSaveFloatAsHalf(true);
  auto count = ball<openvdb::Int32Grid>("count", 0.1, [](int i, int j, int) { return i * 3 + j; });
  auto big = ball<openvdb::Int64Grid>("big", 0.1, [](int i, int, int k) { return (std::int64_t{1} << 40) + i + k; });
  auto fine = ball<openvdb::DoubleGrid>("fine", 0.05, [](int i, int j, int k) { return 0.25 * i - 0.125 * j + k; });
  auto inside = ball<openvdb::BoolGrid>("inside", 0.1, [](int i, int, int) { return i > 0; });
  auto cells = ball<openvdb::Vec3IGrid>("cells", 0.1, [](int i, int j, int k) { return openvdb::Vec3i(i, j, k); });
  auto accurate =
      ball<openvdb::Vec3DGrid>("accurate", 0.1, [](int i, int j, int k) { return openvdb::Vec3d(i, j, k) / 3.0; });
  auto flat = ball<openvdb::FloatGrid>("flat", 0.1, [](int i, int j, int k) { return static_cast<float>(i * j + k); });
  auto stretched = openvdb::math::Transform::createLinearTransform(0.1);
  stretched->postScale({1, 0.25, 2});
  flat->setTransform(stretched);
  write(path, {density, vel, count, big, fine, inside, cells, accurate, flat});
}

json metadata_of(const openvdb::MetaMap& map) {
  json all = json::object();
  for (auto m = map.beginMeta(); m != map.endMeta(); ++m)
    if (m->first.rfind("file_", 0) != 0) all[m->first] = {m->second->typeName(), m->second->str()};
  return all;
}

std::string hex(const char* bytes, std::size_t count) {
  std::string text;
  char digits[3];
  for (std::size_t i = 0; i < count; ++i) {
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(bytes[i]));
    text += digits;
  }
  return text;
}

json point_of(const Tree::LeafNodeType& leaf, openvdb::Index i, const openvdb::Vec3d& world) {
  const auto& set = leaf.attributeSet();
  json point = {{"P", {world[0], world[1], world[2]}}};
  for (const auto& [name, position] : set.descriptor().map()) {
    const auto& array = *set.getConst(position);
    if (pts::isGroup(array)) continue;
    if (pts::isString(array)) {
      point[name] = pts::StringAttributeHandle(array, set.descriptor().getMetadata()).get(i);
      continue;
    }
    const std::size_t width = array.storageTypeSize() * array.stride();
    point[name == "P" ? "P stored" : name] =
        hex(array.constDataAsByteArray() + (array.isUniform() ? 0 : i * width), width);
  }
  std::string groups;
  for (const auto& [name, offset] : set.descriptor().groupMap())
    if (leaf.groupHandle(name).get(i)) groups += name + " ";
  point["groups"] = groups;
  return point;
}

json points_json(const pts::PointDataGrid& grid) {
  json all;
  std::map<std::int64_t, json> points;
  for (auto leaf = grid.tree().cbeginLeaf(); leaf; ++leaf) {
    const auto& set = leaf->attributeSet();
    if (all.empty())
      for (const auto& [name, position] : set.descriptor().map())
        if (!pts::isGroup(*set.getConst(position)))
          all["attributes"][name] = {set.getConst(position)->valueType(), set.getConst(position)->codecType()};
    const pts::AttributeHandle<std::int64_t> id(*set.getConst("id"));
    const pts::AttributeHandle<Vec3f> local(*set.getConst("P"));
    for (auto i = leaf->beginIndexAll(); i; ++i) {
      const auto world = grid.transform().indexToWorld(openvdb::Vec3d(local.get(*i)) + i.getCoord().asVec3d());
      if (!points.emplace(id.get(*i), point_of(*leaf, *i, world)).second) throw std::runtime_error("an id twice");
    }
  }
  all["points"] = json::array();
  for (auto& [id, point] : points) all["points"].push_back({id, std::move(point)});
  return all;
}

template <class... Grid>
json volume_json(const openvdb::GridBase& base) {
  json values = json::array();
  const auto dump = [&](const auto& grid) {
    auto dense = grid.deepCopy();
    dense->tree().voxelizeActiveTiles();
    for (auto value = dense->cbeginValueOn(); value; ++value) {
      std::ostringstream text;
      text.precision(17);
      text << value.getCoord() << " " << value.getValue();
      values.push_back(text.str());
    }
  };
  ((base.isType<Grid>() ? dump(static_cast<const Grid&>(base)) : void()), ...);
  return {{"values", values}};
}

int dump(const std::string& path) {
  openvdb::io::File file(path);
  file.open(false);
  json all = {{"metadata", metadata_of(*file.getMetadata())}, {"grids", json::array()}};
  const auto grids = file.getGrids();
  for (const auto& grid : *grids) {
    json one;
    if (const auto points = openvdb::gridPtrCast<pts::PointDataGrid>(grid))
      one = points_json(*points);
    else
      one = volume_json<openvdb::FloatGrid, openvdb::Vec3SGrid, openvdb::Int32Grid, openvdb::Int64Grid,
                        openvdb::DoubleGrid, openvdb::BoolGrid, openvdb::Vec3IGrid, openvdb::Vec3DGrid>(*grid);
    one["name"] = grid->getName(), one["type"] = grid->type(), one["metadata"] = metadata_of(*grid);
    std::ostringstream transform;
    transform << grid->transform().baseMap()->getAffineMap()->getMat4();
    one["transform"] = transform.str(), one["half"] = grid->saveFloatAsHalf();
    all["grids"].push_back(std::move(one));
  }
  std::cout << all.dump() << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  openvdb::initialize();
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 3 && words[0] == "points") return make_points(words[1], std::stoi(words[2])), 0;
    if (words.size() == 4 && words[0] == "drops")
      return write(words[1], {drops(std::stoi(words[2]), std::stoull(words[3]))}), 0;
    if (words.size() == 2 && words[0] == "volumes") return make_volumes(words[1]), 0;
    if (words.size() == 2 && words[0] == "mixed")
      return write(words[1],
                   {drops(300, 1), ball<openvdb::FloatGrid>("density", 0.1, [](int, int, int) { return 1.0f; })}),
             0;
    if (words.size() == 2 && words[0] == "dump") return dump(words[1]);
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << "\n";
    return 1;
  }
  std::cerr << "ax_files points|drops|volumes|dump FILE …\n";
  return 2;
}
