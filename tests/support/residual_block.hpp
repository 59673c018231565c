// SPDX-License-Identifier: Apache-2.0
// A small graph with names, whose profile can be said by heart.
#pragma once
#include <cairn/profile/profile_of.hpp>

/// 0 -> 1 -> 2 -> 3 = 0 + 2; the adjoint of 1 reads a mask, that of the sum reads nothing.
inline cairn::profiled_graph residual_block() {
  return {.graph = {.operations = {{.bytes = 10, .time = 1'000, .adjoint_bytes = 10, .adjoint_time = 10'000},
                                   {.inputs = {0},
                                    .bytes = 20,
                                    .time = 2'000,
                                    .work = 6,
                                    .tape_bytes = 3,
                                    .adjoint_bytes = 20,
                                    .adjoint_time = 20'000,
                                    .adjoint_needs_inputs = false,
                                    .adjoint_needs_output = false},
                                   {.inputs = {1},
                                    .bytes = 30,
                                    .time = 4'000,
                                    .adjoint_bytes = 30,
                                    .adjoint_time = 40'000,
                                    .adjoint_work = 7},
                                   {.inputs = {0, 2},
                                    .bytes = 40,
                                    .time = 8'000,
                                    .adjoint_bytes = 40,
                                    .adjoint_time = 80'000,
                                    .adjoint_needs_inputs = false,
                                    .adjoint_needs_output = false}},
                    .loss_time = 100'000},
          .names = {"conv", "relu", "norm", "add"}};
}
