// SPDX-License-Identifier: Apache-2.0
#include "actions.hpp"

#include <ostream>
#include <string>

#include <cairn/adapt/nlohmann_json.hpp>
#include <cairn/plan/text/actions_csv.hpp>

#include "wrong_request.hpp"

namespace tool {

void refuse_long_list(cairn::any_schedule const& plan, char const* form, cairn::step_index most) {
  if (plan.steps() > most)
    throw wrong_request{"--steps is " + std::to_string(plan.steps()) + ", but --" + form +
                        " lists the actions of at most " + std::to_string(most) +
                        "; give fewer, or walk the plan in a program of your own"};
}

void write_actions_csv(std::ostream& to, cairn::any_schedule const& plan) {
  to << cairn::actions_csv_head(plan);
  auto cursor = plan.walk();
  cairn::action a;
  do to << cairn::actions_csv_row(a = cursor.next());
  while (a.kind != cairn::action_kind::done && to);
}

void write_actions_json(std::ostream& to, cairn::any_schedule const& plan) { to << cairn::actions_json(plan) << '\n'; }

}  // namespace tool
