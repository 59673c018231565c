// SPDX-License-Identifier: Apache-2.0
// One function of a sweep that gives something else from its second run on, and what a replay check says of it.
#pragma once
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

#include <cstddef>
#include <optional>
#include <vector>

#include "support/catch.hpp"

/// How often a plan for a chain or a graph runs each of its functions.
inline std::vector<int> runs_of(std::vector<cairn::action> const& plan, int functions) {
  std::vector<int> runs(std::size_t(functions), 0);
  for (auto const& a : plan)
    if (a.kind == cairn::action_kind::advance || a.kind == cairn::action_kind::record) ++runs[std::size_t(a.from)];
  return runs;
}

struct planted_faults {
  using answer = std::optional<cairn::nondeterminism_error>;

  /// A fault is found by both checks exactly where function `bad` runs again, and both name it: one alone, the other
  /// within a range.
  void hold(int bad, int runs, answer const& exact, answer const& ranged) {
    REQUIRE(exact.has_value() == (runs > 1));
    REQUIRE(ranged.has_value() == exact.has_value());
    if (!exact) {
      ++unseen;
      return;
    }
    ++found;
    CHECK(exact->found.first_step == bad);
    CHECK(exact->found.last_step == bad);
    CHECK(exact->found.state == bad + 1);
    CHECK(ranged->found.first_step <= bad);
    CHECK(bad <= ranged->found.last_step);
    CHECK(ranged->found.state == ranged->found.last_step + 1);
  }
  int found = 0, unseen = 0;
};
