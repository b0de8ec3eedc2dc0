// `${name}` → exposed values.
#include <map>
#include <set>

#include "pipeline/schema/suggest.h"
#include "pipeline/setup/assemble.h"

namespace aegir {
namespace {

constexpr std::size_t deepest_value = 64;
constexpr std::size_t most_values = 100'000;
constexpr std::size_t most_characters = 16u << 20;

class Substitution {
 public:
  Substitution(Value& exposed, Reader& reader) : reader_(reader) {
    for (Value::Entry& entry : exposed.entries) {
      values_.emplace(entry.key, &entry);
      names_.push_back(entry.key);
    }
  }

  /// Fills in the exposed values themselves, in the order written.
  void resolve_all() {
    for (const std::string& name : names_) resolve(name, {}, false);
  }

  void fill(Value& value, std::size_t depth) {
    if (value.is_scalar()) fill_scalar(value, depth);
    for (Value& item : value.items) fill(item, depth + 1);
    for (Value::Entry& entry : value.entries) fill(entry.value, depth + 1);
  }

  void warn_of_unused() {
    for (const auto& [name, entry] : values_)
      if (!used_.contains(name) && entry->where.line > 0)
        reader_.warn(entry->where, fmt::format("'{}' is exposed, but nothing uses it", name));
  }

 private:
  /// The filled-in value of a name; null after reporting at the place of use.
  const Value* resolve(const std::string& name, const Location& use, bool is_use) {
    const auto found = values_.find(name);
    if (found == values_.end()) {
      reader_.error(use, fmt::format("'${{{}}}' is not exposed{}", name, suggestion(name, names_)));
      return nullptr;
    }
    if (is_use) used_.insert(name);
    if (failed_.contains(name)) return nullptr;
    if (done_.contains(name)) return &found->second->value;
    for (std::size_t i = 0; i < open_.size(); ++i)
      if (open_[i] == name) {
        std::vector<std::string> circle(open_.begin() + static_cast<std::ptrdiff_t>(i), open_.end());
        circle.push_back(name);
        reader_.error(use, fmt::format("exposed values refer to each other in a circle: {}", fmt::join(circle, " → ")));
        return nullptr;
      }
    if (open_.size() > deepest_value) {
      reader_.error(use, fmt::format("exposed values refer to each other more than {} levels deep", deepest_value));
      return nullptr;
    }
    open_.push_back(name);
    const std::size_t errors_before = reader_.error_count();
    fill(found->second->value, 1);
    open_.pop_back();
    if (reader_.error_count() != errors_before) {
      failed_.insert(name);
      return nullptr;
    }
    done_.insert(name);
    return &found->second->value;
  }

  void fill_scalar(Value& scalar, std::size_t depth) {
    const std::string text = scalar.text;
    std::size_t dollar = text.find("${");
    if (dollar == std::string::npos) return;
    std::string filled;
    std::size_t at = 0;
    for (; dollar != std::string::npos; dollar = text.find("${", at)) {
      const std::size_t end = text.find('}', dollar);
      const std::string name = text.substr(dollar + 2, end == std::string::npos ? end : end - dollar - 2);
      if (end == std::string::npos || !is_node_name(name)) {
        reader_.error(scalar.where, end == std::string::npos
                                        ? "a '${' is not closed with '}'"
                                        : fmt::format("'${{{}}}' is not the name of an exposed value", name));
        return;
      }
      const Value* value = resolve(name, scalar.where, true);
      if (!value) return;
      if (dollar == 0 && end + 1 == text.size()) return replace_whole(scalar, *value, depth);
      if (!value->is_scalar()) {
        reader_.error(scalar.where,
                      fmt::format("'${{{}}}' is {} and cannot stand inside a text", name, value->describe()));
        return;
      }
      filled.append(text, at, dollar - at).append(value->text);
      at = end + 1;
      if (!may_grow(scalar.where, 0, filled.size())) return;
    }
    scalar.text = filled.append(text, at);
    may_grow(scalar.where, 0, scalar.text.size());
  }

  void replace_whole(Value& scalar, const Value& value, std::size_t depth) {
    if (depth + value.depth() > deepest_value) {
      reader_.error(scalar.where,
                    fmt::format("with its exposed values this is nested more than {} levels deep", deepest_value));
      return;
    }
    if (!may_grow(scalar.where, value.count(), value.text.size())) return;
    Value copy = value;
    scalar = std::move(copy);
  }

  bool may_grow(const Location& where, std::size_t values, std::size_t characters) {
    count_ += values, characters_ += characters;
    if (count_ <= most_values && characters_ <= most_characters) return true;
    if (!full_) reader_.error(where, "exposed values make the setup too large");
    full_ = true;
    return false;
  }

  Reader& reader_;
  std::map<std::string, Value::Entry*> values_;
  std::vector<std::string> names_, open_;
  std::set<std::string> used_, done_, failed_;
  std::size_t count_ = 0, characters_ = 0;
  bool full_ = false;
};

}  // namespace

void fill_in_exposed(Assembly& all, Reader& reader) {
  Substitution substitution(all.exposed, reader);
  substitution.resolve_all();
  for (Value* part : {&all.timeline, &all.scene, &all.inputs, &all.nodes, &all.outputs}) substitution.fill(*part, 1);
  substitution.warn_of_unused();
}

}  // namespace aegir
