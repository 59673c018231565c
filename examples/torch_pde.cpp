// SPDX-License-Identifier: Apache-2.0
// What lies under the ground? Waves on 64 x 64 cells run over an unknown field of speeds, and one row of cells is
// listened to. Adam changes the field until the waves sound right; each gradient goes back through 3,000 steps of the
// wave equation, written in LibTorch. With every step's graph kept that takes hundreds of megabytes. The loop in
// bounded memory differs in one statement, marked below, and makes the same bits, which is shown on 300 steps.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include <cairn/adapt/torch.hpp>

#include "torch/measured.hpp"

namespace cl = cairn::libtorch;

namespace {

using torch::Tensor;

constexpr std::int64_t side = 64, listening = 6;

/// The field now, that of a step before, and the squared misfit so far.
using state = std::tuple<Tensor, Tensor, Tensor>;

state at_rest() { return {torch::zeros({side, side}), torch::zeros({side, side}), torch::zeros({})}; }

/// A short pulse in the middle.
Tensor pulse(std::int64_t i) {
  auto const t = (double(i) - 30) / 10;
  Tensor source = torch::zeros({side, side});
  source[side / 2][side / 2] = (1 - 2 * t * t) * std::exp(-t * t);
  return source;
}

/// Leapfrog on a torus. \param speed  (velocity * time step / cell size)^2, at most 1/2 in each cell
Tensor swing(Tensor const& u, Tensor const& before, Tensor const& speed, std::int64_t i) {
  auto const laplacian =
      torch::roll(u, 1, 0) + torch::roll(u, -1, 0) + torch::roll(u, 1, 1) + torch::roll(u, -1, 1) - 4 * u;
  auto const next = 2 * u - before + speed * laplacian;
  return i < 60 ? next + pulse(i) : next;
}

/// What is heard over the true ground, which has a disc of faster rock: steps x side.
Tensor listen(std::int64_t steps) {
  auto const across = torch::arange(side).unsqueeze(1), along = torch::arange(side).unsqueeze(0);
  auto const rock = ((across - 18).pow(2) + (along - 40).pow(2)).lt(60);
  auto const speed = torch::full({side, side}, 0.1).masked_fill(rock, 0.13);
  auto [u, before, unused] = at_rest();
  std::vector<Tensor> heard;
  for (std::int64_t i = 0; i < steps; ++i) {
    before = std::exchange(u, swing(u, before, speed, i));
    heard.push_back(u[listening].clone());
  }
  return torch::stack(heard);
}

enum class memory { of_every_step, of_a_few };

/// \param report  what the checkpointed loops did and took   \returns the misfits, then the field of speeds
std::vector<Tensor> invert(Tensor const& heard, int iterations, memory kept,
                           std::shared_ptr<cl::StepStats> const& report = nullptr) {
  auto const steps = heard.size(0);
  Tensor speed = torch::full({side, side}, 0.1).requires_grad_();
  torch::optim::Adam adam({speed}, torch::optim::AdamOptions(5e-4));
  auto const step = [&](state const& s, std::int64_t i) -> state {
    auto const& [u, before, misfit] = s;
    auto const next = swing(u, before, speed, i);
    return {next, u, misfit + (next[listening] - heard[i]).pow(2).sum()};
  };

  std::vector<Tensor> made;
  for (int k = 0; k < iterations; ++k) {
    state s = at_rest();

    if (kept == memory::of_every_step)
      for (std::int64_t i = 0; i < steps; ++i) s = step(s, i);
    else
      s = cl::checkpointed_loop(step, s, steps,
                                cl::LoopOptions().checkpoints(20).block_size(16).stats(report));  // the edit

    Tensor const misfit = std::get<2>(s) / steps;
    adam.zero_grad();
    misfit.backward();
    adam.step();
    made.push_back(misfit.detach());
  }
  made.push_back(speed.detach());
  return made;
}

}  // namespace

int main() {
  try {
    constexpr std::int64_t few = 300, many = 3'000;
    constexpr int iterations = 3;
    Tensor const heard = listen(many);
    auto const warm_up = [&] { return invert(heard.slice(0, 0, 2), 1, memory::of_every_step); };
    auto const plain =
        support::measure(warm_up, [&] { return invert(heard.slice(0, 0, few), 1, memory::of_every_step); });
    auto const checked = support::measure(warm_up, [&] { return invert(heard.slice(0, 0, few), 1, memory::of_a_few); });
    std::printf("%d steps, a gradient:\n", int(few));
    support::print("every step:", plain.memory);
    support::print("checkpointed:", checked.memory);
    bool const same = plain.made == checked.made;
    std::printf("misfit and field: %s\n\n%d steps, %d gradients:\n", same ? "the same bits" : "DIFFERENT", int(many),
                iterations);
    auto const inverted = support::measure(warm_up, [&] {
      auto const report = std::make_shared<cl::StepStats>();
      auto made = invert(heard, iterations, memory::of_a_few, report);
      support::print(*report);
      return made;
    });
    support::print("checkpointed:", inverted.memory);
    float misfit[iterations];
    std::memcpy(misfit, inverted.made.data(), sizeof misfit);
    std::printf("misfit %.4g -> %.4g\n", double(misfit[0]), double(misfit[iterations - 1]));

    // Each step's graph takes the same, so ten times the steps would have taken ten times as much.
    auto const every_step = plain.memory.tensor_bytes * (many / few);
    bool const small = inverted.memory.tensor_bytes * 20 <= every_step;
    std::printf("with every step's graph kept: about %.0f MB of tensors%s\n", double(every_step) / 1e6,
                small ? "" : ", which is LESS than twenty times as much");
    return same && small && misfit[iterations - 1] < misfit[0] ? 0 : 1;
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "torch_pde: %s\n", problem.what());
    return 1;
  }
}
