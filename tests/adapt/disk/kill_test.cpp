// SPDX-License-Identifier: Apache-2.0
// Sweeps on disk whose process is killed at any call and at any operation on a file: what goes on has the bits of an
// undisturbed sweep, in the adjoint, in the sums and in the objective's value.
#include "adapt/disk/kill_everywhere.hpp"

namespace {

struct by_differentiate {
  template <class Plan, class... Last>
  static answer of(Plan const& plan, Last const&... last) {
    auto const f = cairn::at_every(4, misfit, misfit_back) + cairn::at_end(misfit, misfit_back);
    auto const found = cairn::differentiate(cairn::model{step<numbers>{}, adjoint<numbers>{}}, start<numbers>(), p, plan,
                                            f, last...);
    return {found.state, found.params, found.value};
  }
};

}  // namespace

TEST_CASE("a run that is killed anywhere goes on with the bits of an undisturbed one, for every kind of plan") {
  step_index const n = 30;
  using verb = by_gradient<numbers>;
  kill_everywhere<verb>(cairn::hrevolve{n, two_tiers}, 3);
  kill_everywhere<verb>(cairn::multistage{n, 2, 4});
  kill_everywhere<verb>(cairn::disk_revolve{n, 3, {.disk_write = 5, .disk_read = 5}});
  kill_everywhere<verb>(cairn::two_level{n, 10, 3});
  kill_everywhere<verb>(cairn::revolve{n, 3});
}
TEST_CASE("a killed run over a state that grows, or over an object, goes on with the bits of an undisturbed one") {
  kill_everywhere<by_gradient<noted>>(cairn::hrevolve{30, two_tiers});
  kill_everywhere<by_gradient<solver>>(cairn::hrevolve{30, two_tiers});
}
TEST_CASE("a killed run with terms along the way has the value of an undisturbed one") {
  kill_everywhere<by_differentiate>(cairn::hrevolve{30, two_tiers}, 3);
}
TEST_CASE("so has one that goes on from its checkpoints, those of its way back among them") {
  kill_everywhere<by_differentiate>(cairn::hrevolve{30, two_tiers}, 3, 1'000);
}
