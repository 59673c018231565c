// SPDX-License-Identifier: Apache-2.0
// The one file of the program that is C++20.
#include "one_unit.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/core/bytes_of.hpp>
#include <cairn/planning.hpp>

int reverse_loop(long steps, size_t numbers, double const* u0, double* bar, loop_step step, loop_adjoint adjoint,
                 void* user, char const* memory, char* why) {
  using state = std::vector<double>;
  try {  // no exception leaves: the caller may be C, or another runtime's
    state const first(u0, u0 + numbers);
    state seed(bar, bar + numbers);
    cairn::workload const work{.steps = steps,
                               .state_bytes = cairn::bytes_of(first),
                               .state_inline_bytes = sizeof(state),
                               .adjoint_bytes = cairn::bytes_of(seed)};
    auto const plan = cairn::plan_within(memory, work);
    state const got = cairn::gradient([&](state& u, cairn::step_index i) { step(u.data(), long(i), user); }, first,
                                      plan.schedule, std::move(seed),
                                      [&](state const& u, state& b, cairn::step_index i) {
                                        adjoint(u.data(), b.data(), long(i), user);
                                      });
    std::copy(got.begin(), got.end(), bar);
    return 0;
  } catch (std::exception const& problem) {
    std::snprintf(why, 400, "%s", problem.what());
    return 1;
  }
}
