#pragma once
/// \file action_words.hpp  What actions, phases and tiers are called in a trace.
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>

namespace cairn::detail {

[[nodiscard]] constexpr char const* trace_word(phase where) noexcept {
  return where == phase::forward ? "forward" : where == phase::recompute ? "recompute" : "reverse";
}
[[nodiscard]] constexpr std::string_view trace_word(tier where) noexcept {
  constexpr std::string_view names[tier_count] = {"memory", "device", "host", "disk"};
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
            std::string{",\"name\":\""} + trace_word(kind) + "\",\"cat\":\"" + trace_word(phase(p)) + "\"";
      made.tails[k] = std::string{",\"grad_enabled\":"} + (kind == action_kind::record ? "1" : "0") + ",\"type\":\"" +
                      (traced_as_steps(kind) ? "function" : "method") + "\",\"target\":\"" + trace_target(kind) +
                      "\"";
    }
    return made;
  }();
  return all;
}

}  // namespace cairn::detail
