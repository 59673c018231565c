// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file state_reader.hpp  Reads a state from the bytes that `state_writer` wrote: the mirror image of `visit_parts`.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/traits.hpp>
#include <cairn/core/detail/written.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

[[noreturn, gnu::cold]] inline void refuse_cut(std::uint64_t wanted, std::uint64_t left) {
  throw invalid_bytes{"cairn::read_state",
                      "the bytes end before the state does",
                      {{"wanted at least", wanted}, {"left", left}},
                      "give all bytes that write_state wrote for a state of this type"};
}
[[noreturn, gnu::cold]] inline void refuse_shape(std::uint64_t has, std::uint64_t given) {
  throw invalid_bytes{"cairn::read_state",
                      "a part of the state cannot take the shape in the bytes",
                      {{"length", has}, {"in the bytes", given}},
                      "read into a state of the shape that was written, or give its type write and read"};
}
[[noreturn, gnu::cold]] inline void refuse_value(char const* problem, std::uint64_t value) {
  throw invalid_bytes{"cairn::read_state",
                      problem,
                      {{"value", value}},
                      "give the bytes that write_state wrote for a state of this type"};
}
[[noreturn, gnu::cold]] inline void refuse_to_make() {
  throw invalid_call{"cairn::read_state",
                     "a part has no default constructor, and the state holds none to copy",
                     {},
                     "read into a copy of a state that holds one, such as the initial state"};
}

/// The counterpart of `shown_writer`.
template <class Reader>
struct shown_reader {
  Reader& in;
  void structure(std::uint64_t count) { in.expect(count); }
  void operator()(void* run, std::size_t size) {
    in.expect(size);
    in(run, size);
  }
  template <class T>
    requires(can_write<T>())
  void whole(T& x) { in.read(x); }
};

template <class T>
concept two_valued = std::is_same_v<T, bool> || (std::is_enum_v<T> && std::is_same_v<std::underlying_type_t<T>, bool>);
/// Whether a run of a dense type holds bytes that may have two values only.
template <class T>
[[nodiscard]] consteval bool holds_bool();
template <class... T>
[[nodiscard]] consteval bool hold_bool(types<T...>) { return (holds_bool<std::remove_cv_t<T>>() || ...); }
template <class T>
[[nodiscard]] consteval bool holds_bool() { return number<T> ? two_valued<T> : hold_bool(part_types<T>{}); }
/// Bytes of a bool that are neither 0 nor 1 become 0 before anyone reads them; returns one of them, else 0.
template <class T>
[[nodiscard]] unsigned char mend_bools(T& x) {
  unsigned char found = 0;
  if constexpr (two_valued<T>) {
    std::memcpy(&found, &x, 1);
    if (found <= 1) return 0;
    x = T{};
  } else if constexpr (!number<T> && !complex_like<T>)
    for_each_part(x, [&found](auto& part) {
      if (unsigned char const one = mend_bools(part); one != 0) found = one;
    });
  return found;
}

template <class Source>
class state_reader {
 public:
  explicit state_reader(Source& source) noexcept : source_{source} {}

  [[nodiscard]] std::uint64_t left() { return std::uint64_t(source_.left()); }
  void operator()(void* into, std::size_t size) {
    if (size == 0) return;
    if (size > left()) refuse_cut(size, left());
    source_(into, size);
  }
  [[nodiscard]] std::uint64_t structure() {
    unsigned char bytes[8];
    (*this)(bytes, sizeof bytes);
    std::uint64_t count = 0;
    for (std::size_t k = 8; k-- > 0;) count = count << 8 | bytes[k];
    return count;
  }
  void expect(std::uint64_t count) {
    if (std::uint64_t const given = structure(); given != count) refuse_shape(count, given);
  }

  template <class T>
  void read(T& x) {
    if constexpr (traited_pair<T>) state_traits<T>::read(x, *this);
    else if constexpr (member_pair<T>) x.read_state(*this);
    else if constexpr (shows_itself<T>) {
      shown_reader<state_reader> show{*this};
      if constexpr (traited_buffers<T>) state_traits<T>::visit_buffers(x, show);
      else x.visit_buffers(show);
    }
    else if constexpr (number<T>) read_plain(address_of(x), 1);
    else if constexpr (kind<T> == made_of::bits) read_bits(x);
    else if constexpr (is_dense<T>()) read_plain(address_of(x), 1);
    else if constexpr (kind<T> == made_of::complex)
      for (std::size_t k = 0; k < 2; ++k) read(reinterpret_cast<typename T::value_type*>(&x)[k]);
    else if constexpr (kind<T> == made_of::optional) read_optional(x);
    else if constexpr (kind<T> == made_of::variant) read_variant(x, structure(), part_types<T>{});
    else if constexpr (kind<T> == made_of::path) {
      typename T::string_type text;
      read(text);
      x = std::move(text);
    }
    else if constexpr (kind<T> == made_of::nodes) {
      if constexpr (unordered_like<T>) read_unordered(x);
      else read_ordered(x);
    }
    else if constexpr (kind<T> == made_of::elements && !tuple_like<T>) read_range(x);
    else if constexpr (kind<T> == made_of::unknown) (*this)(address_of(x), sizeof(T));
    else for_each_part(x, [this](auto& part) { this->read(part); });
  }

 private:
  /// Bounds the depth of types that contain themselves, which the bytes decide.
  struct level {
    explicit level(state_reader& in) : depth{in.depth_} {
      if (depth == 1'000) refuse_value("the bytes are of a state with too many levels, one in the other", depth);
      ++depth;
    }
    ~level() { --depth; }
    std::size_t& depth;
  };

  /// A length, if what is left can be so many elements.
  template <class T>
  [[nodiscard]] std::size_t count_of() {
    constexpr std::uint64_t each = least_bytes<T>();
    std::uint64_t const count = structure();
    if (count > left() / each) refuse_cut(count, left() / each);
    return std::size_t(count);
  }
  template <class T>
  void read_plain(T* first, std::size_t count) {
    constexpr std::size_t each = number<T> ? value_bytes<T>() : sizeof(T);
    (*this)(first, count * each);
    if constexpr (holds_bool<T>()) {
      unsigned char wrong = 0;
      for (std::size_t k = 0; k < count; ++k)
        if (unsigned char const one = mend_bools(first[k]); one != 0) wrong = one;
      if (wrong != 0) refuse_value("the bytes give a bool that is neither true nor false", wrong);
    }
  }
  template <class T>
  void read_bits(T& x) {
    std::uint64_t const count = structure();
    if (count / 8 + (count % 8 != 0) > left()) refuse_cut(count / 8 + (count % 8 != 0), left());
    if constexpr (requires { x.resize(std::size_t(count)); }) {
      if (capacity_of(x) - std::size_t(count) >= 8 * sizeof(unsigned long)) release(x);
      x.resize(std::size_t(count));
    } else if (count != x.size()) refuse_shape(x.size(), count);
    visit_bits(x, *this);
  }
  template <class T>
  void read_optional(T& x) {
    level const guard{*this};
    std::uint64_t const engaged = structure();
    if (engaged > 1) refuse_value("the bytes give an optional that neither holds a value nor is empty", engaged);
    if (engaged == 0) return x.reset();
    if (!x.has_value()) {
      if constexpr (std::is_default_constructible_v<typename T::value_type>) x.emplace();
      else refuse_to_make();
    }
    read(*x);
  }
  template <std::size_t At = 0, class T, class... Alternative>
  void read_variant(T& x, std::uint64_t index, types<Alternative...> all) {
    if constexpr (At == sizeof...(Alternative))
      refuse_value("the bytes give an alternative that the variant does not have", index);
    else {
      if (index != At) return read_variant<At + 1>(x, index, all);
      level const guard{*this};
      if (x.index() != At) {
        if constexpr (requires { x.template emplace<At>(); }) x.template emplace<At>();
        else refuse_to_make();
      }
      read(*get_if<At>(&x));
    }
  }

  /// Gives back all memory of a container.
  template <class T>
  static void release(T& x) {
    if constexpr (requires { x.clear(); }) x.clear();
    else x.resize(0);
    if constexpr (requires { x.shrink_to_fit(); }) x.shrink_to_fit();
  }
  /// Whether x can hold `count` elements in the memory that a fresh copy of it would have.
  template <class T>
  [[nodiscard]] static bool has_room(T const& x, std::size_t count) {
    if constexpr (!contiguous<T>) return true;  // elements have memory each
    else {
      std::size_t const room = capacity_of(x);
      if (elements_within(x)) return count <= room;
      if constexpr (requires { x.c_str(); }) return count <= room && room - count < 32 && count > T().capacity();
      else return count == room;
    }
  }
  template <class T>
  static void resize(T& x, std::size_t count) {
    using element = typename T::value_type;
    bool const fits = has_room(x, count);
    if constexpr (std::is_default_constructible_v<element>) {
      if (!fits) release(x);
      x.resize(count);
    } else if (!fits || count != length_of(x)) {
      if (count == 0) return release(x);
      if (x.begin() == x.end()) refuse_to_make();
      element const example(*x.begin());
      release(x);
      x.resize(count, example);
    }
  }
  template <class T>
  void read_range(T& x) {
    level const guard{*this};
    std::size_t const count = count_of<element_of<T>>();
    if constexpr (requires { state_traits<T>::resize(x, count); }) state_traits<T>::resize(x, count);
    else if constexpr (!declared_flat<T> && requires { x.resize(count); }) resize(x, count);
    else if (count != length_of(x)) refuse_shape(length_of(x), count);
    if constexpr (dense_elements<T>) read_plain(data_of(x), count);
    else for_each_part(x, [this](auto& element) { this->read(element); });
  }

  /// A new value, or a copy of an old one.
  template <class T>
  [[nodiscard]] static T made([[maybe_unused]] T const* example) {
    if constexpr (std::is_default_constructible_v<T>) return T();
    else if (example != nullptr) return T(*example);
    else refuse_to_make();
  }
  /// Reads one element into x, at its end or where its order is; into a node of `old`, as long as it has any.
  template <class T>
  void read_node(T& x, T& old) {
    if (old.begin() != old.end()) {
      auto node = old.extract(old.begin());
      if constexpr (map_like<T>) {
        read(node.key());
        read(node.mapped());
      } else read(node.value());
      x.insert(x.end(), std::move(node));
      return;
    }
    bool const some = x.begin() != x.end();
    if constexpr (map_like<T>) {
      auto key = made<typename T::key_type>(some ? address_of(x.begin()->first) : nullptr);
      read(key);
      auto value = made<typename T::mapped_type>(some ? address_of(x.begin()->second) : nullptr);
      read(x.emplace_hint(x.end(), std::move(key), std::move(value))->second);
    } else {
      auto key = made<typename T::key_type>(some ? address_of(*x.begin()) : nullptr);
      read(key);
      x.emplace_hint(x.end(), std::move(key));
    }
  }
  template <class T>
  static void expect_size(T const& x, std::size_t count) {
    if (x.size() != count) refuse_value("the bytes give two elements of the same key", count);
  }
  template <class T>
  void read_ordered(T& x) {
    level const guard{*this};
    std::size_t const count = count_of<typename T::key_type>();
    T old(x.key_comp(), x.get_allocator());
    old.swap(x);
    for (std::size_t k = 0; k < count; ++k) read_node(x, old);
    expect_size(x, count);
  }
  /// An empty container of as many buckets.
  template <class T>
  [[nodiscard]] static T with_buckets(T const& like, std::size_t buckets) {
    T made(0, like.hash_function(), like.key_eq(), like.get_allocator());
    made.max_load_factor(like.max_load_factor());
    if (made.bucket_count() != buckets) made.rehash(buckets);
    return made;
  }
  /// Where equal numbers of buckets take elements at their front, as in libstdc++, libc++ and MSVC's library, filling
  /// one container in the order of another reverses that order. Filling two keeps it: a sum over the elements then has
  /// the bits that it had when they were written.
  template <class T>
  void read_unordered(T& x) {
    level const guard{*this};
    std::size_t const count = count_of<typename T::key_type>();
    std::uint64_t const buckets = structure();
    unsigned char unused[256];  // read before so many buckets are believed
    for (std::uint64_t k = 0; k < buckets; k += sizeof unused)
      (*this)(unused, buckets - k < sizeof unused ? std::size_t(buckets - k) : sizeof unused);
    T reversed = with_buckets(x, std::size_t(buckets));
    for (std::size_t k = 0; k < count; ++k) read_node(reversed, x);
    x = with_buckets(x, std::size_t(buckets));
    while (reversed.begin() != reversed.end()) x.insert(x.end(), reversed.extract(reversed.begin()));
    expect_size(x, count);
  }

  Source& source_;
  std::size_t depth_ = 0;
};
template <class T> inline constexpr bool is_state_reader = false;
template <class Source> inline constexpr bool is_state_reader<state_reader<Source>> = true;

}  // namespace cairn::detail
