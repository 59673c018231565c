// SPDX-License-Identifier: Apache-2.0
// One shot of the seismic example with its wave running backwards from strips, against Revolve within the same bytes and
// against storing every field in a flat slab. Times are user CPU, medians over sweeps that take turns; peaks are counted
// on the heap. The same four functions called by a plain loop say what the library adds. Gradients are compared inside
// the damping rim with the slab's. Arguments: rounds (7), cells across (256), cells down (128), steps (2500).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/core/bytes.hpp>
#include "../../examples/seismic/baseline.hpp"
#include "../../examples/seismic/comparison.hpp"
#include "../../examples/seismic/inversion.hpp"
#include "../../examples/seismic/models.hpp"
#include "../../examples/seismic/reversible_sweep.hpp"
#include "../../examples/support/counting.hpp"

using namespace seismic;

namespace {

/// A way to the gradient: its seconds, its peak, and what it found.
struct way {
  std::vector<double> seconds;
  std::size_t peak = 0;
  std::vector<float> sensitivity;
  double misfit = 0;
};

template <class Sweep>
void time_once(way& of, Sweep& sweep, shot<float> const& one) {
  std::fill(of.sensitivity.begin(), of.sensitivity.end(), 0.0f);
  double const before = user_seconds();
  of.misfit = sweep.run(one);
  of.seconds.push_back(user_seconds() - before);
}

/// The functions of a sweep that runs backwards, called by hand.
class by_hand {
 public:
  by_hand(medium<float> const& ground, survey<float> const& plan, std::vector<float>& sensitivity,
          cairn::step_index steps)
      : shot_{ground, plan, sensitivity}, steps_{steps}, kept_(std::size_t(steps)) {}
  double run(shot<float> const& one) {
    shot_.aim(one);
    auto x = shot_.silence();
    auto bar = silence<float>(x.now.size());
    for (cairn::step_index i = 0; i < steps_; ++i) kept_[std::size_t(i)] = shot_.keep(x), shot_.step(x, i);
    shot_.listen(x, bar, steps_);
    for (cairn::step_index i = steps_; i-- > 0;) shot_.back(x, kept_[std::size_t(i)], i), shot_.adjoint(x, bar, i);
    return shot_.misfit();
  }

 private:
  backward_shot<float> shot_;
  cairn::step_index steps_;
  std::vector<std::vector<float>> kept_;
};

}  // namespace

int main(int argc, char** argv) {
  auto const given = [&](int k, long otherwise) { return argc > k ? std::atol(argv[k]) : otherwise; };
  long const rounds = given(1, 7);
  grid g;
  g.nx = std::size_t(given(2, 256)), g.nz = std::size_t(given(3, 128));
  auto const steps = cairn::step_index(given(4, 2500));
  survey<float> const plan{g, std::size_t(steps), 1, 10};
  medium<float> const truth{g, true_model(g)}, ground{g, start_model(g)};
  auto const recorded = record(truth, plan, plan.sources[0]);
  shot<float> const one{plan.sources[0], &recorded};
  shot_loop<float> const loop{g, steps};

  way back, revolve, slab, alone;
  for (way* each : {&back, &revolve, &slab, &alone}) each->sensitivity.resize(g.cells());
  auto const made = [&](way& of, auto make) {
    support::forget_heap_peak();
    auto const before = support::heap().bytes;
    auto sweep = make();
    of.misfit = sweep->run(one);
    of.peak = support::heap().peak - before;
    return sweep;
  };
  auto backward = made(back, [&] {
    return std::make_unique<backward_sweeper<float>>(ground, plan, back.sensitivity, cairn::segments{steps});
  });
  auto const chosen = support::plan_within(loop, support::schedule_kind::revolve, 0, back.peak, "this shot");
  auto checkpoints = made(
      revolve, [&] { return std::make_unique<sweeper<float>>(ground, plan, revolve.sensitivity, chosen.schedule); });
  auto stored =
      made(slab, [&] { return std::make_unique<stored_sweep<float>>(ground, plan, slab.sensitivity); });
  auto hand = made(alone, [&] { return std::make_unique<by_hand>(ground, plan, alone.sensitivity, steps); });
  for (long k = 0; k < rounds; ++k) {
    time_once(alone, *hand, one);
    time_once(back, *backward, one);
    time_once(revolve, *checkpoints, one);
    time_once(slab, *stored, one);
  }
  double largest = 0, error = 0;
  for (std::size_t z = g.rim; z + g.rim < g.nz; ++z)
    for (std::size_t x = g.rim; x + g.rim < g.nx; ++x) {
      auto const k = g.at(x, z);
      largest = std::max(largest, std::abs(double(slab.sensitivity[k])));
      error = std::max(error, std::abs(double(slab.sensitivity[k]) - double(back.sensitivity[k])));
    }
  auto const& report = backward->report();
  double const b = median(back.seconds), r = median(revolve.seconds), s = median(slab.seconds);
  auto const text = [](cairn::wide bytes) { return cairn::to_short_text(bytes); };
  std::printf("%zu x %zu cells, rim %zu, %ld steps, %ld rounds; strips %s, drift %.1e, gradient inside within %.1e\n", g.nx,
              g.nz, g.rim, long(steps), rounds, text(report.kept_bytes).c_str(), report.drift, error / largest);
  std::printf("backwards  %8.3f s  %10s\n", b, text(back.peak).c_str());
  std::printf("revolve    %8.3f s  %10s   %.2f runs a step   backwards over it %.3f\n", r, text(revolve.peak).c_str(),
              double(chosen.cost.step_calls + loop.leaf_steps(chosen.schedule)) / double(steps), b / r);
  std::printf("slab       %8.3f s  %10s   backwards over it %.3f, its bytes %.4f\n", s, text(slab.peak).c_str(), b / s,
              double(back.peak) / double(slab.peak));
  std::printf("by hand    %8.3f s  %10s   backwards over it %.3f\n", median(alone.seconds), text(alone.peak).c_str(),
              b / median(alone.seconds));
  bool const same = back.misfit == alone.misfit && revolve.misfit == slab.misfit &&
                    std::abs(back.misfit - slab.misfit) <= 1e-3 * slab.misfit;
  return same && error <= 1e-3 * largest ? 0 : 1;
}
