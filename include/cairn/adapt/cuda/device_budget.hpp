// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_budget.hpp  How much of a device's memory may be used, as people write it: "80%" or "4GB".
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cairn/adapt/cuda/runtime.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/detail/text.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// A share of the free memory, "80%" or "87.5%", or a size as `byte_size` reads it. Usable in constant expressions.
class device_budget {
 public:
  /// A size: 4_GB, or a whole number of bytes.   \throws invalid_size, overflow_error
  template <class Size>
    requires(std::same_as<Size, byte_size> || (std::integral<Size> && std::constructible_from<byte_size, Size>))
  constexpr device_budget(Size size) : size_{byte_size{size}.count()} {}
  /// A share or a size, from `length` characters.   \throws invalid_size, overflow_error
  constexpr device_budget(char const* text, std::size_t length) {
    std::size_t end = length;
    while (end > 0 && detail::is_blank(text[end - 1])) --end;
    if (end > 0 && text[end - 1] == '%') share_ = read_share(text, end - 1);
    else size_ = byte_size{text, length}.count();
  }
  /// From a null-terminated text.   \throws invalid_size, overflow_error
  constexpr device_budget(char const* text) : device_budget{text, detail::text_length(text)} {}
  /// From anything with data() and size(): std::string, std::string_view.
  template <class Text>
  requires requires(Text const& text) {
    { text.data() } -> std::same_as<char const*>;
    { text.size() } -> std::convertible_to<std::size_t>;
  }
  constexpr device_budget(Text const& text) : device_budget{text.data(), std::size_t(text.size())} {}

  /// The budget in bytes if `free` bytes are free; a share is rounded down.   \throws out_of_memory   if a size exceeds
  /// the free bytes
  [[nodiscard]] constexpr std::size_t of(std::size_t free) const {
    if (share_ > 0) return std::size_t(wide(free) * share_ / whole);
    if (size_ > free)
      throw out_of_memory{"cairn::device_budget",
                          "the budget is more than the device has free",
                          {{"budget", size_}, {"bytes free", free}},
                          "give a smaller one, or a share of what is free, as in 80%"};
    return std::size_t(size_);
  }
  /// The budget in bytes of the device's present free memory.   \throws out_of_memory, device_error
  template <device_runtime Runtime>
  [[nodiscard]] std::size_t of(Runtime& runtime) const { return of(runtime.free_bytes()); }

 private:
  static constexpr std::uint64_t whole = 100'000'000;  ///< shares are stored in parts of it: percentages with six
                                                       ///< decimals

  /// \param text  the characters before the percent sign
  static constexpr std::uint64_t read_share(char const* text, std::size_t length) {
    auto const number = detail::read_size(text, length);
    bool const plain = number.unit == number.end &&
                       (number.fault == detail::size_fault::none || number.fault == detail::size_fault::not_whole);
    detail::size_reading share{detail::size_fault::shape};
    if (plain) share = detail::scaled_number(text + number.number, number.end - number.number, {1000, 2});
    if (share.fault == detail::size_fault::none && share.value > 0 && share.value <= whole) return share.value;
    detail::text<160> advice;
    advice.add("write 80%, 87.5%, or a size like 4GB, not \"");
    for (std::size_t k = 0; k < length && k < 40; ++k) advice.put(text[k] >= ' ' && text[k] <= '~' ? text[k] : '?');
    throw invalid_size{"cairn::device_budget",
                       "a share of memory is more than 0% and at most 100%, with at most six decimal places",
                       {},
                       advice.add(length > 40 ? "...%\"" : "%\"").c_str()};
  }

  std::uint64_t size_ = 0;  ///< in bytes, if `share_` is 0
  std::uint64_t share_ = 0;  ///< in parts of `whole`
};

}  // namespace cairn
