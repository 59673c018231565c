// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file text.hpp  A text as numbered characters, cut into streams of equal length that are read side by side.

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace demo {

/// Stream b is characters [b * steps, (b + 1) * steps) of the text; step i reads character i of every stream.
class streams {
 public:
  /// Keeps whole steps only: up to count - 1 characters at the end of the text are left out.
  streams(std::string const& text, std::int64_t count) : count_{count}, steps_{std::int64_t(text.size()) / count} {
    if (steps_ < 1) throw std::invalid_argument{"the text has fewer characters than there are streams"};
    auto const code = [](char c) { return static_cast<unsigned char>(c); };
    std::array<bool, 256> seen{};
    for (char const c : text) seen[code(c)] = true;
    std::array<std::uint8_t, 256> symbol_of{};
    for (std::size_t c = 0; c < seen.size(); ++c)
      if (seen[c]) {
        symbol_of[c] = std::uint8_t(alphabet_.size());
        alphabet_ += char(c);
      }
    symbols_.reserve(std::size_t(characters()));
    for (std::int64_t at = 0; at < characters(); ++at) symbols_.push_back(symbol_of[code(text[std::size_t(at)])]);
  }

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }
  [[nodiscard]] std::int64_t characters() const noexcept { return steps_ * count_; }
  [[nodiscard]] std::string const& alphabet() const noexcept { return alphabet_; }

  [[nodiscard]] std::vector<std::uint8_t> const& symbols() const noexcept { return symbols_; }

  /// The symbol that stream b reads in step i.
  [[nodiscard]] std::uint8_t input(std::int64_t i, std::int64_t b) const noexcept {
    return symbols_[std::size_t(b * steps_ + i)];
  }
  /// The symbol after it. After the end of a stream comes the start of the next, after the last stream the first.
  [[nodiscard]] std::uint8_t target(std::int64_t i, std::int64_t b) const noexcept {
    auto const next = std::size_t(b * steps_ + i + 1);
    return symbols_[next < symbols_.size() ? next : 0];
  }

 private:
  std::int64_t count_, steps_;
  std::string alphabet_;
  std::vector<std::uint8_t> symbols_;
};

}  // namespace demo
