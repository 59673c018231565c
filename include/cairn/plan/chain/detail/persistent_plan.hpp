// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file persistent_plan.hpp  Writes plans that keep a state until all stages after it are reversed.
#include <cstdint>
#include <vector>
#include <cairn/plan/chain/detail/segments.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/detail/value_list.hpp>

namespace cairn::detail {

/// Stages from..to, and what is free for them: bytes, or slots of some unit.
template <class Size>
struct free_stretch {
  std::int64_t from, to;
  Size free;
};

/// Appends the plan of the whole chain; the loss is stage `stages`.
/// \param choose  `choose(stretch)` returns the state to keep, or `from` to keep the tape of stage `from`; may lower
///   `free`
/// \param state_size, tape_size  what a kept state or tape takes of `free`
template <class Size, class Choose, class StateSize, class TapeSize>
[[gnu::cold]] void write_persistent_plan(std::int64_t stages, Size free, Choose const& choose,
                                         StateSize const& state_size, TapeSize const& tape_size,
                                         std::vector<action>& plan) {
  struct part {
    free_stretch<Size> of;
    bool is_action;
    action then;
  };
  value_list<part> open{{{0, stages, free}, false, {}}};
  auto const divide_later = [&](free_stretch<Size> const& of) { open.push_back({of, false, {}}); };
  auto const write_later = [&](action const& then) { open.push_back({{}, true, then}); };
  while (!open.empty()) {
    auto [of, is_action, then] = open.back();
    open.pop_back();
    if (is_action) plan.push_back(then);
    else if (of.from == stages) plan.push_back(chain_actions::turn(of.from));
    else if (std::int64_t const j = choose(of); j == of.from) {
      plan.push_back(chain_actions::record(j));
      write_later(chain_actions::reverse(j));
      if (j < of.to) divide_later({j + 1, of.to, Size(of.free - tape_size(j))});
    } else {
      append_run(plan, of.from, j);
      divide_later({of.from, j - 1, of.free});
      if (j < stages) write_later(chain_actions::drop(j));
      divide_later({j, of.to, Size(of.free - state_size(j))});
    }
  }
}

}  // namespace cairn::detail
