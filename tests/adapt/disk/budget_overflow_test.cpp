// SPDX-License-Identifier: Apache-2.0
// Plans with memory and files for loops as long as their numbers get: undefined arithmetic ends this program.
#include <cstdint>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include "support/catch.hpp"

TEST_CASE("a budget for the longest loop is planned at once, on disk too") {
  using state = std::vector<double>;
  cairn::disk const run{"nowhere"};
  state const x0(1000);
  auto const plan_of = [&x0](auto const& budget) {
    auto const step = [](state&) {};
    double dp = 0, p = 0;
    cairn::detail::adjoint_later const adjoint{step, p};
    return cairn::detail::values_for<state>(step, x0, x0, adjoint, cairn::wrt{p, dp}, cairn::no_options{}, {})
        .plan_from(budget, cairn::no_options{});
  };
  auto const plan = plan_of(cairn::budget_of{INT64_MAX, "1GB", run, "20GB"});
  CHECK(plan.steps() == INT64_MAX);
  CHECK(plan.slots() > 600'000);
  CHECK(plan_of(cairn::budget_of{INT64_MAX, "1GB", run}).steps() == INT64_MAX);
}
