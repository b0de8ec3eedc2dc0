#include "benchmarks/bandwidth.h"

#include <algorithm>
#include <cstring>

#include "parallel/threads.h"

namespace aegir::bench {
namespace {
constexpr std::size_t grain = 16384;  // elements
}

Bandwidth::Bandwidth(std::size_t working_set) : bytes_(working_set / 192 * 192), memory_(bytes_) {
  auto* all = reinterpret_cast<float*>(memory_.data());
  parallel_for(0, bytes_ / sizeof(float), grain,
               [&](std::size_t b, std::size_t e) { std::fill(all + b, all + e, 1.0f); });
}

std::vector<Turn> Bandwidth::turns() {
  return {{[this] { copy(); }}, {[this] { triad(); }}, {[this] { axpy(); }}};
}

double Bandwidth::best(const double* seconds) const {
  const auto bytes = static_cast<double>(bytes_);
  const double copy = bytes / 2 * 3 / seconds[0];   // read, allocate, write half of it
  const double triad = bytes / 3 * 4 / seconds[1];  // read two thirds, allocate and write one
  const double axpy = bytes / 2 * 3 / seconds[2];   // read both halves, write one
  return std::max({copy, triad, axpy});
}

void Bandwidth::copy() {
  const std::size_t n = bytes_ / 2 / sizeof(float);
  float* to = reinterpret_cast<float*>(memory_.data());
  const float* from = to + n;
  parallel_for(0, n, grain, [=](std::size_t b, std::size_t e) {
    for (std::size_t i = b; i < e; ++i) to[i] = from[i];
  });
}

void Bandwidth::triad() {
  const std::size_t n = bytes_ / 3 / sizeof(float);
  float* to = reinterpret_cast<float*>(memory_.data());
  const float *x = to + n, *y = x + n;
  parallel_for(0, n, grain, [=](std::size_t b, std::size_t e) {
    for (std::size_t i = b; i < e; ++i) to[i] = x[i] + 0.5f * y[i];
  });
}

void Bandwidth::axpy() {
  const std::size_t n = bytes_ / 2 / sizeof(float);
  float* y = reinterpret_cast<float*>(memory_.data());
  plain_axpy(1e-9f, y + n, y, n);
}

void plain_axpy(float a, const float* x, float* y, std::size_t count) {
  parallel_for(0, count, grain, [=](std::size_t b, std::size_t e) {
    for (std::size_t i = b; i < e; ++i) y[i] += a * x[i];
  });
}

void plain_copy(const std::byte* from, std::byte* to, std::size_t bytes) {
  parallel_for(0, bytes, std::size_t{1} << 18,
               [=](std::size_t b, std::size_t e) { std::memcpy(to + b, from + b, e - b); });
}

}  // namespace aegir::bench
