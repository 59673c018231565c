// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts spoilt at random.
#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>

/// One to three edits: characters, numbers, lines and ends of the text.
class spoiler {
 public:
  explicit spoiler(unsigned seed) : random_{seed} {}
  /// \param separator  between the parts that are moved and doubled, '\n' for lines
  std::string spoilt(std::string text, char separator) {
    for (unsigned k = 1 + below(3); k-- > 0 && !text.empty();) {
      std::size_t const at = below(unsigned(text.size()));
      switch (below(8)) {
        case 0: text.erase(at, 1 + below(3)); break;
        case 1: text.insert(at, 1, any()); break;
        case 2: text[at] = any(); break;
        case 3: text.resize(at); break;
        case 4: text.insert(at, number()); break;
        case 5:  // a number by another
          if (auto const first = text.find_first_of("0123456789", at); first != text.npos)
            text.replace(first, std::min(text.find_first_not_of("0123456789", first), text.size()) - first, number());
          break;
        case 6: text.insert(after(text, at, separator), part(text, separator)); break;
        case 7: text.erase(after(text, at, separator), 1 + below(20)); break;
      }
    }
    return text;
  }

 private:
  unsigned below(unsigned count) { return unsigned(random_() % count); }
  char any() {
    constexpr std::string_view likely = "0123456789,,,\n\n-=#:{}[]\" aeskptur\r\t";
    return below(4) == 0 ? char(below(256)) : likely[below(unsigned(likely.size()))];
  }
  std::string number() {
    static char const* const numbers[] = {"0",
                                          "1",
                                          "2",
                                          "7",
                                          "-1",
                                          "3.5",
                                          "1e9",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "18446744073709551616",
                                          "340282366920938463463374607431768211455",
                                          "340282366920938463463374607431768211456",
                                          "99999999999999999999999999999999999999999999"};
    return numbers[below(unsigned(sizeof numbers / sizeof numbers[0]))];
  }
  static std::size_t after(std::string const& text, std::size_t at, char separator) {
    auto const found = text.find(separator, at);
    return found == text.npos ? text.size() : found + 1;
  }
  std::string part(std::string const& text, char separator) {
    auto const from = after(text, below(unsigned(text.size())), separator);
    return text.substr(from, after(text, from, separator) - from);
  }
  std::mt19937 random_;
};
