// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file contents.hpp  What a function is and holds, as far as that can be seen: by it a run is the same in two processes.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <cairn/adapt/disk/detail/code_objects.hpp>
#include <cairn/adapt/disk/detail/file_head.hpp>
#include <cairn/adapt/disk/detail/state_file.hpp>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/door/model.hpp>
#include <cairn/door/recorded.hpp>
#include <cairn/door/stage.hpp>
#include <cairn/schedule/detail/plan_numbers.hpp>

namespace cairn::detail {

/// A type in the list of those that the program has, and the libraries that are loaded now.
class listed_type {
 public:
  explicit listed_type(char const* name) : name_{name} {
    std::lock_guard const held{alone()};
    next_ = first();
    first() = this;
  }
  listed_type(listed_type const&) = delete;
  ~listed_type() {
    std::lock_guard const held{alone()};
    auto** at = &first();
    while (*at != this) at = &(*at)->next_;
    *at = next_;
  }
  [[nodiscard]] bool has_namesake() const {
    std::lock_guard const held{alone()};
    for (auto const* one = first(); one != nullptr; one = one->next_)
      if (one != this && std::strcmp(one->name_, name_) == 0) return true;
    return false;
  }

 private:
  static std::mutex& alone() noexcept {
    static std::mutex one;
    return one;
  }
  static listed_type*& first() noexcept {
    static listed_type* one = nullptr;
    return one;
  }
  char const* name_;
  listed_type* next_ = nullptr;
};

/// The largest value that is looked at byte by byte while the program is compiled.
inline constexpr std::size_t most_bytes_seen = 4'096;
template <std::size_t Size> struct bytes_of_value { unsigned char all[Size]; };

/// A value whose bytes are numbers, but for padding. It is made of zeros at compile time: that is no constant expression if
/// a part of it is a pointer, a reference, a union or volatile. So a closure is seen through, whose members have no names.
/// All of it is compiled where `is_plain` is first asked: g++ 12 takes a closure as not trivially copyable once something
/// has asked whether it can be assigned.
template <class T>
class plain_bytes {
  using bytes = bytes_of_value<sizeof(T)>;
  static constexpr bool copies = __is_trivially_copyable(T);
  static consteval bool zeros() {
    if constexpr (copies) [[maybe_unused]] T const made = __builtin_bit_cast(T, bytes{});
    return copies;
  }
  /// A byte of padding has no value at compile time.
  template <std::size_t Place>
  static consteval unsigned char byte() { return __builtin_bit_cast(bytes, __builtin_bit_cast(T, bytes{})).all[Place]; }
  template <std::size_t Place>
  static constexpr bool holds = requires { typename std::integral_constant<unsigned char, byte<Place>()>; };
  template <class U>
  static constexpr bool from_zeros = requires { requires std::bool_constant<plain_bytes<U>::zeros()>::value; };

 public:
  static constexpr bool known = from_zeros<T>;
  /// Its result is deduced so that it is compiled where it is first named.
  static auto clear_padding([[maybe_unused]] unsigned char* of) noexcept {
    if constexpr (!known) return;
    else if constexpr (requires(T* at) { __builtin_clear_padding(at); })  // g++ has it, and takes bit-fields apart, too
      __builtin_clear_padding(reinterpret_cast<T*>(of));
    else
      [of]<std::size_t... Place>(std::index_sequence<Place...>) {
        ((holds<Place> ? void() : void(of[Place] = 0)), ...);
      }(std::make_index_sequence<sizeof(T)>{});
  }
};
template <class T>
[[nodiscard]] consteval bool is_plain() {
  if constexpr (!std::is_class_v<T> || sizeof(T) > most_bytes_seen) return false;
  else {
    using compiled_now = decltype(plain_bytes<T>::clear_padding(nullptr));
    return plain_bytes<T>::known && std::is_void_v<compiled_now>;
  }
}
/// Gives the bytes of a plain value to a sink, and 0 for its padding.
template <class T, class Sink>
void write_plain(T const& x, Sink& sink) {
  alignas(T) unsigned char all[sizeof(T)];
  std::memcpy(all, __builtin_addressof(x), sizeof(T));
  plain_bytes<T>::clear_padding(all);
  sink(all, sizeof(T));
}

#if defined(__GXX_RTTI) || defined(__cpp_rtti)
inline constexpr bool knows_classes = true;  ///< whether the type of an object can be asked for
/// In every process the same for the same type.
template <class T>
[[nodiscard]] char const* name_of_type() noexcept { return typeid(T).name(); }
/// The type of the object that f is a part of; null if that is its own.
template <class T>
[[nodiscard]] std::type_info const* class_of(T const& f) noexcept {
  return typeid(f) == typeid(T) ? nullptr : &typeid(f);
}
#else
inline constexpr bool knows_classes = false;
template <class T>
[[nodiscard]] char const* name_of_type() noexcept { return __PRETTY_FUNCTION__; }
template <class T>
[[nodiscard]] std::type_info const* class_of(T const&) noexcept { return nullptr; }
#endif
/// May be a part of an object of another class.
template <class T>
concept is_a_base = std::is_polymorphic_v<T> && !std::is_final_v<T>;

template <class Member> struct owner_of {};
template <class Function, class Owner> struct owner_of<Function Owner::*> { using type = Owner; };
template <class Owner> struct with_one_more : Owner { char more; };
/// Whether a member is one of a class itself, or of a base to which it adds no member, not even in the base's padding.
template <class T, class Member>
[[nodiscard]] consteval bool is_own() {
  if constexpr (requires { typename owner_of<Member>::type; }) {
    using owner = typename owner_of<Member>::type;
    if constexpr (std::is_same_v<T, owner>) return true;
    else if constexpr (sizeof(T) != sizeof(owner)) return false;
    else return sizeof(with_one_more<owner>) > sizeof(owner);
  } else return true;
}
/// Whether a member that writes or shows a value knows all of it: that of a base leaves out what the class adds. Of
/// overloaded ones it cannot be seen whose they are; then an aggregate must not have a base.
template <class T>
[[nodiscard]] consteval bool says_all_itself() {
  if constexpr (traited_pair<T>) return true;
  else if constexpr (member_pair<T>) {
    if constexpr (requires { &T::template write_state<any_visitor>; })
      return is_own<T, decltype(&T::template write_state<any_visitor>)>();
    else if constexpr (requires { &T::write_state; }) return is_own<T, decltype(&T::write_state)>();
    else return !derived_aggregate<T>();
  } else if constexpr (member_buffers<T> && !traited_buffers<T>) {
    if constexpr (requires { &T::template visit_buffers<any_visitor>; })
      return is_own<T, decltype(&T::template visit_buffers<any_visitor>)>();
    else return !derived_aggregate<T>();
  } else return true;
}
struct says_all {
  template <class Part>
  static consteval ruling of() {
    using T = std::remove_const_t<Part>;
    if constexpr (writes_itself<T> || shows_itself<T>) return yes_if(says_all_itself<T>());
    else return kind<T> == made_of::unknown ? ruling::yes : ruling::by_parts;
  }
};
/// Values that can be written, and none of whose parts is written by a base that does not know all of it.
template <class T>
[[nodiscard]] consteval bool written_whole() {
  if constexpr (written_state<T>) return every_part<says_all, T>();
  else return false;
}

/// Numbers, and what is made of them: its bytes say all of it.
struct bytes_say_all {
  template <class Part>
  static consteval ruling of() {
    using T = std::remove_const_t<Part>;
    if constexpr (number<T> || is_plain<T>()) return ruling::yes;
    else if constexpr (!written_state<T> || (is_a_base<T> && !knows_classes)) return ruling::no;
    else if constexpr (writes_itself<T> || shows_itself<T>) return yes_if(says_all_itself<T>());
    else return kind<T> == made_of::unknown ? ruling::no : ruling::by_parts;
  }
};
/// Whether a value can be named for a function.
template <class T>
[[nodiscard]] consteval bool seen_whole() { return std::is_empty_v<T> || every_part<bytes_say_all, T>(); }

struct look_at_any { void operator()(auto const&) const {} };
/// Whether a class derived from one of the library's callables holds more than that shows.
template <class T>
[[nodiscard]] consteval bool shows_all_parts() {
  if constexpr (requires { &T::template each_function<look_at_any>; })
    return sizeof(T) == sizeof(typename owner_of<decltype(&T::template each_function<look_at_any>)>::type);
  else return true;
}
/// A callable of the library that shows what it is made of by calling look with each part.
template <class T>
concept shows_parts = requires(T const& f) { f.each_function(look_at_any{}); } && shows_all_parts<T>();
/// The same of those that are no classes of run/.
template <class T> struct parts_shown {};
template <auto Form, class Fn> struct parts_shown<tagged<Form, Fn>> {
  static void each(auto const& f, auto const& look) { look(f.call); }
};
template <class Fn> struct parts_shown<kept_callable<Fn>> {
  static void each(auto const& f, auto const& look) { look(*f); }
};
template <class Record, class Reverse, class Restart> struct parts_shown<recorded<Record, Reverse, Restart>> {
  static void each(auto const& f, auto const& look) {
    look(f.record), look(f.reverse);
    if constexpr (requires { f.restart; }) look(f.restart);
  }
};
template <class Step, class Adjoint, class Bar> struct parts_shown<model<Step, Adjoint, Bar>> {
  static void each(auto const& f, auto const& look) { look(f.step), look(f.adjoint), look(f.bar); }
};
template <class Forward, class Backward> struct parts_shown<stage<Forward, Backward>> {
  static void each(auto const& f, auto const& look) { look(f.forward), look(f.backward); }
};
template <class Forward, class Record, class Output, class Backward>
struct parts_shown<taped_stage<Forward, Record, Output, Backward>> {
  static void each(auto const& f, auto const& look) {
    look(f.forward), look(f.record), look(f.output), look(f.backward);
  }
};
template <class T>
concept has_known_parts = requires(T const& f) { parts_shown<T>::each(f, [](auto const&) {}); };
/// `reads_only`: what the function holds is added as far as it can be seen, and is known in any case.
template <class T>
concept says_what_it_reads = requires(T const& f) { f.function(); } && shows_parts<T>;

/// Listed when the program begins, so that namesakes are known that no sweep has met yet.
template <class T> struct listed { static inline listed_type const type{name_of_type<T>()}; };

template <class T, class Sum>
void add_type_name(Sum& sum) {
  char const* const name = name_of_type<T>();
  sum(name, std::strlen(name) + 1);
}
/// Adds a value, and of which type it is: numbers of two units may have the same bytes.
template <class T, class Sum>
void add_value(Sum& sum, T const& x) {
  add_type_name<T>(sum);
  write_exactly(x, sum);
}

/// Adds functions, and what they hold, to a sum.
template <class Sum>
class contents {
 public:
  /// \param code  in which the places of functions are looked up; null where only what they hold is asked for
  /// \param named  a word of the user stands for the code: types of one name are the same code then. Only namesakes in this
  /// program are known by their places, and functions given by address, which have no types of their own
  explicit contents(Sum& sum, loaded_code* code = nullptr, bool named = false) noexcept
      : sum_{sum}, code_{code}, named_{named} {}
  /// Whether all of what was added could be seen.
  [[nodiscard]] bool whole() const noexcept { return whole_; }

  template <class T>
  void add(T const& f) {
    if constexpr (schedule<T>) return add_plan(f);
    add_type<T>();
    if constexpr (is_a_base<T>) add_class_of(f);
    [[maybe_unused]] auto const each = [this](auto const& part) { this->add(part); };
    if constexpr (std::is_function_v<T>) add_place(reinterpret_cast<void const*>(&f));
    else if constexpr (std::is_function_v<std::remove_pointer_t<T>>) add_place(reinterpret_cast<void const*>(f));
    else if constexpr (says_what_it_reads<T>) {
      bool const before = whole_;
      add(f.function());
      whole_ = before;
      f.each_function(each);
    }
    else if constexpr (shows_parts<T>) f.each_function(each);
    else if constexpr (has_known_parts<T>) parts_shown<T>::each(f, each);
    else if constexpr (std::is_empty_v<T>) return;
    else if constexpr (is_plain<T>()) write_plain(f, sum_);
    else if constexpr (every_part<bytes_say_all, T>()) write_exactly(f, sum_);
    else if constexpr (std::is_array_v<T>)
      for (auto const& one : f) add(one);
    else if constexpr (has_members<T>) with_members<parts<T>()>(f, [&each](auto const&... one) { (each(one), ...); });
    else whole_ = false;
  }
  /// Adds which type this is: of a function, or of what it takes, whose members may be all that it calls.
  template <class T>
  void add_type() {
    add_type_name<T>(sum_);
    if (!named_ || listed<T>::type.has_namesake())  // the name itself may be one string for types of two files
      add_place(reinterpret_cast<void const*>(&name_of_type<T>));
  }

 private:
  /// A function or a value that is given by its base may hold more than that knows.
  template <class T>
  void add_class_of(T const& f) {
    if constexpr (knows_classes) {
      std::type_info const* const other = class_of(f);
      if (other == nullptr) return;
      sum_(other->name(), std::strlen(other->name()) + 1);
      if (!named_) add_place(other);
    }
    whole_ = false;
  }
  void add_place(void const* address) {
    if (code_ == nullptr) return;
    auto const at = code_->place_of(address);
    sum_.number(at.object);
    sum_.number(at.object != 0 ? at.offset : std::uint64_t(reinterpret_cast<std::uintptr_t>(address)));
  }
  template <class Plan>
  void add_plan(Plan const& plan) {
    each_plan_number(plan, [this](std::int64_t number) { sum_.number(number); });
  }
  Sum& sum_;
  loaded_code* code_;
  bool named_, whole_ = true;
};

}  // namespace cairn::detail
