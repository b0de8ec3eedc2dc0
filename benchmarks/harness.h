// Benchmarks: named functions that measure, and one report. A number never stands alone: each is a ratio to a peer or
// to the machine's limit, measured in turns with it in the same run.
//
//   void register_domain(Registry& r) { r.add("domain.axpy", axpy); }
//   void axpy(Bench& bench) {
//     const auto t = in_turns(9, {[&] { ours(); }, [&] { theirs(); }});
//     bench.rate("domain.axpy", cells / t[0], "cells/s", "plain loop", cells / t[1]);
//   }
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "domain/exec.h"

namespace aegir::bench {

/// One line of the report; `ratio` says how many times better than the peer we are, 0 where there is no peer.
struct Measurement {
  std::string name;
  double value = 0;
  std::string unit;
  std::string peer;
  double peer_value = 0;
  double ratio = 0;
};

/// What a benchmark runs with and reports to.
class Bench {
 public:
  Bench(Exec& exec_, int threads_) : exec(exec_), threads(threads_) {}

  /// More is better: a rate of ours and of the peer.
  void rate(const std::string& name, double value, const std::string& unit, const std::string& peer, double peer_value);
  /// Less is better: a time or a size of ours and of the peer.
  void cost(const std::string& name, double value, const std::string& unit, const std::string& peer, double peer_value);
  /// A number without a peer.
  void number(const std::string& name, double value, const std::string& unit);
  /// A sentence under the table.
  void note(const std::string& text) { notes_.push_back(text); }

  const std::vector<Measurement>& measurements() const { return measurements_; }
  const std::vector<std::string>& notes() const { return notes_; }

  Exec& exec;
  const int threads;

 private:
  std::vector<Measurement> measurements_;
  std::vector<std::string> notes_;
};

/// The benchmarks there are, by name "group.what".
class Registry {
 public:
  using Function = std::function<void(Bench&)>;
  struct Entry {
    std::string name;
    Function run;
  };
  void add(std::string name, Function run) { entries_.push_back({std::move(name), std::move(run)}); }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

/// Median; sorts its argument.
double median(std::vector<double> values);

/// A body that is timed; `before`, where given, runs untimed before each of its turns.
struct Turn {
  std::function<void()> body;
  std::function<void()> before = {};
};

/// Runs all bodies in turn, once to warm up and then `rounds` times; the median seconds of each.
std::vector<double> in_turns(int rounds, const std::vector<Turn>& turns);

/// The aligned table and the notes.
std::string table(const Bench& bench);

/// The measurements as JSON text.
std::string json(const Bench& bench);

/// A number of /proc/self/status in bytes: "VmRSS", "VmHWM".
double status_bytes(const char* field);

/// One ordinary function per group.
void register_domain(Registry& registry);
void register_rebucket(Registry& registry);
void register_particles(Registry& registry);
void register_solver(Registry& registry);
void register_transfer(Registry& registry);
void register_liquid(Registry& registry);
void register_sand(Registry& registry);
void register_droplets(Registry& registry);
void register_surfacing(Registry& registry);
void register_preview(Registry& registry);
void register_ax(Registry& registry);
void register_ax_tool(Registry& registry);
void register_mpi(Registry& registry);
void register_determinism(Registry& registry);

}  // namespace aegir::bench
