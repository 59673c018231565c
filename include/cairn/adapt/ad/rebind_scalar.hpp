// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file rebind_scalar.hpp  The type of a state over another scalar: for example std::vector<double> over a tool's
/// scalar.
#include <cstddef>
#include <type_traits>
#include <cairn/core/numbers.hpp>

namespace cairn {

/// `type` is T with every double in it replaced by `To`: in all arguments of class templates, and in the elements of
/// arrays. Everything else stays the same: whole numbers, flags, float, and members of class templates that are double
/// for every argument (constants). Specialise it for types of your own that are rebound in another way:
/// ```cpp
/// template <class To> struct cairn::rebind_scalar<grid<double>, To> {
///     using type = grid<To>;
///     static void shape(grid<double> const& from, grid<To>& into);          // sizes, and what is not differentiated
///     template <class Grid, class F> static void visit(Grid& x, F& f);      // f(scalar) for each, const for a const x
/// };
/// ```
/// `shape` and `visit` are needed for classes that cannot be taken apart; `visit` must use the same order for both.
template <class T, class To>
struct rebind_scalar {
  using type = T;  ///< nothing in it is rebound
};
/// T over the scalar `To`.
template <class T, class To>
using rebound_scalar = typename rebind_scalar<T, To>::type;

/// The scalar itself.
template <class To>
struct rebind_scalar<double, To> {
  using type = To;  ///< the tool's scalar
};
/// Arrays, through their elements.
template <class T, std::size_t Count, class To>
struct rebind_scalar<T[Count], To> {
  using type = rebound_scalar<T, To>[Count];  ///< an array of the same length
};
/// Class templates over types, except generators and distributions of random numbers.
template <template <class...> class Template, class... T, class To>
  requires(!detail::random_source<Template<T...>>)
struct rebind_scalar<Template<T...>, To> {
  using type = Template<rebound_scalar<T, To>...>;  ///< all arguments rebound
};
/// Class templates over a type and numbers, such as std::array and Eigen's matrices.
template <template <class, auto...> class Template, class T, auto... Number, class To>
  requires(sizeof...(Number) > 0)
struct rebind_scalar<Template<T, Number...>, To> {
  using type = Template<rebound_scalar<T, To>, Number...>;  ///< with the same sizes
};

/// A type with doubles that a tool's scalar can replace.
template <class T, class To>
concept differentiable_by = !std::is_same_v<T, rebound_scalar<T, To>>;

}  // namespace cairn
