// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file first_difference.hpp  The first floating-point number in which two states differ.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/numbers.hpp>

namespace cairn::detail {

/// The first place at which two values that should be equal differ.
struct first_difference {
  /// Number of the floating-point number, in the order of `visit_numbers`; -1 if none differs or it is unknown.
  std::int64_t number = -1;
  double first = 0, again = 0;  ///< the two values, if known
};

/// Compares numbers bit by bit, those of a class by their hashes. Cost: a copy of all numbers of one value.
template <class T>
[[nodiscard]] first_difference difference_of(T const& first, T const& again) {
  first_difference found;
  if constexpr (numbered<T>) {
    struct bits {
      unsigned char bytes[sizeof(long double)] = {};
      double value = 0;
    };
    auto const each = [](T const& x, auto take) {
      visit_numbers(x, [&](auto const* numbers, std::size_t count) {
        using number_type = std::remove_cvref_t<decltype(*numbers)>;
        for (std::size_t k = 0; k < count; ++k) {
          bits one;
          if constexpr (std::is_class_v<number_type>) {  // of a library, whose bytes need not be its value
            std::uint64_t const hash = hash_if_known(numbers[k]);
            std::memcpy(one.bytes, &hash, sizeof hash);
          } else std::memcpy(one.bytes, numbers + k, value_bytes<number_type>());
          one.value = double(numbers[k]);
          take(one);
        }
      });
    };
    std::size_t count = 0, k = 0;
    each(first, [&](bits const&) { ++count; });
    table<bits> all(count);
    each(first, [&](bits const& one) { all[k++] = one; });
    k = 0;
    each(again, [&](bits const& one) {
      if (found.number < 0 && k < all.size() && std::memcmp(all[k].bytes, one.bytes, sizeof one.bytes) != 0)
        found = {std::int64_t(k), all[k].value, one.value};
      ++k;
    });
  }
  return found;
}

}  // namespace cairn::detail
