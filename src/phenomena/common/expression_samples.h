// sample() of expressions over ranks: what a rank cannot answer itself is found out in rehearsals.
//
//   ExpressionSamples samples(exec, channels, bucket_count);             // collective
//   samples.offer(services);
//   if (samples.needs_rehearsal())
//     do expression::rehearse(program, particles, how);                  // records what is asked of other ranks
//     while (samples.ask(exec));                                         // … and asks them
//   expression::apply(…);                                                // every question has its answer
//
// Where a question follows from an earlier answer, as in a march along a field, each turn takes a rehearsal of the
// elements that it concerns. Values are functions of the place alone, so that bits do not depend on ranks.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "expressions/program.h"
#include "phenomena/common/sampled_channel.h"

namespace aegir {

/// Answers any number of threads that are at work in different buckets.
class ExpressionSamples {
 public:
  /// `channels` are those of Program::samples(), in order; `buckets` those that the snippet runs over. Collective.
  ExpressionSamples(Exec& exec, std::vector<std::shared_ptr<SampledChannel>> channels, int buckets);
  ExpressionSamples(const ExpressionSamples&) = delete;
  ExpressionSamples& operator=(const ExpressionSamples&) = delete;

  /// Fills in what concerns samples.
  void offer(expression::Services& services);
  bool needs_rehearsal() const { return ranks_ > 1; }
  /// Asks other ranks what the last rehearsal has recorded; false when no rank had anything to ask. Collective.
  bool ask(Exec& exec);

 private:
  struct Question {
    Vec3d position;
    std::int64_t source = 0;
    bool operator==(const Question&) const = default;
  };
  using Answer = std::array<float, 3>;
  struct Known {
    Question question;
    Answer answer{};
    bool answered = false;
  };
  /// What one element asks of other ranks, in order.
  struct Element {
    std::vector<Known> known;
    bool open = true;  // something is not answered yet
  };
  struct Cursor;

  bool begin(std::int64_t bucket, std::int64_t element);
  void sample(int source, const double position[3], float value[3]);
  static Cursor& cursor();

  std::vector<std::shared_ptr<SampledChannel>> channels_;
  int rank_ = 0, ranks_ = 1;
  bool first_round_ = true, complete_ = false;
  std::vector<std::map<std::int64_t, Element>> elements_;  // by bucket
};

}  // namespace aegir
