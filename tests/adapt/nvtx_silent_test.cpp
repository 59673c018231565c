// SPDX-License-Identifier: Apache-2.0
// `nvtx_ranges` where no tool listens.
#include <cairn/adapt/nvtx.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/schedule/revolve.hpp>
#include "support/catch.hpp"
#include "support/kernels.hpp"

TEST_CASE("without a tool a sweep with ranges is as one without", "[adapt][nvtx]") {
  auto const step = [](kernels::vec2& x, cairn::step_index i) { kernels::step(x.data(), i); };
  auto const adjoint = [](kernels::vec2 const& x, kernels::vec2& bar, cairn::step_index i) {
    kernels::adjoint(x.data(), bar.data(), i);
  };
  auto const seed = [](kernels::vec2 const& last) { return kernels::seed(last.data()); };
  cairn::revolve const plan{20, 3};
  CHECK(gradient(step, kernels::start, plan, seed, adjoint, cairn::nvtx_ranges{}) ==
        gradient(step, kernels::start, plan, seed, adjoint));
}
