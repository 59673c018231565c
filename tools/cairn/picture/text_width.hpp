// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file text_width.hpp  How wide text is in a picture, and how it is made to fit.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "svg_path.hpp"
#include "xml.hpp"

namespace picture {

/// A size of letters; those of headings are bold.
struct letter_size {
  hundredths height = 1'200;
  bool bold = false;
};
inline constexpr letter_size usual_letters{}, heading_letters{1'600, true};

/// Widths of the characters from ' ' to '~' in DejaVu Sans, the widest of the fonts that the pictures name, in
/// thousandths of the letters' height.
inline constexpr std::array<std::int16_t, 95> character_widths{
    318,  401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,  // ' ' to /
    636,  636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,  // 0 to ?
    1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,  // @ to O
    603,  787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,  // P to _
    500,  613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,  // ` to o
    635,  635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838};      // p to ~

/// The width of the first character of `text`, in thousandths of its height. Those beyond ASCII count as wide as they
/// are high. \pre text is not empty
[[nodiscard]] inline hundredths character_width(std::string_view text) {
  bool const known = text[0] >= ' ' && text[0] <= '~';
  return known ? character_widths[std::size_t(text[0] - ' ')] : 1'000;
}
/// The bytes of the first character of `text`; 1 if it is none. \pre text is not empty
[[nodiscard]] inline std::size_t character_size(std::string_view text) noexcept {
  std::size_t const length = xml_character(text);
  return length == 0 ? 1 : length;
}
[[nodiscard]] inline hundredths length_of(hundredths thousandths, letter_size letters) noexcept {
  return thousandths * letters.height / (letters.bold ? 870 : 1'000);  // bold letters are up to 15 % wider
}

/// How wide `text` is at most in the fonts of the pictures.
[[nodiscard]] inline hundredths width_of(std::string_view text, letter_size letters = usual_letters) {
  hundredths thousandths = 0;
  for (; !text.empty(); text.remove_prefix(character_size(text))) thousandths += character_width(text);
  return length_of(thousandths, letters);
}

/// The start of `text` that is at most `most` wide; an ellipsis replaces the rest.
[[nodiscard]] inline std::string fitted(std::string_view text, hundredths most, letter_size letters = usual_letters) {
  if (width_of(text, letters) <= most) return std::string{text};
  constexpr std::string_view ellipsis = "\xE2\x80\xA6";
  hundredths thousandths = character_width(ellipsis);
  std::size_t at = 0;
  for (; at < text.size(); at += character_size(text.substr(at))) {
    thousandths += character_width(text.substr(at));
    if (length_of(thousandths, letters) > most) break;
  }
  return std::string{text.substr(0, at)} + std::string{ellipsis};
}

/// `text` in lines of at most `most` each, broken between words; an ellipsis replaces what `count` lines do not hold.
/// \pre count > 0
[[nodiscard]] inline std::vector<std::string> fitted_lines(std::string_view text, hundredths most, std::size_t count) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    std::string_view const word = text.substr(0, text.find(' '));
    std::string const longer = line.empty() ? std::string{word} : line + ' ' + std::string{word};
    if (!line.empty() && width_of(longer) > most) {
      if (lines.size() + 1 == count) {
        line += ' ' + std::string{text};
        break;
      }
      lines.push_back(fitted(std::exchange(line, {}), most));
      continue;
    }
    line = longer;
    text.remove_prefix(word.size() < text.size() ? word.size() + 1 : word.size());
  }
  if (!line.empty()) lines.push_back(fitted(line, most));
  return lines;
}

}  // namespace picture
