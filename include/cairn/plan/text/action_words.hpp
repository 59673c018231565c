// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file action_words.hpp  The words for actions, tiers and phases in files and on screens, and actions from words.
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>

namespace cairn {
namespace detail {

inline constexpr std::array<std::string_view, 8> kind_words{"advance", "save", "load",    "drop",
                                                            "record",  "turn", "reverse", "done"};
inline constexpr std::array<std::string_view, tier_count> tier_words{"memory", "device", "host", "disk"};
inline constexpr std::array<std::string_view, 2> content_words{"state", "tape"};
inline constexpr std::array<std::string_view, 3> phase_words{"forward", "recompute", "reverse"};

/// The word for a value of an enumeration; empty for an undeclared value.
template <class Enum, std::size_t Size>
[[nodiscard]] constexpr std::string_view word_in(std::array<std::string_view, Size> const& words, Enum value) noexcept {
  return std::size_t(value) < Size ? words[std::size_t(value)] : std::string_view{};
}
template <class Enum, std::size_t Size>
[[nodiscard]] constexpr std::optional<Enum> value_in(std::array<std::string_view, Size> const& words,
                                                     std::string_view word) noexcept {
  for (std::size_t k = 0; k < Size; ++k)
    if (words[k] == word) return Enum(k);
  return {};
}

/// Whether `from` has a meaning for this kind of action; `has_to` says the same of `to`.
[[nodiscard]] constexpr bool has_from(action_kind kind) noexcept {
  return kind != action_kind::drop && kind != action_kind::done;
}
[[nodiscard]] constexpr bool has_to(action_kind kind) noexcept {
  return has_from(kind) && kind != action_kind::save && kind != action_kind::load;
}
/// The content of a slot in actions of this kind if a file does not say.
[[nodiscard]] constexpr content usual_content(action_kind kind) noexcept {
  return kind == action_kind::record ? content::tape : content::state;
}

}  // namespace detail

/// The word for a kind of action: "advance", "save" ...; empty for an undeclared value.
[[nodiscard]] constexpr std::string_view word_of(action_kind kind) noexcept {
  return detail::word_in(detail::kind_words, kind);
}
/// The word for a tier: "memory", "device", "host" or "disk"; empty for an undeclared value.
[[nodiscard]] constexpr std::string_view word_of(tier where) noexcept {
  return detail::word_in(detail::tier_words, where);
}
/// The word for what a slot holds: "state" or "tape"; empty for an undeclared value.
[[nodiscard]] constexpr std::string_view word_of(content what) noexcept {
  return detail::word_in(detail::content_words, what);
}
/// The word for a part of a sweep: "forward", "recompute" or "reverse"; empty for an undeclared value.
[[nodiscard]] constexpr std::string_view word_of(phase where) noexcept {
  return detail::word_in(detail::phase_words, where);
}

}  // namespace cairn
