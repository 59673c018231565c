// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file words.hpp  Numbers in the words of pictures. Their names are those of cairn without its prefix.
#include <algorithm>
#include <string>
#include <string_view>

#include <cairn/core/action.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/wide.hpp>

namespace picture {

using namespace cairn;  // NOLINT(google-build-using-namespace): it draws what cairn counts

/// Of kilo, mega ... by their power.
inline constexpr char unit_letters[] = "BKMGTPE";

[[nodiscard]] inline std::string digits_of(wide number) {
  std::string text;
  do text += char('0' + int(number % 10));
  while ((number /= 10) != 0);
  std::reverse(text.begin(), text.end());
  return text;
}
[[nodiscard]] inline std::string plural(wide count, char const* noun) {
  return digits_of(count) + " " + noun + (count == 1 ? "" : "s");
}
[[nodiscard]] inline std::string bytes_text(wide bytes) { return to_short_text(bytes).c_str(); }

/// The same text with its whole numbers as people read them: "5,000 steps". Decimals and digits within a word stay, and
/// numbers of more than 18 digits, so that they fit the narrowest picture of characters.
[[nodiscard]] inline std::string with_separators(std::string_view text) {
  auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
  auto const is_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  std::string made;
  for (std::size_t k = 0, end = 0; k < text.size(); k = end) {
    char const before = k > 0 ? text[k - 1] : ' ';
    end = k + 1;
    if (!is_digit(text[k])) {
      made += text[k];
      continue;
    }
    while (end < text.size() && is_digit(text[end])) ++end;
    bool const whole = end - k <= 18 && before != '.' && before != '_' && !is_letter(before);
    for (std::size_t at = k; at < end; ++at) {
      if (whole && at > k && (end - at) % 3 == 0) made += ',';
      made += text[at];
    }
  }
  return made;
}
[[nodiscard]] inline std::string grouped(wide number) { return with_separators(digits_of(number)); }

/// A plan in a few words.
template <schedule Plan>
[[nodiscard]] std::string plan_words(Plan const& plan) {
  std::string words = plural(wide(plan.steps()), "step") + " within " + plural(wide(plan.slots()), "slot");
  if (tapes_of(plan) > 0) words += " and " + plural(wide(tapes_of(plan)), "tape");
  return with_separators(words);
}

}  // namespace picture
