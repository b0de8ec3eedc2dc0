#include "phenomena/common/expression_samples.h"

#include <algorithm>

#include "parallel/ask_ranks.h"
#include "parallel/threads.h"

namespace aegir {

/// The element that a thread is at work on.
struct ExpressionSamples::Cursor {
  std::int64_t bucket = 0, element = 0;
  std::size_t next = 0;  // question to another rank
};

ExpressionSamples::Cursor& ExpressionSamples::cursor() {
  thread_local Cursor mine;
  return mine;
}

ExpressionSamples::ExpressionSamples(Exec& exec, std::vector<std::shared_ptr<SampledChannel>> channels, int buckets)
    : channels_(std::move(channels)),
      rank_(exec.comm.rank()),
      ranks_(exec.comm.size()),
      elements_(static_cast<std::size_t>(buckets)) {
  for (const auto& channel : channels_) channel->prepare(exec);
}

void ExpressionSamples::offer(expression::Services& services) {
  services.sample_context = this;
  services.sample = [](void* me, int source, const double position[3], float value[3]) {
    static_cast<ExpressionSamples*>(me)->sample(source, position, value);
  };
  if (ranks_ > 1)
    services.begin = [](void* me, std::int64_t bucket, std::int64_t element) {
      return static_cast<ExpressionSamples*>(me)->begin(bucket, element);
    };
}

bool ExpressionSamples::begin(std::int64_t bucket, std::int64_t element) {
  cursor() = {bucket, element, 0};
  if (first_round_ || complete_) return true;
  auto& here = elements_[static_cast<std::size_t>(bucket)];
  const auto found = here.find(element);
  if (found == here.end() || !found->second.open) return false;
  found->second.open = false;
  return true;
}

void ExpressionSamples::sample(int source, const double position[3], float value[3]) {
  const Vec3d x{position[0], position[1], position[2]};
  const SampledChannel& channel = *channels_[static_cast<std::size_t>(source)];
  if (ranks_ == 1) return channel.value(x, value);
  if (const int owner = channel.owner(x); owner < 0 || owner == rank_) return channel.value(x, value);
  Cursor& at = cursor();
  Element& element = elements_[static_cast<std::size_t>(at.bucket)][at.element];
  const Question question{x, source};
  const std::size_t n = at.next++;
  // What followed from a wrong answer is forgotten.
  if (n < element.known.size() && !(element.known[n].question == question)) element.known.resize(n);
  if (n >= element.known.size()) element.known.push_back({question, {}, false});
  const Known& known = element.known[n];
  AEGIR_ASSERT(known.answered || !complete_, "a rehearsal has asked all that a run asks");
  if (!known.answered) element.open = true;
  std::copy(known.answer.begin(), known.answer.end(), value);
}

bool ExpressionSamples::ask(Exec& exec) {
  first_round_ = false;
  std::vector<Known*> open;
  std::vector<Question> questions;
  std::vector<int> owners;
  for (auto& bucket : elements_)
    for (auto& [number, element] : bucket)
      for (Known& k : element.known)
        if (!k.answered) {
          open.push_back(&k), questions.push_back(k.question);
          owners.push_back(channels_[static_cast<std::size_t>(k.question.source)]->owner(k.question.position));
        }
  if (!exec.comm.any(!open.empty())) {
    complete_ = true;
    return false;
  }
  const std::vector<Answer> answers = ask_ranks<Answer>(
      exec.comm, std::span<const Question>(questions), owners, [&](const std::vector<Question>& asked) {
        std::vector<Answer> found(asked.size(), Answer{});
        parallel_for(0, asked.size(), 256, [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i)
            channels_[static_cast<std::size_t>(asked[i].source)]->value(asked[i].position, found[i].data());
        });
        return found;
      });
  for (std::size_t i = 0; i < open.size(); ++i) open[i]->answer = answers[i], open[i]->answered = true;
  return true;
}

}  // namespace aegir
