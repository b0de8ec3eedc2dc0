#include "expressions/syntax.h"

#include <openvdb_ax/ast/Parse.h>
#include <openvdb_ax/ast/Scanners.h>
#include <openvdb_ax/ast/Tokens.h>
#include <openvdb_ax/compiler/Logger.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

namespace aegir::expression {

namespace ax = openvdb::ax;

namespace {

constexpr std::array own_functions{"deletepoint", "addtogroup", "removefromgroup", "ingroup",
                                   "getcoord",    "getcoordx",  "getcoordy",       "getcoordz",
                                   "getvoxelpws", "external",   "externalv",       "print",
                                   "sample",      "distance",   "neighbourcount",  "neighbouraverage"};
constexpr std::array voxel_functions{"getcoord", "getcoordx", "getcoordy", "getcoordz", "getvoxelpws"};
constexpr std::array particle_functions{"deletepoint", "addtogroup",     "removefromgroup",
                                        "ingroup",     "neighbourcount", "neighbouraverage"};

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<const char*, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<ValueType> type_of_token(ax::ast::tokens::CoreType token) {
  const std::string name = ax::ast::tokens::typeStringFromToken(token);
  for (int t = 0; t <= static_cast<int>(ValueType::string); ++t)
    if (type_name(static_cast<ValueType>(t)) == name) return static_cast<ValueType>(t);
  return std::nullopt;
}

const Named* find_named(const std::vector<Named>& list, std::string_view name) {
  for (const Named& n : list)
    if (n.name == name) return &n;
  return nullptr;
}

struct Access {
  bool read = false, written = false;
};

/// Whether the value of `child` inside `parent` is still the variable itself, so that assigning to it changes it.
bool keeps_variable(const ax::ast::Node& parent, const ax::ast::Node* child) {
  using Kind = ax::ast::Node::NodeType;
  switch (parent.nodetype()) {
    case Kind::ArrayUnpackNode:
      return static_cast<const ax::ast::ArrayUnpack&>(parent).expression() == child;
    case Kind::ArrayPackNode:
    case Kind::CommaOperatorNode:
    case Kind::TernaryOperatorNode:
    case Kind::UnaryOperatorNode:
    case Kind::CastNode:
      return true;
    default:
      return false;
  }
}

/// What one appearance of an attribute does. Functions with results in their arguments write and read those.
Access access_of(const ax::ast::Attribute& attribute) {
  using Kind = ax::ast::Node::NodeType;
  const ax::ast::Node *child = &attribute, *parent = attribute.parent();
  while (parent && keeps_variable(*parent, child)) child = parent, parent = parent->parent();
  if (!parent) return {true, false};
  if (parent->nodetype() == Kind::CrementNode) return {true, true};
  if (parent->nodetype() == Kind::FunctionCallNode) {
    const std::string& name = static_cast<const ax::ast::FunctionCall*>(parent)->name();
    return {true, name == "polardecompose" || name == "prescale" || name == "postscale"};
  }
  if (parent->nodetype() != Kind::AssignExpressionNode) return {true, false};
  const auto* assign = static_cast<const ax::ast::AssignExpression*>(parent);
  if (assign->lhs() != child) return {true, false};
  // A part of a vector, or a value that goes on being used, is read too.
  return {assign->isCompound() || child != &attribute || assign->parent()->nodetype() != Kind::BlockNode, true};
}

/// Whether this appearance only adds to the variable or a part of it, in a statement of its own.
bool only_adds(const ax::ast::Attribute& attribute) {
  using Kind = ax::ast::Node::NodeType;
  const ax::ast::Node *child = &attribute, *parent = attribute.parent();
  if (parent && parent->nodetype() == Kind::ArrayUnpackNode && keeps_variable(*parent, child))
    child = parent, parent = parent->parent();
  if (!parent || parent->nodetype() != Kind::AssignExpressionNode) return false;
  const auto* assign = static_cast<const ax::ast::AssignExpression*>(parent);
  const auto operation = assign->operation();
  return assign->lhs() == child && assign->isCompound() && assign->parent()->nodetype() == Kind::BlockNode &&
         (operation == ax::ast::tokens::PLUS || operation == ax::ast::tokens::MINUS);
}

/// Walks the tree once per kind of node and fills a Syntax.
class Analysis {
 public:
  Analysis(Syntax& syntax, const CompileOptions& options)
      : syntax_(syntax),
        options_(options),
        log_(*static_cast<ax::Logger*>(syntax.logger.get())),
        tree_(*static_cast<const ax::ast::Tree*>(syntax.tree.get())) {}

  void run() {
    types_of_attributes();
    accesses();
    ax::ast::visitNodeType<ax::ast::FunctionCall>(tree_, [&](const ax::ast::FunctionCall& call) {
      function(call);
      return true;
    });
    ax::ast::visitNodeType<ax::ast::ExternalVariable>(tree_, [&](const ax::ast::ExternalVariable& variable) {
      external(variable);
      return true;
    });
    finish();
  }

 private:
  struct Seen {
    std::optional<ValueType> asked;
    const ax::ast::Attribute* first = nullptr;
    bool read = false, written = false, only_adds = true;
  };

  void types_of_attributes() {
    ax::ast::visitNodeType<ax::ast::Attribute>(tree_, [&](const ax::ast::Attribute& node) {
      Seen& seen = seen_[node.name()];
      if (!seen.first) seen.first = &node;
      if (node.inferred()) return true;
      const std::optional<ValueType> type = type_of_token(node.type());
      if (!type || *type == ValueType::string) {
        log_.error("attribute '" + node.name() + "' cannot be a " + ax::ast::tokens::typeStringFromToken(node.type()) +
                       "; channels hold numbers and vectors",
                   &node);
      } else if (seen.asked && *seen.asked != *type) {
        log_.error("attribute '" + node.name() + "' is a " + std::string(type_name(*seen.asked)) +
                       " elsewhere in this expression; choose one type",
                   &node);
      } else {
        seen.asked = type;
      }
      return true;
    });
  }

  void accesses() {
    ax::ast::visitNodeType<ax::ast::Attribute>(tree_, [&](const ax::ast::Attribute& node) {
      Seen& seen = seen_[node.name()];
      const Access access = access_of(node);
      seen.read |= access.read, seen.written |= access.written;
      seen.only_adds &= only_adds(node);
      return true;
    });
    for (const auto& [name, seen] : seen_) attribute(name, seen);
  }

  void attribute(const std::string& name, const Seen& seen) {
    const bool particles = syntax_.elements == Elements::particles;
    const bool position = name == "P", fixed = particles && name == options_.identity;
    const Named* known = find_named(options_.channels, name);
    const ValueType stored = position     ? ValueType::vec3f
                             : fixed      ? ValueType::int64
                             : known      ? known->type
                             : seen.asked ? *seen.asked
                                          : ValueType::float32;
    const ValueType type = seen.asked.value_or(stored);
    if (component_count(type) != component_count(stored) ||
        (position && type != ValueType::vec3f && type != ValueType::vec3d)) {
      log_.error("attribute '" + name + "' is a " + std::string(type_name(stored)) + ", not a " +
                     std::string(type_name(type)) + "; write @" + name,
                 seen.first);
      return;
    }
    if (seen.written && (fixed || (position && !particles))) {
      log_.error("attribute '" + name + "' cannot be written", seen.first);
      return;
    }
    if (position && !particles) return;  // computed, not a channel
    if (position) syntax_.only_moves = seen.only_adds;
    if (!known && !position && !fixed && !seen.written)
      log_.warning("attribute '" + name + "' does not exist and reads as 0", seen.first);
    syntax_.attributes.push_back({name, type, stored_scalar(stored), component_count(stored), seen.read, seen.written,
                                  !known && !position && !fixed, 0});
  }

  /// The text of a literal argument, or nothing and an error.
  std::optional<std::string> literal(const ax::ast::FunctionCall& call, std::size_t argument, const char* what) {
    const ax::ast::Node* node = call.children() > argument ? call.child(argument) : nullptr;
    const auto* text = dynamic_cast<const ax::ast::Value<std::string>*>(node);
    if (!text || text->value().empty()) {
      log_.error(call.name() + "() wants " + what + " as a literal in quotes", &call);
      return std::nullopt;
    }
    return text->value();
  }

  bool arguments(const ax::ast::FunctionCall& call, std::size_t count, const char* form) {
    if (call.children() == count) return true;
    log_.error("wrong number of arguments; write " + std::string(form), &call);
    return false;
  }

  void function(const ax::ast::FunctionCall& call) {
    const std::string& name = call.name();
    const std::size_t count = call.children();
    if ((name == "rand" || name == "rand32") && count == 0) syntax_.uses.random = true;
    if (!is_own_function(name, count)) return;
    const bool particles = syntax_.elements == Elements::particles;
    if (particles ? is_one_of(name, voxel_functions) : is_one_of(name, particle_functions)) {
      log_.error(name + "() works on " + (particles ? "voxels" : "particles") + ", and this expression runs on " +
                     (particles ? "particles" : "voxels"),
                 &call);
      return;
    }
    if (name == "print") log_.error("print() is not available; write what you want to see to an attribute", &call);
    if (name == "deletepoint" && arguments(call, 0, "deletepoint()")) syntax_.uses.deletes = true;
    if (name == "addtogroup" || name == "removefromgroup" || name == "ingroup") group(call);
    if (name == "external" || name == "externalv") {
      if (!arguments(call, 1, "external(\"name\")")) return;
      if (const auto variable = literal(call, 0, "the name of a variable"))
        use_variable(*variable, name == "external" ? ValueType::float32 : ValueType::vec3f, call);
    }
    if (name == "sample") sample(call);
    if (name == "distance") distance(call);
    if (name == "neighbourcount" && arguments(call, 1, "neighbourcount(radius)")) syntax_.uses.neighbours = true;
    if (name == "neighbouraverage") average(call);
    if (name.starts_with("get")) (void)arguments(call, 0, (name + "()").c_str());
  }

  void group(const ax::ast::FunctionCall& call) {
    if (!arguments(call, 1, (call.name() + "(\"group\")").c_str())) return;
    const auto name = literal(call, 0, "the name of a group");
    if (!name) return;
    syntax_.uses.groups = true;
    const std::string channel = "group:" + *name;
    int found = syntax_.attribute(channel);
    if (found < 0) {
      found = static_cast<int>(syntax_.attributes.size());
      syntax_.attributes.push_back(
          {channel, ValueType::int32, Scalar::i32, 1, false, false, !find_named(options_.channels, channel), 0});
    }
    Attribute& attribute = syntax_.attributes[static_cast<std::size_t>(found)];
    (call.name() == "ingroup" ? attribute.read : attribute.written) = true;
  }

  void sample(const ax::ast::FunctionCall& call) {
    if (!arguments(call, 3, "sample(\"object\", \"channel\", @P)")) return;
    const auto object = literal(call, 0, "the name of an Object"), channel = literal(call, 1, "the name of a channel");
    if (object && channel) use_sample(call, *object, *channel);
  }

  void distance(const ax::ast::FunctionCall& call) {
    if (!arguments(call, 1, "distance(\"object\")")) return;
    const auto object = literal(call, 0, "the name of an Object");
    if (!object) return;
    asks_at_position_ = true;
    use_sample(call, *object, distance_channel);
  }

  void use_sample(const ax::ast::FunctionCall& call, const std::string& object, const std::string& channel) {
    std::string objects, channels;  // that there are
    const auto add = [](std::string& list, const std::string& name) {
      const std::string quoted = "'" + name + "'";
      if (list.find(quoted) == std::string::npos) list += (list.empty() ? "" : ", ") + quoted;
    };
    for (const SampleSource& s : options_.samples) {
      add(objects, s.object);
      if (s.object != object) continue;
      add(channels, s.channel);
      if (s.channel != channel) continue;
      syntax_.uses.samples = true;
      if (syntax_.sample(object, channel) < 0) syntax_.samples.push_back(s);
      return;
    }
    log_.error(channels.empty()
                   ? "there is no Object '" + object + "' to sample; there is " + (objects.empty() ? "none" : objects)
                   : "there is no channel '" + channel + "' of '" + object + "' to sample; there is " + channels,
               &call);
  }

  void average(const ax::ast::FunctionCall& call) {
    if (!arguments(call, 2, "neighbouraverage(\"channel\", radius)")) return;
    const auto name = literal(call, 0, "the name of a channel");
    if (!name) return;
    const Named* known = find_named(options_.channels, *name);
    if (!known || (known->type != ValueType::float32 && known->type != ValueType::vec3f)) {
      log_.error("there is no float or vec3f channel '" + *name + "' to average", &call);
      return;
    }
    syntax_.uses.neighbours = true;
    if (syntax_.neighbour_channel(*name) < 0) syntax_.neighbour_channels.push_back(*known);
  }

  void external(const ax::ast::ExternalVariable& node) {
    const std::optional<ValueType> type = type_of_token(node.type());
    use_variable(node.name(), type.value_or(ValueType::string), node);
  }

  void use_variable(const std::string& name, ValueType type, const ax::ast::Node& node) {
    const Named* known = find_named(options_.variables, name);
    if (!known) {
      std::string names;
      for (const Named& v : options_.variables) names += (names.empty() ? "$" : ", $") + v.name;
      log_.error("there is no variable '$" + name + "'; there " + (names.empty() ? "is none" : "is " + names), &node);
    } else if (type != known->type && type != ValueType::float32) {
      log_.error("variable '$" + name + "' is a " + std::string(type_name(known->type)) + ", not a " +
                     std::string(type_name(type)),
                 &node);
    } else if (syntax_.variable(name) < 0) {
      syntax_.variables.push_back(*known);
    }
  }

  /// distance() reads where the particle is.
  void read_position() {
    if (!asks_at_position_ || syntax_.elements != Elements::particles) return;
    syntax_.only_moves = false;
    const int p = syntax_.attribute("P");
    if (p >= 0)
      syntax_.attributes[static_cast<std::size_t>(p)].read = true;
    else
      syntax_.attributes.push_back({"P", ValueType::vec3f, Scalar::f32, 3, true, false, false, 0});
  }

  void finish() {
    read_position();
    if (syntax_.uses.random && syntax_.elements == Elements::particles && syntax_.attribute(options_.identity) < 0)
      syntax_.attributes.push_back({options_.identity, ValueType::int64, Scalar::i64, 1, true, false, false, 0});
    std::sort(syntax_.attributes.begin(), syntax_.attributes.end(),
              [](const Attribute& a, const Attribute& b) { return a.name < b.name; });
    for (Attribute& a : syntax_.attributes) a.first_plane = syntax_.plane_count, syntax_.plane_count += a.components;
    bool loops = false;
    ax::ast::visitNodeType<ax::ast::Loop>(tree_, [&](const ax::ast::Loop&) {
      loops = true;
      return true;
    });
    syntax_.uses.loops = loops;
  }

  Syntax& syntax_;
  const CompileOptions& options_;
  ax::Logger& log_;
  const ax::ast::Tree& tree_;
  std::map<std::string, Seen> seen_;
  bool asks_at_position_ = false;
};

}  // namespace

Diagnostic diagnostic_of(bool is_error, std::string text) {
  Diagnostic d{is_error, 0, 0, std::move(text)};
  const std::size_t colon = d.message.rfind(':'), space = d.message.rfind(' ');
  if (colon == std::string::npos || space == std::string::npos || space > colon) return d;
  const char* end = d.message.data() + d.message.size();
  int line = 0, column = 0;
  const auto first = std::from_chars(d.message.data() + space + 1, end, line);
  if (first.ec != std::errc{} || first.ptr != d.message.data() + colon) return d;
  const auto second = std::from_chars(d.message.data() + colon + 1, end, column);
  if (second.ec != std::errc{} || second.ptr != end) return d;
  d.line = line, d.column = column;
  d.message.resize(space);
  while (!d.message.empty() && (d.message.back() == ' ' || d.message.back() == '\n')) d.message.pop_back();
  return d;
}

bool is_own_function(std::string_view name, std::size_t arguments) {
  if (name == "rand") return arguments <= 1;
  if (name == "rand32") return arguments == 0;
  return is_one_of(name, own_functions);
}

bool Syntax::failed() const {
  return std::any_of(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& d) { return d.is_error; });
}
int Syntax::attribute(std::string_view name) const {
  for (std::size_t a = 0; a < attributes.size(); ++a)
    if (attributes[a].name == name) return static_cast<int>(a);
  return -1;
}
int Syntax::variable(std::string_view name) const {
  for (std::size_t v = 0; v < variables.size(); ++v)
    if (variables[v].name == name) return static_cast<int>(v);
  return -1;
}
int Syntax::sample(std::string_view object, std::string_view channel) const {
  for (std::size_t s = 0; s < samples.size(); ++s)
    if (samples[s].object == object && samples[s].channel == channel) return static_cast<int>(s);
  return -1;
}
int Syntax::neighbour_channel(std::string_view name) const {
  for (std::size_t c = 0; c < neighbour_channels.size(); ++c)
    if (neighbour_channels[c].name == name) return static_cast<int>(c);
  return -1;
}

std::unique_ptr<Syntax> analyse(const Source& source, const CompileOptions& options) {
  auto syntax = std::make_unique<Syntax>();
  syntax->elements = source.elements;
  syntax->identity = options.identity;
  syntax->diagnostics = check_limits(source.text, options.limits);
  if (syntax->failed()) return syntax;
  auto report = [list = &syntax->diagnostics](bool is_error) {
    return [list, is_error](const std::string& text) { list->push_back(diagnostic_of(is_error, text)); };
  };
  auto logger = std::make_shared<ax::Logger>(report(true), report(false));
  logger->setNumberedOutput(false), logger->setPrintLines(false), logger->setMaxErrors(20);
  logger->setErrorPrefix(""), logger->setWarningPrefix("");
  syntax->logger = logger;
  const ax::ast::Tree::ConstPtr tree = ax::ast::parse(source.text.c_str(), *logger);
  syntax->tree = tree;
  if (!tree && !syntax->failed()) syntax->diagnostics.push_back({true, 0, 0, "the expression cannot be parsed"});
  if (syntax->failed()) return syntax;
  Analysis(*syntax, options).run();
  return syntax;
}

}  // namespace aegir::expression
