// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file scalars.hpp  The scalars of a state over double, and of the same state over a tool's scalar, in the same
/// order.
#include <cstddef>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/adapt/ad/rebind_scalar.hpp>
#include <cairn/core/detail/aggregate.hpp>
#include <cairn/core/state_traits.hpp>

namespace cairn::detail {

/// The plain number in a tool's.
template <class Scalar>
[[nodiscard]] double plain_value(Scalar const& v) {
  if constexpr (requires { double(v.value()); }) return double(v.value());
  else if constexpr (requires { double(v.val()); }) return double(v.val());
  else return double(Value(Var2Par(v)));  // CppAD's
}

struct any_scalar_visitor {
  template <class T>
  void operator()(T&) const;
};
/// A class for which the user has specialised `rebind_scalar` with `shape` and `visit`.
template <class Args, class To>
concept visited_by_trait = requires(Args const& from, Args& a, rebound_scalar<Args, To>& b, any_scalar_visitor& f) {
  rebind_scalar<Args, To>::shape(from, b);
  rebind_scalar<Args, To>::visit(a, f);
  rebind_scalar<Args, To>::visit(b, f);
};
/// A matrix: has rows and columns, and all coefficients at `data()`.
template <class Args>
concept matrix_like = requires(Args& x) {
  x.resize(x.rows(), x.cols());
  x.data();
  x.size();
};
template <class Args>
concept element_range = requires(Args& x) {
  typename Args::value_type;
  x.begin();
  x.end();
  x.size();
  requires std::is_lvalue_reference_v<decltype(*x.begin())>;
} && (tuple_like<Args> || ring_like<Args> || requires(Args& x) { x.resize(x.size()); });

/// Whether all elements are at `data()`, in the order of a visit.
template <class Args>
inline constexpr bool in_one_block = matrix_like<Args> || requires(Args const& x) {
  { x.begin() } -> std::contiguous_iterator;
  x.data() + x.size();
};

/// Visits a state over double, of type Args, and the same state over `To`, of type BarOf. If A and B are the same type,
/// nothing is differentiated: a member that is double for every scalar is a constant.
template <class Args, class To, class BarOf = rebound_scalar<Args, To>>
struct scalars_of {
  static constexpr bool passive = std::is_same_v<Args, BarOf>;
  static constexpr bool is_scalar = std::is_same_v<Args, double> && !passive;

  /// Whether every double that is rebound can be visited.
  [[nodiscard]] static consteval bool visits_all() {
    if constexpr (passive || is_scalar || visited_by_trait<Args, To>) return true;
    else if constexpr (std::is_array_v<Args> || matrix_like<Args> || element_range<Args> || optional_like<Args>)
      return element::visits_all();
    else if constexpr (has_members<Args>)
      return []<std::size_t... Place>(std::index_sequence<Place...>) {
        return (member<Place>::visits_all() && ...);
      }(std::make_index_sequence<parts<Args>()>{});
    else return false;
  }

  /// Gives `into` the sizes of `from`, and copies everything that is not differentiated.
  static void shape(Args const& from, BarOf& into) {
    if constexpr (passive) copy_state(from, into);
    else if constexpr (is_scalar) return;
    else if constexpr (visited_by_trait<Args, To>) rebind_scalar<Args, To>::shape(from, into);
    else if constexpr (std::is_array_v<Args>)
      for (std::size_t k = 0; k < std::extent_v<Args>; ++k) element::shape(from[k], into[k]);
    else if constexpr (matrix_like<Args>) {
      into.resize(from.rows(), from.cols());
      for (std::size_t k = 0; k < std::size_t(from.size()); ++k) element::shape(from.data()[k], into.data()[k]);
    } else if constexpr (element_range<Args>) {
      if constexpr (requires { into.resize(from.size()); }) into.resize(from.size());
      auto to = into.begin();
      for (auto const& each : from) element::shape(each, *to++);
    } else if constexpr (optional_like<Args>) {
      if (!from.has_value()) return into.reset();
      if (!into.has_value()) into.emplace();
      element::shape(*from, *into);
    } else {
      auto const source = members_in(from);
      auto const target = members_in(into);
      each_member([&]<std::size_t Place>() { member<Place>::shape(std::get<Place>(source), std::get<Place>(target)); });
    }
  }

  /// Calls f(scalar) for each scalar that is differentiated; X is A or B, const or not.
  template <class State, class Fn>
  static void visit(State& x, Fn& f) {
    if constexpr (passive) return;
    else if constexpr (is_scalar) f(x);
    else if constexpr (visited_by_trait<Args, To>) rebind_scalar<Args, To>::visit(x, f);
    else if constexpr (matrix_like<Args>)
      for (std::size_t k = 0; k < std::size_t(x.size()); ++k) element::visit(x.data()[k], f);
    else if constexpr (std::is_array_v<Args> || element_range<Args>)
      for (auto& each : x) element::visit(each, f);
    else if constexpr (optional_like<Args>) {
      if (x.has_value()) element::visit(*x, f);
    } else {
      auto const all = members_in(x);
      each_member([&]<std::size_t Place>() { member<Place>::visit(std::get<Place>(all), f); });
    }
  }

  /// Whether the value consists of scalars only: a recording for one such value is valid for another of the same
  /// layout.
  [[nodiscard]] static consteval bool only_scalars() {
    if constexpr (is_scalar) return true;
    else if constexpr (passive) return std::is_empty_v<Args>;
    else if constexpr (visited_by_trait<Args, To> || optional_like<Args>) return false;
    else if constexpr (std::is_array_v<Args> || matrix_like<Args> || element_range<Args>)
      return element::only_scalars();
    else if constexpr (has_members<Args>)
      return []<std::size_t... Place>(std::index_sequence<Place...>) {
        return (member<Place>::only_scalars() && ...);
      }(std::make_index_sequence<parts<Args>()>{});
    else return false;
  }
  /// Whether two values may have scalars at different places.
  [[nodiscard]] static constexpr bool sizes_vary() {
    if constexpr (passive || is_scalar) return false;
    else if constexpr (visited_by_trait<Args, To> || optional_like<Args>) return true;
    else if constexpr (std::is_array_v<Args> || (element_range<Args> && tuple_like<Args>)) return element::sizes_vary();
    else if constexpr (matrix_like<Args>)
      return Args::RowsAtCompileTime < 0 || Args::ColsAtCompileTime < 0 || element::sizes_vary();
    else if constexpr (element_range<Args>) return true;
    else
      return []<std::size_t... Place>(std::index_sequence<Place...>) {
        return (member<Place>::sizes_vary() || ...);
      }(std::make_index_sequence<parts<Args>()>{});
  }
  /// Calls f(size) for the size of each part whose size can vary, in order: the layout of the scalars. X is A or B. Of
  /// a class that the user's own `visit` goes through only the number of scalars is known.
  template <class State, class Fn>
  static void each_size(State const& x, Fn& f) {
    if constexpr (!sizes_vary()) return;
    else if constexpr (visited_by_trait<Args, To>) f(count(x));
    else if constexpr (matrix_like<Args>) {
      f(std::size_t(x.rows()));
      f(std::size_t(x.cols()));
      if constexpr (element::sizes_vary())
        for (std::size_t k = 0; k < std::size_t(x.size()); ++k) element::each_size(x.data()[k], f);
    } else if constexpr (std::is_array_v<Args> || element_range<Args>) {
      if constexpr (!std::is_array_v<Args> && !tuple_like<Args>) f(std::size_t(x.size()));
      if constexpr (element::sizes_vary())
        for (auto const& each : x) element::each_size(each, f);
    } else if constexpr (optional_like<Args>) {
      f(std::size_t(x.has_value()));
      if (x.has_value()) element::each_size(*x, f);
    } else {
      auto const all = members_in(x);
      each_member([&]<std::size_t Place>() { member<Place>::each_size(std::get<Place>(all), f); });
    }
  }

  template <class State>
  [[nodiscard]] static std::size_t count(State const& x) {
    std::size_t sum = 0;
    auto const add = [&sum](auto const&) { ++sum; };
    visit(x, add);
    return sum;
  }

  /// Appends the scalars of a state over double.
  static void list(Args const& x, std::vector<double>& into) {
    if constexpr (element::is_scalar && !visited_by_trait<Args, To> && in_one_block<Args>)
      into.insert(into.end(), x.data(), x.data() + x.size());  // `push_back` checks the capacity for each
    else {
      auto const put = [&into](double const& v) { into.push_back(v); };
      visit(x, put);
    }
  }

 private:
  /// A class template has equally many members for every scalar.
  template <class State>
  [[nodiscard]] static auto members_in(State& x) {
    return with_members<parts<Args>()>(x, [](auto&... each) { return std::forward_as_tuple(each...); });
  }
  template <class State, std::size_t Place>
  using member_in = std::remove_cvref_t<std::tuple_element_t<Place, decltype(members_in(std::declval<State&>()))>>;
  template <std::size_t Place>
  using member = scalars_of<member_in<Args, Place>, To, member_in<BarOf, Place>>;
  template <class Fn>
  static void each_member(Fn f) {
    [&]<std::size_t... Place>(std::index_sequence<Place...>) {
      (f.template operator()<Place>(), ...);
    }(std::make_index_sequence<parts<Args>()>{});
  }
  template <class State>
  [[nodiscard]] static auto element_in() {
    if constexpr (std::is_array_v<State>) return std::type_identity<std::remove_extent_t<State>>{};
    else if constexpr (matrix_like<State>)
      return std::type_identity<std::remove_cvref_t<decltype(*std::declval<State&>().data())>>{};
    else if constexpr (element_range<State> || optional_like<State>)
      return std::type_identity<typename State::value_type>{};
    else return std::type_identity<State>{};
  }
  using element_of_a = typename decltype(element_in<Args>())::type;
  using element_of_b = typename decltype(element_in<BarOf>())::type;
  /// Unused for a class that is not a container.
  using element = scalars_of<element_of_a, To, element_of_b>;
};

}  // namespace cairn::detail
