// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file made_of.hpp  What a type is made of: the one description that copies, bytes, hashes, numbers, writing and
/// reading ask. What a type declares of itself, in traits.hpp, comes before it.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/aggregate.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/handle.hpp>
#include <cairn/core/detail/traits.hpp>

namespace cairn::detail {

/// What a type is made of.
enum class made_of : std::uint8_t {
  number,    ///< of the language or an enumeration
  complex,   ///< two numbers
  bits,      ///< of which none has an address: vector<bool>, bitset
  array,     ///< T[n]
  elements,  ///< of one type, and nothing else: vector, deque, list, string, valarray, array, ring
  nodes,     ///< keys, or keys and values: maps and sets
  optional,  ///< one value or none
  variant,   ///< a value of one of several types
  path,      ///< of a file
  adaptor,   ///< a container that shows one end: stack, queue, priority_queue
  device,    ///< elements in device memory
  view,      ///< elements of another owner
  members,   ///< an aggregate or a tuple
  unknown    ///< a class with private members, a container and something else, a handle, a pointer, a union
};

/// Bytes of a number without padding: x86's extended long double has 10 value bytes in 12 or 16.
template <class T>
consteval std::size_t value_bytes() {
  if constexpr (std::is_same_v<T, long double>) return __LDBL_MANT_DIG__ == 64 ? 10 : sizeof(T);
  else return sizeof(T);
}
/// A number of the compiler that the standard library does not call one: _Float16, __float128, __int128.
template <class T>
concept compilers_number = !std::is_class_v<T> && !std::is_union_v<T> && !std::is_array_v<T> && !std::is_scalar_v<T> &&
                           requires(T x) { x* x; static_cast<T>(0.5); };
template <class T>
concept floating = std::is_floating_point_v<T> ||
                   (compilers_number<T> && requires {
                     requires std::bool_constant<(static_cast<T>(0.5) != 0)>::value;
                   });
template <class T>
concept number = std::is_arithmetic_v<T> || std::is_enum_v<T> || compilers_number<T>;

/// The alternatives of a std::variant; recognised without including `<variant>`.
template <class T> struct alternatives { using type = void; };
template <template <class...> class Value, class... T>
  requires requires(Value<T...> const& x) { x.valueless_by_exception(); x.index(); }
struct alternatives<Value<T...>> { using type = types<T...>; };
template <class T>
concept variant_like = !std::is_void_v<typename alternatives<T>::type>;
/// A distribution of `<random>`.
template <class T>
concept distribution_like = requires(T& x) {
  typename T::result_type;
  typename T::param_type;
  x.param();
  x.reset();
};
template <class T>
concept optional_like = requires(T& x) { x.has_value(); x.reset(); *x; typename T::value_type; };
template <class T>
concept valarray_like = requires(T const& x) {
  typename T::value_type;
  x[std::size_t{}];
  x.size();
  x.sum();
  x.cshift(1);
};
/// A container or another range with members of one type.
template <class T>
concept range_like = declared_flat<T> || requires(T& x) {
  x.begin();
  x.end();
  typename T::value_type;
}
|| requires(T& x) {
  x.data();
  x.size();
  typename T::value_type;
}
|| valarray_like<T>;
/// The first of elements that lie side by side; null if there are none.
template <class T>
[[nodiscard]] constexpr auto* data_of(T& x) {
  if constexpr (std::is_array_v<T>) return static_cast<std::remove_extent_t<T>*>(x);
  else if constexpr (declared_flat<std::remove_const_t<T>> && requires { *x.memptr(); }) return x.memptr();
  else if constexpr (requires { x.data(); }) return x.data();
  else return x.size() > 0 ? address_of(x[0]) : nullptr;
}
/// A range with contiguous elements.
template <class T>
concept contiguous = valarray_like<T> || (declared_flat<T> && requires(T& x) { *x.memptr(); }) ||
                     (declared_flat<T> && requires(T& x) { *x.data(); }) ||
                     (!declared_flat<T> && range_like<T> && requires(T& x) {
                       { x.data() } -> std::convertible_to<typename T::value_type const*>;
                       { x.size() } -> std::convertible_to<std::size_t>;
                     });
/// How many elements there are; a list that does not know is walked.
template <class T>
[[nodiscard]] constexpr std::size_t length_of(T const& x) {
  if constexpr (std::is_array_v<T>) return std::extent_v<T>;
  else if constexpr (requires { x.num_elements(); })
    return std::size_t(x.num_elements());  // size() is of one dimension
  else if constexpr (declared_flat<T> && requires { std::size_t(x.n_elem); }) return std::size_t(x.n_elem);
  else if constexpr (requires { x.size(); }) return std::size_t(x.size());
  else {
    std::size_t count = 0;
    for (auto at = x.begin(); at != x.end(); ++at) ++count;
    return count;
  }
}
template <class T>
concept indexed = contiguous<T> || std::is_array_v<T> || declared_flat<T>;
/// Element k of an `indexed` x.
template <class T>
[[nodiscard]] constexpr auto& element_at(T& x, std::size_t k) {
  if constexpr (contiguous<std::remove_const_t<T>> || std::is_array_v<T>) return data_of(x)[k];
  else if constexpr (requires { x.data()[k]; }) return x.data()[k];
  else return x[k];
}
template <class T>
[[nodiscard]] constexpr auto element_in() {
  if constexpr (declared_flat<T>) return types<std::remove_cvref_t<decltype(element_at(std::declval<T&>(), 0))>>{};
  else return types<std::remove_const_t<typename T::value_type>>{};
}
template <class T> struct only_one {};
template <class T> struct only_one<types<T>> { using type = T; };
/// The type of its elements.
template <class T> using element_of = typename only_one<decltype(element_in<T>())>::type;
/// A contiguous range in memory that only a device is sure to reach. It declares `in_device_memory`, or its `data()`
/// returns an object with `get()` that does not convert to a pointer, as in thrust::device_vector and
/// thrust::universal_vector.
template <class T>
concept device_range = (contiguous<T> && says_on_device<T>) || requires(T& x) {
  typename T::value_type;
  requires std::is_trivially_copyable_v<typename T::value_type>;
  { x.data().get() } -> std::convertible_to<typename T::value_type const*>;
  requires !std::is_convertible_v<decltype(x.data()), typename T::value_type const*>;
  { x.size() } -> std::convertible_to<std::size_t>;
};
template <class T>
concept complex_like = !contiguous<T> && requires(T const& x) {
  requires std::is_same_v<std::remove_cvref_t<decltype(x.real())>, typename T::value_type>;
  x.imag();
}
&&sizeof(T) == 2 * sizeof(typename T::value_type);
/// vector<bool> and bitset, recognised by their members: including `<vector>` would double the cost of including cairn.
template <class T>
concept bits_like = requires(T& x) {
  x.flip();
  x.size();
  { x[std::size_t{}] } -> std::convertible_to<bool>;
  requires !std::is_reference_v<decltype(x[std::size_t{}])>;
};
/// A range whose iterators refer to the elements themselves. Keys of maps and sets are excluded: they cannot be written
/// back.
template <class T>
concept plain_range = range_like<T> && requires(T& x) {
  { *x.begin() } -> std::same_as<typename T::value_type&>;
  x.end();
};
/// Elements that are found by keys, which are no variables.
template <class T>
concept keyed = range_like<T> && requires { typename T::key_type; };
template <class T>
concept map_like = keyed<T> && requires { typename T::mapped_type; };
/// A container of nodes, which can be taken out and put into another one: maps and sets.
template <class T>
concept node_container = keyed<T> && requires(T& x) {
  typename T::node_type;
  x.extract(x.begin());
};
template <class T>
concept unordered_like = range_like<T> && requires(T const& x) { x.hash_function(); };
/// std::filesystem::path, a range of itself.
template <class T>
concept path_like = requires(T const& x) { x.native(); x.lexically_normal(); };
/// An adaptor that holds another container and shows only one end of it: std::stack, std::queue, std::priority_queue.
template <class T>
concept adaptor_like = !range_like<T> && requires {
  typename T::container_type;
  typename T::value_type;
  requires std::is_object_v<typename T::value_type>;
};
/// Reaches the container of an adaptor, which is a protected member of it.
template <class T>
struct adapted : T {
  template <class State>
  [[nodiscard]] static constexpr auto& of(State& x) noexcept { return x.*(&adapted::c); }
};

/// The class that declares a member function; for an inherited one, the base.
template <class Class, class Function> types<Class> declaring(Function Class::*);
template <class T>
consteval auto declares_size() {
  if constexpr (requires { declaring(&T::size); }) return decltype(declaring(&T::size)){};
  else if constexpr (requires { declaring(&T::max_size); }) return decltype(declaring(&T::max_size)){};
  else return types<>{};
}
/// The containers of libstdc++'s debug mode, which add bookkeeping to the same container without it.
template <class T, class Base> inline constexpr bool is_debug_of = false;
template <template <class...> class Derived, template <class...> class Base, class... Arguments>
inline constexpr bool is_debug_of<Derived<Arguments...>, Base<Arguments...>> =
    requires(Derived<Arguments...> const& x) {
  x._M_base();
};
/// `T` declares the member itself, or is no larger than the base that does, so that it has no further members.
template <class T, class Base> inline constexpr bool adds_nothing = false;
template <class T, class Base>
inline constexpr bool adds_nothing<T, types<Base>> = sizeof(T) == sizeof(Base) || is_debug_of<T, Base>;
template <class T>
concept told_by_size = adds_nothing<T, decltype(declares_size<T>())>;
template <class T>
concept told_by_has_value = requires { requires adds_nothing<T, decltype(declaring(&T::has_value))>; };
/// A small class whose elements fill it, as far as a new one shows.
template <class T>
concept filled_by_elements = std::is_trivially_copyable_v<T> && requires {
  requires std::bool_constant<(T{}.size() * sizeof(typename T::value_type) == sizeof(T))>::value;
};
/// Its elements are all of it: no class that derives from a container and adds members, and no class with elements and
/// members of which nothing is known.
template <class T>
consteval bool is_its_elements();
template <class T, class Base>
consteval bool is_its_base(types<Base>) {
  if constexpr (!std::is_same_v<T, Base> && sizeof(T) == sizeof(Base) && range_like<Base>) return is_its_elements<Base>();
  else return false;  // the base need not be a range itself
}
template <class T>
consteval bool is_its_base(types<>) { return false; }
template <class T>
consteval bool is_its_elements() {
  if constexpr (ring_like<T> || declared_flat<T>) return true;
  else if constexpr (std::is_same_v<typename T::value_type, T>) return false;  // what it is made of does not end
  else if constexpr (valarray_like<T>) return told_by_size<T>;
  else if constexpr (contiguous<T> && tuple_like<T>) return true;
  else if constexpr (requires { typename T::PlainObject; }) return std::is_same_v<T, typename T::PlainObject>;
  else if constexpr (requires { typename T::allocator_type; }) return told_by_size<T>;
  else if constexpr (contiguous<T> && filled_by_elements<T>) return true;
  else return is_its_base<T>(declares_size<T>());
}

/// What `T` is made of; const and references are left out.
template <class T>
consteval made_of kind_of() {
  if constexpr (number<T>) return made_of::number;
  else if constexpr (std::is_array_v<T>) return made_of::array;
  else if constexpr (!std::is_class_v<T>) return made_of::unknown;
  else if constexpr (ring_like<T> || declared_flat<T>) return made_of::elements;
  else if constexpr (device_range<T>) return made_of::device;
  else if constexpr (bits_like<T>)
    return std::is_trivially_copyable_v<T> || told_by_size<T> ? made_of::bits : made_of::unknown;
  else if constexpr (complex_like<T>) return made_of::complex;
  else if constexpr (optional_like<T>) return told_by_has_value<T> ? made_of::optional : made_of::unknown;
  else if constexpr (variant_like<T>) return made_of::variant;
  else if constexpr (path_like<T>) return made_of::path;
  else if constexpr (adaptor_like<T>) return made_of::adaptor;
  else if constexpr (range_like<T>) {
    if constexpr (is_its_elements<T>()) {
      if constexpr (node_container<T>) return made_of::nodes;
      else return plain_range<T> || contiguous<T> ? made_of::elements : made_of::unknown;
    }
    else if constexpr (contiguous<T> && is_handle<T>())  // others leave gaps between their elements
      return requires(T& x) { x.begin(); } && !names_its_owner<T> ? made_of::view : made_of::unknown;
    else if constexpr (!tuple_like<T> && has_members<T>) return made_of::members;
    else return made_of::unknown;
  }
  else return has_members<T> ? made_of::members : made_of::unknown;
}
template <class T> inline constexpr made_of kind = kind_of<std::remove_cvref_t<T>>();

/// A container and something else, or a container of which it is not known.
template <class T>
concept unknown_range = kind<T> == made_of::unknown && (range_like<T> || optional_like<T>) &&
                        !std::is_same_v<T, typename T::value_type>;

/// A class of which no more is known than that all of its bytes are its value.
template <class T>
concept bytes_without_padding = kind<T> == made_of::unknown && std::is_class_v<T> &&
                                std::has_unique_object_representations_v<T> && !tuple_like<T> && !plain_aggregate<T>();

/// The types of what `T` is made of.
template <class T, made_of = kind<T>> struct part_list { using type = types<>; };
template <class T> struct part_list<T, made_of::array> { using type = types<std::remove_extent_t<T>>; };
template <class T> struct part_list<T, made_of::complex> { using type = types<typename T::value_type>; };
template <class T> struct part_list<T, made_of::elements> { using type = types<element_of<T>>; };
template <class T> struct part_list<T, made_of::optional> { using type = types<typename T::value_type>; };
template <class T> struct part_list<T, made_of::view> { using type = types<element_of<T>>; };
template <class T> struct part_list<T, made_of::device> { using type = types<typename T::value_type>; };
template <class T> struct part_list<T, made_of::nodes> { using type = types<typename T::key_type>; };
template <map_like T> struct part_list<T, made_of::nodes> {
  using type = types<typename T::key_type, typename T::mapped_type>;
};
template <class T> struct part_list<T, made_of::variant> { using type = typename alternatives<T>::type; };
template <class T> struct part_list<T, made_of::adaptor> { using type = types<typename T::container_type>; };
template <class T> struct part_list<T, made_of::members> { using type = member_types<T>; };
template <class T> using part_types = typename part_list<std::remove_cvref_t<T>>::type;

/// What a question says of a type by itself.
enum class ruling : std::uint8_t { no, yes, by_parts };
consteval ruling yes_if(bool met) { return met ? ruling::yes : ruling::no; }
template <class Question, class... Seen, class... T> consteval bool every_of(types<T...>);
/// Whether `T` and all that it is made of pass. `Question::of<T>()` answers for one type, which may be const.
/// \tparam Seen  types that `T` is a part of
template <class Question, class T, class... Seen>
consteval bool every_part() {
  using plain = std::remove_cvref_t<T>;
  if constexpr (is_one_of<plain, Seen...>) return true;
  else {
    constexpr ruling own = Question::template of<std::remove_reference_t<T>>();
    if constexpr (own != ruling::by_parts) return own == ruling::yes;
    else return every_of<Question, plain, Seen...>(part_types<plain>{});
  }
}
template <class Question, class... Seen, class... T>
consteval bool every_of(types<T...>) { return (every_part<Question, T, Seen...>() && ...); }

/// Calls f with each element or member of x, in order; with the container of an adaptor.
template <class State, class Fn>
constexpr void for_each_part(State& x, Fn f) {
  using T = std::remove_const_t<State>;
  if constexpr (kind<T> == made_of::members)
    with_members<parts<T>()>(x, [&](auto&... member) { (f(member), ...); });
  else if constexpr (kind<T> == made_of::adaptor) f(adapted<T>::of(x));
  else if constexpr (indexed<T>)
    for (std::size_t k = 0; k < length_of(x); ++k) f(element_at(x, k));
  else
    for (auto& element : x) f(element);
}
/// Calls f(from, into) with each pair of parts of two values of the same shape; returns whether every f did true.
template <class T, class Fn>
constexpr bool for_each_pair(T const& from, T const& into, Fn f) {
  if constexpr (kind<T> == made_of::members)
    return with_members<parts<T>()>(from, [&](auto const&... source) {
      return with_members<parts<T>()>(into, [&](auto const&... target) { return (f(source, target) && ...); });
    });
  else if constexpr (kind<T> == made_of::adaptor) return f(adapted<T>::of(from), adapted<T>::of(into));
  else {
    bool all = true;
    [[maybe_unused]] auto const take = [&](auto const& source, auto const& target) { all = all && f(source, target); };
    if constexpr (indexed<T>)
      for (std::size_t k = 0; k < length_of(from); ++k) take(element_at(from, k), element_at(into, k));
    else {
      auto target = into.begin();
      for (auto const& source : from) take(source, *target++);
    }
    return all;
  }
}
/// Calls f with the value that a variant holds; a variant holds none after an exception.
template <std::size_t At = 0, class State, class Fn, class... T>
constexpr void with_held(State& x, Fn f, types<T...> all) {
  if constexpr (At < sizeof...(T)) {
    if (x.index() != At) return with_held<At + 1>(x, f, all);
    f(*get_if<At>(&x));
  }
}

}  // namespace cairn::detail
