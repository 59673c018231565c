// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cairn/run/check/check_plans.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/run/check/impl/report.ipp>

namespace cairn {

CAIRN_DECL void plans_report::put_in_words() {
  text_ = {};
  text_.add("cairn::check_plans: ");
  if (passed()) return void(text_.add(wide(plans)).add(" plans, each run twice, give the same bits"));
  bool const one = first_plan == second_plan;
  if (one) text_.add("two runs of ").add(first_plan);
  else text_.add(first_plan).add(" and ").add(second_plan);
  text_.add(" differ");
  if (number >= 0) {
    text_.add(", first in number ").add(wide(number)).add(": ");
    detail::add_real(text_, first);
    text_.add(" and ");
    detail::add_real(text_, second);
  }
  text_.add(one ? "; step, seed or adjoint reads something outside the state that changes (a captured generator, a "
                  "counter), copies of x0 share its data (a raw pointer in a class), or a snapshot does not bring it "
                  "back"
                : "; a state that is run again or restored is not what it was: its copies share data (a raw pointer in "
                  "a class), its snapshot lacks a member or is one file for all states, or the step reads something "
                  "outside the state");
}

}  // namespace cairn
