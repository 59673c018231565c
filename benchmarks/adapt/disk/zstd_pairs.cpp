// SPDX-License-Identifier: Apache-2.0
// States of 8 MB on disk, as they are and compressed: bytes, and CPU seconds of one write and one read, by medians over
// sweeps in turns. Nothing waits for the disk: the difference in bytes over that in seconds is the speed of a disk
// below which compression pays.
#include "../../pairs.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/adapt/zstd.hpp>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>

namespace {

using cairn::step_index;
constexpr step_index steps = 17;
constexpr std::size_t bytes = 8'000'000;

double all_cpu_seconds() {
  auto const [user, system] = process_seconds();
  return user + system;
}
struct timed_sweep {
  double seconds = 0;
  std::size_t held = 0;
};
/// A sweep that writes each state once and reads it once, over a store.
template <class Number, class... On>
timed_sweep sweep(std::vector<Number> const& x0, On const&... on) {
  auto const step = [](std::vector<Number>& x) { x[0] *= Number(1.0001); };
  auto const back = [](std::vector<Number> const&, std::vector<Number>& bar) { bar[0] *= Number(1.0001); };
  timed_sweep seen;
  auto const watch = [&](cairn::event const& e) { seen.held = std::max(seen.held, e.bytes_held(cairn::tier::disk)); };
  cairn::multistage const plan{steps, 1, int(steps) - 1};
  double const before = all_cpu_seconds();
  std::vector<Number> bar;
  if constexpr (sizeof...(On) == 0)
    bar = cairn::gradient(step, x0, cairn::in_memory{plan}, std::vector<Number>(1, Number(1)), back, watch);
  else bar = cairn::gradient(step, x0, plan, std::vector<Number>(1, Number(1)), back, on..., watch);
  seen.seconds = all_cpu_seconds() - before;
  return seen;
}
template <class Number, class Fn>
void compare(char const* what, std::string const& folder, int times, Fn value) {
  std::vector<Number> x0(bytes / sizeof(Number));
  for (std::size_t k = 0; k < x0.size(); ++k) x0[k] = Number(value(k));
  cairn::disk_options options{.key = "benchmark", .resume = cairn::resume_rule::never,
                              .seconds_between_failures = 1e12};
  cairn::disk const plain{folder, options};
  options.compress = cairn::zstd;
  cairn::disk const packed{folder, options};
  std::vector<double> memory, as_it_is, compressed;
  std::size_t size = 0, whole = 0;
  for (int k = 0; k < times; ++k) {
    auto const a = sweep(x0), b = sweep(x0, plain), c = sweep(x0, packed);
    memory.push_back(a.seconds), as_it_is.push_back(b.seconds), compressed.push_back(c.seconds);
    whole = b.held, size = c.held;
  }
  double const states = double(whole) / double(bytes);
  double const none = (median(as_it_is) - median(memory)) / states;
  double const zstd = (median(compressed) - median(memory)) / states;
  double const saved = double(whole - size) / states;
  std::printf("%-16s %5.2f of the bytes; a write and a read: none %5.1f ms, zstd %5.1f ms; pays below %.0f MB/s\n",
              what, double(size) / double(whole), 1e3 * none, 1e3 * zstd,
              2e-6 * saved / std::max(zstd - none, 1e-9));
}

}  // namespace

int main(int words, char** word) {
  int const times = asked_times(words, word, 5, "timings");
  std::string const folder = words > 2 ? word[2] : "zstd_pairs.d";
  std::printf("%s\n", CAIRN_BENCHMARK_FLAGS);
  auto const wave = [](std::size_t k) {
    double const x = double(k % 1000), y = double(k / 1000);
    return std::sin(0.01 * x) * std::cos(0.02 * y) + 0.1 * std::sin(0.05 * (x + y));
  };
  std::mt19937_64 random{1};
  std::uniform_real_distribution<> any{-1, 1};
  compare<double>("smooth doubles", folder, times, wave);
  compare<float>("smooth floats", folder, times, wave);
  compare<double>("random doubles", folder, times, [&](std::size_t) { return any(random); });
  compare<double>("a source at rest", folder, times, [&](std::size_t k) { return k % 1000 < 100 ? wave(k) : 0.0; });
}
