// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file state_hash.hpp  A 64-bit hash of a state's bytes, by which a sweep recognises a state that it runs again.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <cairn/core/buffers.hpp>
#include <cairn/core/state_traits.hpp>

namespace cairn::detail {

/// Takes runs of bytes and their sizes, and returns 64 bits. Two inputs that differ in a single word of 8 bytes always
/// have different hashes; two that differ otherwise collide with probability 2^-64. Valid within one process; no
/// defence against deliberate collisions. Cost: three instructions per 8 bytes of a long run.
class state_hash {
 public:
  /// Adds one run; a visitor of `visit_buffers`.
  void operator()(void const* run, std::size_t size) noexcept {
    auto const* at = static_cast<unsigned char const*>(run);
    std::size_t left = size;
    if (left >= block) at = add_blocks(at, left);
    for (; left >= word; left -= word, at += word) mix(sum_, load(at, word));
    if (left > 0) mix(sum_, load(at, left));
    mix(sum_, size);
  }
  /// The hash; never 0.
  [[nodiscard]] std::uint64_t value() const noexcept {
    std::uint64_t h = sum_;
    h = (h ^ h >> 32) * factor;
    h ^= h >> 29;
    return h != 0 ? h : 1;
  }

 private:
  static constexpr std::size_t word = 8, lanes = 4, block = word * lanes;
  static constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;

  /// A bijection of `next` for a fixed sum, and of sum for a fixed `next`. The rotation moves a number's sign bit to
  /// where the product spreads it: without it two changed signs would cancel.
  static void mix(std::uint64_t& sum, std::uint64_t next) noexcept {
    sum ^= next;
    sum = (sum << 29 | sum >> 35) * factor;
  }
  [[nodiscard]] static std::uint64_t load(unsigned char const* from, std::size_t size) noexcept {
    std::uint64_t next = 0;
    std::memcpy(&next, from, size);
    return next;
  }
  /// Adds whole blocks in independent lanes, so that none waits for another.
  [[gnu::noinline]] unsigned char const* add_blocks(unsigned char const* at, std::size_t& left) noexcept {
    std::uint64_t a = sum_, b = sum_ + 1, c = sum_ + 2, d = sum_ + 3;
    auto const* const end = at + left / block * block;
    for (; at != end; at += block) {
      mix(a, load(at, word));
      mix(b, load(at + word, word));
      mix(c, load(at + 2 * word, word));
      mix(d, load(at + 3 * word, word));
    }
    for (std::uint64_t const lane : {b, c, d}) mix(a, lane);
    sum_ = a;
    left %= block;
    return at;
  }

  std::uint64_t sum_ = 0x6361697265c0ffee;
};

template <class T, class... Seen> [[nodiscard]] consteval bool visits_values_only();
template <class... T, class... Seen>
[[nodiscard]] consteval bool all_visit_values_only(types<T...>, types<Seen...>) {
  return (visits_values_only<T, Seen...>() && ...);
}
/// Whether `visit_buffers` visits no padding. If a class is one run, the position of its padding is unknown, so it must
/// be known to have none.
template <class T, class... Seen>
[[nodiscard]] consteval bool visits_values_only() {
  using seen = types<Seen..., T>;
  if constexpr (is_one_of<T, Seen...> || traited_buffers<T> || member_buffers<T> || number<T> || is_bit_vector<T> ||
                is_dense<T>())
    return true;
  else if constexpr (device_range<T>) {  // one run, whatever its elements are
    using element = typename T::value_type;
    return is_dense<element>() || complex_like<element> || std::has_unique_object_representations_v<element>;
  }
  else if constexpr (std::is_array_v<T>) return visits_values_only<std::remove_all_extents_t<T>, Seen...>();
  else if constexpr (complex_like<T>) return visits_values_only<typename T::value_type>();
  else if constexpr (plain_range<T> || contiguous<T> || optional_like<T>)
    return all_visit_values_only(types<typename T::value_type>{}, seen{});
  else if constexpr (has_members<T>) return all_visit_values_only(member_types<T>{}, seen{});
  else return std::has_unique_object_representations_v<T>;
}

/// A value whose bytes are all of its value and nothing else.
template <class T> inline constexpr bool hashable = false;
template <buffered T> inline constexpr bool hashable<T> = visits_values_only<std::remove_const_t<T>>();

/// The hash of a value's bytes: -0.0 is not 0.0, and NaNs with different bits differ.
template <class T>
  requires hashable<T>
[[nodiscard]] std::uint64_t hash_of(T const& x) {
  state_hash hash;
  visit_buffers(x, hash);
  return hash.value();
}

/// The part of a state that a sweep hashes: the state itself, or the snapshot of an object.
template <class State, bool = copied_state<State>>
struct hashed_part { using type = State; };
template <class State>
struct hashed_part<State, false> {
  using type = std::remove_cvref_t<decltype(save_state(std::declval<State const&>()))>;
};
template <class State> using hashed_part_t = typename hashed_part<State>::type;
template <class State>
[[nodiscard]] std::uint64_t hash_of_state(State const& x) {
  if constexpr (copied_state<State>) return hash_of(x);
  else return hash_of(save_state(x));
}

}  // namespace cairn::detail
