#pragma once
/// \file loop.hpp  What a loop weighs, as `advise` and `pareto` are asked about it.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <cairn/core/workload.hpp>
#include <cairn/plan/loop/planning_options.hpp>
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

/// \throws wrong_request   for a key that there is not, and a text that is no value of it
void set(asked_loop& asked, std::string_view name, std::string_view text);

/// Fills in what was left open.   \throws wrong_request   for what does not go together
/// \param with_memory  whether a budget has to be given, or else may not be
[[nodiscard]] asked_loop completed(asked_loop asked, bool with_memory);

}  // namespace tool
