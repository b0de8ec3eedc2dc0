#include "io/vdb_edit.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include <openvdb/io/Archive.h>
#include <openvdb/io/File.h>
#include <openvdb/io/Stream.h>
#include <openvdb/openvdb.h>
#include <openvdb/points/PointDataGrid.h>

#include "base/assert.h"
#include "io/atomic_file.h"
#include "io/file_sink.h"
#include "io/vdb_archive.h"
#include "io/vdb_edit_parts.h"
#include "io/vdb_seal.h"

namespace aegir {

struct VdbEdit::Content {
  std::string path;
  openvdb::GridPtrVec grids, lent;
  openvdb::MetaMap metadata;
  std::vector<VdbGrid> descriptions;

  Status describe() {
    descriptions.clear();
    for (const openvdb::GridBase::Ptr& grid : grids) {
      VdbGrid d;
      d.name = grid->getName();
      if (const auto points = openvdb::gridPtrCast<openvdb::points::PointDataGrid>(grid)) {
        d.kind = VdbGrid::points;
        if (Status ok = describe_points(path, points.get(), d); !ok) return ok;
      } else if (Status ok = describe_volume(grid.get(), d); !ok) {
        return ok;
      }
      descriptions.push_back(std::move(d));
    }
    return {};
  }
};

namespace {

/// Writes a seekable archive to a stream of ours, so that failures of the disk are seen.
class EditedArchive : public openvdb::io::Archive {
 public:
  void write_to(std::ostream& out, const openvdb::GridCPtrVec& grids, const openvdb::MetaMap& metadata) const {
    Archive::write(out, grids, /*seekable=*/true, metadata);
  }
};

Result<openvdb::GridPtrVec> read_all(const std::string& path, openvdb::MetaMap& metadata) {
  std::ifstream in;
  if (Status ok = open_vdb(path, in); !ok) return ok.error();
  openvdb::io::Stream stream(in, /*delayLoad=*/false);
  metadata = *stream.getMetadata();
  const openvdb::GridPtrVecPtr grids = stream.getGrids();
  return grids ? *grids : openvdb::GridPtrVec();
}

}  // namespace

const VdbAttribute* VdbGrid::find(const std::string& attribute) const {
  for (const VdbAttribute& a : attributes)
    if (a.name == attribute) return &a;
  return nullptr;
}

VdbEdit::VdbEdit(std::unique_ptr<Content> content) : content_(std::move(content)) {}
VdbEdit::~VdbEdit() = default;
VdbEdit::VdbEdit(VdbEdit&&) noexcept = default;
VdbEdit& VdbEdit::operator=(VdbEdit&&) noexcept = default;

Result<VdbEdit> VdbEdit::open(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return system_error("cannot read", path, EISDIR);
  if (Status sound = check_seal(path); !sound) return sound.error();
  auto content = std::make_unique<Content>();
  content->path = path;
  const Status read = guard_vdb(path, "read", [&]() -> Status {
    Result<openvdb::GridPtrVec> grids = read_all(path, content->metadata);
    if (!grids) return grids.error();
    content->grids = std::move(*grids);
    return content->describe();
  });
  if (!read) return read.error();
  return VdbEdit(std::move(content));
}

const std::vector<VdbGrid>& VdbEdit::grids() const { return content_->descriptions; }

void* VdbEdit::lend(const std::vector<int>& grids) {
  content_->lent.clear();
  for (const int g : grids) content_->lent.push_back(content_->grids.at(static_cast<std::size_t>(g)));
  return &content_->lent;
}

Status VdbEdit::take_back() {
  auto& all = content_->grids;
  for (const openvdb::GridBase::Ptr& grid : content_->lent)
    if (std::find(all.begin(), all.end(), grid) == all.end()) all.push_back(grid);
  content_->lent.clear();
  return guard_vdb(content_->path, "change", [&] { return content_->describe(); });
}

Result<VdbEditReport> VdbEdit::edit_points(int grid, const std::vector<VdbColumn>& columns, const VdbKernel& kernel) {
  Result<VdbEditReport> report = simulation_error("nothing was done");
  const Status done = guard_vdb(content_->path, "change", [&]() -> Status {
    const openvdb::GridBase::Ptr& base = content_->grids.at(static_cast<std::size_t>(grid));
    const auto points = openvdb::gridPtrCast<openvdb::points::PointDataGrid>(base);
    AEGIR_ASSERT(points, "points are edited in a points grid");
    // Grids of a file may share a tree; others keep what they have.
    if (points->constTreePtr().use_count() > 2) points->setTree(points->constTree().copy());
    report = edit_point_grid(points.get(), columns, kernel);
    if (!report) return report.error();
    return content_->describe();
  });
  if (!done) return done.error();
  return report;
}

Result<VdbEditReport> VdbEdit::edit_voxels(const std::vector<VdbColumn>& columns, const VdbKernel& kernel) {
  Result<VdbEditReport> report = simulation_error("nothing was done");
  const Status done = guard_vdb(content_->path, "change", [&]() -> Status {
    report = edit_volume_grids(&content_->grids, columns, kernel);
    if (!report) return report.error();
    return content_->describe();
  });
  if (!done) return done.error();
  return report;
}

Status VdbEdit::save(const std::string& path, const std::string& note_name, const std::string& note) const {
  return write_atomically(path, [&](const std::string& temporary) {
    FileSink sink(temporary);
    const Status written = guard_vdb(path, "write", [&]() -> Status {
      std::ostream out(&sink);
      out.exceptions(std::ios::failbit | std::ios::badbit);
      openvdb::MetaMap metadata = content_->metadata;
      for (const std::string& name : {note_name, std::string(seal_key)})
        if (metadata[name]) metadata.removeMeta(name);
      if (!note_name.empty()) metadata.insertMeta(note_name, openvdb::StringMetadata(note));
      metadata.insertMeta(seal_key, openvdb::StringMetadata(empty_seal()));
      EditedArchive().write_to(out, openvdb::GridCPtrVec(content_->grids.begin(), content_->grids.end()), metadata);
      return {};
    });
    // The sink knows the reason; the stream only knows that something failed.
    if (Status finished = sink.finish(); !finished) return finished;
    if (!written) return written;
    return seal_vdb(temporary);
  });
}

std::string read_vdb_note(const std::string& path, const std::string& name) {
  std::string note;
  const Status read = guard_vdb(path, "read", [&]() -> Status {
    openvdb::io::File file(path);
    file.open(/*delayLoad=*/false);
    if (const auto metadata = file.getMetadata())
      if (const auto found = metadata->getMetadata<openvdb::StringMetadata>(name)) note = found->value();
    file.close();
    return {};
  });
  return read ? note : "";
}

}  // namespace aegir
