// SPDX-License-Identifier: Apache-2.0
// Gradients of the demo's LSTM with a replay check or without, a number of times: for callgrind, which counts what the
// check costs.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <cairn/cairn.hpp>
#include "demo/lstm.hpp"

namespace {

using cairn::replay_check;
using cairn::step_index;
using state = demo::lstm_state<float>;

constexpr Eigen::Index hidden = 64;
constexpr std::int64_t stream_count = 32;

[[nodiscard]] state zero() {
  return {demo::matrix<float>::Zero(hidden, stream_count), demo::matrix<float>::Zero(hidden, stream_count)};
}

template <class... Options>
double sweep(step_index steps, step_index slots, int times, Options... options) {
  std::string text;
  for (step_index k = 0; k < steps * stream_count; ++k) text += char('a' + (k * k + k / 7) % 26);
  demo::streams const streams{text, stream_count};
  auto const weights = demo::random_weights<float>(hidden, Eigen::Index(streams.alphabet().size()));
  demo::objective<float> total{{weights.hidden(), weights.symbols()}};
  demo::lstm_step<float> step{weights, streams};
  demo::lstm_adjoint<float> adjoint{weights, streams, total, 1};
  cairn::revolve const plan{steps, slots};
  auto work = cairn::workspace_for<state>(plan, options...);
  state const x0 = zero();
  for (int k = 0; k < times; ++k) (void)cairn::gradient(step, x0, plan, zero(), adjoint, work);
  return total.loss;
}

}  // namespace

/// replay_count none|off|checkpoints|every_step STEPS SLOTS TIMES prints 1, and the loss.
int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s none|off|checkpoints|every_step STEPS SLOTS TIMES\n", argv[0]);
    return 2;
  }
  step_index const steps = std::atoll(argv[2]), slots = std::atoll(argv[3]);
  int const times = std::atoi(argv[4]);
  std::pair<char const*, replay_check> const modes[] = {
      {"off", replay_check::off}, {"checkpoints", replay_check::checkpoints}, {"every_step", replay_check::every_step}};
  if (std::strcmp(argv[1], "none") == 0) return std::printf("1 %g\n", sweep(steps, slots, times)), 0;
  for (auto const& [name, mode] : modes)
    if (std::strcmp(argv[1], name) == 0)
      return std::printf("1 %g\n", sweep(steps, slots, times, cairn::sweep_options{mode})), 0;
  std::fprintf(stderr, "%s: no mode '%s'\n", argv[0], argv[1]);
  return 2;
}
