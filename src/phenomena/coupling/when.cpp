#include "phenomena/coupling/when.h"

#include <algorithm>
#include <cctype>

#include "phenomena/common/snippet_run.h"
#include "pipeline/model/action.h"
#include "pipeline/schema/suggest.h"

namespace aegir {
namespace {

constexpr double earth = 9.81;

/// Evaluates `when` once in every substep.
class WhenOperator final : public Operator {
 public:
  WhenOperator(std::string behavior, Object& from, CompiledSnippet snippet, const WhenSettings& settings)
      : Operator(std::move(behavior)),
        from_(from),
        s_(settings),
        snippet_(this->behavior(), from, std::move(snippet), {.variables = {}, .vectors = {}, .seed = settings.seed}) {
    for (const expression::Attribute& a : snippet_.program().attributes())
      counts_neighbours_ |= !from.simulated() && a.name == particle::neighbours.name;
  }

  void plan(TaskList& tasks) override {
    std::vector<ChannelAccess> accesses = snippet_.accesses();
    if (counts_neighbours_) {
      accesses.push_back(reads(from_.path(), particle::position.name, bucket_size));
      accesses.push_back(writes(from_.path(), particle::neighbours.name));
    }
    const Stage stage = from_.simulated() ? Stage::audit : Stage::group_exit;
    std::vector<std::string> after = turns_before(tasks, stage, accesses);
    tasks.add({.name = "decide who leaves " + from_.path(),
               .stage = stage,
               .behavior = behavior(),
               .accesses = std::move(accesses),
               .after = std::move(after),
               .acting = {},
               .run = [this](StepContext& c) { return decide(c); }});
  }

 private:
  /// Nobody leaves in the first substep: grids and derived channels are not made before.
  Status decide(StepContext& c) {
    if (c.first_frame) return {};
    if (counts_neighbours_) derive_neighbours(c.exec, *from_.particles());
    const double g = s_.liquid ? length(s_.liquid->uniform_acceleration(c)) : 0.0;
    return snippet_.over_particles(
        c, {{"density", s_.liquid ? s_.liquid->settings().density : s_.density}, {"g", g > 0 ? g : earth}});
  }

  Object& from_;
  WhenSettings s_;
  SnippetRun snippet_;
  bool counts_neighbours_ = false;  // which a cached run does not do by itself
};

/// What the language allows and `when` does not.
Status check(const expression::Program& program, const Snippet& snippet, const Object& from, const std::string& channel,
             const expression::CompileOptions& options) {
  std::vector<std::string> known;
  for (const expression::Named& n : options.channels) known.push_back(n.name);
  if (dynamic_cast<const DerivedSource*>(&from))
    for (const DerivedInfo& d : derived_channels()) known.push_back(d.name);
  for (const expression::Attribute& a : program.attributes()) {
    if (a.name == channel) continue;
    const Location where = snippet.of_word("@" + a.name);
    if (a.written) return usage_error(where, "'when' only looks: '@{}' cannot be written here", a.name);
    if (!a.created) continue;
    if (!from.simulated())
      return usage_error(where, "'when' knows P, v, pscale, age, id and neighbours of the cached run '{}', not '{}'",
                         from.path(), a.name);
    // One that an expression makes may come later in the setup; its type says that it is meant.
    const bool bare =
        find_ax_word(snippet.text(), "@" + a.name) != std::string::npos &&
        !std::isalnum(static_cast<unsigned char>(snippet.text()[find_ax_word(snippet.text(), "@" + a.name) - 1]));
    if (bare)
      return usage_error(where,
                         "'{}' has no attribute '{}'{}; one that an expression makes is written with its type: "
                         "f@{}",
                         from.path(), a.name, suggestion(a.name, known), a.name);
  }
  if (program.uses().neighbours)
    return usage_error(
        snippet.of_word(find_ax_word(snippet.text(), "neighbourcount") != std::string::npos ? "neighbourcount"
                                                                                            : "neighbouraverage"),
        "neighbours cannot be searched here; @neighbours of a liquid counts them, or let an expression "
        "at 'after_solve' keep them in an attribute");
  return {};
}

}  // namespace

std::string when_channel(const ParticleSystem& particles, const std::string& behavior) {
  std::string name = "when_" + behavior;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  std::string unused = name;
  for (int n = 2; particles.has(unused); ++n) unused = fmt::format("{}_{}", name, n);
  return unused;
}

Status add_when(Builder& build, Object& from, const std::string& channel, const WhenSettings& settings) {
  const auto snippet = Snippet::expression(settings.text, channel);
  if (!snippet) return snippet.error();
  ParticleSystem& particles = *from.particles();
  particles.declare(ParticleChannel<float>{channel.c_str()});
  const Stage stage = from.simulated() ? Stage::audit : Stage::group_exit;
  derive_named(from, *snippet, stage);
  if (!from.simulated() && find_ax_word(snippet->text(), "@neighbours") != std::string::npos)
    particles.declare(particle::neighbours);
  expression::CompileOptions options = snippet_options({}, {"density", "g"});
  options.channels = expression::channels_of(particles);
  auto compiled = compile_snippet(build, *snippet, options, sample_offers(build.all_objects()), stage);
  if (!compiled) return compiled.error();
  if (Status ok = check(*compiled->program, *snippet, from, channel, options); !ok) return ok;
  if (Status ok = expression::declare_created(*compiled->program, particles); !ok)
    return Error{Failure::usage, ok.error().message, snippet->at(0, 0)};
  build.add(std::make_unique<WhenOperator>(build.path(), from, std::move(*compiled), settings));
  return {};
}

}  // namespace aegir
