#include "solvers/linear/parent_plan.h"

#include <bit>
#include <cstring>
#include <map>

namespace aegir {
namespace {

/// What goes to one other rank and comes from it.
struct Parcel {
  int rank;
  std::vector<float> sent, received;
};

void exchange(Exec& exec, std::vector<Parcel>& parcels) {
  std::vector<Transfer> sends, receives;
  const auto add = [](std::vector<Transfer>& to, int rank, std::vector<float>& values) {
    if (!values.empty())
      to.push_back({rank, reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(float)});
  };
  for (Parcel& p : parcels) add(sends, p.rank, p.sent), add(receives, p.rank, p.received);
  exec.comm.exchange(sends, receives);
}

}  // namespace

void ChangeBox::add(int i, int j, int k) {
  const int at[3] = {i, j, k};
  for (int a = 0; a < 3; ++a) {
    low[a] = static_cast<std::int8_t>(std::min<int>(low[a], at[a]));
    high[a] = static_cast<std::int8_t>(std::max<int>(high[a], at[a]));
  }
}

ChangeBox BoxOfCells::box() const {
  ChangeBox result;
  if (!x_) return result;
  result.add(std::countr_zero(x_), std::countr_zero(y_), std::countr_zero(z_));
  result.add(std::bit_width(x_) - 1, std::bit_width(y_) - 1, std::bit_width(z_) - 1);
  return result;
}

ParentPlan::ParentPlan(Exec& exec, const Topology& fine, const Topology& coarse, std::span<const BucketShape> shapes)
    : parent_(static_cast<std::size_t>(fine.local_count()), -1) {
  std::map<int, std::vector<std::int32_t>> away;
  for (int b = 0; b < fine.local_count(); ++b) {
    if (shapes[static_cast<std::size_t>(b)].kind == BucketKind::empty) continue;
    const BucketKey& k = fine.key(b);
    const BucketKey up{{k.coord.x >> 1, k.coord.y >> 1, k.coord.z >> 1}, k.level + 1};
    const int owner = fine.partition().owner(curve_position(up));
    if (owner == exec.comm.rank())
      parent_[static_cast<std::size_t>(b)] = coarse.find(up);
    else
      away[owner].push_back(b);
  }
  if (exec.comm.size() == 1) return;
  std::vector<Message> messages;
  for (const auto& [rank, buckets] : away) {
    Message m{rank, Bytes(buckets.size() * sizeof(BucketKey))};
    for (std::size_t i = 0; i < buckets.size(); ++i)
      std::memcpy(m.bytes.data() + i * sizeof(BucketKey), &fine.key(buckets[i]), sizeof(BucketKey));
    messages.push_back(std::move(m));
  }
  std::map<int, Peer> peers;
  for (auto& [rank, buckets] : away) peers[rank] = {rank, std::move(buckets), {}};
  for (const Message& m : exec.comm.exchange(std::move(messages))) {
    Peer& peer = peers[m.rank];
    peer.rank = m.rank;
    for (std::size_t at = 0; at < m.bytes.size(); at += sizeof(BucketKey)) {
      BucketKey k;
      std::memcpy(&k, m.bytes.data() + at, sizeof k);
      const int up = coarse.find({{k.coord.x >> 1, k.coord.y >> 1, k.coord.z >> 1}, k.level + 1});
      peer.coarse.emplace_back(up, octant_of(k));
    }
  }
  for (auto& [rank, peer] : peers) peers_.push_back(std::move(peer));
}

void ParentPlan::send_up(Exec& exec, int count, FunctionRef<void(int, float*)> out,
                         FunctionRef<void(int, int, const float*)> in) const {
  if (exec.comm.size() == 1) return;
  const auto n = static_cast<std::size_t>(count);
  std::vector<Parcel> parcels;
  for (const Peer& peer : peers_) {
    Parcel& p = parcels.emplace_back(peer.rank, std::vector<float>(peer.fine.size() * n),
                                     std::vector<float>(peer.coarse.size() * n));
    for (std::size_t i = 0; i < peer.fine.size(); ++i) out(peer.fine[i], p.sent.data() + i * n);
  }
  exchange(exec, parcels);
  for (std::size_t k = 0; k < peers_.size(); ++k)
    for (std::size_t i = 0; i < peers_[k].coarse.size(); ++i)
      in(peers_[k].coarse[i].first, peers_[k].coarse[i].second, parcels[k].received.data() + i * n);
}

void ParentPlan::send_down(Exec& exec, int count, FunctionRef<void(int, int, float*)> out,
                           FunctionRef<void(int, const float*)> in) const {
  if (exec.comm.size() == 1) return;
  const auto n = static_cast<std::size_t>(count);
  std::vector<Parcel> parcels;
  for (const Peer& peer : peers_) {
    Parcel& p = parcels.emplace_back(peer.rank, std::vector<float>(peer.coarse.size() * n),
                                     std::vector<float>(peer.fine.size() * n));
    for (std::size_t i = 0; i < peer.coarse.size(); ++i)
      out(peer.coarse[i].first, peer.coarse[i].second, p.sent.data() + i * n);
  }
  exchange(exec, parcels);
  for (std::size_t k = 0; k < peers_.size(); ++k)
    for (std::size_t i = 0; i < peers_[k].fine.size(); ++i) in(peers_[k].fine[i], parcels[k].received.data() + i * n);
}

}  // namespace aegir
