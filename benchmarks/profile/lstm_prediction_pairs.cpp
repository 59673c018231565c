// SPDX-License-Identifier: Apache-2.0
// The demo's LSTM, profiled on the start of its text and planned within a limit: predicted bytes against bytes that are
// counted, and predicted seconds of a sweep against measured ones, in CPU time of the thread. Profiles and sweeps take
// turns, so that what else the machine does slows both. Fails where the bytes differ.
#include <time.h>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>
#include <Eigen/Core>
#include <cairn/adapt/eigen.hpp>
#include <cairn/cairn.hpp>
#include <cairn/plan/loop/plan_within.hpp>
#include <cairn/profile/graph_profiler.hpp>
#include "../../examples/demo/training.hpp"
#include "../median.hpp"

namespace {

constexpr std::int64_t characters = 128'000;
constexpr cairn::byte_size limit = "2MiB";
constexpr double most_error = 0.1;  // of predicted seconds

/// CPU time of this thread.
struct thread_clock {
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<thread_clock, duration>;
  static time_point now() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return time_point{std::chrono::seconds{used.tv_sec} + duration{used.tv_nsec}};
  }
};
template <class F>
double timed(F f) {
  auto const before = thread_clock::now();
  f();
  return std::chrono::duration<double>(thread_clock::now() - before).count();
}

/// What a profile of some steps says of the whole loop. The scratch of step and adjoint, and what the adjoint holds for
/// each step of a leaf, are not visible from outside: the model declares them.
cairn::workload profiled(demo::parameters<float> const& weights, demo::streams const& text) {
  constexpr cairn::step_index tried = 200;
  demo::objective<float> total{{weights.hidden(), weights.symbols()}};
  demo::lstm_step<float> step{weights, text};
  demo::lstm_adjoint<float> adjoint{weights, text, total, 1};
  cairn::graph_profiler<thread_clock> profiler;
  cairn::workload work = profiler.run(step, demo::zero_state(), cairn::uniform{tried},
                                      [](demo::state const&) { return demo::zero_state(); }, adjoint);
  auto const scratch = [&](cairn::step_index leaf) {
    return cairn::wide(demo::lstm_step<float>::bytes(weights.hidden(), text.count()) +
                       demo::lstm_adjoint<float>::bytes(weights.hidden(), weights.symbols(), text.count(), leaf));
  };
  work.steps = text.steps();
  work.tape_bytes = scratch(0);
  work.tape_step_bytes = scratch(1) - scratch(0);
  work.frame_seconds = 0;  // the sweeps reuse a workspace
  return work;
}

}  // namespace

int main(int argc, char** argv) {
  int const rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  if (rounds < 1) {
    std::fprintf(stderr, "usage: %s [ROUNDS]\n", argv[0]);
    return 2;
  }
  std::ifstream file{CAIRN_SOURCE_DIR "/examples/data/pride_and_prejudice.txt", std::ios::binary};
  std::string words{std::istreambuf_iterator<char>{file}, {}};
  words.resize(std::size_t(characters));
  demo::streams const text{words, demo::stream_count};
  auto const weights = demo::random_weights<float>(demo::hidden, Eigen::Index(text.alphabet().size()));
  demo::objective<float> total{{weights.hidden(), weights.symbols()}};

  auto const plan = cairn::plan_within(limit, profiled(weights, text));
  auto const peak = plan.cost.peak_bytes;
  std::printf("LSTM of the demo, %lld steps, %s: %s, leaves of %lld, within %s, %llu calls of the step\n",
              (long long)text.steps(), CAIRN_BENCHMARK_FLAGS, cairn::name_of(plan.by), (long long)plan.schedule.leaf(),
              cairn::to_short_text(cairn::wide(limit.count())).c_str(), (unsigned long long)plan.cost.step_calls);

  support::forget_heap_peak();
  auto const before = support::heap().bytes;
  demo::sweeper sweep{weights, text, total, plan.schedule};
  sweep.pass(cairn::no_observer{});
  cairn::wide const counted = support::heap().peak - before;
  bool const same_bytes = peak == counted;
  std::printf("peak      predicted %llu bytes, counted %llu: %s\n", (unsigned long long)peak,
              (unsigned long long)counted, same_bytes ? "equal" : "DIFFER");

  std::vector<double> predicted, measured;
  for (int k = 0; k < rounds; ++k) {
    predicted.push_back(cairn::estimate(plan.schedule, profiled(weights, text)).seconds);
    measured.push_back(timed([&] { sweep.pass(cairn::no_observer{}); }));
    std::printf("round %-3d predicted %.4f s, measured %.4f s: %+.1f %%\n", k + 1, predicted.back(), measured.back(),
                100 * (predicted.back() / measured.back() - 1));
  }
  double const error = median(predicted) / median(measured) - 1;
  std::printf("CPU time  predicted %.4f s, measured %.4f s, medians of %d: %+.1f %%, within %.0f %%: %s\n",
              median(predicted), median(measured), rounds, 100 * error, 100 * most_error,
              std::abs(error) <= most_error ? "yes" : "no");
  return same_bytes ? 0 : 1;
}
