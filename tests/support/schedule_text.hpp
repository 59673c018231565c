// SPDX-License-Identifier: Apache-2.0
#pragma once
// How Catch2 prints the values of schedules.
#include <string>
#include "support/catch.hpp"
#include <cairn/core/action.hpp>
#include <cairn/core/detail/text.hpp>

inline std::string text_of(cairn::wide number) { return cairn::detail::text<40>{}.add(number).c_str(); }

inline std::string text_of(cairn::action const& a) {
  static char const* const names[] = {"advance", "save", "load", "drop", "record", "turn", "reverse", "done"};
  auto const kind = static_cast<std::size_t>(a.kind);
  return std::string{kind < 8 ? names[kind] : "?"} + " [" + std::to_string(a.from) + ", " + std::to_string(a.to) +
         ") slot " + std::to_string(a.slot) + (a.what == cairn::content::tape ? " of tapes" : "") + " on tier " +
         std::to_string(static_cast<int>(a.where));
}
inline std::string text_of_tiers(cairn::schedule_counts const& c) {
  std::string text;
  for (auto const& one : c.tiers)
    text += ", " + text_of(one.saves) + " saves, " + text_of(one.loads) + " loads, peak " + std::to_string(one.peak);
  return text;
}
inline std::string text_of(cairn::schedule_counts const& c) {
  return "advances " + text_of(c.advances) + ", turned " + text_of(c.turned) + ", recorded " + text_of(c.recorded) +
         ", reversals " + text_of(c.reversals) + ", taped " + text_of(c.taped) + ", saves " + text_of(c.saves) +
         ", loads " + text_of(c.loads) + ", restarts " + text_of(c.restarts) + ", peak slots " +
         std::to_string(c.peak_slots) + ", peak tapes " + std::to_string(c.peak_tapes) + text_of_tiers(c);
}

namespace Catch {
template <>
struct StringMaker<cairn::wide> {
  static std::string convert(cairn::wide number) { return text_of(number); }
};
template <>
struct StringMaker<cairn::action> {
  static std::string convert(cairn::action const& a) { return text_of(a); }
};
template <>
struct StringMaker<cairn::schedule_counts> {
  static std::string convert(cairn::schedule_counts const& c) { return text_of(c); }
};
}  // namespace Catch
