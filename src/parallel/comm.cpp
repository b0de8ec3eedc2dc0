#include "parallel/comm.h"

#include <cstdlib>
#include <cstring>

#include "base/assert.h"

namespace aegir {

double Comm::sum(const ExactSum& partial) {
  auto data = partial.packed();
  sum(std::span<std::int64_t>(data));
  return ExactSum::unpacked(data).value();
}

std::int64_t Comm::sum(std::int64_t value) { return sum(std::span<std::int64_t>(&value, 1)), value; }
double Comm::max(double value) { return max(std::span<double>(&value, 1)), value; }
std::int64_t Comm::max(std::int64_t value) { return max(std::span<std::int64_t>(&value, 1)), value; }

Status Comm::agree(const Status& mine) {
  if (!any(!mine)) return {};
  Bytes packed;
  if (!mine) {
    const Error& error = mine.error();
    packed.resize(1 + error.message.size());
    packed[0] = static_cast<std::byte>(error.kind);
    std::memcpy(packed.data() + 1, error.message.data(), error.message.size());
  }
  for (const Bytes& bytes : all_gather(packed))
    if (!bytes.empty())
      return Error{static_cast<Failure>(bytes[0]),
                   std::string(reinterpret_cast<const char*>(bytes.data()) + 1, bytes.size() - 1),
                   {}};
  return {};
}

namespace {

class NothingPending final : public PendingExchange {
 public:
  void poke() override {}
  void end() override {}
};

class SingleComm final : public Comm {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void barrier() override {}
  void sum(std::span<std::int64_t>) override {}
  void max(std::span<double>) override {}
  void max(std::span<std::int64_t>) override {}
  std::vector<Message> exchange(std::vector<Message> outgoing) override { return outgoing; }
  std::unique_ptr<PendingExchange> begin_exchange(std::span<const Transfer> sends, std::span<const Transfer>) override {
    AEGIR_ASSERT(sends.empty(), "a single process has no halo");
    return std::make_unique<NothingPending>();
  }
  std::vector<Bytes> all_gather(const Bytes& mine) override { return {mine}; }
  std::vector<Bytes> gather(Bytes mine) override {
    std::vector<Bytes> all;
    all.push_back(std::move(mine));
    return all;
  }
  void broadcast(Bytes&) override {}
  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }
};

}  // namespace

std::unique_ptr<Comm> make_single_comm() { return std::make_unique<SingleComm>(); }

}  // namespace aegir
