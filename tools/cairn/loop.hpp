// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop.hpp  The sizes and times of a loop, as given to `advise` and `pareto`.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <cairn/plan/loop/planning_options.hpp>
#include <cairn/rules/workload.hpp>
#include "keys.hpp"

namespace tool {

struct asked_loop {
  cairn::workload work;
  cairn::planning_options options;
  std::optional<cairn::byte_size> memory, adjoint;
  bool leaves = false, records = false;
};

using loop_key = key_of<asked_loop>;

[[nodiscard]] std::span<loop_key const> loop_keys() noexcept;

/// \throws wrong_request   for an unknown key, and for a text that is not a value of the key
void set(asked_loop& asked, std::string_view name, std::string_view text);

/// Fills in the defaults.   \throws wrong_request   for keys that exclude each other
/// \param with_memory  whether a budget must be given; if false, it must not be given
[[nodiscard]] asked_loop completed(asked_loop asked, bool with_memory);

}  // namespace tool
