// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file state_hash.hpp  A 64-bit hash of a state's bytes, by which a sweep recognises a state that it runs again, and
/// where two such states first differ.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/core/state_traits.hpp>

namespace cairn::detail {

/// Takes runs of bytes and their sizes, and the structure that they stand in, and returns 64 bits. Two inputs that
/// differ in a single word of 8 bytes always have different hashes; two that differ otherwise collide with probability
/// 2^-64. Valid within one process; no defence against deliberate collisions. Cost: three instructions per 8 bytes of
/// a long run.
class state_hash {
 public:
  /// What `visit_buffers` shows is the value, so that a pair that loses some of it is found.
  template <class T> static constexpr bool takes_written = !shows_itself<T> || says_on_device<T>;
  /// Adds one run; a visitor of `visit_buffers`, and a sink of `write_state`.
  void operator()(void const* run, std::size_t size) noexcept {
    auto const* at = static_cast<unsigned char const*>(run);
    std::size_t left = size;
    if (left >= block) at = add_blocks(at, left);
    for (; left >= word; left -= word, at += word) mix(sum_, load(at, word));
    if (left > 0) mix(sum_, load(at, left));
    mix(sum_, size);
  }
  /// Adds the length of a container, whether an optional holds a value, or the number of an alternative.
  void structure(std::uint64_t count) noexcept { mix(sum_, count); }
  /// Adds a value that is not all runs of bytes, or has no order.
  template <class T>
    requires((unordered_like<T> || distribution_like<T>)&&!shows_itself<T>)
  void whole(T const& x) {
    if constexpr (distribution_like<T>) add_distribution(x);
    else {  // equal containers may list their elements in another order
      structure(x.size());
      std::uint64_t sum = 0;
      for (auto const& element : x) {
        state_hash one;
        visit_parts(element, one);
        sum += one.value();
      }
      structure(sum);
    }
  }
  /// The hash; never 0.
  [[nodiscard]] std::uint64_t value() const noexcept {
    std::uint64_t h = sum_;
    h = (h ^ h >> 32) * factor;
    h ^= h >> 29;
    return h != 0 ? h : 1;
  }

 private:
  /// Draws the same numbers for every distribution.
  struct fixed_draws {
    using result_type = std::uint64_t;
    static constexpr result_type(min)() noexcept { return 0; }
    static constexpr result_type(max)() noexcept { return UINT64_MAX; }
    result_type operator()() noexcept { return (next = (next << 29 | next >> 35) * factor + 1); }
    result_type next = factor;
  };
  /// Its parameters, by their names in the standard, and numbers that a copy draws: they show what it keeps from one
  /// call to the next, which has no name.
  template <class T>
  void add_distribution(T const& x) {
    auto const add = [this](auto const& value) { visit_parts(value, *this); };
    // clang-format off
    if constexpr (requires { x.a(); }) add(x.a());
    if constexpr (requires { x.b(); }) add(x.b());
    if constexpr (requires { x.k(); }) add(x.k());
    if constexpr (requires { x.m(); }) add(x.m());
    if constexpr (requires { x.n(); }) add(x.n());
    if constexpr (requires { x.p(); }) add(x.p());
    if constexpr (requires { x.s(); }) add(x.s());
    if constexpr (requires { x.t(); }) add(x.t());
    if constexpr (requires { x.alpha(); }) add(x.alpha());
    if constexpr (requires { x.beta(); }) add(x.beta());
    if constexpr (requires { x.lambda(); }) add(x.lambda());
    if constexpr (requires { x.mean(); }) add(x.mean());
    if constexpr (requires { x.stddev(); }) add(x.stddev());
    if constexpr (requires { x.intervals(); }) add(x.intervals());
    if constexpr (requires { x.densities(); }) add(x.densities());
    if constexpr (requires { x.probabilities(); }) add(x.probabilities());
    // clang-format on
    T drawn = x;
    fixed_draws draws;
    for (int k = 0; k < 3; ++k) add(drawn(draws));
  }

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

/// Whether `state_hash` sees all of a value and no padding. If a class is one run, the position of its padding is
/// unknown, so it must be known to have none. All that can be written can be hashed.
/// \tparam InRuns  the hash gets the runs of `visit_buffers`, which accepts T; they may lie on a device
template <bool InRuns>
struct hash_sees_all {
  template <class Part>
  static consteval ruling of() {
    using T = std::remove_const_t<Part>;
    if constexpr (!InRuns && writes_itself<T>) return ruling::yes;
    else if constexpr (!InRuns && (says_on_device<T> || kind<T> == made_of::device)) return ruling::no;
    else if constexpr (shows_itself<T>) return ruling::yes;
    else if constexpr (kind<T> == made_of::device) {  // one run, whatever its elements are
      using element = typename T::value_type;
      return yes_if(is_dense<element>() || complex_like<element> ||
                    std::has_unique_object_representations_v<element>);
    }
    else if constexpr (!InRuns && distribution_like<T>)
      return yes_if(std::is_copy_constructible_v<T>);
    else if constexpr (kind<T> == made_of::unknown) return yes_if(bytes_without_padding<T>);
    else return ruling::by_parts;
  }
};

/// A value whose bytes are all of its value and nothing else.
template <class T>
inline constexpr bool hashable = every_part<hash_sees_all<false>, T>();

/// The hash of a value's bytes: -0.0 is not 0.0, and NaNs with different bits differ.
template <class T>
  requires hashable<T>
[[nodiscard]] std::uint64_t hash_of(T const& x) {
  state_hash hash;
  visit_parts(x, hash);
  return hash.value();
}

/// The same; 0 if not all of the value is known.
template <class T>
[[nodiscard]] std::uint64_t hash_if_known(T const& x) {
  if constexpr (hashable<T>) return hash_of(x);
  else return 0;
}

/// Hashes of the members of an aggregate, by which the first one that differs from another value is named.
template <class T>
class member_hashes {
  static constexpr bool told = kind<T> == made_of::members && !shows_itself<T> && !writes_itself<T>;
  static constexpr std::size_t count = told ? parts<T>() : 0;

 public:
  explicit member_hashes(T const& x) {
    each(x, [this](std::size_t k, std::uint64_t hash) { hash_[k] = hash; });
  }
  /// The first member of `other` that differs; -1 if none does or T has no members.
  [[nodiscard]] std::int64_t first_other(T const& other) const {
    std::int64_t found = -1;
    each(other, [&](std::size_t k, std::uint64_t hash) {
      if (found < 0 && hash != hash_[k]) found = std::int64_t(k);
    });
    return found;
  }

 private:
  template <class Fn>
  static void each(T const& x, Fn f) {
    if constexpr (told)
      with_members<count>(x, [&f](auto const&... member) {
        std::size_t k = 0;
        (f(k++, hash_of(member)), ...);
      });
  }
  std::uint64_t hash_[count + 1] = {};
};

/// The hash of a state, or of the snapshot of an object; 0 if not all of it is known.
template <class State>
[[nodiscard]] std::uint64_t hash_of_state(State const& x) {
  if constexpr (!hashable<stored_as<State>>) return 0;
  else if constexpr (copied_state<State>) return hash_of(x);
  else return hash_of(save_state(x));
}

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
