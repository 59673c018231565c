// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file member_function.hpp  A member function as a function object, which the questions about users' functions read.
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/door/detail/callable.hpp>
#include <cairn/door/detail/leaf_bytes.hpp>
#include <cairn/door/detail/signature.hpp>

namespace cairn::detail {

/// A member by its name: the pointer to one function, static or not, and a call by name, which may leave out default
/// arguments.
struct member_restore {
  template <class T>
  static consteval auto pointer() -> decltype(&T::restore) { return &T::restore; }
  template <class T, class... Args>
  static auto call(T& of, Args&&... args) -> decltype(of.restore(std::forward<Args>(args)...)) {
    return of.restore(std::forward<Args>(args)...);
  }
};

/// What the object says of the leaves of its adjoint.
template <class T>
struct member_of {
  T& object;
  [[nodiscard]] wide leaf_bytes(step_index steps) const
    requires tells_leaf<T>
  {
    return wide(object.leaf_bytes(steps));
  }
};
/// A template, or overloaded.
template <class Name, class T, class Parameters = void>
struct member_function : member_of<T> {
  static constexpr bool hides_parameters = true;
  template <class... Args>
    requires requires(T& of, Args&&... args) { Name::call(of, std::forward<Args>(args)...); }
  decltype(auto) operator()(Args&&... args) const {
    return Name::call(this->object, std::forward<Args>(args)...);
  }
};
/// One signature.
template <class Name, class T, class... Args>
struct member_function<Name, T, arguments<Args...>> : member_of<T> {
  template <class... Given>
  static constexpr bool by_name =
      requires(T& of, Given&&... given) { Name::call(of, std::forward<Given>(given)...); };
  decltype(auto) operator()(Args... args) const {
    return Name::call(this->object, std::forward<Args>(args)...);
  }
};
template <class Name, class T>
consteval auto parameters_of_member() {
  using in = std::remove_const_t<T>;
  if constexpr (requires { Name::template pointer<in>(); })
    return parameters_of<std::remove_pointer_t<decltype(Name::template pointer<in>())>>();
  else return std::type_identity<void>{};
}
template <class Name, class T>
using member_as_function = member_function<Name, T, typename decltype(parameters_of_member<Name, T>())::type>;

struct member_step {
  template <class T>
  static consteval auto pointer() -> decltype(&T::step) { return &T::step; }
  template <class T, class... Args>
  static auto call(T& of, Args&&... args) -> decltype(of.step(std::forward<Args>(args)...)) {
    return of.step(std::forward<Args>(args)...);
  }
};
struct member_adjoint {
  template <class T>
  static consteval auto pointer() -> decltype(&T::adjoint) { return &T::adjoint; }
  template <class T, class... Args>
  static auto call(T& of, Args&&... args) -> decltype(of.adjoint(std::forward<Args>(args)...)) {
    return of.adjoint(std::forward<Args>(args)...);
  }
};
struct member_value {
  template <class T>
  static consteval auto pointer() -> decltype(&T::value) { return &T::value; }
  template <class T, class... Args>
  static auto call(T& of, Args&&... args) -> decltype(of.value(std::forward<Args>(args)...)) {
    return of.value(std::forward<Args>(args)...);
  }
};
struct member_add_gradient {
  template <class T>
  static consteval auto pointer() -> decltype(&T::add_gradient) { return &T::add_gradient; }
  template <class T, class... Args>
  static auto call(T& of, Args&&... args) -> decltype(of.add_gradient(std::forward<Args>(args)...)) {
    return of.add_gradient(std::forward<Args>(args)...);
  }
};

}  // namespace cairn::detail
