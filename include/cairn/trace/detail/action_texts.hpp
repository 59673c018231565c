// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file action_texts.hpp  The parts of an action's event that are the same each time.
#include <array>
#include <cstddef>
#include <string>
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>
#include <cairn/plan/text/action_words.hpp>

namespace cairn::detail {

/// Whether an action of this kind runs steps or their adjoints.
[[nodiscard]] constexpr bool traced_as_steps(action_kind kind) noexcept {
  return kind == action_kind::advance || kind == action_kind::record || kind == action_kind::turn ||
         kind == action_kind::reverse;
}
/// What an action of this kind calls: the step, the adjoint or the store.
[[nodiscard]] constexpr char const* trace_target(action_kind kind) noexcept {
  return kind == action_kind::reverse ? "adjoint" : traced_as_steps(kind) ? "step" : "store";
}

/// The constant parts of the events of actions.
struct action_texts {
  static constexpr std::size_t kinds = std::size_t(action_kind::done) + 1;
  std::array<std::array<std::string, kinds>, 3> heads;  ///< by phase and kind
  std::array<std::string, kinds> tails;
};
[[nodiscard]] inline action_texts const& all_action_texts() {
  static action_texts const all = [] {
    action_texts made;
    for (std::size_t k = 0; k < action_texts::kinds; ++k) {
      auto const kind = action_kind(k);
      for (std::size_t p = 0; p < 3; ++p)
        made.heads[p][k] =
            std::string{",\"name\":\""}.append(word_of(kind)).append("\",\"cat\":\"").append(word_of(phase(p))) + "\"";
      made.tails[k] = std::string{",\"grad_enabled\":"} + (kind == action_kind::record ? "1" : "0") + ",\"type\":\"" +
                      (traced_as_steps(kind) ? "function" : "method") + "\",\"target\":\"" + trace_target(kind) +
                      "\"";
    }
    return made;
  }();
  return all;
}

}  // namespace cairn::detail
