// SPDX-License-Identifier: Apache-2.0
// Tables of docs/gallery.md, which `cairn draw` draws: what memory is spent on, how it grows with the batch, and what
// a run really takes beside what was predicted.
//
//     gallery              runs the loop and compares it with its prediction
//     gallery DIRECTORY    the same, and writes the tables there, as NAME.csv

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/chains.hpp>
#include <cairn/plan/text/memory_curve.hpp>
#include <cairn/plan/text/memory_over_time.hpp>
#include <cairn/plan/text/plan_text.hpp>
#include <cairn/planning.hpp>
#include <cairn/trace/memory_samples.hpp>

#include "support/table_file.hpp"

namespace {

/// The bytes that all `counted` allocators hold, and the most since the last look at it.
struct {
  std::int64_t held = 0, most = 0;
  std::int64_t look() { return std::exchange(most, held); }
} memory;

/// Counts what containers ask for.
template <class T>
struct counted {
  using value_type = T;
  counted() = default;
  template <class Other>
  counted(counted<Other> const&) {}
  T* allocate(std::size_t count) {
    memory.held += std::int64_t(count * sizeof(T));
    memory.most = std::max(memory.most, memory.held);
    return static_cast<T*>(::operator new(count * sizeof(T)));
  }
  void deallocate(T* at, std::size_t count) {
    memory.held -= std::int64_t(count * sizeof(T));
    ::operator delete(at);
  }
  friend bool operator==(counted, counted) { return true; }
};
using field = std::vector<double, counted<double>>;

/// A layer of a network: samples its input at `out` points, and bends the values.
struct layer {
  std::size_t out;
  [[nodiscard]] field forward(field const& x) const {
    field y(out);
    for (std::size_t k = 0; k < out; ++k) y[k] = std::sin(x[k * x.size() / out]);
    return y;
  }
  [[nodiscard]] field backward(field const& x, field const& bar) const {
    field before(x.size());
    for (std::size_t k = 0; k < out; ++k) before[k * x.size() / out] += bar[k] * std::cos(x[k * x.size() / out]);
    return before;
  }
};

/// Stands still, so that a probe measures sizes only.
struct no_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<no_clock>;
  [[maybe_unused]] static constexpr bool is_steady = true;
  static time_point now() { return {}; }
};

/// One line of a picture.
struct curve {
  std::string name;
  std::vector<cairn::memory_sample> samples;
};

/// Memory of one sweep over a network: as its plan predicts it, and as its allocators count it.
std::vector<curve> predicted_and_measured() {
  std::vector<layer> net;
  for (std::size_t k = 0; k < 24; ++k) net.push_back({4'096 + 4'096 * (k * 5 % 4)});
  field const x0(8'192, 0.5);
  auto const seed = [](field const& y) { return field(y.size(), 1.0); };
  auto work = cairn::chain_probe<no_clock>(net, x0, seed);
  for (std::size_t k = 0; k < net.size(); ++k) {
    work.u[k] = std::int64_t(net[k].out);
    work.v[k] = 2 * work.u[k];
  }
  cairn::chain_planner planner{work};
  auto const plan = planner.plan(planner.store_all_peak() / 3);
  std::int64_t const before = memory.held;
  cairn::memory_samples recorder{[&] { return memory.look() - before; }};
  (void)cairn::chain_gradient(net, x0, plan, seed, recorder);
  return {{"predicted", samples_of(cairn::chain_memory_over(work, plan.actions))}, {"measured", recorder.samples()}};
}

/// A recurrent network: sizes and times grow with the batch.
cairn::workload network(std::int64_t batch, cairn::step_index length = 1'000) {
  double const samples = double(batch);
  return {.steps = length,
          .state_bytes = cairn::wide(batch) * 16'384,
          .initial_bytes = cairn::wide(batch) * 16'384,
          .adjoint_bytes = cairn::wide(batch) * 16'384,
          .tape_bytes = cairn::wide(batch) * 65'536,
          .step_seconds = 40e-6 + 10e-6 * samples,
          .adjoint_seconds = 80e-6 + 25e-6 * samples};
}

std::string batches() {
  std::string rows = "series,batch,peak_bytes,seconds\n";
  for (std::int64_t batch = 1; batch <= 64; batch *= 2) {
    auto const work = network(batch);
    auto const add = [&](char const* series, auto const& plan) {
      auto const cost = cairn::estimate(plan, work);
      char row[120];
      std::snprintf(row, sizeof row, "%s,%d,%lld,%.17g\n", series, int(batch), (long long)cost.peak_bytes, cost.seconds);
      rows += row;
    };
    add("every state kept", cairn::store_all(1'000));
    add("within 64 MiB", cairn::plan_within("64MiB", work).schedule);
    add("12 slots", cairn::revolve{1'000, 12});
  }
  return rows;
}

/// What the memory of plans within 64 MiB is spent on, of a loop whose tapes may be kept, too.
std::string parts() {
  auto recorded = network(16);
  recorded.form.adjoint = cairn::adjoint_form::recorded;
  std::string rows = "plan,states,adjoints,tapes,tables,initial state\n";
  for (auto const& plan : cairn::pareto(recorded, 16)) {
    cairn::sweep_parts const& of = plan.memory;
    if (plan.cost.memory_bytes > (64u << 20)) continue;
    auto const words = cairn::plan_text(plan);
    rows += "\"" + words.substr(0, words.find(": ")) + "\"";
    for (cairn::wide const bytes : {of.states, of.adjoints, of.tapes, of.tables(), of.initial})
      rows += "," + std::to_string(std::uint64_t(bytes));
    rows += "\n";
  }
  return rows;
}

void write(std::string const& directory, std::vector<curve> const& measured) {
  auto const table = [](std::vector<curve> const& curves) {
    std::string rows = support::curve_columns;
    for (auto const& one : curves) rows += support::curve_rows(one.name, one.samples);
    return rows;
  };
  std::vector<curve> sizes;
  for (std::int64_t const batch : {4, 8, 16, 32})
    sizes.push_back({"batch " + std::to_string(batch),
                     samples_of(cairn::memory_over(cairn::revolve{60, 8}, network(batch, 60)))});
  support::write_table(directory + "/batch.csv", batches());
  support::write_table(directory + "/parts.csv", parts());
  support::write_table(directory + "/measured.csv", table(measured));
  support::write_table(directory + "/lines.csv", table(sizes));
}

std::int64_t peak_of(curve const& line) {
  return std::ranges::max_element(line.samples, {}, &cairn::memory_sample::bytes)->bytes;
}

}  // namespace

int main(int count, char** words) {
  try {
    auto const lines = predicted_and_measured();
    for (auto const& line : lines)
      std::printf("%-12s  peak %s in %zu actions\n", line.name.c_str(),
                  cairn::to_short_text(cairn::wide(peak_of(line))).c_str(), line.samples.size());
    if (count > 1) write(words[1], lines);
    // Allocators do not see the vectors themselves, 24 bytes each.
    bool good = lines[0].samples.size() == lines[1].samples.size();
    for (std::size_t k = 0; k < lines[0].samples.size() && good; ++k)
      good = std::abs(lines[0].samples[k].bytes - lines[1].samples[k].bytes) < 1'024;
    return good ? 0 : 1;
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "gallery: %s\n", problem.what());
    return 2;
  }
}
