// SPDX-License-Identifier: Apache-2.0
// The pictures of docs/gallery.md, of a recurrent loop of 1,000 steps: what memory buys, what it is spent on, how it
// grows with the batch, and what a run really takes beside what was predicted.
//
//     gallery              runs the loop and compares it with its prediction
//     gallery DIRECTORY    the same, and writes the pictures there, as gallery_NAME.svg

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/chains.hpp>
#include <cairn/plan/text/batch_svg.hpp>
#include <cairn/plan/text/breakdown.hpp>
#include <cairn/plan/text/chain_svg.hpp>
#include <cairn/plan/text/memory_curve.hpp>
#include <cairn/plan/text/memory_lines.hpp>
#include <cairn/plan/text/pareto_text.hpp>
#include <cairn/plan/text/sweep_breakdown.hpp>
#include <cairn/planning.hpp>
#include <cairn/trace/memory_samples.hpp>

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

/// Memory of one sweep over a network: as its plan predicts it, and as its allocators count it.
std::vector<cairn::memory_line> predicted_and_measured() {
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
  std::vector<cairn::batch_series> series{{"every state kept", {}}, {"within 64 MiB", {}}, {"12 slots", {}}};
  for (std::int64_t batch = 1; batch <= 64; batch *= 2) {
    auto const work = network(batch);
    auto const add = [&](std::size_t k, auto const& plan) {
      auto const cost = cairn::estimate(plan, work);
      series[k].figures.push_back({batch, std::int64_t(cost.peak_bytes), cost.seconds});
    };
    add(0, cairn::store_all(1'000));
    add(1, cairn::plan_within("64MiB", work).schedule);
    add(2, cairn::revolve{1'000, 12});
  }
  return cairn::batch_svg(series, std::int64_t{64} << 20, "A recurrent network, with and without a limit");
}

void write(std::string const& directory, char const* name, std::string const& picture) {
  auto const path = directory + "/gallery_" + name + ".svg";
  std::ofstream file{path, std::ios::binary};
  if (!(file << picture << std::flush)) throw std::runtime_error{path + " cannot be written"};
}

void draw(std::string const& directory, std::vector<cairn::memory_line> const& lines) {
  write(directory, "pareto", cairn::pareto_svg(cairn::pareto(network(16), 24), "What memory buys over 1,000 steps"));
  auto recorded = network(16);  // tapes are kept, too
  recorded.form.adjoint = cairn::adjoint_form::recorded;
  auto affordable = cairn::pareto(recorded, 16);
  std::erase_if(affordable, [](cairn::planned const& plan) { return plan.cost.memory_bytes > (64u << 20); });
  auto parts = cairn::pareto_breakdown(affordable);
  parts.title = "What the memory of plans within 64 MiB is spent on";
  write(directory, "breakdown", breakdown_svg(parts));
  auto sweep = cairn::sweep_breakdown(cairn::revolve{100, 10}, network(16, 100));
  sweep.title = "What a sweep of revolve{100, 10} holds in each action";
  write(directory, "sweep", breakdown_svg(sweep));
  write(directory, "batch", batches());
  write(directory, "measured", memory_lines_svg(lines, {.first_is_predicted = true}));
  std::vector<cairn::memory_line> sizes;
  for (std::int64_t const batch : {4, 8, 16, 32})
    sizes.push_back({"batch " + std::to_string(batch),
                     samples_of(cairn::memory_over(cairn::revolve{60, 8}, network(batch, 60)))});
  write(directory, "lines", memory_lines_svg(sizes, {.title = "Memory of revolve{60, 8} for four sizes of a batch"}));
}

std::int64_t peak_of(cairn::memory_line const& line) {
  return std::ranges::max_element(line.samples, {}, &cairn::memory_sample::bytes)->bytes;
}

}  // namespace

int main(int count, char** words) {
  try {
    auto const lines = predicted_and_measured();
    for (auto const& line : lines)
      std::printf("%-12s  peak %s in %zu actions\n", line.name.c_str(),
                  cairn::to_short_text(cairn::wide(peak_of(line))).c_str(), line.samples.size());
    if (count > 1) draw(words[1], lines);
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
