#pragma once
/// \file action_words.hpp  What actions, phases and tiers are called in a trace.
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>

namespace cairn::detail {

[[nodiscard]] constexpr char const* trace_word(phase where) noexcept {
  return where == phase::forward ? "forward" : where == phase::recompute ? "recompute" : "reverse";
}
[[nodiscard]] constexpr char const* trace_word(tier where) noexcept {
  constexpr char const* names[tier_count] = {"memory", "device", "host", "disk"};
  return names[std::size_t(where)];
}
[[nodiscard]] constexpr char const* trace_word(action_kind kind) noexcept {
  switch (kind) {
    case action_kind::advance: return "advance";
    case action_kind::save: return "save";
    case action_kind::load: return "load";
    case action_kind::drop: return "drop";
    case action_kind::record: return "record";
    case action_kind::turn: return "turn";
    case action_kind::reverse: return "reverse";
    case action_kind::done: break;
  }
  return "done";
}
/// Whether it runs steps or their adjoints.
[[nodiscard]] constexpr bool traced_as_steps(action_kind kind) noexcept {
  return kind == action_kind::advance || kind == action_kind::record || kind == action_kind::turn ||
         kind == action_kind::reverse;
}
/// Whose function an action calls.
[[nodiscard]] constexpr char const* trace_target(action_kind kind) noexcept {
  return kind == action_kind::reverse ? "adjoint" : traced_as_steps(kind) ? "step" : "store";
}

}  // namespace cairn::detail
