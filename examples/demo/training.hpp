// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file training.hpp  Passes over the text by one plan, watched; and the same gradient with every state kept.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <cairn/adapt/threads.hpp>
#include <cairn/cairn.hpp>
#ifdef CAIRN_DEMO_ZLIB
#include <cairn/adapt/zlib.hpp>
#endif
#include <cairn/trace/progress.hpp>
#include <cairn/trace/trace_observer.hpp>

#include "../support/child.hpp"
#include "../support/counting.hpp"
#include "../support/on_disk.hpp"
#include "lstm.hpp"
#include "optimiser.hpp"
#include "planning.hpp"
#include "text.hpp"

namespace demo {

inline constexpr Eigen::Index hidden = 64, stream_count = 32;

using state = lstm_state<float>;

[[nodiscard]] inline state zero_state() {
  return {matrix<float>::Zero(hidden, stream_count), matrix<float>::Zero(hidden, stream_count)};
}

/// Of this process, in seconds: other programs on the machine do not count.
[[nodiscard]] inline double cpu_seconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

/// Everything that a sweep holds and that its budget has to cover: step, tape, adjoint and initial state here, states
/// in the workspace. All of it lives on the heap, where it is counted.
class sweeper {
 public:
  sweeper(parameters<float> const& weights, streams const& text, objective<float>& total, cairn::any_schedule plan)
      : total_{&total},
        plan_{std::move(plan)},
        step_{std::make_unique<lstm_step<float>>(weights, text)},
        adjoint_{std::make_unique<lstm_adjoint<float>>(weights, text, total, plan_.leaf())},
        x0_{std::make_unique<state>(zero_state())},
        bar_{std::make_unique<state>(zero_state())} {}

  /// One pass over the text: adds loss and gradient to the objective, which it clears first.
  template <class Observer>
  void pass(Observer&& observer) {
    total_->clear();
    std::get<0>(*bar_).setZero();  // the last state has no loss of its own: each step's is added by its adjoint
    std::get<1>(*bar_).setZero();
    *bar_ = cairn::gradient(*step_, *x0_, plan_, std::move(*bar_), *adjoint_, work_, observer);
  }
#ifdef CAIRN_EXAMPLE_DISK
  /// The same over files. Weights and objective are arguments, so that a record has the sums and a run its own name;
  /// what step and adjoint refer to beside them is named by the key.
  template <class Observer>
  void pass(cairn::disk const& files, parameters<float> const& weights, Observer&& observer) {
    using numbers = vector<float>;
    using cairn::step_index;
    auto step = [this](state const& x, state& x1, numbers const&, step_index i) { (*step_)(x, x1, i); };
    auto adjoint = [this](state const& x, state& bar, numbers const&, objective<float>&, step_index first,
                          step_index last) { (*adjoint_)(x, bar, first, last); };
    std::get<0>(*bar_).setZero();
    std::get<1>(*bar_).setZero();
    *bar_ = cairn::gradient(step, *x0_, plan_, std::move(*bar_), adjoint, cairn::wrt{weights.all(), *total_}, files,
                            observer);
  }
#endif
  [[nodiscard]] cairn::wide step_calls() const noexcept { return work_.step_calls(); }

 private:
  objective<float>* total_;
  cairn::any_schedule plan_;
  std::unique_ptr<lstm_step<float>> step_;
  std::unique_ptr<lstm_adjoint<float>> adjoint_;
  std::unique_ptr<state> x0_, bar_;
  cairn::workspace<state, cairn::any_schedule> work_;
};

/// Times some steps and their adjoints, as a guess at the seconds of a pass.
[[nodiscard]] inline step_costs measure(parameters<float> const& weights, streams const& text) {
  auto const count = std::min<std::int64_t>(text.steps(), 200);
  objective<float> total{{weights.hidden(), weights.symbols()}};
  lstm_step<float> step{weights, text};
  lstm_adjoint<float> adjoint{weights, text, total, 1};
  state x = zero_state(), x1 = zero_state(), bar = zero_state();
  step_costs costs;
  for (int warm = 0; warm < 2; ++warm) {
    auto const start = cpu_seconds();
    for (std::int64_t i = 0; i < count; ++i) step(x, x1, i);
    auto const middle = cpu_seconds();
    for (std::int64_t i = 0; i < count; ++i) adjoint(x, bar, i, i + 1);
    costs = {(middle - start) / double(count), (cpu_seconds() - middle) / double(count)};
  }
  return costs;
}

/// What was seen of a training.
struct training {
  std::vector<double> losses, seconds;  ///< of each pass
  vector<float> first_gradient;         ///< that of pass 1
  std::size_t counted_peak = 0;         ///< heap that the sweeps took
  std::size_t resident_rise = 0;
  std::int64_t warm_allocations = 0;  ///< requests to the heap by the passes after the first
  bool calls_as_predicted = true;
  bool went_on = false;   ///< with a pass that another process had begun
  std::string bits = {};  ///< of the weights in the end
};

/// \param asked  of the progress that is shown, if it is to be   \param folder  for half of the states; empty: none
[[nodiscard]] inline training train(parameters<float> weights, streams const& text, chosen_plan const& plan, int passes,
                                    std::optional<cairn::progress_options> asked,
                                    [[maybe_unused]] std::string const& folder) {
  // All that outlives a sweep is made before the heap is watched.
  objective<float> total{{weights.hidden(), weights.symbols()}};
  adam<float> optimiser{weights};
  training seen;
  seen.first_gradient = total.gradient.all();
  seen.losses.reserve(std::size_t(passes));
  seen.seconds.reserve(std::size_t(passes));
  std::optional<cairn::progress> shown;
  if (asked) shown.emplace(plan.schedule, std::move(*asked));
#ifdef CAIRN_EXAMPLE_DISK
  cairn::disk const files{folder, {.key = "text " + bits_of(text.symbols())}};
#endif
  auto const resident_before = resident().now;
  forget_heap_peak();
  auto const heap_before = heap();

  sweeper sweep{weights, text, total, plan.schedule};
  for (int pass = 1; pass <= passes; ++pass) {
    auto const allocations = heap().allocations;
    auto const start = cpu_seconds();
    std::string used;
    auto calls = plan.cost.step_calls;
    auto const run = [&](auto&& observer) {
      if (folder.empty()) {
        sweep.pass(observer);
        calls = sweep.step_calls();
      }
#ifdef CAIRN_EXAMPLE_DISK
      else {
        sweep.pass(files, weights, observer);
        auto const& told = files.report();
        used = ", " + what_was_used(told);
        if (told.used == cairn::disk_use::nothing) calls = told.step_calls;
        else seen.went_on = true;
      }
#endif
    };
    if (shown) run(*shown);
    else run(cairn::no_observer{});
    seen.seconds.push_back(cpu_seconds() - start);
    seen.losses.push_back(total.loss);
    if (pass == 1) seen.first_gradient = total.gradient.all();
    else seen.warm_allocations += heap().allocations - allocations;
    seen.calls_as_predicted = seen.calls_as_predicted && calls == plan.cost.step_calls;
    if (shown) shown->wipe();
    std::printf("pass %-4d loss %.4f nats, %.3f bits a character, %.2f s%s\n", pass, total.loss,
                total.loss / std::log(2.0), seen.seconds.back(), used.c_str());
    optimiser.update(weights, total.gradient);
  }
  seen.counted_peak = heap().peak - heap_before.bytes;
  seen.resident_rise = resident().peak - resident_before;
  seen.bits = bits_of(weights.all());
  return seen;
}

/// Passes like the first on one thread and on two.
struct threaded {
  double seconds = 0, ratio = 0;  ///< by the clock: a pass on two threads, and that over one on one thread
  bool same_bits = false;         ///< as pass 1
  std::string serial;             ///< why the last pass went on alone, if it did
};

/// Medians of three of each, in turns, after one of each whose memory is new.
[[nodiscard]] inline threaded on_two_threads(parameters<float> const& weights, streams const& text,
                                             chosen_plan const& plan, training const& seen) {
  objective<float> total{{weights.hidden(), weights.symbols()}};
  lstm_step<float> step{weights, text};
  lstm_adjoint<float> adjoint{weights, text, total, plan.schedule.leaf()};
  std::array<cairn::workspace<state, cairn::any_schedule>, 2> work;
  cairn::sweep_report report;
  threaded found;
  found.same_bits = true;
  std::array<std::array<double, 3>, 2> seconds{};
  for (int round = -1; round < 3; ++round)
    for (int const threads : {1, 2}) {
      total.clear();
      auto const start = std::chrono::steady_clock::now();
      (void)cairn::gradient(cairn::concurrent(step), zero_state(), plan.schedule, zero_state(),
                            cairn::concurrent(adjoint), work[std::size_t(threads - 1)],
                            cairn::parallel{.threads = threads}, report);
      std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
      if (round >= 0) seconds[std::size_t(threads - 1)][std::size_t(round)] = took.count();
      found.same_bits = found.same_bits && total.gradient.all() == seen.first_gradient;
    }
  for (auto& three : seconds) std::sort(three.begin(), three.end());
  found.seconds = seconds[1][1];
  found.ratio = seconds[1][1] / seconds[0][1];
  if (report.serial != nullptr) found.serial = report.serial;
  return found;
}

/// What a sweep with every state kept takes and gives.
struct baseline {
  double loss, first_seconds, warm_seconds;
  std::size_t peak_bytes;
};

/// The baseline, followed by its gradient. Sweeps twice with one workspace: the second finds its memory ready, as the
/// passes of a training after the first do.
[[nodiscard]] inline std::vector<std::byte> store_all_gradient(parameters<float> const& weights, streams const& text) {
  objective<float> total{{weights.hidden(), weights.symbols()}};
  forget_heap_peak();
  auto const before = heap();
  sweeper all{weights, text, total, cairn::store_all(text.steps())};
  auto const start = cpu_seconds();
  all.pass(cairn::no_observer{});
  auto const middle = cpu_seconds();
  all.pass(cairn::no_observer{});
  baseline const found{total.loss, middle - start, cpu_seconds() - middle, heap().peak - before.bytes};
  auto const gradient = std::as_bytes(std::span{total.gradient.all().data(), std::size_t(total.gradient.all().size())});
  std::vector<std::byte> bytes(sizeof found + gradient.size());
  std::memcpy(bytes.data(), &found, sizeof found);
  std::memcpy(bytes.data() + sizeof found, gradient.data(), gradient.size());
  return bytes;
}

/// Pass 1 once more with a replay check.
struct replayed {
  std::uint64_t compared = 0;  ///< states that were run again or brought back
  bool same_bits = false;      ///< as pass 1 without it
  std::string difference;      ///< what the check said, if anything
};

/// \param traced  where its trace goes, if anywhere
[[nodiscard]] inline replayed replay(parameters<float> const& weights, streams const& text, chosen_plan const& plan,
                                     training const& seen, wanted_trace const& traced) {
  objective<float> total{{weights.hidden(), weights.symbols()}};
  total.clear();
  lstm_step<float> step{weights, text};
  lstm_adjoint<float> adjoint{weights, text, total, plan.schedule.leaf()};
  auto work =
      cairn::workspace_for<state>(plan.schedule, cairn::sweep_options{.verify = cairn::replay_check::checkpoints});
  replayed result;
  std::optional<cairn::trace_writer> log;
  if (traced) log.emplace(traced.file, traced.options);
  auto const run = [&](auto&& observer) {
    (void)cairn::gradient(step, zero_state(), plan.schedule, zero_state(), adjoint, work, observer);
  };
  try {
    if (log) run(cairn::trace_observer{*log});
    else run(cairn::no_observer{});
    if (log) log->finalize();
#ifdef CAIRN_DEMO_ZLIB
    if (log && traced.compressed) (void)cairn::gzip_trace(traced.file);
#endif
    result.same_bits = total.gradient.all() == seen.first_gradient;
  } catch (cairn::nondeterminism_error const& e) {
    result.difference = e.what();
  }
  result.compared = work.states_compared();
  return result;
}

/// The baseline, from a child process, and whether a training's first pass gave its loss and gradient to the last bit.
struct comparison {
  baseline all{};
  bool same_bits = false;
};

[[nodiscard]] inline comparison compare(parameters<float> const& weights, streams const& text, training const& seen) {
  comparison result;
  auto const sent = run_in_child([&] { return store_all_gradient(weights, text); });
  auto const size = std::size_t(seen.first_gradient.size()) * sizeof(float);
  if (!sent || sent->size() != sizeof result.all + size) return result;
  std::memcpy(&result.all, sent->data(), sizeof result.all);
  result.same_bits = result.all.loss == seen.losses.front() &&
                     std::memcmp(sent->data() + sizeof result.all, seen.first_gradient.data(), size) == 0;
  return result;
}

}  // namespace demo
