// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file shared_copies.hpp  Detects by trial that copies of a state share its numbers, where its type does not show it.
#include <cstddef>
#include <type_traits>
#include <vector>
#include <cairn/core/detail/made_of.hpp>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/core/state_traits.hpp>

namespace cairn::detail {

struct parts_are_known {
  template <class Part>
  static consteval ruling of() {
    using T = std::remove_const_t<Part>;
    if constexpr (traited_copy_itself<T>) return ruling::yes;
    else return kind<T> == made_of::unknown && std::is_class_v<T> ? ruling::no : ruling::by_parts;
  }
};

/// Changes the numbers of a copy for a moment, and looks at those of x.
/// \throws invalid_call   if they change, too
template <class State>
void check_copies(char const* who, State const& x) {
  if constexpr (!every_part<parts_are_known, State>() && numbered<State> && copied_state<State>) {
    std::vector<double> before, now;
    auto const read = [](State const& from, std::vector<double>& into) {
      visit_numbers(from, [&](auto const* at, std::size_t count) {
        for (std::size_t k = 0; k < count; ++k) into.push_back(double(at[k]));
      });
    };
    read(x, before);
    State copy = copy_of(x);
    auto const write = [&copy](auto value) {
      std::size_t k = 0;
      visit_numbers(copy, [&](auto* at, std::size_t count) {
        for (std::size_t j = 0; j < count; ++j) at[j] = std::remove_reference_t<decltype(*at)>(value(k++));
      });
    };
    write([&](std::size_t k) { return before[k] == 1 ? 2 : 1; });
    read(x, now);
    write([&](std::size_t k) { return before[k]; });  // x has its numbers again
    if (now != before)
      throw invalid_call{who, "copies of the state share its numbers", {},
                         "copy deeply in the class, or specialise cairn::state_traits with copy(from, into)"};
  }
}

}  // namespace cairn::detail
