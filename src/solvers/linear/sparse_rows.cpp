#include "solvers/linear/sparse_rows.h"

#include <cstring>

#include "base/assert.h"

namespace aegir {
namespace {

constexpr std::int64_t rows_per_chunk = 8192;

template <class T>
void append(Bytes& bytes, const T* data, std::size_t count) {
  const std::size_t at = bytes.size();
  bytes.resize(at + count * sizeof(T));
  if (count) std::memcpy(bytes.data() + at, data, count * sizeof(T));
}

template <class T>
const std::byte* take(const std::byte* from, std::vector<T>& to, std::size_t count) {
  const std::size_t at = to.size();
  to.resize(at + count);
  if (count) std::memcpy(to.data() + at, from, count * sizeof(T));
  return from + count * sizeof(T);
}

}  // namespace

RowShare share_rows(Comm& comm, std::int64_t mine) {
  RowShare share;
  share.rank = comm.rank();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(comm.size()), 0);
  counts[static_cast<std::size_t>(comm.rank())] = mine;
  comm.sum(std::span<std::int64_t>(counts));
  share.start.assign(1, 0);
  for (const std::int64_t c : counts) share.start.push_back(share.start.back() + c);
  return share;
}

void sort_unique_rows(std::vector<std::int64_t>& rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
}

void cut_chunks(SparseStructure& s) {
  s.chunk.assign(1, 0);
  const std::size_t blocks = s.block.size() - 1;
  for (std::size_t b = 0; b < blocks; ++b)
    if (s.block[b + 1] - s.block[s.chunk.back()] >= rows_per_chunk || b + 1 == blocks) s.chunk.push_back(b + 1);
}

GhostPlan::GhostPlan(Comm& comm, const RowShare& share, std::vector<std::int64_t> ghosts)
    : first_(share.first()), owned_(share.count()), ghosts_(std::move(ghosts)) {
  AEGIR_ASSERT(size() < (std::size_t{1} << 31), "a rank's rows and ghosts are counted in 31 bits");
  if (comm.size() == 1) return;
  std::vector<Message> requests;
  for (std::size_t g = 0; g < ghosts_.size();) {
    const int owner = share.owner(ghosts_[g]);
    AEGIR_ASSERT(owner >= 0 && owner < comm.size() && owner != share.rank, "a ghost belongs to another rank");
    std::size_t end = g;
    while (end < ghosts_.size() && ghosts_[end] < share.start[static_cast<std::size_t>(owner) + 1]) ++end;
    incoming_.push_back({owner, g, end - g});
    Message request{owner, {}};
    append(request.bytes, ghosts_.data() + g, end - g);
    requests.push_back(std::move(request));
    g = end;
  }
  for (const Message& m : comm.exchange(std::move(requests))) {
    std::vector<std::int64_t> asked;
    take(m.bytes.data(), asked, m.bytes.size() / sizeof(std::int64_t));
    Outgoing out{m.rank, {}};
    for (const std::int64_t row : asked) out.rows.push_back(static_cast<std::int32_t>(row - first_));
    outgoing_.push_back(std::move(out));
  }
}

void GhostPlan::fill(Comm& comm, std::byte* values, std::size_t size) const {
  std::vector<Bytes> packed;
  std::vector<Transfer> sends, receives;
  for (const Outgoing& out : outgoing_) {
    Bytes& bytes = packed.emplace_back(out.rows.size() * size);
    for (std::size_t k = 0; k < out.rows.size(); ++k)
      std::memcpy(bytes.data() + k * size, values + static_cast<std::size_t>(out.rows[k]) * size, size);
  }
  for (std::size_t k = 0; k < packed.size(); ++k)
    sends.push_back({outgoing_[k].rank, packed[k].data(), packed[k].size()});
  for (const Incoming& in : incoming_)
    receives.push_back({in.rank, values + (owned_ + in.begin) * size, in.count * size});
  comm.exchange(std::span<const Transfer>(sends), std::span<const Transfer>(receives));
}

GhostRows GhostPlan::fetch(Comm& comm, const FloatRows& matrix, const GhostPlan& columns) const {
  GhostRows rows;
  if (comm.size() == 1) return rows;
  std::vector<Message> messages;
  for (const Outgoing& out : outgoing_) {
    std::vector<std::int64_t> counts, column;
    std::vector<float> value;
    for (const std::int32_t row : out.rows) {
      const std::int64_t begin = matrix.first[static_cast<std::size_t>(row)],
                         end = matrix.first[static_cast<std::size_t>(row) + 1];
      counts.push_back(end - begin);
      for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k)
        column.push_back(columns.global(matrix.column[k])), value.push_back(matrix.value[k]);
    }
    Message& message = messages.emplace_back(Message{out.rank, {}});
    append(message.bytes, counts.data(), counts.size());
    append(message.bytes, column.data(), column.size());
    append(message.bytes, value.data(), value.size());
  }
  const std::vector<Message> arrived = comm.exchange(std::move(messages));
  AEGIR_ASSERT(arrived.size() == incoming_.size(), "every owner answers");
  for (std::size_t k = 0; k < arrived.size(); ++k) {  // ranks ascend, and so do the ghosts
    AEGIR_ASSERT(arrived[k].rank == incoming_[k].rank, "the answers come in order of rank");
    std::vector<std::int64_t> counts;
    const std::byte* at = take(arrived[k].bytes.data(), counts, incoming_[k].count);
    std::int64_t entries = 0;
    for (const std::int64_t c : counts) entries += c, rows.first.push_back(rows.first.back() + c);
    at = take(at, rows.column, static_cast<std::size_t>(entries));
    take(at, rows.value, static_cast<std::size_t>(entries));
  }
  return rows;
}

}  // namespace aegir
