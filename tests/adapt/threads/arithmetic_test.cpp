// SPDX-License-Identifier: Apache-2.0
// The helper runs steps in the floating-point mode of the caller.
#include <cairn/adapt/threads.hpp>

#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/run/with/flush_subnormals.hpp>

#include "support/catch.hpp"

using cairn::flush_subnormals;

TEST_CASE("a sweep on two threads that flushes subnormal numbers has the bits of one thread, in either order of sweeps") {
  using field = std::vector<float>;
  auto const step = [](field& x) { for (float& v : x) v *= 0.9f; };
  auto const adjoint = [](field const& x, field& bar, cairn::step_index i) {
    for (std::size_t k = 0; i > 1'000 && k < x.size(); ++k) bar[k] += 1e38f * x[k];  // of states that have vanished
  };
  field const x0(20'000, 1.0f), seed(20'000, 0.0f);
  cairn::revolve const plan{1'200, 6};
  auto const sweep = [&](auto&&... more) {
    return cairn::gradient(cairn::concurrent(step), x0, plan, seed, adjoint, more...);
  };
  auto const kept = sweep(), flushed = sweep(flush_subnormals{});
  CHECK((kept != flushed) == flush_subnormals::works);
  for (int k = 0; k < 2; ++k) {
    CHECK(sweep(cairn::parallel{}, flush_subnormals{}) == flushed);
    CHECK(sweep(cairn::parallel{}) == kept);
  }
  auto work = cairn::workspace_for<field>(plan);  // one thread for all
  for (int k = 0; k < 2; ++k) {
    CHECK(sweep(cairn::parallel{}, flush_subnormals{}, work) == flushed);
    CHECK(sweep(cairn::parallel{}, work) == kept);
  }
}
