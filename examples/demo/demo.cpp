// SPDX-License-Identifier: Apache-2.0
/// \file demo.cpp  Trains a character LSTM by back-propagation through the whole of a text inside a small memory,
/// and checks everything that was predicted: bytes, step calls and the gradient's bits.

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <cairn/cairn.hpp>
#include <cairn/core/bytes.hpp>

#include "../support/checks.hpp"
#include "../support/json.hpp"
#include "../support/plan_pictures.hpp"
#include "../support/program.hpp"
#include "options.hpp"
#include "planning.hpp"
#include "text.hpp"
#include "training.hpp"

namespace demo {
namespace {

[[nodiscard]] std::string size(cairn::wide bytes) { return cairn::to_short_text(bytes).c_str(); }
[[nodiscard]] std::string exact(cairn::wide number) { return std::to_string(std::uint64_t(number)); }

[[nodiscard]] std::string read_text(options const& chosen) {
  std::ifstream file{chosen.text, std::ios::binary};
  if (!file) throw wrong_usage{"--text " + chosen.text + " cannot be read; give the name of a text file"};
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  auto const least = std::int64_t{stream_count};
  auto const length = chosen.length == 0 ? std::int64_t(text.size()) : chosen.length;
  if (length > std::int64_t(text.size()) || length < least)
    throw wrong_usage{"--length is " + std::to_string(length) + ", but the text has " + std::to_string(text.size()) +
                      " characters and the model reads " + std::to_string(least) +
                      " at a time; give a number between the two"};
  text.resize(std::size_t(length));
  return text;
}

void describe(options const& chosen, streams const& text, loop_shape const& loop, chosen_plan const& plan,
              cairn::wide budget) {
  auto const state = loop.workload(1).state_bytes;
  auto const leaf = plan.schedule.leaf();
  std::printf("text      %s: %s characters, %s different, read as %s streams of %s\n", chosen.text.c_str(),
              exact(cairn::wide(text.characters())).c_str(), exact(text.alphabet().size()).c_str(),
              exact(cairn::wide(text.count())).c_str(), exact(cairn::wide(text.steps())).c_str());
  std::printf("model     LSTM of %d hidden units; a state is %s bytes, every state %s\n", int(loop.hidden),
              exact(state).c_str(), size(state * cairn::wide(loop.steps)).c_str());
  std::printf("plan      %s: %s slots, %s step%s run again and reversed by one call of the adjoint\n",
              name_of(chosen.schedule), exact(cairn::wide(plan.schedule.slots())).c_str(),
              exact(cairn::wide(leaf)).c_str(), leaf == 1 ? "" : "s");
  if (!chosen.disk.empty())
    std::printf("disk      %s slots are files in %s\n", exact(cairn::wide(plan.schedule.slots() / 2)).c_str(),
                chosen.disk.c_str());
  std::printf("estimate  %s at the peak within %s, %s step calls a pass (%.3f a step), %.1f s for %d passes\n",
              size(plan.cost.peak_bytes).c_str(), size(budget).c_str(), exact(plan.cost.step_calls).c_str(),
              plan.cost.forward_evaluations_per_step, plan.cost.seconds * chosen.passes, chosen.passes);
}

/// \param on_disk  whether half of the states were
[[nodiscard]] checks check_all(chosen_plan const& plan, cairn::wide budget, training const& seen,
                               comparison const& against, replayed const& again, threaded const& beside, bool on_disk) {
  checks list;
  list.add("gradient", against.same_bits, "of pass 1, bit for bit that of store-all, which ran in a child process");
  list.add("replay", again.same_bits && (again.compared > 0 || plan.schedule.steps() < 2),
           again.difference.empty() ? "in pass 1 once more, " + exact(again.compared) +
                                          " states run again or brought back are those of the first run"
                                    : again.difference);
  list.add("threads", beside.same_bits, "of passes on two threads, bit for bit the gradient of pass 1");
  auto most = plan.cost.peak_bytes;
#ifdef CAIRN_EXAMPLE_DISK
  if (on_disk) most += cairn::disk::keeps_runs::memory_bytes(cairn::disk{""}, plan.schedule.slots());
#endif
  if (seen.went_on) most += 3 * cairn::bytes_of(zero_state());  // the seed, which is not used; two at the seam
  list.add("bytes", on_disk ? seen.counted_peak <= most : seen.counted_peak == most,
           "counted " + exact(seen.counted_peak) + ", predicted " + (on_disk ? "at most " : "") + exact(most));
  list.add("step_calls", seen.calls_as_predicted,
           (on_disk ? "in every pass of this process alone the " : "in every pass the ") +
               exact(plan.cost.step_calls) + " predicted");
  if (!on_disk)  // files need names
    list.add("allocations", seen.warm_allocations == 0,
             std::to_string(seen.warm_allocations) + " after the first pass");
  // Beyond the budget: the pages of code that runs for the first time, stack, and what the allocator rounds up.
  list.add("resident", seen.resident_rise <= budget + (8 << 20),
           "memory of the process rose by " + size(seen.resident_rise));
  if (seen.losses.size() >= 4) {
    auto const percent = 100 * (1 - seen.losses.back() / seen.losses.front());
    char text[32];
    std::snprintf(text, sizeof text, "fell by %.1f %%", percent);
    list.add("loss", percent >= 10, text);
  }
  return list;
}

/// \returns whether every check was passed
bool run(options const& chosen) {
  streams const text{read_text(chosen), stream_count};
  auto const budget = cairn::wide(chosen.budget.count());
  auto const weights = random_weights<float>(hidden, Eigen::Index(text.alphabet().size()));
  auto const costs = measure(weights, text);
  loop_shape const loop{hidden, weights.symbols(), stream_count, text.steps(), costs};
  auto const in_memory = plan_within(loop, chosen.schedule, chosen.leaf, budget, "this text");
  auto plan = in_memory;
#ifdef CAIRN_EXAMPLE_DISK
  if (!chosen.disk.empty()) plan = half_on_disk(loop, in_memory);
#endif
  std::ofstream file{chosen.report};
  if (!file) throw wrong_usage{"--report " + chosen.report + " cannot be written; give the name of a file that can be"};

  describe(chosen, text, loop, plan, budget);
  std::optional<cairn::progress_options> asked;
  if (chosen.progress) {
    asked = chosen.progress.options("pass", chosen.passes);
    if (costs.step > 0) asked->adjoint_steps = costs.adjoint / costs.step;
  }
  auto const seen = train(weights, text, plan, chosen.passes, std::move(asked), chosen.disk);
  auto const against = compare(weights, text, seen);
  auto const again = replay(weights, text, in_memory, seen, chosen.trace);
  auto const beside = on_two_threads(weights, text, in_memory, seen);
  auto const& all = against.all;
  auto const seconds = std::accumulate(seen.seconds.begin(), seen.seconds.end(), 0.0) / chosen.passes;
  std::printf(
      "store-all %s, %.2f s a pass with its memory ready (%.2f s the first); this plan %.2f s, %.2f times that\n",
      size(all.peak_bytes).c_str(), all.warm_seconds, all.first_seconds, seconds, seconds / all.warm_seconds);
  std::printf("threads   with a second core %.2f s a pass by the clock, %.2f times one thread%s%s\n", beside.seconds,
              beside.ratio, beside.serial.empty() ? "" : "; ", beside.serial.c_str());
  std::printf("checks\n");
  auto const list = check_all(plan, budget, seen, against, again, beside, !chosen.disk.empty());
  if (!chosen.disk.empty()) std::printf("disk      the bits of the weights are %s\n", seen.bits.c_str());

  json_object report;
  report.add("text", chosen.text)
      .add("characters", text.characters())
      .add("symbols", weights.symbols())
      .add("streams", stream_count)
      .add("steps", text.steps())
      .add("hidden", hidden)
      .add("weights", weights.all().size())
      .add("schedule", name_of(chosen.schedule))
      .add("slots", plan.schedule.slots())
      .add("leaf", plan.schedule.leaf())
      .add("budget_bytes", std::uint64_t(budget))
      .add("predicted_peak_bytes", std::uint64_t(plan.cost.peak_bytes))
      .add("counted_peak_bytes", seen.counted_peak)
      .add("store_all_peak_bytes", all.peak_bytes)
      .add("resident_rise_bytes", seen.resident_rise)
      .add("step_calls", std::uint64_t(plan.cost.step_calls))
      .add("loss", seen.losses)
      .add("predicted_seconds", plan.cost.seconds)
      .add("seconds", seen.seconds)
      .add("store_all_seconds", all.warm_seconds)
      .add("time_ratio", seconds / all.warm_seconds)
      .add("two_threads_ratio", beside.ratio)
      .add("checks", list.report());
  if (!(file << report.text() << '\n' << std::flush))
    throw std::runtime_error{"the report could not be written to " + chosen.report};
  std::printf("report    %s\n", chosen.report.c_str());
  auto const name =
      chosen.report.ends_with(".json") ? chosen.report.substr(0, chosen.report.size() - 5) : chosen.report;
  write_plan_pictures(name, loop, chosen.schedule, plan.schedule);
  return list.all_kept();
}

}  // namespace
}  // namespace demo

int main(int count, char** words) {
  return support::run_program("cairn_demo", demo::usage, count, words, demo::parse_options, demo::run);
}
