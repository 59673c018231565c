// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file byte_budget.hpp  The memory budget of planners for chains, graphs and blocks.
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <cairn/core/bytes.hpp>

namespace cairn {

/// The memory that a plan may use: a size such as "512MiB" or 512_MiB, as `byte_size` reads it, or a whole number in
/// the unit in which a chain or graph gives its sizes. Usable in constant expressions. No plan fits a negative budget;
/// a budget above 2^63 - 1 is unlimited.
/// \throws invalid_size, overflow_error   as `byte_size`, for a text
class byte_budget {
 public:
  constexpr byte_budget(byte_size size) noexcept : count_{held(size.count())} {}  ///< from a size in bytes
  /// From any other type that `byte_size` accepts: texts.
  template <class Text>
    requires(!std::integral<Text> && !std::same_as<Text, wide> && std::convertible_to<Text const&, byte_size>)
  constexpr byte_budget(Text const& text) : byte_budget{byte_size{text}} {}
  /// From a whole number.
  template <class Integer>
    requires((std::integral<Integer> && !std::same_as<Integer, bool> && !std::same_as<Integer, char>) ||
             std::same_as<Integer, wide>)
  constexpr byte_budget(Integer count) noexcept {
    if constexpr (std::is_signed_v<Integer>) count_ = count;
    else count_ = held(count);
  }

  [[nodiscard]] constexpr std::int64_t count() const noexcept { return count_; }  ///< the budget, in bytes or in the
                                                                                  ///< caller's unit

 private:
  [[nodiscard]] static constexpr std::int64_t held(wide count) noexcept {
    constexpr std::int64_t most = (std::numeric_limits<std::int64_t>::max)();
    return count > wide(most) ? most : std::int64_t(count);
  }

  std::int64_t count_ = 0;
};

}  // namespace cairn
