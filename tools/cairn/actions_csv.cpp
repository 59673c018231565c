#include "actions_csv.hpp"

#include <ostream>
#include <string>

#include "numbers.hpp"
#include "wrong_request.hpp"

namespace tool {
namespace {

using cairn::action;
using cairn::action_kind;

char const* name_of(action_kind kind) noexcept {
  switch (kind) {
    case action_kind::advance: return "advance";
    case action_kind::save: return "save";
    case action_kind::load: return "load";
    case action_kind::drop: return "drop";
    case action_kind::record: return "record";
    case action_kind::turn: return "turn";
    case action_kind::reverse: return "reverse";
    case action_kind::done: return "done";
  }
  return "";
}

bool has_from(action const& a) noexcept { return a.kind != action_kind::drop && a.kind != action_kind::done; }
bool has_to(action const& a) noexcept { return has_from(a) && a.kind != action_kind::save && a.kind != action_kind::load; }

std::string row(action const& a) {
  std::string text = name_of(a.kind);
  text += ',';
  if (has_from(a)) text += std::to_string(a.from);
  text += ',';
  if (has_to(a)) text += std::to_string(a.to);
  text += ',';
  if (a.slot != cairn::no_slot) text += std::to_string(a.slot);
  return text += '\n';
}

}  // namespace

void refuse_long_list(cairn::any_schedule const& plan) {
  if (plan.steps() > most_listed_steps)
    throw wrong_request{"steps is " + std::to_string(plan.steps()) + ", but csv lists the actions of at most " +
                        std::to_string(most_listed_steps) + "; give fewer, or walk the plan in a program of your own"};
}

void write_actions(std::ostream& to, cairn::any_schedule const& plan) {
  to << "action,from,to,slot\n";
  auto cursor = plan.walk();
  action a;
  do to << row(a = cursor.next());
  while (a.kind != action_kind::done && to);
}

}  // namespace tool
