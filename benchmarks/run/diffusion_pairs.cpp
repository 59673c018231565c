// SPDX-License-Identifier: Apache-2.0
// Diffusion of 4,096 floats over 10^4 steps: gradients with few states against storing all of them in one flat, reused
// slab. Every ratio is a median over interleaved pairs of user-CPU times, so that what else the machine does cancels;
// every gradient is compared bit for bit. The slab's loop calls the same step function that the sweeps call.
#include "../pairs.hpp"
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>
#include <cairn/cairn.hpp>

namespace {

using cairn::step_index;
using field = std::vector<float>;
constexpr std::size_t cells = 4096;
constexpr step_index steps = 10'000;

[[gnu::noinline]] void diffuse(float const* __restrict x, float* __restrict x1, step_index i) {
  float const reaction = 1e-4f * float(i & 15);
  x1[0] = x[0];
  x1[cells - 1] = x[cells - 1];
  for (std::size_t k = 1; k + 1 < cells; ++k)
    x1[k] = x[k] + 0.2f * (x[k - 1] - 2 * x[k] + x[k + 1]) + reaction * x[k] * (1 - x[k]);
}
[[gnu::noinline]] void diffuse_back(float const* __restrict x, float const* __restrict bar, float* __restrict out,
                                    step_index i) {
  float const reaction = 1e-4f * float(i & 15);
  auto const own = [&](std::size_t k) { return bar[k] * (0.6f + reaction * (1 - 2 * x[k])); };
  constexpr std::size_t last = cells - 2;  // the two ends are fixed; apart from the loop they cost it no masks
  out[1] = own(1) + 0.2f * bar[2];
  for (std::size_t k = 2; k < last; ++k) out[k] = own(k) + 0.2f * bar[k - 1] + 0.2f * bar[k + 1];
  out[last] = own(last) + 0.2f * bar[last - 1];
  out[0] = bar[0] + 0.2f * bar[1];
  out[cells - 1] = bar[cells - 1] + 0.2f * bar[cells - 2];
}

double user_seconds() { return process_seconds().user; }

}  // namespace

int main(int argc, char** argv) {
  int const pairs = asked_times(argc, argv, 9, "pairs of timings");
  field x0(cells), scratch(cells);
  for (std::size_t k = 0; k < cells; ++k) x0[k] = 0.5f + 0.4f * std::sin(0.01f * float(k));

  std::vector<float> slab(cells * std::size_t(steps + 1));
  field slab_bar(cells);
  auto const store_all = [&] {
    std::memcpy(slab.data(), x0.data(), cells * sizeof(float));
    for (step_index i = 0; i < steps; ++i) diffuse(&slab[std::size_t(i) * cells], &slab[std::size_t(i + 1) * cells], i);
    std::memcpy(slab_bar.data(), &slab[std::size_t(steps) * cells], cells * sizeof(float));
    for (step_index i = steps; i-- > 0;) {
      diffuse_back(&slab[std::size_t(i) * cells], slab_bar.data(), scratch.data(), i);
      slab_bar.swap(scratch);
    }
  };
  auto const step = [](field const& x, field& x1, step_index i) { diffuse(x.data(), x1.data(), i); };
  auto const seed = [](field const& x) { return x; };
  auto const adjoint = [&](field const& x, field& bar, step_index i) {
    diffuse_back(x.data(), bar.data(), scratch.data(), i);
    bar.swap(scratch);
  };

  std::printf(
      "diffusion, %zu floats, %lld steps, %s: user CPU against a flat slab of all states, medians of %d interleaved "
      "pairs\n",
      cells, (long long)steps, CAIRN_BENCHMARK_FLAGS, pairs);
  std::printf("%-24s %8s %10s %10s %8s %8s %9s %5s\n", "plan", "ratio", "us a step", "slab", "spread", "states",
              "runs/step", "bits");
  store_all();
  bool same_bits = true;
  auto const row = [&](char const* name, auto const& plan) {
    auto work = cairn::workspace_for<field>(plan);
    field bar = cairn::gradient(step, x0, plan, seed, adjoint, work);
    paired_times const times{pairs, user_seconds, store_all,
                             [&] { bar = cairn::gradient(step, x0, plan, seed, adjoint, work); }};
    auto const cost = cairn::estimate(plan, {.form = {cairn::step_form::out_of_place, cairn::adjoint_form::one_step}});
    bool const same = std::memcmp(bar.data(), slab_bar.data(), cells * sizeof(float)) == 0;
    same_bits = same_bits && same;
    auto const [low, high] = times.spread();
    std::printf("%-24s %8.2f %10.2f %10.2f %3.2f-%3.2f %8lld %9.3f %5s\n", name, median(times.ratios),
                1e6 * median(times.own) / double(steps), 1e6 * median(times.base) / double(steps), low, high,
                (long long)cost.peak_states, double(cost.step_calls) / double(steps), same ? "same" : "DIFFER");
  };
  row("store_all, frames", cairn::store_all(steps));
  row("uniform, block 100", cairn::uniform{steps, {.block = 100}});
  row("revolve, 140 slots", cairn::revolve{steps, 140});
  row("revolve, 50 slots", cairn::revolve{steps, 50});
  row("revolve, 10 slots", cairn::revolve{steps, 10});
  // Beside them, what the calls of a sweep with two runs a step take by themselves, on a few arrays that stay in cache.
  field a = x0, b(cells), bar = x0;
  paired_times const alone{pairs, user_seconds, store_all, [&] {
                             for (step_index i = 0; i < steps; ++i) {
                               diffuse(x0.data(), b.data(), i);
                               diffuse(x0.data(), a.data(), i);
                               diffuse_back(x0.data(), bar.data(), scratch.data(), i);
                             }
                           }};
  std::printf("%-24s %8.2f %10.2f\n", "calls alone, in cache", median(alone.ratios),
              1e6 * median(alone.own) / double(steps));
  return same_bits ? 0 : 1;
}
