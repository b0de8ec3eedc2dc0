// Questions that only some other rank can answer: carried there, answered, and carried back.
//
//   std::vector<float> depths = ask_ranks<float>(comm, std::span<const Vec3d>(places), owners, [&](const auto& asked) {
//     return depths_of(asked);                       // what any rank, this one too, wants to know of this one
//   });
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "parallel/comm.h"

namespace aegir {

/// One answer per question. `owner[i]` is the rank that answers question i; a default answer where it is negative.
/// `answer` is called once on every rank with all that it is asked, its own questions first and then those of the
/// others in order of rank, and may be collective. Collective.
template <class Answer, class Question, class Function>
std::vector<Answer> ask_ranks(Comm& comm, std::span<const Question> questions, std::span<const int> owner,
                              Function&& answer) {
  static_assert(std::is_trivially_copyable_v<Question> && std::is_trivially_copyable_v<Answer>);
  const auto packed = [](const auto* first, std::size_t count) {
    Bytes bytes(count * sizeof(*first));
    if (count) std::memcpy(bytes.data(), first, bytes.size());
    return bytes;
  };
  std::vector<std::vector<Question>> asked(static_cast<std::size_t>(comm.size()));
  std::vector<std::vector<std::size_t>> whose(asked.size());
  for (std::size_t i = 0; i < questions.size(); ++i)
    if (owner[i] >= 0) {
      const auto to = static_cast<std::size_t>(owner[i]);
      asked[to].push_back(questions[i]), whose[to].push_back(i);
    }
  const auto rank = static_cast<std::size_t>(comm.rank());
  std::vector<Message> outgoing, received;
  for (std::size_t r = 0; r < asked.size(); ++r)
    if (r != rank && !asked[r].empty())
      outgoing.push_back({static_cast<int>(r), packed(asked[r].data(), asked[r].size())});
  if (comm.size() > 1) received = comm.exchange(std::move(outgoing));
  std::vector<Question> all = std::move(asked[rank]);
  const std::size_t own = all.size();
  for (const Message& m : received) {
    const std::size_t before = all.size();
    all.resize(before + m.bytes.size() / sizeof(Question));
    if (!m.bytes.empty()) std::memcpy(all.data() + before, m.bytes.data(), m.bytes.size());
  }
  const std::vector<Answer> here = answer(all);
  std::vector<Answer> found(questions.size(), Answer{});
  for (std::size_t n = 0; n < own; ++n) found[whose[rank][n]] = here[n];
  if (comm.size() == 1) return found;
  std::vector<Message> answers;
  std::size_t next = own;
  for (const Message& m : received) {
    const std::size_t count = m.bytes.size() / sizeof(Question);
    answers.push_back({m.rank, packed(here.data() + next, count)});
    next += count;
  }
  for (const Message& m : comm.exchange(std::move(answers))) {
    const auto& slots = whose[static_cast<std::size_t>(m.rank)];
    for (std::size_t n = 0; n < slots.size(); ++n)
      std::memcpy(&found[slots[n]], m.bytes.data() + n * sizeof(Answer), sizeof(Answer));
  }
  return found;
}

}  // namespace aegir
