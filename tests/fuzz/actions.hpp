// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is asked of a list of actions that was read, in whatever form.
#include <string>

#include <cairn/plan/loop/verified.hpp>
#include <cairn/plan/text/actions_csv.hpp>

#include "fuzz.hpp"

namespace fuzz {

/// The list as CSV, whether an executor could obey it or not.
[[nodiscard]] inline std::string written(cairn::action_list const& plan) {
  std::string text = cairn::actions_csv_head(plan);
  auto cursor = plan.walk();
  cairn::action a;
  do text += cairn::actions_csv_row(a = cursor.next());
  while (a.kind != cairn::action_kind::done);
  return text;
}
/// The list is checked without a fault, and read back from its CSV.
inline void require_sound(cairn::action_list const& plan) {
  (void)cairn::check(plan);
  std::string const text = written(plan);
  require(written(cairn::read_actions_csv(text)) == text, "a list is read back from its CSV");
}

}  // namespace fuzz
