#pragma once
/// \file byte_budget.hpp  What a plan may take, as planners of chains, graphs and blocks are told.
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <cairn/core/bytes.hpp>

namespace cairn {

/// What a plan may take: a size, "512MiB" or 512_MiB, as `byte_size` reads it; or a whole number, which counts in the
/// unit in which a chain or graph gives its sizes. Usable in constant expressions. No plan keeps within a negative
/// number, and what is larger than 2^63 - 1 is no limit.
/// \throws invalid_size, overflow_error   as `byte_size`, for a text
class byte_budget {
 public:
  constexpr byte_budget(byte_size size) noexcept : count_{held(size.count())} {}  ///< from a size in bytes
  /// From anything else that is a size: texts.
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

  [[nodiscard]] constexpr std::int64_t count() const noexcept { return count_; }  ///< the bytes, or what is counted

 private:
  [[nodiscard]] static constexpr std::int64_t held(wide count) noexcept {
    constexpr std::int64_t most = (std::numeric_limits<std::int64_t>::max)();
    return count > wide(most) ? most : std::int64_t(count);
  }

  std::int64_t count_ = 0;
};

}  // namespace cairn
