#include <algorithm>

#include <nlohmann/json.hpp>

#include "io/checkpoint/checkpoint.h"
#include "io/checkpoint/names.h"

namespace aegir {
namespace {

using nlohmann::json;

/// Stops reading at the first thing that is wrong with a checkpoint; caught by read_checkpoint.
struct Damaged {
  Error error;
};
void need(const Status& s) {
  if (!s) throw Damaged{s.error()};
}
template <class T>
T need(Result<T> r) {
  if (!r) throw Damaged{r.error()};
  return std::move(*r);
}

/// The buckets of one particle system or volume over all pieces, in curve order, and which of them are ours.
struct Layout {
  std::vector<BucketKey> keys;
  std::vector<std::uint64_t> counts;     // particles per bucket; 1 for volumes
  std::vector<std::size_t> piece_first;  // first bucket of each piece, and the end
  std::size_t begin = 0, end = 0;        // our buckets
  std::shared_ptr<const Topology> topology;
};

class Loader {
 public:
  Loader(const std::string& directory, int ranks, Comm& comm) : comm_(comm) {
    together([&] {
      for (int r = 0; r < ranks; ++r) pieces_.push_back(need(PieceReader::open(piece_path(directory, r))));
    });
  }

  void load(const std::string& path, const StateTree& node) {
    const std::string at = state_name(path);
    for (const auto& p : node.particles())
      if (const std::string name = at + "/particles/" + p.name; pieces_[0].has(name)) load_particles(name, *p.value);
    for (const auto& v : node.volumes())
      if (const std::string name = at + "/volumes/" + v.name; pieces_[0].has(name)) load_volume(name, *v.value);
    together([&] {
      for (const auto& r : node.records())
        if (const std::string name = at + "/records/" + r.name; pieces_[0].has(name)) load_record(name, r.value);
    });
  }

 private:
  /// Runs what may fail on one rank alone; then all fail, so that nobody waits in the next collective call.
  template <class Body>
  void together(Body&& body) {
    Status mine;
    try {
      body();
    } catch (const Damaged& d) {
      mine = d.error;
    } catch (const json::exception& e) {
      mine = io_error("checkpoint is damaged: {}", e.what());
    }
    need(comm_.agree(mine));
  }

  Layout layout(const std::string& at, const std::string& owner, double spacing, bool counted) {
    Layout l;
    together([&] { read_layout(at, owner, spacing, counted, l); });
    // An Object's particles and volume share their topology where they share their buckets.
    for (const auto& [keys, topology] : known_)
      if (keys == l.keys && topology->spacing() == spacing) l.topology = topology;
    if (!l.topology) {
      std::vector<std::uint64_t> positions;
      std::vector<std::int64_t> weights;
      if (comm_.root())
        for (std::size_t b = 0; b < l.keys.size(); ++b)
          positions.push_back(curve_position(l.keys[b])), weights.push_back(static_cast<std::int64_t>(l.counts[b]) + 1);
      const Partition partition = comm_.size() == 1 ? Partition() : Partition::by_weight(comm_, positions, weights);
      l.topology = Topology::build(
          spacing, comm_.root() ? std::span<const BucketKey>(l.keys) : std::span<const BucketKey>(), partition, comm_);
      known_.emplace_back(l.keys, l.topology);
    }
    const auto local = l.topology->local_keys();
    if (!local.empty())
      l.begin = static_cast<std::size_t>(std::find(l.keys.begin(), l.keys.end(), local.front()) - l.keys.begin());
    l.end = l.begin + local.size();
    together([&] {
      if (l.end > l.keys.size() ||
          !std::equal(local.begin(), local.end(), l.keys.begin() + static_cast<std::ptrdiff_t>(l.begin)))
        throw Damaged{io_error("checkpoint is damaged: the buckets of {} are not in order", at)};
    });
    return l;
  }

  void read_layout(const std::string& at, const std::string& owner, double spacing, bool counted, Layout& l) {
    double stored = 0;
    need(pieces_[0].read(at + "/spacing", 0, 1, &stored));
    if (stored != spacing)
      throw Damaged{{Failure::usage,
                     fmt::format("the checkpoint of '{}' has cells of {} m, the setup now says {} m; resume with the "
                                 "old size or start a new run",
                                 owner, stored, spacing),
                     {}}};
    for (const PieceReader& piece : pieces_) {
      l.piece_first.push_back(l.keys.size());
      const std::size_t buckets = need(piece.info(at + "/keys")).rows;
      std::vector<std::int32_t> packed(buckets * 4);
      need(piece.read(at + "/keys", 0, buckets, packed.data()));
      for (std::size_t b = 0; b < buckets; ++b)
        l.keys.push_back({{packed[4 * b], packed[4 * b + 1], packed[4 * b + 2]}, packed[4 * b + 3]});
      l.counts.resize(l.keys.size(), 1);
      if (counted) need(piece.read(at + "/counts", 0, buckets, l.counts.data() + l.piece_first.back()));
    }
    l.piece_first.push_back(l.keys.size());
  }

  /// Reads rows [begin, end) of an array that continues from piece to piece; `first[i]` is where piece i starts.
  void read_rows(const std::string& name, const std::vector<std::uint64_t>& first, std::uint64_t begin,
                 std::uint64_t end, std::byte* to, std::size_t row_bytes) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const std::uint64_t from = std::max(begin, first[i]), until = std::min(end, first[i + 1]);
      if (from >= until) continue;
      need(pieces_[i].read(name, from - first[i], until - from, to + (from - begin) * row_bytes));
    }
  }

  ChannelInfo channel(const std::string& at, Site site) {
    const json j = json::parse(need(pieces_[0].text(at + "/info")), nullptr, false);
    if (j.is_discarded()) throw Damaged{io_error("checkpoint is damaged: {}", at)};
    ChannelInfo c;
    c.name = j.at("name"), c.scalar = static_cast<Scalar>(j.at("scalar").get<int>()), c.components = j.at("components"),
    c.site = site;
    c.unit.power = j.at("unit").get<decltype(c.unit.power)>();
    for (std::size_t i = 0; i < 3; ++i) c.background[i] = j.at("background").at(i);
    return c;
  }

  std::vector<std::string> channels(const std::string& at) {
    std::vector<std::string> names = need(pieces_[0].list(at + "/channels"));
    for (std::string& n : names)
      if (n.ends_with('/')) n.pop_back();
    return names;
  }

  /// Whether the array in the file is what the channel's memory expects.
  void need_type(const std::string& name, const ChannelInfo& info, std::size_t columns, const std::string& owner) {
    for (const PieceReader& piece : pieces_) {
      const ArrayInfo array = need(piece.info(name));
      if (array.type != piece_type(info.scalar) || array.columns != columns)
        throw Damaged{
            {Failure::usage,
             fmt::format(
                 "the checkpoint holds channel '{}' of '{}' with another type than the setup needs; start a new run",
                 info.name, owner),
             {}}};
    }
  }

  void load_particles(const std::string& at, ParticleSystem& system) {
    const Layout l = layout(at, system.owner(), system.spacing(), true);
    system.restore(l.topology, std::span(l.counts).subspan(l.begin, l.end - l.begin));
    std::vector<std::uint64_t> first(l.counts.size() + 1, 0), pieces;
    for (std::size_t b = 0; b < l.counts.size(); ++b) first[b + 1] = first[b] + l.counts[b];
    for (std::size_t p : l.piece_first) pieces.push_back(first[p]);
    together([&] {
      for (const std::string& name : channels(at)) {
        const std::string channel_at = at + "/channels/" + name;
        if (!system.has(name)) system.declare(channel(channel_at, Site::particle));
        ParticleStore& store = system.store(name);
        for (int p = 0; p < store.info.components; ++p) {
          const std::string plane = fmt::format("{}/{}", channel_at, p);
          need_type(plane, store.info, 1, system.owner());
          read_rows(plane, pieces, first[l.begin], first[l.end], store.planes[static_cast<std::size_t>(p)].data(),
                    scalar_size(store.info.scalar));
        }
      }
    });
  }

  /// Channels that the volume no longer has are left out.
  void load_volume(const std::string& at, DiscreteVolume& volume) {
    const Layout l = layout(at, volume.owner(), volume.topology().spacing(), false);
    volume.adopt(l.topology);
    const std::vector<std::uint64_t> pieces(l.piece_first.begin(), l.piece_first.end());
    together([&] {
      const std::vector<std::string> stored = channels(at);
      for (GridStore& store : volume.channels()) {
        if (std::find(stored.begin(), stored.end(), store.info.name) == stored.end()) continue;
        for (int p = 0; p < store.info.components; ++p) {
          const std::string plane = fmt::format("{}/channels/{}/{}", at, store.info.name, p);
          need_type(plane, store.info, bucket_cells, volume.owner());
          read_rows(plane, pieces, l.begin, l.end, store.planes[static_cast<std::size_t>(p)].data(),
                    store.bucket_bytes());
        }
      }
    });
  }

  void load_record(const std::string& at, const Record& record) {
    std::visit(
        [&](auto* value) {
          using T = std::remove_cvref_t<decltype(*value)>;
          if constexpr (std::is_same_v<T, std::string>)
            *value = need(pieces_[0].text(at));
          else if constexpr (std::is_arithmetic_v<T>)
            need(pieces_[0].read(at, 0, 1, value));
          else
            value->resize(need(pieces_[0].info(at)).rows), need(pieces_[0].read(at, 0, value->size(), value->data()));
        },
        record);
  }

  Comm& comm_;
  std::vector<PieceReader> pieces_;
  std::vector<std::pair<std::vector<BucketKey>, std::shared_ptr<const Topology>>> known_;
};

}  // namespace

Status read_checkpoint(const std::string& directory, const std::vector<StateTree*>& state, Comm& comm) {
  const Result<CheckpointInfo> info = read_checkpoint_info(directory);
  if (Status ok = comm.agree(info ? Status() : Status(info.error())); !ok) return ok;
  try {
    Loader loader(directory, info->ranks, comm);
    for (const StateTree* tree : state)
      tree->walk([&](const std::string& path, const StateTree& node) { loader.load(path, node); });
  } catch (const Damaged& d) {  // thrown by all ranks alike
    return d.error;
  }
  return {};
}

}  // namespace aegir
