// SPDX-License-Identifier: Apache-2.0
// What a plan with more slots than there is memory for gets.
#include <cstddef>
#include <limits>
#include <new>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/core/detail/table.hpp>
#include "support/catch.hpp"

using namespace cairn;

TEST_CASE("memory that is wanting is an error of the plan's from 4 GiB on, and std::bad_alloc below", "[core]") {
  auto const none = []() -> int* { throw std::bad_alloc{}; };
  for (std::size_t const size : {1u, 8u, 24u}) {
    auto const enough = detail::large_bytes / size;
    CHECK_THROWS_AS(detail::allocated(enough - 1, size, none), std::bad_alloc);
    CHECK_THROWS_AS(detail::allocated(enough, size, none), out_of_memory);
    CHECK_THROWS_AS(detail::allocated(std::numeric_limits<std::size_t>::max(), size, none), out_of_memory);
  }
}

TEST_CASE("a loop of 2^63-1 steps that is to keep a state of each is refused by an error of cairn's", "[core][run]") {
  constexpr step_index most = std::numeric_limits<step_index>::max();
  int calls = 0;
  auto const step = [&](double& x, step_index) { ++calls, x *= 0.5; };
  auto const adjoint = [&](double const&, double& bar, step_index) { ++calls, bar *= 0.5; };
  auto const refused = [&](auto const& plan) {
    CHECK_THROWS_AS(gradient(step, 1.0, plan, 1.0, adjoint), error);
    CHECK_THROWS_AS(gradient(step, 1.0, plan, 1.0, adjoint, sweep_options{.verify = replay_check::checkpoints}), error);
    CHECK_THROWS_AS(gradient(step, 1.0, any_schedule{plan}, 1.0, adjoint), error);
    CHECK_THROWS_AS(checkpointed_loop(step, 1.0, plan), error);
  };
  for (step_index const n : {most, most - 1}) {
    refused(store_all(n));
    refused(revolve{n, most});
    refused(revolve{n, most, {.free_initial = true}});
    refused(two_level{n, 1, 3});
    refused(two_level{n, most, most});
  }
  CHECK(calls == 0);
}
